// The memory of all storages: blocks of the core, in classes of size, kept for the next result of
// their class when they are freed.
#pragma once

#include "../host/host_blocks.hpp"

#include <array>

#include <pthread.h>

namespace torchlean::cpu {

// Any thread may call.
class Allocator {
 public:
  explicit Allocator(const tl_host &services);

  // The process's. Never destroyed: it is used until the process ends.
  static Allocator &instance();

  // bytes > 0. NULL where the host has none, even after everything that is kept went back to it.
  void *alloc(size_t bytes);
  // bytes as asked for.
  void free(void *block, size_t bytes) noexcept;

  // Gives everything that is kept back to the host; false where there was nothing.
  bool trim() noexcept;

  // Bytes in use, as they were asked for; bytes that came from the host and did not go back, whole
  // blocks.
  const Gauge &allocated() const { return allocated_; }
  const Gauge &reserved() const { return blocks_.reserved(); }

  // The size of the block that serves a request: multiples of 64 up to 512, above that four sizes,
  // and from 1 MiB on eight, to each power of two. As asked for where nothing is kept.
  size_t block_size(size_t bytes) const;

 private:
  // Blocks of one size below 1 MiB.
  class Shelf {
   public:
    // The last block that the calling thread put there, since it may be in that processor's cache;
    // of another thread where there is none among the last ones.
    void *take(size_t size);
    // False where it holds `most` already.
    bool put(void *block, size_t size, size_t most);

   private:
    void lock();
    void unlock() { locked_.clear(std::memory_order_release); }

    struct Kept {
      void *block;
      pthread_t giver;
    };

    static constexpr size_t places = 128;
    static constexpr size_t places_searched = 8;
    std::atomic_flag locked_;
    size_t count_ = 0;
    std::array<Kept, places> kept_;
  };

  static constexpr size_t shelf_count = 8 + 4 * 11;
  static size_t shelf_of(size_t size);
  // How many blocks of a size are kept.
  size_t most_of(size_t size) const { return shelf_bytes_ / size; }

  const uint64_t shelf_bytes_;  // that one shelf holds
  HostBlocks blocks_;
  Gauge allocated_;
  std::array<Shelf, shelf_count> shelves_;
};

}  // namespace torchlean::cpu
