// The seam's second half: what we do not write ourselves, since a library does it best. Behind it
// stand cublas.cpp and cufft.cpp, which open NVIDIA's libraries when they are first needed, and
// emulation/libraries.cpp.
//
// A library that cannot be opened is TL_UNAVAILABLE, named with the remedy; all else still
// computes. Work is submitted to the stream, as kernels are; calls of several threads take turns.
#pragma once

#include "device_api.hpp"

namespace torchlean::cuda::device {

// c = a' b' for each matrix of the batch, where a' is a or its transpose, likewise b'. As in the
// BLAS, matrices are stored column by column, here without gaps: in memory (rows, columns) of it is
// (columns, rows) of ours. No extent is 0.
template <class T>
struct Product {
  uint64_t batch;
  uint64_t rows;     // of a' and c
  uint64_t columns;  // of b' and c
  uint64_t terms;    // columns of a', rows of b'
  const T *a;
  bool transpose_a;
  const T *b;
  bool transpose_b;
  T *c;
};

// T is float or double. tf32 allows that the operands of float products are rounded to TF32.
template <class T>
void multiply(Stream &stream, const char *operation, const Product<T> &product, bool tf32);

// Real transforms of `batch` > 0 rows of n > 0 numbers, unnormalised, between (batch, n) and
// (batch, n/2 + 1, 2). T is float or double.
template <class T>
void transform_forward(Stream &stream, const char *operation, uint64_t batch, uint64_t n,
                       const T *signal, T *bins);
// The imaginary parts that a real signal cannot have are 0. `bins` may be overwritten.
template <class T>
void transform_inverse(Stream &stream, const char *operation, uint64_t batch, uint64_t n, T *bins,
                       T *signal);

}  // namespace torchlean::cuda::device
