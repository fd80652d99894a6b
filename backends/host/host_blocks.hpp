// Blocks of the core's host memory, for backends that compute on the host. Large ones are kept when
// they are freed, for the next of the same size: a fresh block costs a page fault for each page
// that is written, which takes longer than most computations.
#pragma once

#include <torchlean/backend.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace torchlean {

// A number of bytes, and the most there ever were.
class Gauge {
 public:
  void add(uint64_t bytes) {
    const uint64_t now = now_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    uint64_t highest = peak_.load(std::memory_order_relaxed);
    while (now > highest && !peak_.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
    }
  }
  void subtract(uint64_t bytes) { now_.fetch_sub(bytes, std::memory_order_relaxed); }

  uint64_t now() const { return now_.load(std::memory_order_relaxed); }
  uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> now_{0};
  std::atomic<uint64_t> peak_{0};
};

// The bytes that TORCHLEAN_HOST_CACHE lets a backend keep; none under the guard, which is to see
// every block.
uint64_t host_cache_limit(const tl_host &host);

// Any thread may call.
class HostBlocks {
 public:
  // Keeps at most `limit` bytes, and no block smaller than `smallest_kept`.
  HostBlocks(const tl_host &host, uint64_t limit, size_t smallest_kept)
      : host_(host), limit_(limit), smallest_kept_(smallest_kept) {}

  // NULL where the host has none, even after everything that is kept went back to it.
  void *alloc(size_t bytes);
  void free(void *block, size_t bytes) noexcept;

  // Gives everything that is kept back to the host; false where there was nothing.
  bool trim() noexcept { return free_down_to(0) > 0; }

  // Bytes that came from the host and did not go back.
  const Gauge &reserved() const { return reserved_; }

 private:
  struct Kept {
    void *block;
    size_t bytes;
  };

  void *take(size_t bytes);
  bool keep(void *block, size_t bytes) noexcept;
  size_t free_down_to(uint64_t bytes) noexcept;
  void give_back(void *block, size_t bytes) noexcept;

  const tl_host &host_;
  const uint64_t limit_;
  const size_t smallest_kept_;
  Gauge reserved_;
  std::mutex mutex_;
  std::vector<Kept> kept_;  // the oldest first
  uint64_t kept_bytes_ = 0;
};

}  // namespace torchlean
