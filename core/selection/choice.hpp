// Which backend serves: what was asked for, in which order it is tried, what came of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loader/backend.hpp"
#include "loader/candidates.hpp"

namespace torchlean {

// One thing to try: a backend's name or an absolute path, and the device to ask of it.
struct Wish {
  std::string target;
  std::string device;
  bool is_automatic = false;  // comes from `auto`: test-only backends do not match
};

// What TORCHLEAN_BACKEND=`asked` stands for. `device` is TORCHLEAN_DEVICE or "". The order of
// `auto`: with an NVIDIA driver libtorch on CUDA, then cuda-native; then cpu, libtorch on the host,
// reference.
std::vector<Wish> wishes_of(std::string_view asked, std::string_view device, bool has_driver,
                            bool require_cuda);

struct Choice {
  tl_backend *backend = nullptr;  // never null: the null backend at worst
  std::string reason;    // why this one serves; for null: why nothing else does, and the remedy
  bool is_slow = false;  // made for checking, not for speed
};

// Finds, tries and records candidates as the environment asks. Called once, by the runtime's start.
Choice choose_backend();

// Opens one backend by name or absolute path. Null: `reason` says why and what to do.
tl_backend *open_by_name(const std::string &name_or_path, const std::string &device,
                         std::string &reason);

}  // namespace torchlean
