// The CUDA runtime behind the seam, as far as launch.cuh must see it.
#pragma once

#include "device_api.hpp"

#include <cuda_runtime_api.h>

namespace torchlean::cuda::device {

struct Stream {
  int device = 0;
  uint32_t multiprocessors = 0;
  cudaStream_t queue = nullptr;
};

// Throws unless status is cudaSuccess: "relu: kernel launch: invalid configuration argument".
void check(const char *operation, const char *step, cudaError_t status);

}  // namespace torchlean::cuda::device
