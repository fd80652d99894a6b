// Bytes moved without a change.
#include "moves.hpp"

#include "map.hpp"

#include <cstring>

#define HWY_TARGET_INCLUDE "moves.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "simd-inl.h"

#include <hwy/cache_control.h>

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {

// `to` is aligned to 64, and bytes a multiple of 64.
void stream(const std::byte *from, std::byte *to, uint64_t bytes) {
  constexpr uint64_t line = 64;
  const Lanes<uint64_t> d;
  for (uint64_t i = 0; i < bytes; i += line) {
    ask_a_page_ahead(from + i);
    for (uint64_t part = i; part < i + line; part += sizeof(uint64_t) * hn::Lanes(d))
      hn::Stream(hn::LoadU(d, reinterpret_cast<const uint64_t *>(from + part)), d,
                 reinterpret_cast<uint64_t *>(to + part));
  }
  hwy::FlushStream();
}

void fill(uint64_t pattern, std::byte *to, uint64_t bytes, bool past_caches) {
  const Lanes<uint64_t> d;
  const size_t step = sizeof(uint64_t) * hn::Lanes(d);
  const auto words = hn::Set(d, pattern);
  uint64_t i = 0;
  for (; i + step <= bytes; i += step) {
    auto *const target = reinterpret_cast<uint64_t *>(to + i);
    if (past_caches) {
      hn::Stream(words, d, target);
    } else {
      hn::Store(words, d, target);
    }
  }
  for (; i < bytes; ++i)
    std::memcpy(to + i, reinterpret_cast<const std::byte *>(&pattern) + i % 8, 1);
  if (past_caches) hwy::FlushStream();
}

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlean::cpu {
namespace {

constexpr uint64_t shared_from = uint64_t{256} << 10;
constexpr uint64_t piece = uint64_t{64} << 10;

uint64_t grain_of(uint64_t bytes) { return bytes < shared_from ? bytes : piece; }

}  // namespace

void copy_bytes(const tl_instance &instance, const void *from, void *to, uint64_t bytes) {
  if (bytes == 0) return;
  const auto *source = static_cast<const std::byte *>(from);
  auto *target = static_cast<std::byte *>(to);
  const bool past_caches = exceeds_caches(bytes);
  if (past_caches) {
    // Lines are streamed whole; what comes before the first of them, as in memory of the caller's.
    const uint64_t head = -reinterpret_cast<uintptr_t>(to) % 64;
    std::memcpy(target, source, head);
    source += head;
    target += head;
    bytes -= head;
  }
  parallel_for(instance, bytes, grain_of(bytes), [&](uint64_t begin, uint64_t end) {
    const uint64_t streamed = past_caches ? (end - begin) / 64 * 64 : 0;
    if (streamed > 0)
      TORCHLEAN_CPU_CHOOSE(instance.target, stream)(source + begin, target + begin, streamed);
    std::memcpy(target + begin + streamed, source + begin + streamed, end - begin - streamed);
  });
}

void fill_bytes(const tl_instance &instance, uint64_t pattern, void *to, uint64_t bytes) {
  auto *const target = static_cast<std::byte *>(to);
  const bool past_caches = exceeds_caches(bytes);
  parallel_for(instance, bytes, grain_of(bytes), [&](uint64_t begin, uint64_t end) {
    TORCHLEAN_CPU_CHOOSE(instance.target, fill)
    (pattern, target + begin, end - begin, past_caches);
  });
}

}  // namespace torchlean::cpu

#endif  // HWY_ONCE
