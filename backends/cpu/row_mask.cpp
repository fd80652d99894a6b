// Masks over the rows of a matrix: the first maximum, the k largest entries.
#include "reduction.hpp"
#include "threads.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "row_mask.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "fold-inl.h"

#ifndef TORCHLEAN_CPU_ROW_MASK_ONCE
#define TORCHLEAN_CPU_ROW_MASK_ONCE
namespace torchlean::cpu {
namespace {

template <class T>
struct RowMaskKernels {
  void (*first_maximum)(const T *x, uint64_t cols, T *mask);
  // 0 < k < cols. False, and nothing to go by in mask, where the row holds NaN.
  bool (*top)(const T *x, uint64_t cols, uint64_t k, T *mask);
};

}  // namespace
}  // namespace torchlean::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void first_maximum(const T *x, uint64_t cols, T *mask) {
  const LineTag<T> d;
  constexpr uint64_t lanes = hn::MaxLanes(d);
  const T highest = maximum_of(x, cols);
  uint64_t i = 0;
  for (; i + lanes <= cols; i += lanes) hn::StoreU(hn::Zero(d), d, mask + i);
  for (; i < cols; ++i) mask[i] = 0;
  for (i = 0; i + lanes <= cols; i += lanes)
    if (!hn::AllFalse(d, hn::Eq(hn::LoadU(d, x + i), hn::Set(d, highest)))) break;
  for (; i < cols; ++i) {
    if (x[i] != highest) continue;
    mask[i] = 1;
    return;
  }
}

// How many of the numbers are at least `limit`.
template <class T>
uint64_t count_from(const T *x, uint64_t n, T limit) {
  const LineTag<T> d;
  constexpr uint64_t lanes = hn::MaxLanes(d);
  const auto least = hn::Set(d, limit);
  uint64_t count = 0;
  uint64_t i = 0;
  for (; i + lanes <= n; i += lanes) count += hn::CountTrue(d, hn::Ge(hn::LoadU(d, x + i), least));
  for (; i < n; ++i) count += x[i] >= limit ? 1 : 0;
  return count;
}

// The lanes that `is_kept` marks, moved to the front.
template <class D>
HWY_INLINE hn::Vec<D> compressed(D, hn::Vec<D> v, hn::Mask<D> is_kept) {
#if HWY_TARGET == HWY_AVX3
  // Highway's own sets up a table of 2 KiB for each loop over double.
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(double))
    return hn::Vec<D>{_mm512_maskz_compress_pd(is_kept.raw, v.raw)};
#endif
  return hn::Compress(v, is_kept);
}

// Moves those to `kept`, which may be x: each is written at or before the place that it had.
template <class T>
void keep_from(const T *x, uint64_t n, T limit, T *kept) {
  const LineTag<T> d;
  constexpr uint64_t lanes = hn::MaxLanes(d);
  const auto least = hn::Set(d, limit);
  uint64_t count = 0;
  uint64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    const auto is_kept = hn::Ge(v, least);
    hn::StoreU(compressed(d, v, is_kept), d, kept + count);
    count += hn::CountTrue(d, is_kept);
  }
  for (; i < n; ++i)
    if (x[i] >= limit) kept[count++] = x[i];
}

// The smallest and the largest of n > 0 numbers; false where one is NaN.
template <class T>
bool find_range(const T *x, uint64_t n, T &lowest, T &highest) {
  const LineTag<T> d;
  constexpr uint64_t lanes = hn::MaxLanes(d);
  auto low = hn::Set(d, x[0]);
  auto high = low;
  auto is_number = hn::Eq(low, low);
  uint64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    low = hn::Min(low, v);
    high = hn::Max(high, v);
    is_number = hn::And(is_number, hn::Eq(v, v));
  }
  bool all = hn::AllTrue(d, is_number);
  HWY_ALIGN T lows[lanes];
  HWY_ALIGN T highs[lanes];
  hn::Store(low, d, lows);
  hn::Store(high, d, highs);
  lowest = lows[0];
  highest = highs[0];
  for (uint64_t j = 1; j < lanes; ++j) {
    if (lows[j] < lowest) lowest = lows[j];
    if (highs[j] > highest) highest = highs[j];
  }
  for (; i < n; ++i) {
    all = all && !std::isnan(x[i]);
    if (x[i] < lowest) lowest = x[i];
    if (x[i] > highest) highest = x[i];
  }
  return all;
}

// mask = 1 where x > limit, or x >= limit; how many ones that makes.
template <bool or_equal, class T>
uint64_t mark_above(const T *x, uint64_t n, T limit, T *mask) {
  const LineTag<T> d;
  constexpr uint64_t lanes = hn::MaxLanes(d);
  const auto bound = hn::Set(d, limit);
  const auto one = hn::Set(d, T(1));
  uint64_t count = 0;
  uint64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    const auto is_above = or_equal ? hn::Ge(v, bound) : hn::Gt(v, bound);
    count += hn::CountTrue(d, is_above);
    hn::StoreU(hn::IfThenElseZero(is_above, one), d, mask + i);
  }
  for (; i < n; ++i) {
    const bool is_above = or_equal ? x[i] >= limit : x[i] > limit;
    mask[i] = is_above ? T(1) : T(0);
    count += is_above ? 1 : 0;
  }
  return count;
}

// Marks the first `count` entries that equal `value`; there are so many.
template <class T>
void mark_first(const T *x, T value, uint64_t count, T *mask) {
  for (uint64_t i = 0; count > 0; ++i) {
    if (x[i] != value) continue;
    mask[i] = 1;
    --count;
  }
}

// Numbers in their order: integers of the same order, -0 just below +0, and back.
template <class T>
using Ordinal = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// Negative ones turn round, and back.
template <class Integer>
Integer turned(Integer bits) {
  constexpr Integer all_but_sign = std::numeric_limits<Integer>::max();
  return bits ^ ((bits >> (8 * sizeof(Integer) - 1)) & all_but_sign);
}

template <class T>
Ordinal<T> ordinal(T x) {
  return turned(__builtin_bit_cast(Ordinal<T>, x));
}

template <class T>
T number(Ordinal<T> ordinal) {
  return __builtin_bit_cast(T, turned(ordinal));
}

// The middle of lowest < highest, above lowest: by value as long as that gets on, since values lie
// more evenly than their ordinals, of which any search takes as many steps as there are bits.
template <class T>
T middle(T lowest, T highest, bool by_value) {
  const T mean = lowest / 2 + highest / 2;
  if (by_value && mean > lowest && mean < highest) return mean;
  using Unsigned = std::make_unsigned_t<Ordinal<T>>;
  const auto low = static_cast<Unsigned>(ordinal(lowest));
  const auto distance = static_cast<Unsigned>(static_cast<Unsigned>(ordinal(highest)) - low);
  return number<T>(static_cast<Ordinal<T>>(low + (distance / 2 + distance % 2)));
}

// The next number below.
template <class T>
T below(T x) {
  return number<T>(static_cast<Ordinal<T>>(ordinal(x) - 1));
}

// Searches for the largest number that k entries reach, by halving the range where it can be. Where
// only a few entries are left in it, the search goes on among these, in mask's place.
template <class T>
bool top(const T *x, uint64_t cols, uint64_t k, T *mask) {
  T lowest;
  T highest;
  if (!find_range(x, cols, lowest, highest)) return false;
  const T *left = x;
  uint64_t n = cols;  // reach `lowest`
  for (int step = 0; lowest < highest; ++step) {
    const T limit = middle(lowest, highest, step < 16);
    const uint64_t count = count_from(left, n, limit);
    if (count == k) {
      mark_above<true>(x, cols, limit, mask);
      return true;
    }
    if (count < k) {
      highest = below(limit);
      continue;
    }
    lowest = limit;
    if (count > n / 4) continue;
    keep_from(left, n, limit, mask);
    left = mask;
    n = count;
  }
  const uint64_t above = mark_above<false>(x, cols, lowest, mask);
  mark_first(x, lowest, k - above, mask);
  return true;
}

}  // namespace

template <class T>
constexpr RowMaskKernels<T> row_mask_kernels = {first_maximum<T>, top<T>};

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torchlean::cpu {
namespace {

// A row with NaN, entry by entry as the specification counts. A number is beaten by the numbers
// before it in order of falling value, then rising index, and by each NaN to its left; a NaN by all
// entries to its left.
template <class T>
void top_with_nan(const T *x, uint64_t cols, uint64_t k, T *mask) {
  std::vector<uint32_t> numbers;
  std::vector<uint32_t> nans;
  for (uint64_t i = 0; i < cols; ++i) {
    const bool is_nan = std::isnan(x[i]);
    (is_nan ? nans : numbers).push_back(static_cast<uint32_t>(i));
    mask[i] = is_nan && i < k ? T(1) : T(0);
  }
  std::sort(numbers.begin(), numbers.end(),
            [=](uint32_t i, uint32_t j) { return x[i] != x[j] ? x[i] > x[j] : i < j; });
  for (uint64_t rank = 0; rank < numbers.size() && rank < k; ++rank) {
    const uint32_t i = numbers[rank];
    const auto nans_before = std::lower_bound(nans.begin(), nans.end(), i) - nans.begin();
    if (rank + static_cast<uint64_t>(nans_before) < k) mask[i] = 1;
  }
}

template <class T>
void top_mask(const RowMaskKernels<T> &kernels, const T *x, uint64_t cols, uint64_t k, T *mask) {
  if (k == 0 || k >= cols) {
    std::fill_n(mask, cols, k == 0 ? T(0) : T(1));
  } else if (!kernels.top(x, cols, k, mask)) {
    top_with_nan(x, cols, k, mask);
  }
}

}  // namespace

void row_mask(tl_instance &instance, tl_row_mask_op op, const tl_operand *operand, uint64_t rows,
              uint64_t cols, uint64_t k, tl_flags, tl_storage **out) {
  expect_given("x", operand);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    expect_equal("x.count", x.size(), product({rows, cols}));
    if (op >= TL_ROW_MASK_OP_COUNT) throw unknown("op", op);
    Result<T> y(instance, x.size());
    const auto &kernels = TORCHLEAN_CPU_CHOOSE(instance.target, row_mask_kernels<T>);
    constexpr uint64_t piece = 8192;
    const uint64_t grain = piece / std::max<uint64_t>(cols, 1) + 1;
    parallel_for(instance, x.empty() ? 0 : rows, grain, [&](uint64_t begin, uint64_t end) {
      for (uint64_t i = begin * cols; i < end * cols; i += cols) {
        if (op == TL_ROW_MASK_FIRST_MAX) {
          kernels.first_maximum(x.data() + i, cols, &y[i]);
        } else {
          top_mask(kernels, x.data() + i, cols, k, &y[i]);
        }
      }
    });
    hand_out(out, y);
  });
}

}  // namespace torchlean::cpu
#endif  // HWY_ONCE
