// A core for one backend: opens cuda-emulated, counts what it allocates, fails where it is told to.
#pragma once

#include <torchlean/backend.h>

#include <cstdint>
#include <string>
#include <vector>

// The backend's table; the file is opened once.
const BackendVTable &backend();

// For operations without any.
inline constexpr tl_scalars no_scalars = {sizeof(tl_scalars), {0, 0}};

namespace fake_host {

// The calling thread's error text.
std::string error();

// Blocks and allocations so far.
int64_t live_blocks();
int64_t allocations();

// Lets every allocation fail from the n-th (1 = the next) on, or that one alone; 0 = none fails.
void fail_allocation(int64_t n, bool ever_after);

// The value of TORCHLEAN_EMULATION_SCHEDULE; "" is as if the core had no such variable.
void set_schedule(const std::string &text);
// Likewise of TORCHLEAN_EMULATION_TAIL_BLOCKS.
void set_tail_blocks(const std::string &text);

}  // namespace fake_host

// An instance with a schedule of its own, and buffers on it. Every failure of a helper throws.
class Session {
 public:
  explicit Session(const std::string &schedule = "", const std::string &tail_blocks = "");
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  tl_instance *instance() const { return instance_; }

 private:
  tl_instance *instance_ = nullptr;
};

template <class T>
inline constexpr tl_dtype dtype_of = sizeof(T) == 4 ? TL_FLOAT32 : TL_FLOAT64;

// A storage that gives itself back.
class Buffer {
 public:
  Buffer(const Session &session, tl_storage *storage, uint64_t count, tl_dtype dtype,
         uint32_t width)
      : session_(session), operand_{storage, count, dtype, width} {}
  template <class T>
  Buffer(const Session &session, const std::vector<T> &values)
      : Buffer(session, upload(session, values.data(), values.size(), dtype_of<T>, sizeof(T)),
               values.size(), dtype_of<T>, sizeof(T)) {}
  ~Buffer();
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  const tl_operand *operand() const { return &operand_; }

  template <class T>
  std::vector<T> values() const {
    std::vector<T> result(operand_.count);
    download(result.data());
    return result;
  }

 private:
  static tl_storage *upload(const Session &session, const void *words, uint64_t count,
                            tl_dtype dtype, uint32_t width);
  void download(void *words) const;

  const Session &session_;
  tl_operand operand_;
};
