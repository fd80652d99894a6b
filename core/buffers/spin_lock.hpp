// A lock for sections of a few instructions: one locked instruction to take it, a plain store to
// free it.
#pragma once

#include <sched.h>

#include <atomic>

namespace torchlean {

// Meets BasicLockable. Never held across a call into other code.
class SpinLock {
 public:
  void lock() noexcept {
    while (taken_.exchange(true, std::memory_order_acquire)) {
      while (taken_.load(std::memory_order_relaxed)) sched_yield();
    }
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

}  // namespace torchlean
