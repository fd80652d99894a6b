// What softmax and the losses have in common: the maximum of a row of scores, and the sum of the
// exponentials below it.
#pragma once

#include "exponential.hpp"
#include "maxima.hpp"
#include "sums.hpp"

namespace torchlean::libtorch {

// -Inf beside a finite maximum has weight +0; a NaN, +Inf or nothing but -Inf makes the sum NaN.
template <class T>
struct SoftmaxRow {
  T max;
  double sum;  // of exp(x - max)
};

// visit(i, exp(x[i] - max)) sees each weight before it is added.
template <class T, class Visit>
SoftmaxRow<T> softmax_row(const T *x, int64_t n, Visit visit) {
  const T max = row_max(x, n);
  const double sum = sum_of(n, [=](int64_t i) {
    const T weight = exponential(x[i] - max);
    visit(i, weight);
    return weight;
  });
  return {max, sum};
}

template <class T>
SoftmaxRow<T> softmax_row(const T *x, int64_t n) {
  return softmax_row(x, n, [](int64_t, T) {});
}

}  // namespace torchlean::libtorch
