// The CUDA runtime behind the seam, as far as launch.cuh and the libraries must see it.
#pragma once

#include "device_api.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace torchlean::cuda::device {

struct Pool;

struct Stream {
  int device = 0;
  uint32_t multiprocessors = 0;
  Pool *pool = nullptr;
  cudaStream_t queue = nullptr;
  // The error after which no call succeeds any more.
  std::atomic<cudaError_t> lost{cudaSuccess};
  // What cublas.cpp and cufft.cpp keep here; gone before the queue is.
  std::shared_ptr<void> products;
  std::shared_ptr<void> transforms;
  std::mutex libraries;
};

// Throws unless status is cudaSuccess: "relu: kernel launch: invalid configuration argument". A
// fault of an earlier operation is told as such and loses the device.
void check(Stream &stream, const char *operation, const char *step, cudaError_t status);

// Makes the stream's device the calling thread's.
void make_current(Stream &stream, const char *operation);

}  // namespace torchlean::cuda::device
