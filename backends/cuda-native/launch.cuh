// The one place where kernels are started, and how a kernel thread finds its elements.
#pragma once

#include "device_api.hpp"

#ifdef __CUDACC__
#include "device_stream.cuh"
#else
#include "emulation/executor.hpp"
#endif

#include <algorithm>

namespace torchlean::cuda {

// The elements of 0 .. n - 1 that this thread of the grid computes:
//   for (uint64_t i = first_element(); i < n; i += element_stride()) ...
__device__ inline uint64_t first_element() {
  return static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline uint64_t element_stride() {
  return static_cast<uint64_t>(gridDim.x) * blockDim.x;
}

// Runs kernel(n, arguments...) on enough threads for n > 0 elements. A launch that the device
// refuses throws, naming `operation`.
template <class... Parameters, class... Arguments>
void launch(device::Stream &stream, const char *operation, uint64_t n,
            void (*kernel)(uint64_t, Parameters...), Arguments... arguments) {
  constexpr uint32_t threads = 256;
  const uint64_t needed = (n + threads - 1) / threads;
  const uint32_t blocks = static_cast<uint32_t>(std::min<uint64_t>(needed, full_grid(stream)));
#ifdef __CUDACC__
  device::make_current(stream, operation);
  kernel<<<blocks, threads, 0, stream.queue>>>(n, static_cast<Parameters>(arguments)...);
  device::check(stream, operation, "kernel launch", cudaGetLastError());
#else
  emulation::run(stream, operation, {blocks, threads}, kernel, n,
                 static_cast<Parameters>(arguments)...);
#endif
}

// A grid whose blocks' threads cooperate (block.cuh). At most 48 KiB of shared memory, dynamic and
// static together.
struct Blocks {
  uint32_t blocks;
  uint32_t threads;
  size_t dynamic_shared_bytes = 0;
};

// How many blocks to launch for items > 0 that each keep one block busy; the kernel loops:
//   for (uint64_t item = blockIdx.x; item < items; item += gridDim.x) ...
inline uint32_t blocks_for(const device::Stream &stream, uint64_t items) {
  return static_cast<uint32_t>(std::min<uint64_t>(items, full_grid(stream)));
}

// Runs kernel(arguments...) on all threads of all blocks. A launch that the device refuses throws,
// naming `operation`.
template <class... Parameters, class... Arguments>
void launch_blocks(device::Stream &stream, const char *operation, const Blocks &grid,
                   void (*kernel)(Parameters...), Arguments... arguments) {
#ifdef __CUDACC__
  device::make_current(stream, operation);
  kernel<<<grid.blocks, grid.threads, grid.dynamic_shared_bytes, stream.queue>>>(
      static_cast<Parameters>(arguments)...);
  device::check(stream, operation, "kernel launch", cudaGetLastError());
#else
  emulation::run_blocks(stream, operation, {grid.blocks, grid.threads, grid.dynamic_shared_bytes},
                        kernel, static_cast<Parameters>(arguments)...);
#endif
}

}  // namespace torchlean::cuda
