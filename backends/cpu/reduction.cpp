// Sums and maxima over an axis.
//
// Each sum has one order for each shape, whatever the threads and vectors are. Totals always take
// the order of deterministic mode. So do sums along an axis of up to short_fold terms; longer ones
// are left folds in deterministic mode only, else trees.
#include "reduction.hpp"
#include "blocks.hpp"
#include "folds.hpp"
#include "map.hpp"
#include "reduction_kernels.hpp"
#include "threads.hpp"

#include <algorithm>
#include <cmath>

namespace torchlean::cpu {
namespace {

// Whether memory is to be asked for ahead of a walk through so many bytes: a quarter of the
// last-level cache, which others use, too (at half of it 5 to 20 % faster than not to ask).
bool is_far(uint64_t bytes) { return exceeds_caches(2 * bytes); }

// ---- Totals -------------------------------------------------------------------------------------

// The order of deterministic mode; n > 0.
template <class T>
T total(tl_instance &instance, const T *x, uint64_t n) {
  constexpr uint64_t max_blocks = 65535;
  const auto kernel = reduction_kernels<T>(instance.target).total;
  const uint64_t blocks = std::min(blocks_in(n, fold_block), max_blocks);
  T few[64];
  Result<T> many(instance, blocks <= std::size(few) ? 0 : blocks);
  T *const sums = blocks <= std::size(few) ? few : many.begin();
  // From twice the last-level cache on: what is left of 40 MB in a cache of 32 is read so fast that
  // to ask for memory cost a tenth. Of 80 MB it gains as much and more.
  const bool far = exceeds_caches(n * sizeof(T) / 4);
  parallel_for(instance, blocks, 2 * reduced_at_a_time / fold_block,
               [&](uint64_t begin, uint64_t end) {
                 kernel(x, n, blocks * fold_block, begin, end, far, sums);
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
    return parallel_for(
        instance, rows, blocks_in(reduced_at_a_time, n), [&](uint64_t begin, uint64_t end) {
          std::fill(y + begin, y + end, fold.start);
          fold.kernels.rows_in_order(x + begin * n, n, end - begin, n, y + begin, 1);
        });
  }
  constexpr uint64_t part_size = 256 * fold_block;
  const uint64_t parts = blocks_in(n, part_size);
  const bool far = is_far(rows * n * sizeof(T));
  Result<T> results(instance, parts == 1 ? 0 : rows * parts);
  parallel_for(instance, rows * parts, blocks_in(reduced_at_a_time, n),
               [&](uint64_t begin, uint64_t end) {
                 if (parts == 1)
                   return fold.kernels.rows(x + begin * n, end - begin, n, far, y + begin);
                 for (uint64_t i = begin; i < end; ++i) {
                   const uint64_t first = i % parts * part_size;
                   fold.kernels.rows(x + i / parts * n + first, 1, std::min(part_size, n - first),
                                     far, &results[i]);
                 }
               });
  if (parts > 1) fold.kernels.rows(results.begin(), rows, parts, false, y);
}

template <class T>
void fold_columns(tl_instance &instance, const Fold<T> &fold, MiddleAxis shape, bool in_order,
                  const T *x, T *y);

// How many rows of few columns are taken for one. Those of more than caches hold are made pages
// long: 8 rows that are read together lie in as many pages then, which suits what processors read
// ahead (rows of 32 bytes in 40 MB: 28 rather than 14 GB/s).
template <class T>
uint64_t rows_joined(uint64_t n, uint64_t inner) {
  if (n * inner >= 256 * strip<T> && inner <= strip<T> / 2) return strip<T> / inner;
  return n >= 1024 && inner * sizeof(T) < 64 ? fold_block / inner : 1;
}

// Several rows side by side are one row of more columns.
template <class T>
void fold_few_columns(tl_instance &instance, const Fold<T> &fold, uint64_t n, uint64_t inner,
                      uint64_t joined, const T *x, T *y) {
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
  const uint64_t joined = in_order ? 1 : rows_joined<T>(n, inner);
  if (joined > 1) {
    for (uint64_t o = 0; o < outer; ++o)
      fold_few_columns(instance, fold, n, inner, joined, x + o * n * inner, y + o * inner);
    return;
  }
  const uint64_t rows = in_order ? n : std::min(n, chunk_rows);
  const uint64_t chunks = blocks_in(n, rows);
  Result<T> parts(instance, chunks == 1 ? 0 : outer * chunks * inner);
  T *const to = chunks == 1 ? y : parts.begin();
  // Narrower strips where there would be too few for the threads; no sum depends on that.
  const uint64_t units = outer * chunks;
  constexpr uint64_t lines = 512 / sizeof(T);
  const uint64_t narrow = blocks_in(inner * std::min<uint64_t>(units, 8), 8 * lines) * lines;
  constexpr uint64_t line = 64 / sizeof(T);
  const uint64_t most = std::min({inner, strip<T>, narrow});
  const uint64_t width = blocks_in(blocks_in(inner, blocks_in(inner, most)), line) * line;
  const uint64_t strips = blocks_in(inner, width);
  // Eight rows are read together, and the next eight after them, or those of the next strip.
  uint64_t ahead = 0;
  if (is_far(outer * n * inner * sizeof(T)))
    ahead = strips == 1 || rows > short_fold ? 8 * inner : width;
  parallel_for(instance, units * strips, blocks_in(reduced_at_a_time, rows * width),
               [&](uint64_t begin, uint64_t end) {
                 for (uint64_t i = begin; i < end; ++i) {
                   const uint64_t unit = i / strips;
                   const uint64_t column = i % strips * width;
                   const uint64_t count = std::min(width, inner - column);
                   const uint64_t row = unit % chunks * rows;
                   T *const results = to + unit * inner + column;
                   std::fill_n(results, count, fold.start);
                   const T *const from = x + (unit / chunks * n + row) * inner + column;
                   const uint64_t height = std::min(rows, n - row);
                   if (in_order) {
                     fold.kernels.columns_in_order(from, inner, height, count, results);
                   } else {
                     fold.kernels.columns(from, inner, height, count, ahead, results);
                   }
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
void sum_middle(tl_instance &instance, MiddleAxis shape, bool in_order, const T *x, T *y) {
  const Fold<T> fold = {reduction_kernels<T>(instance.target).sums, Sum::start<T>()};
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
  const Fold<T> fold = {reduction_kernels<T>(instance.target).maxima, Maximum::start<T>()};
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
