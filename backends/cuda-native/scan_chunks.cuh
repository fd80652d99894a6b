// Scans of float sequences in chunks of time that run side by side, for few states and long times.
//
// A step is an affine map, and so is a chunk: value -> product * value + end. Each chunk is summed
// up on its own, the values are carried from chunk to chunk, and then every chunk is replayed from
// the value that it starts with. All of it in double, whose roundings are next to nothing beside
// the bound that the specification allows where every |a| <= 1 and all inputs are finite. Whether
// they are is noted on the way, and whether the recurrence in float might overflow where this does
// not: states of which that is so are `suspect`, and the sequential recurrence is run over them
// afterwards.
#pragma once

#include "scan_steps.cuh"

namespace torchlean::cuda {

// A scan's time, cut; arrays of (chunks, state).
struct Chunks {
  uint64_t length;
  uint64_t count;
  double *product;    // of the coefficients
  double *end;        // what a start of 0 becomes; once carried: the value at the chunk's start
  uint32_t *suspect;  // not 0: an input does not allow all this

  __device__ uint64_t first(uint64_t chunk) const { return chunk * length; }
  __device__ uint64_t steps(uint64_t chunk, uint64_t time) const {
    return time - first(chunk) < length ? time - first(chunk) : length;
  }
  __device__ bool is_suspect(uint64_t state, uint64_t states) const {
    uint32_t any = 0;
    for (uint64_t c = 0; c < count; ++c) {
      any |= suspect[c * states + state];
    }
    return any != 0;
  }
};

__device__ inline bool is_finite(float a) { return sub_rn(a, a) == 0.0f; }
// False of NaN, too.
__device__ inline bool is_contracting(float a) { return absolute(a) <= 1.0f; }
// Far from overflow in float: no infinity or NaN has reached it.
__device__ inline bool is_moderate(double a) { return absolute(a) <= 0x1p127; }

// ---- Forward: h = a h + b x --------------------------------------------------------------------

static __global__ void summarize_forward(uint64_t n, Scan<float> s, Chunks chunks) {
  for (uint64_t i = first_element(); i < n; i += element_stride()) {
    const uint64_t chunk = i / s.state;
    const uint64_t j = i % s.state;
    double product = 1.0;
    double value = 0.0;
    bool is_fine = true;
    load_ahead(
        chunks.steps(chunk, s.time), [&](uint64_t k) { return s.step(chunks.first(chunk) + k, j); },
        [&](uint64_t, const Step<float> &step) {
          const double a = step.a;
          is_fine &= is_contracting(step.a);
          product = mul_rn(product, a);
          value =
              fma_rn(a, value, mul_rn(static_cast<double>(step.b), static_cast<double>(step.x)));
        });
    chunks.product[i] = product;
    chunks.end[i] = value;
    chunks.suspect[i] = is_fine ? 0 : 1;
  }
}

static __global__ void carry_forward(uint64_t n, Scan<float> s, Chunks chunks) {
  for (uint64_t j = first_element(); j < n; j += element_stride()) {
    double value = s.h0[j];
    for (uint64_t i = j; i < chunks.count * s.state; i += s.state) {
      const double next = fma_rn(chunks.product[i], value, chunks.end[i]);
      chunks.end[i] = value;
      value = next;
    }
  }
}

static __global__ void replay_forward(uint64_t n, Scan<float> s, Chunks chunks, float *h) {
  for (uint64_t i = first_element(); i < n; i += element_stride()) {
    const uint64_t chunk = i / s.state;
    const uint64_t j = i % s.state;
    const uint64_t first = chunks.first(chunk);
    double value = chunks.end[i];
    bool is_fine = true;
    load_ahead(
        chunks.steps(chunk, s.time), [&](uint64_t k) { return s.step(first + k, j); },
        [&](uint64_t k, const Step<float> &step) {
          const double added = mul_rn(static_cast<double>(step.b), static_cast<double>(step.x));
          value = fma_rn(static_cast<double>(step.a), value, added);
          is_fine &= is_moderate(added) && is_moderate(value);
          h[s.element(first + k, j)] = round_to_float(value);
        });
    chunks.suspect[i] |= is_fine ? 0 : 1;
  }
}

// ---- Backward: u = a g, g = dY + u of the step after -------------------------------------------

static __global__ void summarize_backward(uint64_t n, ScanGradient<float> s, Chunks chunks) {
  for (uint64_t i = first_element(); i < n; i += element_stride()) {
    const uint64_t chunk = i / s.of.state;
    const uint64_t j = i % s.of.state;
    const uint64_t count = chunks.steps(chunk, s.of.time);
    const uint64_t last = chunks.first(chunk) + count - 1;
    double product = 1.0;
    double value = 0.0;
    bool is_fine = true;
    load_ahead(
        count, [&](uint64_t k) { return s.incoming(last - k, j); },
        [&](uint64_t, const Incoming<float> &step) {
          const double a = step.a;
          is_fine &= is_contracting(step.a);
          product = mul_rn(product, a);
          value = mul_rn(a, add_rn(static_cast<double>(step.d_y), value));
        });
    chunks.product[i] = product;
    chunks.end[i] = value;
    chunks.suspect[i] = is_fine ? 0 : 1;
  }
}

// dH0 is what arrives at the front.
static __global__ void carry_backward(uint64_t n, ScanGradient<float> s, Chunks chunks,
                                      float *d_h0) {
  for (uint64_t j = first_element(); j < n; j += element_stride()) {
    double value = 0.0;
    for (uint64_t c = chunks.count; c-- > 0;) {
      const uint64_t i = c * s.of.state + j;
      const double next = fma_rn(chunks.product[i], value, chunks.end[i]);
      chunks.end[i] = value;
      value = next;
    }
    d_h0[j] = round_to_float(value);
  }
}

// The gradients of constant coefficients are left as sums over each chunk: dA in chunks.product, dB
// in `sum_b`.
static __global__ void replay_backward(uint64_t n, ScanGradient<float> s, Chunks chunks,
                                       Gradients<float> d, double *sum_b) {
  const bool is_varying = s.of.is_varying();
  for (uint64_t i = first_element(); i < n; i += element_stride()) {
    const uint64_t chunk = i / s.of.state;
    const uint64_t j = i % s.of.state;
    const uint64_t count = chunks.steps(chunk, s.of.time);
    const uint64_t last = chunks.first(chunk) + count - 1;
    double from_later = chunks.end[i];
    double of_a = 0.0;
    double of_b = 0.0;
    bool is_fine = true;
    load_ahead(
        count, [&](uint64_t k) { return s.step(last - k, j); },
        [&](uint64_t k, const GradientStep<float> &step) {
          const uint64_t here = s.of.element(last - k, j);
          const double g = add_rn(static_cast<double>(step.d_y), from_later);
          is_fine &=
              is_moderate(g) && is_finite(step.b) && is_finite(step.x) && is_finite(step.h_before);
          const double a_term = mul_rn(g, static_cast<double>(step.h_before));
          const double b_term = mul_rn(g, static_cast<double>(step.x));
          if (is_varying) {
            d.a[here] = round_to_float(a_term);
            d.b[here] = round_to_float(b_term);
          } else {
            of_a = add_rn(of_a, a_term);
            of_b = add_rn(of_b, b_term);
          }
          d.x[here] = round_to_float(mul_rn(g, static_cast<double>(step.b)));
          from_later = mul_rn(static_cast<double>(step.a), g);
        });
    chunks.suspect[i] |= is_fine ? 0 : 1;
    if (!is_varying) {
      chunks.product[i] = of_a;
      sum_b[i] = of_b;
    }
  }
}

static __global__ void sum_chunks(uint64_t n, Chunks chunks, const double *sum_b, float *d_a,
                                  float *d_b) {
  for (uint64_t j = first_element(); j < n; j += element_stride()) {
    double of_a = 0.0;
    double of_b = 0.0;
    for (uint64_t c = chunks.count; c-- > 0;) {
      of_a = add_rn(of_a, chunks.product[c * n + j]);
      of_b = add_rn(of_b, sum_b[c * n + j]);
    }
    d_a[j] = round_to_float(of_a);
    d_b[j] = round_to_float(of_b);
  }
}

}  // namespace torchlean::cuda
