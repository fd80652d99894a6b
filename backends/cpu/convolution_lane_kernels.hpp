// The loops of convolutions that have a channel in each lane.
#pragma once

#include "cpu.hpp"

namespace torchlean::cpu {

// y[i] = start + sum over all terms and taps of weights[term.weights + j] * x[i * x_step +
// term.from + taps[j]] for `count` places i, of vectors: x_step, from and taps are elements.
template <class T>
struct WeighedLanes {
  struct Term {
    int64_t from;
    int64_t weights;
  };

  const T *x;
  int64_t x_step;
  const T *weights;  // a vector for each tap
  const Term *terms;
  int64_t term_count;
  const int64_t *taps;
  int64_t tap_count;
  const T *start;
  T *y;
  int64_t count;
};

template <class T>
struct LaneKernels {
  int64_t lanes;

  // to[i * to_stride + j] = from[j * from_stride + i] for i < rows, j < cols.
  void (*transpose)(const T *from, int64_t from_stride, T *to, int64_t to_stride, int64_t rows,
                    int64_t cols);

  void (*weigh)(const WeighedLanes<T> &);
};

template <class T>
const LaneKernels<T> &lane_kernels(Target target);

}  // namespace torchlean::cpu
