// The memory of all storages.
#include "allocator.hpp"

#include "blocks.hpp"
#include "cpu.hpp"

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <thread>

namespace torchlean::cpu {
namespace {

constexpr size_t unit = 64;                 // the smallest block, and the step of the small sizes
constexpr size_t last_multiple = 8 * unit;  // up to here

// Blocks from this size on are kept by HostBlocks, smaller ones on shelves.
constexpr size_t smallest_large = size_t{1} << 20;

// Sizes to a power of two.
constexpr size_t small_steps = 4;
constexpr size_t large_steps = 8;

}  // namespace

// A fifth of the limit at most goes to the shelves.
Allocator::Allocator(const tl_host &services)
    : shelf_bytes_(std::min(host_cache_limit(services) / (5 * shelf_count), uint64_t{4} << 20)),
      blocks_(services, host_cache_limit(services) - shelf_bytes_ * shelf_count, smallest_large) {}

Allocator &Allocator::instance() {
  static auto *const allocator = new Allocator(*host);
  return *allocator;
}

size_t Allocator::block_size(size_t bytes) const {
  if (shelf_bytes_ == 0) return bytes;
  if (bytes <= last_multiple) return round_up(bytes, unit);
  const size_t steps = bytes < smallest_large ? small_steps : large_steps;
  const size_t step = std::bit_floor(bytes - 1) / steps;
  return (bytes + step - 1) & ~(step - 1);
}

// Of a size that block_size gave, below 1 MiB.
size_t Allocator::shelf_of(size_t size) {
  if (size <= last_multiple) return size / unit - 1;
  const size_t below = std::bit_floor(size - 1);  // it is (below, 2 below]
  const size_t doublings = static_cast<size_t>(std::countr_zero(below / last_multiple));
  return 8 + small_steps * doublings + ((size - below) * small_steps >> std::countr_zero(below)) -
         1;
}

void *Allocator::alloc(size_t bytes) {
  const size_t size = block_size(bytes);
  void *block = nullptr;
  if (size < smallest_large && shelf_bytes_ != 0) block = shelves_[shelf_of(size)].take(size);
  if (block == nullptr) block = blocks_.alloc(size);
  if (block == nullptr && trim()) block = blocks_.alloc(size);
  if (block != nullptr) allocated_.add(bytes);
  return block;
}

void Allocator::free(void *block, size_t bytes) noexcept {
  const size_t size = block_size(bytes);
  allocated_.subtract(bytes);
  if (size < smallest_large && shelf_bytes_ != 0 &&
      shelves_[shelf_of(size)].put(block, size, most_of(size)))
    return;
  blocks_.free(block, size);
}

bool Allocator::trim() noexcept {
  bool found = blocks_.trim();
  if (shelf_bytes_ == 0) return found;
  for (size_t size = unit; size < smallest_large; size = block_size(size + 1))
    while (void *const block = shelves_[shelf_of(size)].take(size)) {
      blocks_.free(block, size);
      found = true;
    }
  return found;
}

void *Allocator::Shelf::take([[maybe_unused]] size_t size) {
  void *block = nullptr;
  const auto is_takers = [taker = pthread_self()](const Kept &kept) { return kept.giver == taker; };
  lock();
  if (count_ > 0) {
    const auto last = std::reverse_iterator(kept_.begin() + count_);
    const auto searched = last + std::min(count_, places_searched);
    const auto found = std::find_if(last, searched, is_takers);
    const auto chosen = (found == searched ? last : found).base() - 1;
    block = chosen->block;
    std::copy(chosen + 1, kept_.begin() + count_, chosen);
    --count_;
  }
  unlock();
  if (block != nullptr) ASAN_UNPOISON_MEMORY_REGION(block, size);
  return block;
}

bool Allocator::Shelf::put(void *block, [[maybe_unused]] size_t size, size_t most) {
  lock();
  const bool fits = count_ < std::min(most, places);
  if (fits) {
    ASAN_POISON_MEMORY_REGION(block, size);  // nobody may use it meanwhile
    kept_[count_++] = {block, pthread_self()};
  }
  unlock();
  return fits;
}

void Allocator::Shelf::lock() {
  // Held for a few instructions; whoever holds it longer was put to sleep.
  for (int tries = 0; locked_.test_and_set(std::memory_order_acquire); ++tries)
    if (tries > 100) std::this_thread::yield();
}

}  // namespace torchlean::cpu
