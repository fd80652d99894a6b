// The loops of convolutions that have a channel in each lane.
#include "convolution_lane_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convolution_lane_kernels.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {
namespace {

// Where there is at least a vector either way, without a copy of what is read and with the last
// vectors written over those before; but rows that lie 1 KiB or a multiple apart would drive each
// other out of the nearest cache.
template <class T>
void transpose(const T *from, int64_t from_stride, T *to, int64_t to_stride, int64_t rows,
               int64_t cols) {
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t high = Columns<T>::count;
  constexpr int64_t wide = hn::MaxLanes(typename Columns<T>::D());
  if (rows >= high && cols >= wide && from_stride * sizeof(T) % 1024 != 0) {
    for (int64_t j = 0; j < cols; j += wide) {
      const int64_t col = HWY_MIN(j, cols - wide);
      for (int64_t i = 0; i < rows; i += high) {
        const int64_t row = HWY_MIN(i, rows - high);
        Columns<T>(from + col * from_stride + row, static_cast<uint64_t>(from_stride))
            .template store<false>(to + row * to_stride + col, static_cast<uint64_t>(to_stride));
      }
    }
    return;
  }
#endif
  transpose_tiles<false>(from, static_cast<uint64_t>(from_stride), to,
                         static_cast<uint64_t>(to_stride), static_cast<uint64_t>(rows),
                         static_cast<uint64_t>(cols));
}

// Places that are summed together: a sum is a chain, so several keep a processor busy.
constexpr int most_places = 8;

template <int places, class T>
void weigh_some(const WeighedLanes<T> &work, int64_t at) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  const int64_t step = work.x_step;
  const T *const x = work.x + at * step;
  Vec<T> sum[places];
#pragma GCC unroll 8
  for (int i = 0; i < places; ++i) sum[i] = hn::LoadU(d, work.start);
  for (int64_t t = 0; t < work.term_count; ++t) {
    const T *const line = x + work.terms[t].from;
    const T *weights = work.weights + work.terms[t].weights;
    for (int64_t j = 0; j < work.tap_count; ++j, weights += lanes) {
      const T *const value = line + work.taps[j];
      const Vec<T> weight = hn::LoadU(d, weights);
#pragma GCC unroll 8
      for (int i = 0; i < places; ++i)
        sum[i] = hn::MulAdd(weight, hn::LoadU(d, value + i * step), sum[i]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < places; ++i) hn::StoreU(sum[i], d, work.y + (at + i) * lanes);
}

template <int places, class T>
void weigh_rest(const WeighedLanes<T> &work, int64_t at, int64_t count) {
  if (count == places)
    weigh_some<places>(work, at);
  else if constexpr (places > 1)
    weigh_rest<places - 1>(work, at, count);
}

// In pieces that are nearly alike.
template <class T>
void weigh(const WeighedLanes<T> &work) {
  const int64_t pieces = (work.count + most_places - 1) / most_places;
  for (int64_t p = 0; p < pieces; ++p) {
    const int64_t at = p * work.count / pieces;
    weigh_rest<most_places>(work, at, (p + 1) * work.count / pieces - at);
  }
}

// Tiles that leave registers for a row of weights and a value of x.
#if HWY_TARGET == HWY_AVX3
constexpr int64_t tile_places = 8;
#else
constexpr int64_t tile_places = 4;
#endif
constexpr int64_t tile_vectors = 3;

template <class T, int places, int vectors>
void multiply(const LaneProducts<T> &work) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  Vec<T> sum[places][vectors];
#pragma GCC unroll 8
  for (int i = 0; i < places; ++i)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v)
      sum[i][v] = hn::LoadU(d, work.y + i * work.y_step + v * lanes);
  const int64_t depth = work.depth;
  const int64_t step = work.weights_step;
  for (int64_t t = 0; t < work.term_count; ++t) {
    const T *left[places];
#pragma GCC unroll 8
    for (int i = 0; i < places; ++i) left[i] = work.x + i * work.x_step + work.terms[t].from;
    const T *weights = work.weights + work.terms[t].weights;
    for (int64_t k = 0; k < depth; ++k, weights += step) {
      Vec<T> right[vectors];
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v) right[v] = hn::LoadU(d, weights + v * lanes);
#pragma GCC unroll 8
      for (int i = 0; i < places; ++i) {
        const Vec<T> factor = hn::Set(d, left[i][k]);
#pragma GCC unroll 3
        for (int v = 0; v < vectors; ++v) sum[i][v] = hn::MulAdd(factor, right[v], sum[i][v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < places; ++i)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v)
      hn::StoreU(sum[i][v], d, work.y + i * work.y_step + v * lanes);
}

template <class T, int places>
constexpr void add_products(LaneKernels<T> &kernels) {
  if constexpr (places > 0) {
    kernels.multiply[places - 1][0] = multiply<T, places, 1>;
    kernels.multiply[places - 1][1] = multiply<T, places, 2>;
    kernels.multiply[places - 1][2] = multiply<T, places, 3>;
    add_products<T, places - 1>(kernels);
  }
}

template <class T>
constexpr LaneKernels<T> make_kernels() {
  LaneKernels<T> kernels{};
  kernels.lanes = hn::MaxLanes(Lanes<T>());
  kernels.places = tile_places;
  add_products<T, tile_places>(kernels);
  kernels.transpose = transpose<T>;
  kernels.weigh = weigh<T>;
  return kernels;
}

constexpr LaneKernels<float> float_kernels = make_kernels<float>();
constexpr LaneKernels<double> double_kernels = make_kernels<double>();

}  // namespace
}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torchlean::cpu {

template <>
const LaneKernels<float> &lane_kernels(Target target) {
  return TORCHLEAN_CPU_CHOOSE(target, float_kernels);
}

template <>
const LaneKernels<double> &lane_kernels(Target target) {
  return TORCHLEAN_CPU_CHOOSE(target, double_kernels);
}

}  // namespace torchlean::cpu
#endif
