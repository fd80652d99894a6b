// The loops of pools that have vectors in them.
#pragma once

#include "cpu.hpp"

#include <type_traits>

namespace torchlean::cpu {

// Where an entry lies in its channel, as wide as the entry.
template <class T>
using PlaceOf = std::conditional_t<sizeof(T) == sizeof(uint32_t), uint32_t, uint64_t>;

// Windows along a line: window i has x[i * stride] to x[i * stride + taps - 1], all inside. The
// line has `readable` elements from x on.
template <class T>
struct Slide {
  const T *x;
  int64_t readable;
  int64_t taps;
  int64_t stride;
  int64_t count;
};

// The smooth maxima of `count` windows side by side: entry j of window i is entries[j * width + i].
// As many zeros as `padding` says come on top. width is a multiple of the lanes.
template <class T>
struct SmoothWindows {
  T *entries;
  int64_t rows;
  int64_t width;
  int64_t count;
  T padding;
  T beta;
};

// Of two maxima that tie the first is kept; NaN wins, the last of several.
template <class T>
struct PoolingKernels {
  void (*slide_sum)(const Slide<T> &slide, T *y);
  void (*slide_max)(const Slide<T> &slide, T *y);
  // Places count from that of x[0], which is `first`.
  void (*slide_max_at)(const Slide<T> &slide, PlaceOf<T> first, T *y, PlaceOf<T> *at);

  // y[i] = the sum or the maximum of lines[0][i], lines[1][i] ...; of y[i] first, if it joins.
  void (*fold_sum)(const T *const *lines, int64_t line_count, bool joins, int64_t count, T *y);
  void (*fold_max)(const T *const *lines, int64_t line_count, bool joins, int64_t count, T *y);
  void (*fold_max_at)(const T *const *lines, const PlaceOf<T> *const *places, int64_t line_count,
                      bool joins, int64_t count, T *y, PlaceOf<T> *at);

  void (*fill)(T value, int64_t count, T *y);
  void (*divide)(T divisor, int64_t count, T *y);

  void (*smooth)(const SmoothWindows<T> &windows, T *y);
  // Entries become their weights times the window's gradient.
  void (*smooth_shares)(const SmoothWindows<T> &windows, const T *gradient);
};

template <class T>
const PoolingKernels<T> &pooling_kernels(Target target);

}  // namespace torchlean::cpu
