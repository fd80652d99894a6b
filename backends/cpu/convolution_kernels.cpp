// The loops of convolutions that have vectors in them.
#include "convolution_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convolution_kernels.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {
namespace {

template <class T>
HWY_INLINE void fill_zeros(T *to, int64_t count) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  for (; count >= lanes; count -= lanes, to += lanes) hn::StoreU(hn::Zero(d), d, to);
  if (count > 0) store_first(hn::Zero(d), d, to, count);
}

template <class T>
HWY_INLINE void copy(const T *from, int64_t count, T *to) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  for (; count >= lanes; count -= lanes, from += lanes, to += lanes)
    hn::StoreU(hn::LoadU(d, from), d, to);
  if (count > 0) store_first(load_first(d, from, count), d, to, count);
}

// Elements a step of 2 or more apart. Where vectors of two are read, the last of them is not
// needed; it is there as long as another element follows.
template <class T>
HWY_INLINE void copy_apart(const T *from, int64_t step, int64_t count, T *to) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  int64_t i = 0;
  if (step == 2) {
    for (; i + lanes < count; i += lanes) {
      Vec<T> even;
      Vec<T> odd;
      hn::LoadInterleaved2(d, from + 2 * i, even, odd);
      hn::StoreU(even, d, to + i);
    }
  }
  for (; i < count; ++i) to[i] = from[i * step];
}

// What one tap sees of one run is the same part of it in every channel.
template <class T>
void pack(const TapView<T> &view, const Run<T> *runs, int64_t run_count, int64_t first,
          int64_t depth, int64_t used, T *to, int64_t width) {
  const auto [planes, rows, cols] = view.size;
  const int64_t step = view.step;
  const int64_t first_tap = first % view.tap_count;
  const int64_t first_channel = first / view.tap_count;
  for (int64_t tap = 0; tap < view.tap_count; ++tap) {
    // The row of the first channel that has this tap at or behind the first row.
    const int64_t begin_row = tap >= first_tap ? tap - first_tap : tap - first_tap + view.tap_count;
    if (begin_row >= depth) continue;
    const int64_t skipped = first_channel + (tap >= first_tap ? 0 : 1);
    const TapOffset &offset = view.taps[tap];
    const int64_t distance = view.tap_count * width;
    for (int64_t i = 0; i < run_count; ++i) {
      const Run<T> &run = runs[i];
      const int64_t plane = run.at[0] + offset.at[0];
      const int64_t row = run.at[1] + offset.at[1];
      const int64_t col = run.at[2] + offset.at[2];
      int64_t begin = 0;
      int64_t end = run.length;
      if (plane < 0 || plane >= planes || row < 0 || row >= rows) {
        end = 0;
      } else {
        if (col < 0) begin = HWY_MIN(end, (-col + step - 1) / step);
        if (col + (end - 1) * step >= cols)
          end = HWY_MAX(begin, col >= cols ? 0 : (cols - col + step - 1) / step);
      }
      const T *from = run.image + skipped * view.channel_stride + (plane * rows + row) * cols +
                      col + begin * step;
      T *out = to + begin_row * width + run.first;
      for (int64_t k = begin_row; k < depth;
           k += view.tap_count, from += view.channel_stride, out += distance) {
        if (begin > 0) fill_zeros(out, begin);
        if (step == 1)
          copy(from, end - begin, out + begin);
        else
          copy_apart(from, step, end - begin, out + begin);
        if (end < run.length) fill_zeros(out + end, run.length - end);
      }
    }
  }
  if (used < width)
    for (int64_t k = 0; k < depth; ++k) fill_zeros(to + k * width + used, width - used);
}

// Some vectors of results from `at` on, of the last one `used` lanes; elements lie 1, 2 or (0) some
// other step apart. With slack, whole vectors may be read everywhere.
template <int vectors, int steps, bool has_slack, class T>
void weigh_some(const WeighedLines<T> &lines, int64_t at, int64_t used, T *y) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  const int64_t step = steps == 0 ? lines.step : steps;
  Vec<T> sum[vectors];
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) sum[v] = hn::Set(d, lines.start);
  for (int64_t j = 0; j < lines.terms; ++j) {
    const Vec<T> factor = hn::Set(d, lines.weights[j]);
    const T *const from = lines.x[j] + at * step;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      const bool whole = has_slack || v + 1 < vectors;
      Vec<T> values;
      if (steps == 1) {
        values = whole || used == lanes ? hn::LoadU(d, from + v * lanes)
                                        : load_first(d, from + v * lanes, used);
      } else if (steps == 2 && whole) {
        Vec<T> odd;
        hn::LoadInterleaved2(d, from + 2 * v * lanes, values, odd);
      } else {
        HWY_ALIGN T gathered[lanes] = {};
        const int64_t count = v + 1 < vectors ? lanes : used;
        for (int64_t i = 0; i < count; ++i) gathered[i] = from[(v * lanes + i) * step];
        values = hn::Load(d, gathered);
      }
      sum[v] = hn::MulAdd(factor, values, sum[v]);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v) {
    if (v + 1 < vectors || used == lanes)
      hn::StoreU(sum[v], d, y + at + v * lanes);
    else
      store_first(sum[v], d, y + at + v * lanes, used);
  }
}

template <int steps, bool has_slack, class T>
void weigh_steps(const WeighedLines<T> &lines, T *y) {
  constexpr int64_t lanes = hn::MaxLanes(Lanes<T>());
  for (int64_t i = 0; i < lines.count; i += 4 * lanes) {
    const int64_t here = HWY_MIN(4 * lanes, lines.count - i);
    const int64_t vectors = (here + lanes - 1) / lanes;
    const int64_t used = here - (vectors - 1) * lanes;
    switch (vectors) {
      case 1: weigh_some<1, steps, has_slack>(lines, i, used, y); break;
      case 2: weigh_some<2, steps, has_slack>(lines, i, used, y); break;
      case 3: weigh_some<3, steps, has_slack>(lines, i, used, y); break;
      default: weigh_some<4, steps, has_slack>(lines, i, used, y);
    }
  }
}

template <class T>
void weigh(const WeighedLines<T> &lines, T *y) {
  if (lines.step == 1)
    (lines.has_slack ? weigh_steps<1, true, T> : weigh_steps<1, false, T>)(lines, y);
  else if (lines.step == 2)
    (lines.has_slack ? weigh_steps<2, true, T> : weigh_steps<2, false, T>)(lines, y);
  else
    weigh_steps<0, false>(lines, y);
}

template <class T>
T sum(const T *x, int64_t count) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  Vec<T> sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes)
    for (int64_t v = 0; v < 4; ++v) sums[v] = hn::Add(sums[v], hn::LoadU(d, x + i + v * lanes));
  for (; i + lanes <= count; i += lanes) sums[0] = hn::Add(sums[0], hn::LoadU(d, x + i));
  if (i < count) sums[1] = hn::Add(sums[1], load_first(d, x + i, count - i));
  return hn::GetLane(
      hn::SumOfLanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))));
}

constexpr ConvolutionKernels<float> float_loops = {pack<float>, weigh<float>, sum<float>};
constexpr ConvolutionKernels<double> double_loops = {pack<double>, weigh<double>, sum<double>};

}  // namespace
}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torchlean::cpu {

template <>
const ConvolutionKernels<float> &convolution_kernels(Target target) {
  return TORCHLEAN_CPU_CHOOSE(target, float_loops);
}

template <>
const ConvolutionKernels<double> &convolution_kernels(Target target) {
  return TORCHLEAN_CPU_CHOOSE(target, double_loops);
}

}  // namespace torchlean::cpu
#endif
