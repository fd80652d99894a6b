// Blocks of the core's host memory, large ones of which are kept when they are freed.
#include "host_blocks.hpp"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <string_view>

namespace torchlean {
namespace {

// Asks for pages of 2 MiB inside a block where there is room for some: fewer faults when it is
// written first, fewer misses in the table of pages ever after. A hint; nothing hangs on it.
void prefer_huge_pages(void *block, size_t bytes) {
  constexpr uintptr_t huge = uintptr_t{2} << 20;
  const auto start = (reinterpret_cast<uintptr_t>(block) + huge - 1) / huge * huge;
  const auto end = (reinterpret_cast<uintptr_t>(block) + bytes) / huge * huge;
  if (start < end)
    static_cast<void>(madvise(reinterpret_cast<void *>(start), end - start, MADV_HUGEPAGE));
}

}  // namespace

uint64_t host_cache_limit(const tl_host &host) {
  const auto option = [&](const char *name) {
    const char *const value = host.option(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  uint64_t mebibytes = 0;
  const std::string_view limit = option("TORCHLEAN_HOST_CACHE");
  if (option("TORCHLEAN_GUARD") != "1")
    std::from_chars(limit.data(), limit.data() + limit.size(), mebibytes);
  return mebibytes << 20;
}

void *HostBlocks::alloc(size_t bytes) {
  if (void *const kept = take(bytes)) return kept;
  void *block = host_.alloc(bytes);
  // What is kept must never be the reason that a result finds no memory.
  if (block == nullptr && trim()) block = host_.alloc(bytes);
  if (block == nullptr) return nullptr;
  reserved_.add(bytes);
  prefer_huge_pages(block, bytes);
  return block;
}

void HostBlocks::free(void *block, size_t bytes) noexcept {
  if (keep(block, bytes)) {
    free_down_to(limit_);
  } else {
    give_back(block, bytes);
  }
}

// Sizes recur, and a larger block would take more of the memory fraction than a result needs.
void *HostBlocks::take(size_t bytes) {
  if (bytes < smallest_kept_) return nullptr;
  const std::lock_guard lock(mutex_);
  // The youngest, whose content may still be in the processor's caches.
  const auto found = std::find_if(kept_.rbegin(), kept_.rend(),
                                  [=](const Kept &kept) { return kept.bytes == bytes; });
  if (found == kept_.rend()) return nullptr;
  void *const block = found->block;
  kept_.erase(std::next(found).base());
  kept_bytes_ -= bytes;
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
  return block;
}

bool HostBlocks::keep(void *block, size_t bytes) noexcept {
  if (bytes < smallest_kept_ || bytes > limit_) return false;
  try {
    const std::lock_guard lock(mutex_);
    kept_.push_back({block, bytes});
    kept_bytes_ += bytes;
    ASAN_POISON_MEMORY_REGION(block, bytes);  // nobody may use it meanwhile
    return true;
  } catch (const std::bad_alloc &) {
    return false;
  }
}

// Gives the oldest back until no more than `bytes` are kept; how many. The host may take long over
// it: other threads need not wait.
size_t HostBlocks::free_down_to(uint64_t bytes) noexcept {
  for (size_t count = 0;; ++count) {
    Kept oldest;
    {
      const std::lock_guard lock(mutex_);
      if (kept_bytes_ <= bytes) return count;
      oldest = kept_.front();
      kept_.erase(kept_.begin());
      kept_bytes_ -= oldest.bytes;
    }
    ASAN_UNPOISON_MEMORY_REGION(oldest.block, oldest.bytes);
    give_back(oldest.block, oldest.bytes);
  }
}

void HostBlocks::give_back(void *block, size_t bytes) noexcept {
  host_.free(block, bytes);
  reserved_.subtract(bytes);
}

}  // namespace torchlean
