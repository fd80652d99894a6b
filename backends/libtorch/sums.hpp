// Sums whose error hardly grows with their length, in an order that is the same at any number of
// threads: short trees or folds in the type of the terms, joined in double with the sum of what
// rounding took away.
#pragma once

#include "kernels.hpp"
#include "libtorch.hpp"

namespace torchlean::libtorch {

// A sum, and what its roundings took away.
struct Sum {
  double sum = 0;
  double lost = 0;

  // Knuth's two-sum.
  void add(double term) {
    const double next = sum + term;
    const double added = next - sum;
    lost += (sum - (next - added)) + (term - added);
    sum = next;
  }

  // `lost` says nothing of an infinite sum.
  double value() const { return std::isfinite(sum) ? sum + lost : sum; }
};

namespace detail {

inline constexpr int64_t block = 256;

// terms[0] becomes the sum of `count` <= block terms, by halves.
template <class T, class Term>
TL_LOOP void add_block(T *terms, int64_t first, int64_t count, Term term) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) terms[i] = term(first + i);
  int64_t width = 1;
  while (width < count) width *= 2;
  for (int64_t i = count; i < width; ++i) terms[i] = 0;
  for (width /= 2; width > 0; width /= 2) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) terms[i] += terms[i + width];
  }
}

// sums[j] += term(k, j) for k in [begin, end), j in [0, width)
template <class T, class Term>
TL_LOOP void add_rows(T *sums, int64_t begin, int64_t end, int64_t width, Term term) {
  for (int64_t k = begin; k < end; ++k) {
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) sums[j] += term(k, j);
  }
}

}  // namespace detail

// The sum of term(i) for i in [0, n). term may write element i of an array of its own.
template <class Term>
double sum_of(int64_t n, Term term) {
  decltype(term(0)) terms[detail::block];
  Sum sum;
  for (int64_t start = 0; start < n; start += detail::block) {
    detail::add_block(terms, start, std::min(detail::block, n - start), term);
    sum.add(terms[0]);
  }
  return sum.value();
}

// Adds term(k, j) for k in [begin, end) to sums[j], for j in [0, width), width <= strip.
template <int64_t strip, class Term>
void add_columns(Sum *sums, int64_t begin, int64_t end, int64_t width, Term term) {
  constexpr int64_t rows = 16;
  decltype(term(0, 0)) parts[strip];
  for (int64_t k = begin; k < end; k += rows) {
    std::fill_n(parts, width, 0);
    detail::add_rows(parts, k, std::min(end, k + rows), width, term);
    for (int64_t j = 0; j < width; ++j) sums[j].add(parts[j]);
  }
}

// result[j] = the sum of term(k, j) for k in [0, n), rounded once, for j in [0, width).
template <class T, class Term>
at::Tensor sum_columns(int64_t n, int64_t width, Term term) {
  // Blocks of rows, so that all threads have work where there are few columns.
  constexpr int64_t rows = 512;
  constexpr int64_t strip = 256;
  const int64_t blocks = (n + rows - 1) / rows;
  const int64_t count = blocks * width;
  const at::Tensor partial = empty(2 * count, at::kDouble);
  double *const part = partial.mutable_data_ptr<double>();
  each_strip(blocks, rows, width, strip, [=](int64_t block, int64_t first, int64_t columns) {
    Sum sums[strip];
    add_columns<strip>(sums, block * rows, std::min(n, (block + 1) * rows), columns,
                       [=](int64_t k, int64_t j) { return term(k, first + j); });
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t place = block * width + first + j;
      part[place] = sums[j].sum;
      part[count + place] = sums[j].lost;
    }
  });
  at::Tensor result = empty(width, scalar_type<T>);
  T *const y = result.mutable_data_ptr<T>();
  each_task(width, blocks, [=](int64_t j) {
    Sum sum;
    for (int64_t place = j; place < count; place += width) {
      sum.add(part[place]);
      sum.lost += part[count + place];
    }
    y[j] = static_cast<T>(sum.value());
  });
  return result;
}

}  // namespace torchlean::libtorch
