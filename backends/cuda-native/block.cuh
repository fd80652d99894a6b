// For kernels whose threads cooperate: shared memory, and folds over a warp or a block.
//
// They are launched by launch_blocks. Barriers, warp operations and atomics have CUDA's own names.
#pragma once

#include "launch.cuh"

#ifndef __CUDACC__
#include "emulation/cooperation.hpp"
#endif

#include <cstring>
#include <type_traits>

namespace torchlean::cuda {

inline constexpr uint32_t warp_threads = 32;
inline constexpr uint32_t all_lanes = 0xffffffffu;

__device__ inline uint32_t lane_index() { return threadIdx.x % warp_threads; }
__device__ inline uint32_t warp_index() { return threadIdx.x / warp_threads; }
__device__ inline uint32_t warp_count() { return blockDim.x / warp_threads; }

// The block's one variable of this type in shared memory. Its contents are undefined at first.
#ifdef __CUDACC__
template <class Cells>
__device__ __forceinline__ Cells &shared() {
  __shared__ Cells cells;
  return cells;
}
#else
template <class Cells>
Cells &shared(emulation::Site site = emulation::Site::current()) {
  static_assert(std::is_trivially_default_constructible_v<Cells>);
  static constexpr char key = 0;
  return *static_cast<Cells *>(
      emulation::Execution::cooperating("shared memory", site).variable(&key, sizeof(Cells), site));
}
#endif

// The launch's dynamic_shared_bytes, aligned to 16.
#ifdef __CUDACC__
template <class T>
__device__ __forceinline__ T *dynamic_shared() {
  extern __shared__ __align__(16) unsigned char torchlean_dynamic_shared[];
  return reinterpret_cast<T *>(torchlean_dynamic_shared);
}
#else
template <class T>
T *dynamic_shared(emulation::Site site = emulation::Site::current()) {
  return static_cast<T *>(emulation::Execution::cooperating("shared memory", site).dynamic());
}
#endif

// The value of the lane `delta` above this one: every lane of the warp calls it, and those for
// which there is no such lane get their own. T is any plain type of whole words.
template <class T>
__device__ T lane_above(T value, uint32_t delta) {
  if constexpr (std::is_arithmetic_v<T>) {
    return __shfl_down_sync(all_lanes, value, delta);
  } else {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(uint32_t) == 0);
    uint32_t words[sizeof(T) / sizeof(uint32_t)];
    memcpy(words, &value, sizeof(T));
    for (uint32_t &word : words) {
      word = __shfl_down_sync(all_lanes, word, delta);
    }
    memcpy(&value, words, sizeof(T));
    return value;
  }
}

// Folds the values of the lanes below `lanes` in a tree: lane i takes in lane i + 16, then i + 8 …
// The result is lane 0's. Every lane of the warp calls it.
template <class T, class Combine>
__device__ T warp_fold(T value, uint32_t lanes, Combine combine) {
  for (uint32_t distance = warp_threads / 2; distance > 0; distance /= 2) {
    const T other = lane_above(value, distance);
    if (lane_index() + distance < lanes) {
      value = combine(value, other);
    }
  }
  return value;
}

template <class T>
struct Folds {
  T of_warp[warp_threads];
  T of_block;
};

// combine over all threads' values in a fixed tree; every thread gets the result. Every thread of
// the block calls it, and it may be called again. blockDim.x is a multiple of 32.
template <class T, class Combine>
__device__ T block_reduce(T value, Combine combine) {
  Folds<T> &folds = shared<Folds<T>>();
  value = warp_fold(value, warp_threads, combine);
  if (lane_index() == 0) {
    folds.of_warp[warp_index()] = value;
  }
  __syncthreads();
  if (warp_index() == 0) {
    const uint32_t warps = warp_count();
    value = warp_fold(folds.of_warp[lane_index() < warps ? lane_index() : 0], warps, combine);
    if (lane_index() == 0) {
      folds.of_block = value;
    }
  }
  __syncthreads();
  value = folds.of_block;
  __syncthreads();  // before the next call writes there
  return value;
}

}  // namespace torchlean::cuda
