// The loops of convolutions that have a channel in each lane.
#include "convolution/lane_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convolution/lane_kernels.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "tile-inl.h"
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

// Targets and places that are summed together: a sum is a chain, so several keep a processor busy.
// What they share is read once. One target alone shares nothing but its weight, and takes values
// right from memory, which is 4 % faster.
#if HWY_TARGET == HWY_AVX3
constexpr int most_targets = 4;
template <int targets>
constexpr int most_places = targets == 1 ? 8 : 6;
#else
constexpr int most_targets = 2;
template <int targets>
constexpr int most_places = targets == 1 ? 8 : 4;
#endif

template <int targets, int places, class T>
void weigh_some(const WeighedLanes<T> &work, int64_t at) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  const int64_t step = work.x_step;
  const int64_t weights_step = work.weights_step;
  const T *const x = work.x + at * step;
  Vec<T> sum[targets][places];
#pragma GCC unroll 4
  for (int t = 0; t < targets; ++t)
#pragma GCC unroll 8
    for (int i = 0; i < places; ++i) sum[t][i] = hn::LoadU(d, work.start + t * lanes);
  for (int64_t k = 0; k < work.term_count; ++k) {
    const T *const line = x + work.terms[k].from;
    const T *weights = work.weights + work.terms[k].weights;
    for (int64_t j = 0; j < work.tap_count; ++j, weights += lanes) {
      const T *const value = line + work.taps[j];
      if constexpr (targets == 1) {
        const Vec<T> weight = hn::LoadU(d, weights);
#pragma GCC unroll 8
        for (int i = 0; i < places; ++i)
          sum[0][i] = hn::MulAdd(weight, hn::LoadU(d, value + i * step), sum[0][i]);
      } else {
        Vec<T> values[places];
#pragma GCC unroll 8
        for (int i = 0; i < places; ++i) values[i] = hn::LoadU(d, value + i * step);
#pragma GCC unroll 4
        for (int t = 0; t < targets; ++t) {
          const Vec<T> weight = hn::LoadU(d, weights + t * weights_step);
#pragma GCC unroll 8
          for (int i = 0; i < places; ++i) sum[t][i] = hn::MulAdd(weight, values[i], sum[t][i]);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int t = 0; t < targets; ++t)
#pragma GCC unroll 8
    for (int i = 0; i < places; ++i)
      hn::StoreU(sum[t][i], d, work.y + t * work.y_step + (at + i) * lanes);
}

template <int targets, int places, class T>
void weigh_rest(const WeighedLanes<T> &work, int64_t at, int64_t count) {
  if (count == places)
    weigh_some<targets, places>(work, at);
  else if constexpr (places > 1)
    weigh_rest<targets, places - 1>(work, at, count);
}

// In pieces that are nearly alike.
template <int targets, class T>
void weigh_targets(const WeighedLanes<T> &work) {
  if (work.targets < targets) {
    if constexpr (targets > 1) weigh_targets<targets - 1>(work);
    return;
  }
  constexpr int most = most_places<targets>;
  const int64_t pieces = (work.count + most - 1) / most;
  for (int64_t p = 0; p < pieces; ++p) {
    const int64_t at = p * work.count / pieces;
    weigh_rest<targets, most>(work, at, (p + 1) * work.count / pieces - at);
  }
}

template <class T>
void weigh(const WeighedLanes<T> &work) {
  weigh_targets<most_targets>(work);
}

template <class T, int places, int vectors, bool is_apart>
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
  const int64_t depth_step = is_apart ? work.depth_step : 1;
  const int64_t step = work.weights_step;
  for (int64_t t = 0; t < work.term_count; ++t) {
    TileRows<T, places> left(work.x + work.terms[t].from, work.x_step);
    const T *weights = work.weights + work.terms[t].weights;
    for (int64_t k = 0; k < depth; ++k, weights += step, left.advance(depth_step))
      add_products(left, weights, sum);
  }
#pragma GCC unroll 8
  for (int i = 0; i < places; ++i)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v)
      hn::StoreU(sum[i][v], d, work.y + i * work.y_step + v * lanes);
}

template <class T, int places, bool is_apart>
constexpr void add_tiles(LaneKernels<T> &kernels) {
  if constexpr (places > 0) {
    auto &row = kernels.multiply[is_apart][places - 1];
    row[0] = multiply<T, places, 1, is_apart>;
    row[1] = multiply<T, places, 2, is_apart>;
    row[2] = multiply<T, places, 3, is_apart>;
    add_tiles<T, places - 1, is_apart>(kernels);
  }
}

template <class T>
constexpr LaneKernels<T> make_kernels() {
  LaneKernels<T> kernels{};
  kernels.lanes = hn::MaxLanes(Lanes<T>());
  kernels.places = tile_rows;
  add_tiles<T, tile_rows, false>(kernels);
  add_tiles<T, tile_rows, true>(kernels);
  kernels.transpose = transpose<T>;
  kernels.targets = most_targets;
  kernels.weigh = weigh<T>;
  return kernels;
}

template <class T>
constexpr LaneKernels<T> kernels = make_kernels<T>();

}  // namespace
}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
TORCHLEAN_CPU_KERNELS(LaneKernels, lane_kernels)
#endif
