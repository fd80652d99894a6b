// Blocks of the core's host memory, large ones of which are kept when they are freed.
#include "host_blocks.hpp"

#include "libtorch.hpp"

namespace torchlean::libtorch {

void *HostBlocks::alloc(size_t bytes) {
  if (void *const kept = take(bytes)) return kept;
  void *block = host->alloc(bytes);
  // What is kept must never be the reason that a result finds no memory.
  if (block == nullptr && trim()) block = host->alloc(bytes);
  if (block != nullptr) reserved_.add(bytes);
  return block;
}

void HostBlocks::free(void *block, size_t bytes) noexcept {
  if (keep(block, bytes)) {
    free_down_to(limit_);
  } else {
    give_back(block, bytes);
  }
}

// Sizes recur. A block of a similar size would do, too, but then a result could take more of the
// memory fraction than it needs.
void *HostBlocks::take(size_t bytes) {
  if (bytes < smallest_kept) return nullptr;
  const std::lock_guard lock(mutex_);
  // The youngest, whose content may still be in the processor's caches.
  const auto found = std::find_if(kept_.rbegin(), kept_.rend(),
                                  [=](const Kept &kept) { return kept.bytes == bytes; });
  if (found == kept_.rend()) return nullptr;
  void *const block = found->block;
  kept_.erase(std::next(found).base());
  kept_bytes_ -= bytes;
  return block;
}

bool HostBlocks::keep(void *block, size_t bytes) noexcept {
  if (bytes < smallest_kept || bytes > limit_) return false;
  try {
    const std::lock_guard lock(mutex_);
    kept_.push_back({block, bytes});
    kept_bytes_ += bytes;
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
    give_back(oldest.block, oldest.bytes);
  }
}

void HostBlocks::give_back(void *block, size_t bytes) noexcept {
  host->free(block, bytes);
  reserved_.subtract(bytes);
}

}  // namespace torchlean::libtorch
