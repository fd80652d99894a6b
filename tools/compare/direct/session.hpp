// A backend called without the core: its file, one instance, and host services that watch it.
#pragma once

#include <torchlean/backend.h>

#include <cstdint>
#include <string>
#include <vector>

namespace torchlean::tools {

class Session {
 public:
  // Throws std::runtime_error where the file has no table, or no instance comes up.
  explicit Session(const std::string &path);
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const BackendVTable &table() const { return *table_; }
  tl_instance *instance() const { return instance_; }

 private:
  const BackendVTable *table_ = nullptr;
  tl_instance *instance_ = nullptr;
};

// What the services have seen, of all sessions together.
struct HostRecord {
  std::int64_t live_bytes;
  std::uint64_t damages;  // blocks written outside their bounds, so far as they have been freed
  std::string error;      // the last text of set_error
};
HostRecord host_record();
void forget_host_error();

// Elements on a session's backend. Throws std::runtime_error where they cannot be uploaded.
class DirectBuffer {
 public:
  // `width` matters for encoded words only, which are all zeros and ones.
  DirectBuffer(const Session &session, tl_dtype dtype, std::uint64_t count);
  ~DirectBuffer();
  DirectBuffer(DirectBuffer &&other) noexcept;
  DirectBuffer(const DirectBuffer &) = delete;
  DirectBuffer &operator=(const DirectBuffer &) = delete;
  DirectBuffer &operator=(DirectBuffer &&) = delete;

  const tl_operand &operand() const { return operand_; }

 private:
  const Session &session_;
  tl_operand operand_{};
};

}  // namespace torchlean::tools
