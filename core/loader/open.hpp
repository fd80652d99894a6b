// Opening a candidate: from the file on disk to a usable backend, stage by stage.
#pragma once

#include <string>

#include "loader/attempts.hpp"
#include "loader/backend.hpp"
#include "loader/candidates.hpp"

namespace torchlean {

struct OpenOptions {
  std::string device;  // as TORCHLEAN_DEVICE; "" is the backend's own choice
  std::uint32_t num_threads = 0;
  bool has_nvidia_driver = false;
};

// The backend, or null; `attempt` then says how far it came and why it stopped. A failure leaves
// nothing behind but the file staying mapped where its code has run already.
tl_backend *open_backend(const Candidate &candidate, const OpenOptions &options, Attempt &attempt);

// The null backend, answering every call with `reason`.
tl_backend *open_null_backend(const std::string &reason);

// How C++ backends are opened in this process, for the status.
struct BindingReport {
  const char *mode;    // "local", "deep" or "refused"
  std::string reason;  // what was found
};
BindingReport binding_report();

}  // namespace torchlean
