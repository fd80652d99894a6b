// Sums and maxima over an axis, gradients of broadcasts, masks over rows.
#include "exact_sum.hpp"
#include "reference.hpp"
#include "walk.hpp"

#include <cmath>
#include <limits>

namespace torchlean::reference {
namespace {

// ---- Folds of n terms, term(0) ... term(n - 1) --------------------------------------------------

template <class T, class Term>
T exact_sum(uint64_t n, Term term) {
  ExactSum sum;
  for (uint64_t i = 0; i < n; ++i) sum.add(term(i));
  return sum.take<T>();
}

template <class T, class Term>
T left_fold(uint64_t n, Term term) {
  T sum = 0;
  for (uint64_t i = 0; i < n; ++i) sum += term(i);
  return sum;
}

// One pass of the deterministic total: lane l adds values l, l + lanes, ...; each block of 256
// lanes folds by halves.
template <class T>
std::vector<T> fold_blocks(const std::vector<T> &values) {
  constexpr uint64_t block_size = 256;
  const uint64_t n = values.size();
  const uint64_t blocks = std::min<uint64_t>((n + block_size - 1) / block_size, 65535);
  std::vector<T> sums(blocks);
  for (uint64_t block = 0; block < blocks; ++block) {
    std::array<T, block_size> lane{};
    for (uint64_t i = 0; i < block_size; ++i)
      for (uint64_t j = block * block_size + i; j < n; j += blocks * block_size)
        lane[i] += values[j];
    for (uint64_t half = block_size / 2; half > 0; half /= 2)
      for (uint64_t i = 0; i < half; ++i) lane[i] += lane[i + half];
    sums[block] = lane[0];
  }
  return sums;
}

template <class T, class Term>
T deterministic_total(uint64_t n, Term term) {
  std::vector<T> values(n);
  for (uint64_t i = 0; i < n; ++i) values[i] = term(i);
  do values = fold_blocks(values);
  while (values.size() > 1);
  return values.empty() ? T(0) : values.front();
}

template <class T>
T mean_of_sum(T sum, uint64_t n) {
  return n == 0 ? std::numeric_limits<T>::quiet_NaN() : sum * (1 / static_cast<T>(n));
}

// NaN is skipped.
template <class T, class Term>
T maximum(uint64_t n, Term term) {
  T result = n == 0 ? T(0) : -std::numeric_limits<T>::infinity();
  for (uint64_t i = 0; i < n; ++i)
    if (term(i) > result) result = term(i);
  return result;
}

template <class T, class Term>
T reduced(tl_reduce_op op, bool deterministic, uint64_t n, Term term) {
  const auto total = [&] {
    return deterministic ? deterministic_total<T>(n, term) : exact_sum<T>(n, term);
  };
  switch (op) {
    case TL_REDUCE_TOTAL_SUM: return total();
    case TL_REDUCE_TOTAL_MEAN: return mean_of_sum(total(), n);
    case TL_REDUCE_SUM: return deterministic ? left_fold<T>(n, term) : exact_sum<T>(n, term);
    case TL_REDUCE_MAX: return maximum<T>(n, term);
    default: throw unknown("op", op);
  }
}

// ---- Masks: the column to mark, or whether to mark a column -------------------------------------

// The first maximal column, row.size() where all are NaN.
template <class T>
uint64_t first_maximum(std::span<const T> row) {
  uint64_t best = row.size();
  for (uint64_t i = 0; i < row.size(); ++i)
    if (!std::isnan(row[i]) && (best == row.size() || row[i] > row[best])) best = i;
  return best;
}

// Do fewer than k entries beat entry i?
template <class T>
bool in_top(std::span<const T> row, uint64_t i, uint64_t k) {
  uint64_t beaten_by = 0;
  for (uint64_t j = 0; j < row.size() && beaten_by < k; ++j)
    if (row[j] > row[i] || (!(row[i] > row[j]) && j < i)) ++beaten_by;
  return beaten_by < k;
}

// ---- The loops ----------------------------------------------------------------------------------

void reduce(tl_instance &instance, tl_reduce_op op, const tl_operand *operand, uint64_t outer,
            uint64_t n, uint64_t inner, tl_flags, tl_storage **out) {
  expect_given("x", operand);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    expect_equal("x.count", x.size(), product({outer, n, inner}));
    check_count(product({outer, inner}));
    const bool deterministic = instance.deterministic;
    Result<T> y(instance, outer * inner);
    for (uint64_t o = 0; o < outer; ++o)
      for (uint64_t i = 0; i < inner; ++i)
        y[o * inner + i] = reduced<T>(op, deterministic, n,
                                      [&](uint64_t k) { return x[(o * n + k) * inner + i]; });
    hand_out(out, y);
  });
}

void sum_to_shape(tl_instance &instance, const tl_operand *operand,
                  const tl_broadcast_params *params, uint64_t out_count, tl_flags,
                  tl_storage **out) {
  expect_given("x", operand);
  check_count(out_count);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    const auto axes = broadcast_axes(params, out_count);
    Result<T> y(instance, out_count);
    std::fill(y.begin(), y.end(), T(0));
    if (!x.empty()) {
      expect_equal("x.count", x.size(), large_count(axes));
      std::vector<Axis> kept, summed;
      for (const Axis &axis : axes) (axis.small_stride == 0 ? summed : kept).push_back(axis);
      const bool deterministic = instance.deterministic;
      walk(kept, 0, 0, [&](uint64_t corner, uint64_t small) {
        ExactSum exact;
        T folded = 0;
        walk(summed, corner, 0, [&](uint64_t large, uint64_t) {
          if (deterministic)
            folded += x[large];
          else
            exact.add(x[large]);
        });
        y[small] = deterministic ? folded : exact.take<T>();
      });
    }
    hand_out(out, y);
  });
}

void row_mask(tl_instance &instance, tl_row_mask_op op, const tl_operand *operand, uint64_t rows,
              uint64_t cols, uint64_t k, tl_flags, tl_storage **out) {
  expect_given("x", operand);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    expect_equal("x.count", x.size(), product({rows, cols}));
    Result<T> y(instance, x.size());
    for (uint64_t r = 0; r < rows; ++r) {
      const auto row = x.subspan(r * cols, cols);
      const uint64_t first = first_maximum(row);
      for (uint64_t c = 0; c < cols; ++c) {
        switch (op) {
          case TL_ROW_MASK_FIRST_MAX: y[r * cols + c] = c == first ? T(1) : T(0); break;
          case TL_ROW_MASK_TOP_K: y[r * cols + c] = in_top(row, c, k) ? T(1) : T(0); break;
          default: throw unknown("op", op);
        }
      }
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

}  // namespace torchlean::reference
