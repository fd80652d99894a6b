// The loops of sums and maxima that have vectors in them.
#include "reduction_kernels.hpp"

#define HWY_TARGET_INCLUDE "reduction_kernels.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "fold-inl.h"
#include "transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {
namespace {

// Sums of a row that are at work together.
template <class T>
constexpr uint64_t row_sums = 256 / sizeof(T);

template <class Op>
struct JoinVectors {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return join(Op(), hn::DFromV<V>(), a, b);
  }
};

// Neighbours that make one block: term i is added to sum i % width, and these fold by halves. Read
// in steps of no more than four cache lines, which suits what processors read ahead.
template <bool is_far, class T>
HWY_INLINE T row_block_sum(const T *x, uint64_t n) {
  constexpr uint64_t width = row_sums<T>;
  const LineTag<T> d;
  constexpr uint64_t lanes = hn::MaxLanes(d);
  constexpr uint64_t vectors = width / lanes;
  hn::Vec<decltype(d)> sums[vectors];
#pragma GCC unroll 8
  for (uint64_t k = 0; k < vectors; ++k) sums[k] = hn::Zero(d);
  uint64_t i = 0;
  for (; i + width <= n; i += width) {
    if constexpr (is_far) ask_ahead(x + i, width * sizeof(T));
#pragma GCC unroll 8
    for (uint64_t k = 0; k < vectors; ++k)
      sums[k] = hn::Add(sums[k], hn::LoadU(d, x + i + k * lanes));
  }
#pragma GCC unroll 8
  for (uint64_t k = 0; k < vectors; ++k) {
    const uint64_t at = i + k * lanes;
    if (at >= n) break;
    sums[k] =
        hn::Add(sums[k], at + lanes <= n ? hn::LoadU(d, x + at) : load_first(d, x + at, n - at));
  }
#pragma GCC unroll 8
  for (uint64_t half = vectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (uint64_t k = 0; k < half; ++k) sums[k] = hn::Add(sums[k], sums[k + half]);
  }
  return fold_lanes(Sum(), d, sums[0]);
}

template <bool is_far, class T>
HWY_INLINE T fold_row(Sum, const T *x, uint64_t n) {
  constexpr uint64_t block = 16 * row_sums<T>;
  if (n <= block) return row_block_sum<is_far>(x, n);
  PairwiseSum<T> sum;
  for (uint64_t i = 0; i < n; i += block)
    sum.add(row_block_sum<is_far>(x + i, n - i < block ? n - i : block));
  return sum.value();
}

template <bool is_far, class T>
T fold_row(Maximum, const T *x, uint64_t n) {
  return maximum_of<is_far>(x, n);
}

template <class Op, class T>
void rows(const T *x, uint64_t rows, uint64_t n, bool is_far, T *y) {
  for (uint64_t i = 0; i < rows; ++i)
    y[i] = is_far ? fold_row<true>(Op(), x + i * n, n) : fold_row<false>(Op(), x + i * n, n);
}

// Some rows side by side, since each of them is a chain of its own.
template <class Op, class T>
void rows_in_order(const T *x, uint64_t x_step, uint64_t rows, uint64_t n, T *y, uint64_t y_step) {
  uint64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  using Group = Columns<T>;
  const typename Group::D d;
  constexpr uint64_t lanes = hn::MaxLanes(d);
  for (; i + lanes <= rows; i += lanes) {
    HWY_ALIGN T folded[lanes];
    for (uint64_t r = 0; r < lanes; ++r) folded[r] = y[(i + r) * y_step];
    const T *const from = x + i * x_step;
    if (n == x_step && lanes * n * sizeof(T) <= near_bytes) bring_near(from, lanes * n * sizeof(T));
    auto v = hn::Load(d, folded);
    uint64_t k = 0;
    for (; k + Group::count <= n; k += Group::count)
      v = Group(from + k, x_step).joined_to(v, JoinVectors<Op>());
    hn::Store(v, d, folded);
    for (; k < n; ++k)
      for (uint64_t r = 0; r < lanes; ++r) folded[r] = Op::join(folded[r], from[r * x_step + k]);
    for (uint64_t r = 0; r < lanes; ++r) y[(i + r) * y_step] = folded[r];
  }
#endif
  for (; i + 4 <= rows; i += 4) {
    const T *const a = x + i * x_step;
    const T *const b = a + x_step;
    const T *const c = b + x_step;
    const T *const e = c + x_step;
    T *const to = y + i * y_step;
    T first = to[0];
    T second = to[y_step];
    T third = to[2 * y_step];
    T fourth = to[3 * y_step];
    for (uint64_t k = 0; k < n; ++k) {
      first = Op::join(first, a[k]);
      second = Op::join(second, b[k]);
      third = Op::join(third, c[k]);
      fourth = Op::join(fourth, e[k]);
    }
    to[0] = first;
    to[y_step] = second;
    to[2 * y_step] = third;
    to[3 * y_step] = fourth;
  }
  for (; i < rows; ++i) {
    T folded = y[i * y_step];
    for (uint64_t k = 0; k < n; ++k) folded = Op::join(folded, x[i * x_step + k]);
    y[i * y_step] = folded;
  }
}

// Room for the sums of a strip, half a page away from what they add up: a load waits for an earlier
// store to the same place in a page (out of the last-level cache 52 rather than 80 GB/s).
template <class T>
class StripApart {
 public:
  HWY_INLINE T *from(const T *x) {
    constexpr uint64_t page = sizeof(T) * strip<T>;
    const uint64_t apart = reinterpret_cast<uintptr_t>(x) - reinterpret_cast<uintptr_t>(room_);
    return room_ + (apart + page / 2) % page / 64 * (64 / sizeof(T));
  }

 private:
  HWY_ALIGN T room_[2 * strip<T>];
};

template <class Op, bool is_far, class T>
void columns_by_blocks(const T *x, uint64_t x_step, uint64_t rows, uint64_t width, uint64_t ahead,
                       T *y) {
  if (rows <= short_fold) return columns_in_order<Op, is_far>(x, x_step, rows, width, y, ahead);
  StripApart<T> room;
  T *const part = room.from(x);
  for (uint64_t i = 0; i < rows; i += block_rows) {
    each_vector<T>(width, [&](auto d, auto lanes, uint64_t j) HWY_ATTR {
      lanes.store(hn::Set(d, Op::template start<T>()), d, part + j);
    });
    columns_in_order<Op, is_far>(x + i * x_step, x_step,
                                 rows - i < block_rows ? rows - i : block_rows, width, part, ahead);
    take_in_rows<1, Op>(part, 0, width, y);
  }
}

template <class Op, class T>
void columns(const T *x, uint64_t x_step, uint64_t rows, uint64_t width, uint64_t ahead, T *y) {
  if (ahead == 0) return columns_by_blocks<Op, false>(x, x_step, rows, width, 0, y);
  columns_by_blocks<Op, true>(x, x_step, rows, width, ahead, y);
}

template <class Op, class T>
void left_columns(const T *x, uint64_t x_step, uint64_t rows, uint64_t width, T *y) {
  columns_in_order<Op>(x, x_step, rows, width, y);
}

template <class Op, class T>
constexpr FoldKernels<T> fold_kernels = {rows<Op, T>, rows_in_order<Op, T>, left_columns<Op, T>,
                                         columns<Op, T>};
// Blocks [begin, end) of one pass of the deterministic total: lane l adds x[l], x[l + lanes], ...
template <class T>
void total_blocks(const T *x, uint64_t n, uint64_t lanes, uint64_t begin, uint64_t end, bool is_far,
                  T *sums) {
  for (uint64_t block = begin; block < end; ++block) {
    const uint64_t first = block * fold_block;
    const auto terms = [=](uint64_t lane) { return (n - 1 - lane) / lanes + 1; };
    T sum;
    if (n <= lanes) {
      const uint64_t count = n - first < fold_block ? n - first : fold_block;
      sum = is_far ? sum_block<T>(Far<T>{{x}}, first, count)
                   : sum_block<T>(Copied<T>{x}, first, count);
    } else if (terms(first) == terms(first + fold_block - 1)) {
      sum = sum_whole<fold_block, T>(StepSums<T>{x, lanes, terms(first)}, first);
    } else {
      HWY_ALIGN T lane[fold_block];
      for (uint64_t l = 0; l < fold_block; ++l)
        lane[l] = StepSums<T>{x, lanes, terms(first + l)}.at(first + l);
      sum = sum_whole<fold_block, T>(Copied<T>{lane}, 0);
    }
    sums[block] = sum + T(0);  // a lane starts at +0
  }
}

template <class T>
constexpr ReductionKernels<T> kernels = {fold_kernels<Sum, T>, fold_kernels<Maximum, T>,
                                         total_blocks<T>};

}  // namespace
}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
TORCHLEAN_CPU_KERNELS(ReductionKernels, reduction_kernels)
#endif  // HWY_ONCE
