// What g++ must know to read kernel sources: CUDA's keywords and index variables.
//
// The keywords are macros because CUDA's are; nothing else in this folder is one.
#pragma once

#include <cstdint>

#define __device__
#define __global__

namespace torchlean::cuda::emulation {

struct Index3 {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

}  // namespace torchlean::cuda::emulation

// Set by the executor for the kernel thread that runs on this host thread. The names are CUDA's.
// NOLINTBEGIN(readability-identifier-naming)
inline constinit thread_local torchlean::cuda::emulation::Index3 threadIdx;
inline constinit thread_local torchlean::cuda::emulation::Index3 blockIdx;
inline constinit thread_local torchlean::cuda::emulation::Index3 blockDim;
inline constinit thread_local torchlean::cuda::emulation::Index3 gridDim;
// NOLINTEND(readability-identifier-naming)
