// Sums whose error does not grow with their length.
#pragma once

#include "elementary.cuh"

namespace torchlean::cuda {

// A thread's running sum of terms of type T: in double for float; for double with what each
// addition rounds away kept in a second word.
template <class T>
struct Accumulator {
  double sum = 0.0;

  __device__ void add(double term) { sum = add_rn(sum, term); }
  __device__ void scale(double factor) { sum = mul_rn(sum, factor); }
  __device__ double value() const { return sum; }
};

template <>
struct Accumulator<double> {
  elementary::Sum sum = {0.0, 0.0};

  __device__ void add(double term) {
    const elementary::Sum next = elementary::two_sum(sum.hi, term);
    sum = {next.hi, add_rn(sum.lo, next.lo)};
  }
  __device__ void scale(double factor) { sum = {mul_rn(sum.hi, factor), mul_rn(sum.lo, factor)}; }
  // Past infinity the second word is NaN.
  __device__ double value() const {
    return absolute(sum.hi) < elementary::infinity ? add_rn(sum.hi, sum.lo) : sum.hi;
  }
};

}  // namespace torchlean::cuda
