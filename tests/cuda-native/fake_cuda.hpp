// A CUDA runtime made of host memory, with faults on demand, for tests of what stands on it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fake_cuda {

// What the machine has and what happens next. Tests are single-threaded.
struct Machine {
  int devices = 2;
  cudaError_t device_count = cudaSuccess;
  bool has_pools = true;
  size_t total_bytes = size_t{1} << 20;

  // What the next call of that function answers, once.
  std::map<std::string, cudaError_t> next;
  // What every synchronisation answers from now on.
  cudaError_t fault = cudaSuccess;

  // How often each function was called.
  std::map<std::string, int> calls;
  int current_device = -1;
  cudaError_t last_error = cudaSuccess;
  std::map<void *, size_t> blocks;
  int pools = 0;
  uint64_t release_threshold = 0;
};

Machine &machine();

// The machine as it is at first, but for blocks and pools that exist.
void reset();

}  // namespace fake_cuda
