// Handles: one atomic word decides when a buffer's storage may be given back.
#pragma once

#include <torchlean/backend.h>
#include <torchlean/runtime.h>

#include <atomic>
#include <cstdint>

#include "loader/backend.hpp"

// `state` holds the released bit and, above it, the number of operations that use the storage. An
// operation pins its inputs; a release that meets pins leaves the retirement to the last unpin. A
// pin is taken by compare-and-swap: once the bit is set no new pin can appear, so exactly one
// thread sees the word become "released, no pins" and retires the storage.
struct tl_buffer {
  static constexpr std::uint64_t released = 1;
  static constexpr std::uint64_t one_pin = 2;

  std::atomic<std::uint64_t> state{0};
  tl_storage *storage = nullptr;  // null if and only if count is 0
  torchlean::Backend *backend = nullptr;
  std::uint64_t count = 0;
  tl_dtype dtype = TL_FLOAT32;
  std::uint32_t width = 4;
  tl_operation operation = TL_OP_COUNT;  // that made it
  tl_format format = {};                 // encoded buffers only

  std::uint64_t bytes() const noexcept { return count * width; }
  bool is_released() const noexcept {
    return (state.load(std::memory_order_acquire) & released) != 0;
  }

  // False where the buffer has been released.
  bool pin() noexcept {
    std::uint64_t seen = state.load(std::memory_order_relaxed);
    while ((seen & released) == 0) {
      if (state.compare_exchange_weak(seen, seen + one_pin, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  void unpin() noexcept {
    if (state.fetch_sub(one_pin, std::memory_order_acq_rel) == (one_pin | released)) give_back();
  }

  // Gives the storage to the backend. The caller is the one thread entitled to.
  void give_back() noexcept {
    if (storage != nullptr) backend->memory.release(backend->instance, storage);
  }
};
