// What is allocated on one device, and how much may be: the memory fraction.
#pragma once

#include <torchlean/backend.hpp>

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

namespace torchlean::cuda::device {

// Safe to use from many threads. Bytes are counted as the device's allocator rounds them.
class MemoryAccount {
 public:
  // Counts a block; over the cap it is TL_OUT_OF_MEMORY and not counted.
  void take(const char *operation, uint64_t bytes) {
    uint64_t before = allocated_.load();
    const uint64_t cap = cap_.load();
    do {
      if (before > cap || bytes > cap - before) {
        throw Failure(TL_OUT_OF_MEMORY,
                      std::string(operation) + ": no memory for " + std::to_string(bytes) +
                          " bytes: " + std::to_string(before) + " are allocated of the " +
                          std::to_string(cap) + " that may be");
      }
    } while (!allocated_.compare_exchange_weak(before, before + bytes));
    uint64_t peak = peak_.load();
    while (peak < before + bytes && !peak_.compare_exchange_weak(peak, before + bytes)) {
    }
  }
  void give_back(uint64_t bytes) noexcept { allocated_ -= bytes; }

  // From now on at most that many bytes are allocated.
  void set_cap(uint64_t bytes) { cap_ = bytes; }

  uint64_t allocated() const { return allocated_; }
  uint64_t peak() const { return peak_; }

 private:
  std::atomic<uint64_t> allocated_{0};
  std::atomic<uint64_t> peak_{0};
  std::atomic<uint64_t> cap_{std::numeric_limits<uint64_t>::max()};
};

// floor(fraction * total), of which 1 is no limit.
inline uint64_t cap_of(double fraction, uint64_t total) {
  return fraction < 1 ? static_cast<uint64_t>(fraction * static_cast<double>(total))
                      : std::numeric_limits<uint64_t>::max();
}

}  // namespace torchlean::cuda::device
