// What the core keeps per thread. Trivially destructible: usable in every phase of a thread's life.
#pragma once

#include <torchlean/runtime.h>

#include <cstddef>
#include <cstdint>

namespace torchlean {

struct ThreadState {
  static constexpr std::size_t text_size = 8192;

  tl_backend *backend = nullptr;  // tl_set_thread_backend; null: the process's own
  std::uint32_t gate_lane = 0;    // 1 + lane of the exit gate; 0: not chosen yet
  bool error_is_fresh = false;    // a text was set since the flag was last cleared
  char error_text[text_size] = "";
  char device_name[256] = "";  // behind the texts that are valid until the thread's next call
};

ThreadState &thread_state() noexcept;

}  // namespace torchlean
