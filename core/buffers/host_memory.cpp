// Host memory for payloads, counted in whole blocks of the alignment.
#include "buffers/host_memory.hpp"

#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace torchlean::host_memory {
namespace {

constexpr std::size_t alignment = 64;

std::atomic<std::uint64_t> in_use{0};
std::atomic<std::uint64_t> cap{std::numeric_limits<std::uint64_t>::max()};

std::size_t rounded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

void *allocate(std::size_t bytes) noexcept {
  if (bytes == 0 || bytes > std::numeric_limits<std::size_t>::max() / 2) return nullptr;
  const std::size_t size = rounded(bytes);
  const std::uint64_t after = in_use.fetch_add(size, std::memory_order_relaxed) + size;
  void *block =
      after <= cap.load(std::memory_order_relaxed) ? std::aligned_alloc(alignment, size) : nullptr;
  if (block == nullptr) in_use.fetch_sub(size, std::memory_order_relaxed);
  return block;
}

void release(void *block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  std::free(block);
  in_use.fetch_sub(rounded(bytes), std::memory_order_relaxed);
}

void set_fraction(double fraction) noexcept {
  const double bytes = std::floor(fraction * static_cast<double>(physical_bytes()));
  cap.store(fraction < 1.0 ? static_cast<std::uint64_t>(bytes)
                           : std::numeric_limits<std::uint64_t>::max(),
            std::memory_order_relaxed);
}

std::uint64_t physical_bytes() noexcept {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void collect() noexcept { malloc_trim(0); }

}  // namespace torchlean::host_memory
