// How many threads work on one row together, and how they fold what each has found.
//
// A kernel over rows is written once for all three:
//   template <class Threads, ...>
//   __global__ void kernel(uint64_t rows, ...) {
//     for (uint64_t row = Threads::first_row(); row < rows; row += Threads::row_stride()) {
//       for_own<Threads>(cols, load, use);
//       ... Threads::fold(value, Add())
// Every thread of a row's group calls fold, and gets the result.
#pragma once

#include "arithmetic.cuh"
#include "block.cuh"
#include "loads.cuh"

namespace torchlean::cuda {

// Threads of a block of any kernel over rows.
inline constexpr uint32_t threads_of_rows = 256;

// Rows that are short or whose elements lie apart: neighbouring threads take neighbouring rows.
struct ThreadPerRow {
  static constexpr uint32_t rows_per_block = threads_of_rows;

  __device__ static uint64_t first_row() { return first_element(); }
  __device__ static uint64_t row_stride() { return element_stride(); }
  __device__ static uint32_t index() { return 0; }
  __device__ static constexpr uint32_t count() { return 1; }
  template <class T, class Combine>
  __device__ static T fold(T value, Combine) {
    return value;
  }
};

struct WarpPerRow {
  static constexpr uint32_t rows_per_block = threads_of_rows / warp_threads;

  __device__ static uint64_t first_row() { return first_element() / warp_threads; }
  __device__ static uint64_t row_stride() { return element_stride() / warp_threads; }
  __device__ static uint32_t index() { return lane_index(); }
  __device__ static constexpr uint32_t count() { return warp_threads; }
  template <class T, class Combine>
  __device__ static T fold(T value, Combine combine) {
    for (uint32_t distance = warp_threads / 2; distance > 0; distance /= 2) {
      value = combine(value, __shfl_xor_sync(all_lanes, value, distance));
    }
    return value;
  }
};

struct BlockPerRow {
  static constexpr uint32_t rows_per_block = 1;

  __device__ static uint64_t first_row() { return blockIdx.x; }
  __device__ static uint64_t row_stride() { return gridDim.x; }
  __device__ static uint32_t index() { return threadIdx.x; }
  __device__ static uint32_t count() { return blockDim.x; }
  template <class T, class Combine>
  __device__ static T fold(T value, Combine combine) {
    return block_reduce(value, combine);
  }
};

// use(k, load(k)) for this thread's share of the row's elements 0 .. cols - 1, some loads ahead.
template <class Threads, class Load, class Use>
__device__ void for_own(uint64_t cols, Load load, Use use) {
  const uint64_t first = Threads::index();
  const uint64_t stride = Threads::count();
  load_ahead<4>(
      first < cols ? (cols - first - 1) / stride + 1 : 0,
      [&](uint64_t k) { return load(first + k * stride); },
      [&](uint64_t k, const auto &item) { use(first + k * stride, item); });
}

// Folds of both dtypes: + and the larger one.
struct Add {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return add_rn(a, b);
  }
};
struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return b > a ? b : a;
  }
};

// Calls visitor.operator()<Threads>() with what suits rows of that many neighbouring elements.
template <class Visitor>
void with_row_threads(uint64_t cols, Visitor &&visitor) {
  if (cols <= 8) {
    visitor.template operator()<ThreadPerRow>();
  } else if (cols <= 1024) {
    visitor.template operator()<WarpPerRow>();
  } else {
    visitor.template operator()<BlockPerRow>();
  }
}

// Runs kernel<Threads>(rows, arguments...) on blocks for rows > 0.
template <class Threads, class... Parameters, class... Arguments>
void launch_rows(device::Stream &stream, const char *operation, uint64_t rows,
                 void (*kernel)(uint64_t, Parameters...), Arguments... arguments) {
  if constexpr (std::is_same_v<Threads, ThreadPerRow>) {
    launch(stream, operation, rows, kernel, arguments...);
  } else {
    const uint64_t blocks = (rows - 1) / Threads::rows_per_block + 1;
    launch_blocks(stream, operation, {blocks_for(stream, blocks), threads_of_rows}, kernel, rows,
                  arguments...);
  }
}

}  // namespace torchlean::cuda
