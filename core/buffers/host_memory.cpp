// Host memory for payloads, counted in whole blocks of the alignment.
#include "buffers/host_memory.hpp"

#include "selection/variables.hpp"
#include "status/log.hpp"

#include <torchlean/runtime.h>

#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>

namespace torchlean::host_memory {
namespace {

constexpr std::size_t alignment = 64;

std::atomic<std::uint64_t> in_use{0};
std::atomic<std::uint64_t> cap{std::numeric_limits<std::uint64_t>::max()};

std::size_t rounded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// ---- TORCHLEAN_GUARD=1 ------------------------------------------------------------------------
// A block in a mapping of its own:
//
//   inaccessible page | garbage | block, full of garbage | garbage, 64 to 127 bytes | inaccessible
//
// Who reads memory that he has not written gets garbage; who writes a little beside the block
// changes garbage, which shows when the block is freed; who goes farther, or uses the block after
// that, is stopped at once by a fault.

// Neither NaN nor zero in any dtype: -2.9e-16 in float32, -1.2e-130 in float64.
constexpr int garbage = 0xA5;

std::atomic<std::uint64_t> damages{0};

bool is_guarded() {
  static const bool guarded = option("TORCHLEAN_GUARD") == "1";
  return guarded;
}

struct Mapping {
  std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t accessible;  // bytes between the two inaccessible pages
  std::size_t before;      // bytes of garbage before the block

  explicit Mapping(std::size_t bytes) {
    const std::size_t behind = rounded(bytes) + alignment;
    accessible = (alignment + behind + page - 1) / page * page;
    before = accessible - behind;
  }
  std::size_t total() const { return accessible + 2 * page; }
};

void *allocate_guarded(std::size_t bytes) noexcept {
  const Mapping mapping(bytes);
  void *start = mmap(nullptr, mapping.total(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  unsigned char *accessible = static_cast<unsigned char *>(start) + mapping.page;
  if (mprotect(accessible, mapping.accessible, PROT_READ | PROT_WRITE) != 0) {
    munmap(start, mapping.total());
    return nullptr;
  }
  std::memset(accessible, garbage, mapping.accessible);
  return accessible + mapping.before;
}

bool is_garbage(const unsigned char *bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (bytes[i] != garbage) return false;
  }
  return true;
}

void release_guarded(void *block, std::size_t bytes) noexcept {
  constexpr std::uint64_t most_lines = 8;  // the counter goes on
  const Mapping mapping(bytes);
  unsigned char *first = static_cast<unsigned char *>(block) - mapping.before;
  const unsigned char *behind = static_cast<unsigned char *>(block) + bytes;
  const bool is_intact_before = is_garbage(first, mapping.before);
  const bool is_intact_behind =
      is_garbage(behind, static_cast<std::size_t>(first + mapping.accessible - behind));
  if (!(is_intact_before && is_intact_behind) && ++damages <= most_lines) {
    try {
      log(TL_LOG_ERROR, fmt::format("host memory: a block of {} bytes was written {}", bytes,
                                    is_intact_before ? "past its end" : "before its start"));
    } catch (const std::exception &) {  // no memory for the text: the counter has it
    }
  }
  munmap(first - mapping.page, mapping.total());
}

// ---- tl_fail_allocations: failures on purpose (rule B3) ----------------------------------------

std::atomic<std::uint64_t> first_to_fail{0};  // 0: none is counted and none fails
std::atomic<bool> fails_ever_after{false};
std::atomic<std::uint64_t> asked_for{0};

bool fails_on_purpose() {
  const std::uint64_t first = first_to_fail.load(std::memory_order_relaxed);
  if (first == 0) return false;
  const std::uint64_t number = asked_for.fetch_add(1, std::memory_order_relaxed) + 1;
  return number == first || (number > first && fails_ever_after.load(std::memory_order_relaxed));
}

}  // namespace

void *allocate(std::size_t bytes) noexcept {
  if (bytes == 0 || bytes > std::numeric_limits<std::size_t>::max() / 2) return nullptr;
  if (fails_on_purpose()) return nullptr;
  const std::size_t size = rounded(bytes);
  const std::uint64_t after = in_use.fetch_add(size, std::memory_order_relaxed) + size;
  void *block = nullptr;
  if (after <= cap.load(std::memory_order_relaxed)) {
    block = is_guarded() ? allocate_guarded(bytes) : std::aligned_alloc(alignment, size);
  }
  if (block == nullptr) in_use.fetch_sub(size, std::memory_order_relaxed);
  return block;
}

void release(void *block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  if (is_guarded()) {
    release_guarded(block, bytes);
  } else {
    std::free(block);
  }
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

extern "C" {

uint64_t tl_guard_damages(void) {
  return torchlean::host_memory::damages.load(std::memory_order_relaxed);
}

uint64_t tl_fail_allocations(uint64_t first, uint32_t ever_after) {
  using namespace torchlean::host_memory;
  first_to_fail.store(0, std::memory_order_relaxed);
  fails_ever_after.store(ever_after != 0, std::memory_order_relaxed);
  const std::uint64_t asked = asked_for.exchange(0, std::memory_order_relaxed);
  first_to_fail.store(first, std::memory_order_relaxed);
  return asked;
}

}  // extern "C"
