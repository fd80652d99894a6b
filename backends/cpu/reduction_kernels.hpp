// The loops of sums and maxima that have vectors in them.
#pragma once

#include "cpu.hpp"

namespace torchlean::cpu {

// Left folds of no more terms than this keep the bound of any sum.
inline constexpr uint64_t short_fold = 64;

// Rows of a matrix that are added from top to bottom before the sums of blocks are, and those of
// which blocks are made at all.
inline constexpr uint64_t block_rows = 32;
inline constexpr uint64_t chunk_rows = 512;

// Columns whose sums are at work together: 4 KiB of them.
template <class T>
inline constexpr uint64_t strip = 4096 / sizeof(T);

// The loops that each target has for sums, and for maxima.
template <class T>
struct FoldKernels {
  // y[i] = all of x[i * n + k], k < n, in no matter which order that n decides, for each i < rows.
  // is_far: no cache holds x, and what follows it is read next.
  void (*rows)(const T *x, uint64_t rows, uint64_t n, bool is_far, T *y);
  // y[i * y_step] takes in x[i * x_step + k] for k = 0, 1 ... n - 1, for each i < rows.
  void (*rows_in_order)(const T *x, uint64_t x_step, uint64_t rows, uint64_t n, T *y,
                        uint64_t y_step);
  // y[j] takes in x[i * x_step + j] for i = 0, 1 ... rows - 1, for each j < width.
  void (*columns_in_order)(const T *x, uint64_t x_step, uint64_t rows, uint64_t width, T *y);
  // As before, but block_rows at a time, and then those: rows <= chunk_rows, width <= strip.
  // ahead: how many elements behind x that lies which is read next, 0 where a cache holds it.
  void (*columns)(const T *x, uint64_t x_step, uint64_t rows, uint64_t width, uint64_t ahead, T *y);
};

template <class T>
struct ReductionKernels {
  FoldKernels<T> sums;
  FoldKernels<T> maxima;
  // Blocks [begin, end) of a total of n terms in so many lanes: lane l adds x[l], x[l + lanes] ...,
  // and 256 lanes fold by halves into a sum.
  void (*total)(const T *x, uint64_t n, uint64_t lanes, uint64_t begin, uint64_t end, bool is_far,
                T *sums);
};

template <class T>
const ReductionKernels<T> &reduction_kernels(Target target);

}  // namespace torchlean::cpu
