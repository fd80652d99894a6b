// The runtime of the process: started once, at the first call that needs it.
#pragma once

#include <torchlean/runtime.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "selection/choice.hpp"

namespace torchlean {

// Never destroyed.
struct Runtime {
  bool is_synchronous = false;  // TORCHLEAN_SYNCHRONOUS
  std::array<std::atomic<std::uint32_t>, TL_SETTING_COUNT> settings = {};

  // The choice of the serving backend, made once, at the first call that needs one: a program that
  // opens backends by name causes no other to be opened.
  const Choice &choice();

 private:
  std::atomic<const Choice *> choice_{nullptr};
  std::mutex choosing_;
};

// The started runtime, or null with the thread's error text set where it cannot start (the process
// is shutting down, forked, or out of memory). `operation` names the caller in that text.
Runtime *started_runtime(const char *operation) noexcept;

// The serving backend. Null as above.
tl_backend *serving_backend(const char *operation) noexcept;

// The thread's current backend: tl_set_thread_backend's, else the serving one. Null as above.
tl_backend *current_backend(const char *operation) noexcept;

// TORCHLEAN_SYNCHRONOUS=1, false before the start.
bool is_synchronous() noexcept;

}  // namespace torchlean
