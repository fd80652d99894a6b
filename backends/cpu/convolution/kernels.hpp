// The loops of convolutions that have vectors in them.
#pragma once

#include "cpu.hpp"

namespace torchlean::cpu {

// Neighbouring places of a line: where the first begins in a band, and which column it is.
struct Run {
  int64_t from;
  int64_t first;
  int64_t length;
};

// Channels of a source, seen through the taps of a kernel: see Band.
template <class T>
struct TapView {
  const T *band;  // of channel 0, whether it is in the band or not
  int64_t channel_stride;
  const int64_t *taps;
  int64_t tap_count;
};

// A line of a band that lines from `first` to `last` of the result read, and where in the kernel
// the weights of its taps begin for each of them.
struct LineTerms {
  static constexpr int64_t most = 4;

  int64_t from;
  int64_t weights[most];
  int first;
  int last;
};

// y[r][i] = start + sum over all terms and taps of kernel[weights[r] + tap.weight] times the line's
// element tap.from + i.
template <class T>
struct WeighedLines {
  static constexpr int64_t most = LineTerms::most;

  struct Tap {
    int64_t from;
    int64_t weight;
  };

  const T *band;
  const T *kernel;
  const LineTerms *terms;
  int64_t term_count;
  const Tap *taps;
  int64_t tap_count;
  T start;
  T *y[most];
  int64_t count;
};

template <class T>
struct ConvolutionKernels {
  // Zeros, so many elements that lie a step apart, and zeros again. Up to a vector more is written.
  void (*pad)(const T *from, int64_t step, int64_t zeros, int64_t count, T *to, int64_t width);

  // Row (channel, tap) of the matrix of products' factors: to[(row - first) * width + column] for
  // `depth` rows. Up to a vector more is read and written.
  void (*pack)(const TapView<T> &view, const Run *runs, int64_t run_count, int64_t first,
               int64_t depth, T *to, int64_t width);

  // `line_count` is 1 or most. Up to two vectors behind what is needed are read.
  void (*weigh)(const WeighedLines<T> &lines, int64_t line_count);

  T (*sum)(const T *x, int64_t count);
};

template <class T>
const ConvolutionKernels<T> &convolution_kernels(Target target);

}  // namespace torchlean::cpu
