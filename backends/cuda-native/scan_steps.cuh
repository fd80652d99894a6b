// What the kernels of a scan read: its operands, step by step.
#pragma once

#include "arithmetic.cuh"
#include "launch.cuh"
#include "loads.cuh"

namespace torchlean::cuda {

// What the recurrence reads in one step of a state.
template <class T>
struct Step {
  T a, b, x;
};

// The operands that both directions have. The coefficients of time t stand `coefficient_step` * t
// elements on: 0 where they are constant.
template <class T>
struct Scan {
  const T *a, *b, *x, *h0;
  uint64_t time;
  uint64_t state;
  uint64_t coefficient_step;

  __device__ bool is_varying() const { return coefficient_step != 0; }
  __device__ uint64_t element(uint64_t t, uint64_t j) const { return t * state + j; }
  __device__ uint64_t coefficient(uint64_t t, uint64_t j) const { return t * coefficient_step + j; }
  __device__ Step<T> step(uint64_t t, uint64_t j) const {
    const uint64_t c = coefficient(t, j);
    return {a[c], b[c], x[element(t, j)]};
  }
};

// What a step backwards reads, and the part of it that g itself depends on.
template <class T>
struct GradientStep {
  T a, b, x, h_before, d_y;
};
template <class T>
struct Incoming {
  T a, d_y;
};

template <class T>
struct ScanGradient {
  Scan<T> of;
  const T *h, *d_y;

  __device__ Incoming<T> incoming(uint64_t t, uint64_t j) const {
    return {of.a[of.coefficient(t, j)], d_y[of.element(t, j)]};
  }
  __device__ GradientStep<T> step(uint64_t t, uint64_t j) const {
    const Step<T> forward = of.step(t, j);
    const T h_before = t == 0 ? of.h0[j] : h[of.element(t - 1, j)];
    return {forward.a, forward.b, forward.x, h_before, d_y[of.element(t, j)]};
  }
};

template <class T>
struct Gradients {
  T *a, *b, *x, *h0;
};

}  // namespace torchlean::cuda
