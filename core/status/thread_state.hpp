// What the core keeps per thread. Trivially destructible: usable in every phase of a thread's life.
#pragma once

#include <torchlean/runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace torchlean {

struct ThreadState {
  static constexpr std::size_t text_size = 8192;

  tl_backend *backend = nullptr;  // tl_set_thread_backend; null: the process's own
  std::uint32_t gate_lane = 0;    // 1 + lane of the exit gate; 0: not chosen yet
  bool error_is_fresh = false;    // a text was set since the flag was last cleared
  // For layers: the operation under way, TL_OP_COUNT where there is none, and its results' bytes.
  tl_operation operation = TL_OP_COUNT;
  std::uint64_t result_bytes = 0;
  char error_text[text_size] = "";
  char device_name[256] = "";  // behind the texts that are valid until the thread's next call
};

ThreadState &thread_state() noexcept;

// Entries that are called while it lives belong to no operation.
class OutsideOperations {
 public:
  OutsideOperations() noexcept
      : former_(std::exchange(thread_state().operation, tl_operation{TL_OP_COUNT})) {}
  ~OutsideOperations() { thread_state().operation = former_; }
  OutsideOperations(const OutsideOperations &) = delete;
  OutsideOperations &operator=(const OutsideOperations &) = delete;

 private:
  tl_operation former_;
};

}  // namespace torchlean
