// What softmax and the losses have in common: the weights exp(x - pivot) of one row's scores, and
// their sum, found in one pass.
#pragma once

#include "accumulator.cuh"
#include "row_threads.cuh"

#include <limits>

namespace torchlean::cuda {

// e^x for the weight of a score: x is at most 1, or NaN.
__device__ inline double weight_exp(double x) { return elementary::exp(x); }

// In float, since devices have few units for double: within 1.1 ulp, which softmax's bound allows.
// With k = round(x / ln 2) and r = x - k ln 2, |r| <= 0.35: 2^k e^r, and e^r is its series cut
// after r^7 (error below 2^-27).
__device__ inline float weight_exp(float x) {
  if (is_nan(x)) {
    return x;
  }
  if (x < -104.0f) {
    return 0.0f;
  }
  // The integer nearest to a, |a| < 2^22, by rounding at 1.5 * 2^23.
  const float k = sub_rn(fma_rn(x, 0x1.715476p+0f, 0x1.8p23f), 0x1.8p23f);
  const float r = fma_rn(-k, -0x1.05c61p-29f, fma_rn(-k, 0x1.62e43p-1f, x));
  float series = fma_rn(r, 1.0f / 5040.0f, 1.0f / 720.0f);
  series = fma_rn(series, r, 1.0f / 120.0f);
  series = fma_rn(series, r, 1.0f / 24.0f);
  series = fma_rn(series, r, 1.0f / 6.0f);
  series = fma_rn(series, r, 0.5f);
  const float fraction = fma_rn(mul_rn(r, r), series, r);
  const int exponent = static_cast<int>(k);
  const int half = exponent / 2;
  const auto power = [](int n) { return from_bits(static_cast<uint32_t>(n + 127) << 23); };
  return mul_rn(mul_rn(add_rn(1.0f, fraction), power(half)), power(exponent - half));
}

// The sum of the weights of a row, or of a part of it.
template <class T>
struct RowSum {
  T pivot;
  double sum;
};

// Scores that a thread has seen. The pivot is one of them and at most 1 below their maximum, so
// that the sum is seldom rescaled; it starts below all of them. -Inf has weight +0; a NaN or +Inf
// makes the sum NaN; without a weight the sum is 0, whose inverse makes NaN of every weight.
template <class T>
struct RowWeights {
  using Value = RowSum<T>;
  using OfValues = RowWeights<T>;
  T pivot = std::numeric_limits<T>::lowest();
  Accumulator<T> sum;

  __device__ T weight(T x) const { return weight_exp(sub_rn(x, pivot)); }

  __device__ void add(T x) {
    raise_pivot(x);
    sum.add(weight(x));
  }
  __device__ void add(const RowSum<T> &part) {
    raise_pivot(part.pivot);
    sum.add(mul_rn(part.sum, static_cast<double>(weight(part.pivot))));
  }
  __device__ void raise_pivot(T x) {
    if (x > add_rn(pivot, T(1))) {
      sum.scale(weight_exp(sub_rn(pivot, x)));
      pivot = x;
    }
  }

  // What all threads of a row have seen.
  template <class Threads>
  __device__ RowSum<T> of_all() const {
    const T highest = Threads::fold(pivot, Larger());
    const double scale = weight_exp(sub_rn(pivot, highest));
    return {highest, Threads::fold(mul_rn(sum.value(), scale), Add())};
  }
};

// What the softmax of a row's scores is made with.
template <class T>
struct SoftmaxLine {
  T pivot;
  T inverse;  // of the sum

  __device__ explicit SoftmaxLine(const RowSum<T> &row)
      : pivot(row.pivot), inverse(convert<T>(div_rn(1.0, row.sum))) {}
  __device__ T probability(T x) const { return mul_rn(weight_exp(sub_rn(x, pivot)), inverse); }
};

// Where folded sums go to become that.
template <class T>
struct ToSoftmaxLines {
  SoftmaxLine<T> *lines;
  __device__ void put(uint64_t line, const RowSum<T> &sum) const {
    lines[line] = SoftmaxLine<T>(sum);
  }
};

}  // namespace torchlean::cuda
