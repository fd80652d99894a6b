// Sums and maxima over an axis.
//
// Each sum has one order for each shape, whatever the threads and vectors are. Totals always take
// the order of deterministic mode. So do sums along an axis of up to short_fold terms; longer ones
// are left folds in deterministic mode only, else trees.
#include "reduction.hpp"
#include "blocks.hpp"
#include "threads.hpp"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reduction.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "fold-inl.h"
#include "transpose-inl.h"

#ifndef TORCHLEAN_CPU_REDUCTION_ONCE
#define TORCHLEAN_CPU_REDUCTION_ONCE
namespace torchlean::cpu {
namespace {

// Left folds of no more terms than this keep the bound of any sum.
constexpr uint64_t short_fold = 64;

// Rows of a matrix that are added from top to bottom before the sums of blocks are, and those of
// which blocks are made at all.
constexpr uint64_t block_rows = 32;
constexpr uint64_t chunk_rows = 512;

// Sums of a row that are at work together.
template <class T>
constexpr uint64_t row_sums = 256 / sizeof(T);

// Columns whose sums are at work together: 4 KiB of them.
template <class T>
constexpr uint64_t strip = 4096 / sizeof(T);

// Elements that make a piece of work.
constexpr uint64_t piece = 16384;

}  // namespace
}  // namespace torchlean::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {
namespace {

template <class Op>
struct JoinVectors {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return join(Op(), hn::DFromV<V>(), a, b);
  }
};

// Neighbours that make one block: term i is added to sum i % width, and these fold by halves. Read
// in steps of no more than four cache lines, which suits what processors read ahead.
template <class T>
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

template <class T>
HWY_INLINE T fold_row(Sum, const T *x, uint64_t n) {
  constexpr uint64_t block = 16 * row_sums<T>;
  if (n <= block) return row_block_sum(x, n);
  PairwiseSum<T> sum;
  for (uint64_t i = 0; i < n; i += block)
    sum.add(row_block_sum(x + i, n - i < block ? n - i : block));
  return sum.value();
}

template <class T>
T fold_row(Maximum, const T *x, uint64_t n) {
  return maximum_of(x, n);
}

template <class Op, class T>
void rows(const T *x, uint64_t rows, uint64_t n, T *y) {
  for (uint64_t i = 0; i < rows; ++i) y[i] = fold_row(Op(), x + i * n, n);
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

template <class Op, class T>
void columns(const T *x, uint64_t x_step, uint64_t rows, uint64_t width, T *y) {
  if (rows <= short_fold) return columns_in_order<Op>(x, x_step, rows, width, y);
  T part[strip<T>];
  for (uint64_t i = 0; i < rows; i += block_rows) {
    for (uint64_t j = 0; j < width; ++j) part[j] = Op::template start<T>();
    columns_in_order<Op>(x + i * x_step, x_step, rows - i < block_rows ? rows - i : block_rows,
                         width, part);
    take_in_rows<1, Op>(part, 0, width, y);
  }
}

}  // namespace

template <class Op, class T>
constexpr FoldKernels<T> fold_kernels = {rows<Op, T>, rows_in_order<Op, T>, columns_in_order<Op, T>,
                                         columns<Op, T>};
template <class T>
constexpr FoldKernels<T> sum_kernels = fold_kernels<Sum, T>;
template <class T>
constexpr FoldKernels<T> maximum_kernels = fold_kernels<Maximum, T>;

// Blocks [begin, end) of one pass of the deterministic total: lane l adds x[l], x[l + lanes], ...
template <class T>
void total_blocks(const T *x, uint64_t n, uint64_t lanes, uint64_t begin, uint64_t end, T *sums) {
  for (uint64_t block = begin; block < end; ++block) {
    const uint64_t first = block * fold_block;
    if (n <= lanes) {  // no lane has more than one term
      sums[block] =
          sum_block<T>(Copied<T>{x}, first, n - first < fold_block ? n - first : fold_block) + T(0);
      continue;
    }
    T lane[fold_block] = {};
    for (uint64_t start = first; start < n; start += lanes)
      take_in_rows<1, Sum>(x + start, 0, n - start < fold_block ? n - start : fold_block, lane);
    sums[block] = sum_block<T>(Copied<T>{lane}, 0, fold_block);
  }
}

template <class T>
constexpr auto total_kernel = total_blocks<T>;

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torchlean::cpu {
namespace {

// ---- Totals -------------------------------------------------------------------------------------

// The order of deterministic mode; n > 0.
template <class T>
T total(tl_instance &instance, const T *x, uint64_t n) {
  constexpr uint64_t max_blocks = 65535;
  const auto kernel = TORCHLEAN_CPU_CHOOSE(instance.target, total_kernel<T>);
  const uint64_t blocks = std::min(blocks_in(n, fold_block), max_blocks);
  T few[64];
  Result<T> many(instance, blocks <= std::size(few) ? 0 : blocks);
  T *const sums = blocks <= std::size(few) ? few : many.begin();
  parallel_for(instance, blocks, 2 * piece / fold_block, [&](uint64_t begin, uint64_t end) {
    kernel(x, n, blocks * fold_block, begin, end, sums);
  });
  return blocks == 1 ? sums[0] : total<T>(instance, sums, blocks);
}

// ---- The middle axis ----------------------------------------------------------------------------

// What is folded, and where it starts.
template <class T>
struct Fold {
  const FoldKernels<T> &kernels;
  T start;
};

// Neighbours: rows of n.
template <class T>
void fold_rows(tl_instance &instance, const Fold<T> &fold, uint64_t rows, uint64_t n, bool in_order,
               const T *x, T *y) {
  if (in_order || n <= short_fold) {
    return parallel_for(instance, rows, blocks_in(piece, n), [&](uint64_t begin, uint64_t end) {
      std::fill(y + begin, y + end, fold.start);
      fold.kernels.rows_in_order(x + begin * n, n, end - begin, n, y + begin, 1);
    });
  }
  constexpr uint64_t part_size = 256 * fold_block;
  const uint64_t parts = blocks_in(n, part_size);
  Result<T> results(instance, parts == 1 ? 0 : rows * parts);
  parallel_for(instance, rows * parts, blocks_in(piece, n), [&](uint64_t begin, uint64_t end) {
    if (parts == 1) return fold.kernels.rows(x + begin * n, end - begin, n, y + begin);
    for (uint64_t i = begin; i < end; ++i) {
      const uint64_t first = i % parts * part_size;
      fold.kernels.rows(x + i / parts * n + first, 1, std::min(part_size, n - first), &results[i]);
    }
  });
  if (parts > 1) fold.kernels.rows(results.begin(), rows, parts, y);
}

template <class T>
void fold_columns(tl_instance &instance, const Fold<T> &fold, MiddleAxis shape, bool in_order,
                  const T *x, T *y);

// Few columns of many rows: several rows side by side are one row of more columns.
template <class T>
void fold_few_columns(tl_instance &instance, const Fold<T> &fold, uint64_t n, uint64_t inner,
                      const T *x, T *y) {
  const uint64_t joined = fold_block / inner;
  const uint64_t width = joined * inner;
  const uint64_t rest = n % joined * inner;
  Result<T> sums(instance, width + rest);
  fold_columns(instance, fold, {1, n / joined, width}, false, x, sums.begin());
  std::copy_n(x + n / joined * width, rest, sums.begin() + width);
  fold_columns(instance, fold, {1, joined + n % joined, inner}, false, sums.begin(), y);
}

template <class T>
void fold_columns(tl_instance &instance, const Fold<T> &fold, MiddleAxis shape, bool in_order,
                  const T *x, T *y) {
  const uint64_t outer = shape.outer;
  const uint64_t n = shape.n;
  const uint64_t inner = shape.inner;
  if (!in_order && n >= 1024 && inner * sizeof(T) < 64) {
    for (uint64_t o = 0; o < outer; ++o)
      fold_few_columns(instance, fold, n, inner, x + o * n * inner, y + o * inner);
    return;
  }
  const uint64_t rows = in_order ? n : std::min(n, chunk_rows);
  const uint64_t chunks = blocks_in(n, rows);
  Result<T> parts(instance, chunks == 1 ? 0 : outer * chunks * inner);
  T *const to = chunks == 1 ? y : parts.begin();
  const auto kernel = in_order ? fold.kernels.columns_in_order : fold.kernels.columns;
  // Narrower strips where there would be too few for the threads; no sum depends on that.
  const uint64_t units = outer * chunks;
  constexpr uint64_t lines = 128 / sizeof(T);
  const uint64_t narrow = blocks_in(inner * std::min<uint64_t>(units, 8), 8 * lines) * lines;
  const uint64_t width = std::min({inner, strip<T>, narrow});
  const uint64_t strips = blocks_in(inner, width);
  parallel_for(instance, units * strips, blocks_in(piece, rows * width),
               [&](uint64_t begin, uint64_t end) {
                 for (uint64_t i = begin; i < end; ++i) {
                   const uint64_t unit = i / strips;
                   const uint64_t column = i % strips * width;
                   const uint64_t count = std::min(width, inner - column);
                   const uint64_t row = unit % chunks * rows;
                   T *const results = to + unit * inner + column;
                   std::fill_n(results, count, fold.start);
                   kernel(x + (unit / chunks * n + row) * inner + column, inner,
                          std::min(rows, n - row), count, results);
                 }
               });
  if (chunks > 1) fold_columns(instance, fold, {outer, chunks, inner}, false, parts.begin(), y);
}

template <class T>
void fold_middle(tl_instance &instance, const Fold<T> &fold, MiddleAxis shape, bool in_order,
                 const T *x, T *y) {
  if (shape.inner == 1) {
    fold_rows(instance, fold, shape.outer, shape.n, in_order, x, y);
  } else {
    fold_columns(instance, fold, shape, in_order, x, y);
  }
}

}  // namespace

template <class T>
const FoldKernels<T> &sum_kernels_for(const tl_instance &instance) {
  return TORCHLEAN_CPU_CHOOSE(instance.target, sum_kernels<T>);
}

template const FoldKernels<float> &sum_kernels_for(const tl_instance &);
template const FoldKernels<double> &sum_kernels_for(const tl_instance &);

template <class T>
void sum_middle(tl_instance &instance, MiddleAxis shape, bool in_order, const T *x, T *y) {
  const Fold<T> fold = {sum_kernels_for<T>(instance), Sum::start<T>()};
  if (shape.n == 0) {
    std::fill_n(y, shape.outer * shape.inner, T(0));
  } else {
    fold_middle(instance, fold, shape, in_order, x, y);
  }
}

template void sum_middle(tl_instance &, MiddleAxis, bool, const float *, float *);
template void sum_middle(tl_instance &, MiddleAxis, bool, const double *, double *);

namespace {

template <class T>
void maximum_middle(tl_instance &instance, MiddleAxis shape, const T *x, T *y) {
  const Fold<T> fold = {TORCHLEAN_CPU_CHOOSE(instance.target, maximum_kernels<T>),
                        Maximum::start<T>()};
  if (shape.n == 0) {
    std::fill_n(y, shape.outer * shape.inner, T(0));
  } else {
    fold_middle(instance, fold, shape, false, x, y);
  }
}

template <class T>
T total_of(tl_instance &instance, tl_reduce_op op, std::span<const T> x) {
  const T sum = x.empty() ? T(0) : total(instance, x.data(), x.size());
  if (op == TL_REDUCE_TOTAL_SUM) return sum;
  return x.empty() ? std::numeric_limits<T>::quiet_NaN() : sum * (1 / static_cast<T>(x.size()));
}

void reduce(tl_instance &instance, tl_reduce_op op, const tl_operand *operand, uint64_t outer,
            uint64_t n, uint64_t inner, tl_flags, tl_storage **out) {
  expect_given("x", operand);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    expect_equal("x.count", x.size(), product({outer, n, inner}));
    check_count(product({outer, inner}));
    Result<T> y(instance, outer * inner);
    switch (op) {
      case TL_REDUCE_TOTAL_SUM:
      case TL_REDUCE_TOTAL_MEAN:
        expect_equal("outer", outer, 1);
        expect_equal("inner", inner, 1);
        y[0] = total_of(instance, op, x);
        break;
      case TL_REDUCE_SUM:
        sum_middle(instance, {outer, n, inner}, instance.deterministic, x.data(), y.begin());
        break;
      case TL_REDUCE_MAX: maximum_middle(instance, {outer, n, inner}, x.data(), y.begin()); break;
      default: throw unknown("op", op);
    }
    hand_out(out, y);
  });
}

}  // namespace

const tl_reduction_table reduction_table = {
    .struct_size = sizeof(tl_reduction_table),
    .reduce = entry<"reduce", reduce>,
    .sum_to_shape = entry<"sum_to_shape", sum_to_shape>,
    .row_mask = entry<"row_mask", row_mask>,
};

}  // namespace torchlean::cpu
#endif  // HWY_ONCE
