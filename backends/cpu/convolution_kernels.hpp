// The loops of convolutions that have vectors in them.
#pragma once

#include "cpu.hpp"

namespace torchlean::cpu {

// How far a tap of the kernel lies from where its window begins, on each axis.
struct TapOffset {
  int64_t at[3];
};

// Neighbours along the last axis for which a value is read: where the first tap of the first lies.
template <class T>
struct Run {
  const T *image;  // the first channel
  int64_t at[3];
  int64_t first;  // column
  int64_t length;
};

// Channels of one image, seen through the taps of a kernel.
template <class T>
struct TapView {
  int64_t size[3];
  int64_t channel_stride;
  int64_t step;  // from one column to the next, along the last axis
  const TapOffset *taps;
  int64_t tap_count;
};

// Lines and their weights. With slack, as much as two vectors may be read behind what is needed.
template <class T>
struct WeighedLines {
  static constexpr int64_t slack = 128 / sizeof(T);

  const T *const *x;
  const T *weights;
  int64_t terms;
  int64_t step;
  T start;
  int64_t count;
  bool has_slack;
};

template <class T>
struct ConvolutionKernels {
  // Row (channel, tap) of the matrix of products' factors: to[(row - first) * width + column] for
  // `depth` rows; zeros for taps in the padding and for columns from `used` to `width`.
  void (*pack)(const TapView<T> &view, const Run<T> *runs, int64_t run_count, int64_t first,
               int64_t depth, int64_t used, T *to, int64_t width);

  // y[i] = start + sum over j of weights[j] * x[j][i * step], in the order of j.
  void (*weigh)(const WeighedLines<T> &lines, T *y);

  T (*sum)(const T *x, int64_t count);
};

template <class T>
const ConvolutionKernels<T> &convolution_kernels(Target target);

}  // namespace torchlean::cpu
