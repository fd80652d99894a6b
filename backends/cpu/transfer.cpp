// Words between the host's memory and storages, converted where the kinds differ.
#include "map.hpp"
#include "moves.hpp"

#define HWY_TARGET_INCLUDE "transfer.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/cache_control.h>

#include "simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {

template <class D>
HWY_INLINE void put(hn::Vec<D> words, D d, std::byte *to, bool past_caches) {
  auto *const target = reinterpret_cast<hn::TFromD<D> *>(to);
  if (past_caches) {
    hn::Stream(words, d, target);
  } else {
    hn::StoreU(words, d, target);
  }
}

// Between float and double, rounded to nearest even or widened. Either side may lie at any address,
// but past the caches `to` is aligned to 64.
template <class From, class To>
void convert(const std::byte *from, std::byte *to, uint64_t begin, uint64_t end,
             [[maybe_unused]] bool past_caches) {
  uint64_t i = begin;
#if HWY_TARGET != HWY_SCALAR  // whose conversion does not give infinity
  const Lanes<double> wide;
  const hn::Rebind<float, decltype(wide)> narrow;
  for (; i + hn::Lanes(wide) <= end; i += hn::Lanes(wide)) {
    const auto *const source = reinterpret_cast<const From *>(from + i * sizeof(From));
    std::byte *const target = to + i * sizeof(To);
    if constexpr (sizeof(From) < sizeof(To)) {
      put(hn::PromoteTo(wide, hn::LoadU(narrow, source)), wide, target, past_caches);
    } else {
      put(hn::DemoteTo(narrow, hn::LoadU(wide, source)), narrow, target, past_caches);
    }
  }
  if (past_caches) hwy::FlushStream();
#endif
  for (; i < end; ++i) {
    From word;
    std::memcpy(&word, from + i * sizeof word, sizeof word);
    const To converted = static_cast<To>(word);
    std::memcpy(to + i * sizeof converted, &converted, sizeof converted);
  }
}

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlean::cpu {
namespace {

template <class From, class To>
void convert_all(const tl_instance &instance, const void *from, void *to, uint64_t count) {
  const uint64_t grain = count < costs_memory.shared_from ? count : costs_memory.grain;
  const bool past_caches =
      reinterpret_cast<uintptr_t>(to) % 64 == 0 && exceeds_caches(count * sizeof(To));
  parallel_for(instance, count, grain, [&](uint64_t begin, uint64_t end) {
    const auto loop = &TORCHLEAN_CPU_CHOOSE(instance.target, convert<From, To>);
    loop(static_cast<const std::byte *>(from), static_cast<std::byte *>(to), begin, end,
         past_caches);
  });
}

// Moves `count` words; those of one kind, encoded ones of `width` bytes too, keep every bit.
void move_words(const tl_instance &instance, const void *from, tl_dtype source, void *to,
                tl_dtype target, uint32_t width, uint64_t count) {
  if (source == target)
    copy_bytes(instance, from, to, count * width);
  else if (source == TL_FLOAT32 && target == TL_FLOAT64)
    convert_all<float, double>(instance, from, to, count);
  else if (source == TL_FLOAT64 && target == TL_FLOAT32)
    convert_all<double, float>(instance, from, to, count);
  else if (source < TL_DTYPE_COUNT && target < TL_DTYPE_COUNT)
    throw invalid("encoded words are not converted to another kind, nor others to them");
  else
    throw unknown("dtype", std::max(source, target));
}

void upload(tl_instance &instance, const void *words, tl_dtype source, tl_dtype dtype,
            uint32_t width, uint64_t count, tl_flags, tl_storage **out) {
  expect_given("words", words);
  check_width(dtype, width);
  check_count(count);
  Result<std::byte> y(instance, count * width);
  move_words(instance, words, source, y.begin(), dtype, width, count);
  hand_out(out, y);
}

void download(tl_instance &instance, const tl_operand *x, tl_dtype target, void *words) {
  const auto bytes = bytes_of("x", x);
  expect_given("words", words);
  move_words(instance, bytes.data(), x->dtype, words, target, x->width, x->count);
}

}  // namespace

const tl_transfer_table transfer_table = {
    .struct_size = sizeof(tl_transfer_table),
    .upload = entry<"upload", upload>,
    .download = entry<"download", download>,
};

}  // namespace torchlean::cpu

#endif  // HWY_ONCE
