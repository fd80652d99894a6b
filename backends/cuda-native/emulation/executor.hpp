// Runs a kernel on the calling host thread: every block, every thread of it, one after the other.
//
// A kernel without barriers may not depend on the order in which its threads run, so the order is a
// parameter: a schedule of 0 is the natural one, every other number another permutation of blocks
// and of the threads within each block. (Kernels with barriers will need a fiber for each thread;
// run() is where these two ways part.)
#pragma once

#include "../device_api.hpp"
#include "cuda_language.hpp"

#include <numeric>
#include <string>

namespace torchlean::cuda::device {

// The stream of an emulated device: work is done when submitted.
struct Stream {
  const tl_host *host = nullptr;
  uint64_t schedule = 0;
};

}  // namespace torchlean::cuda::device

namespace torchlean::cuda::emulation {

// One dimension of a launch, as in <<<blocks, threads>>>.
struct Shape {
  uint32_t blocks;
  uint32_t threads;
};

inline constexpr uint32_t most_threads_in_a_block = 1024;
inline constexpr uint32_t most_blocks = 0x7fffffff;

// The splitmix64 finalizer: unrelated numbers from neighbouring ones.
constexpr uint64_t mixed(uint64_t value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

// A permutation of 0 .. count - 1 that needs no memory: i -> (factor * i + offset) mod count, with
// a factor that shares no divisor with count.
class Permutation {
 public:
  Permutation(uint64_t seed, uint32_t count) : count_(count) {
    if (seed == 0) {
      return;
    }
    offset_ = mixed(seed) % count;
    factor_ = mixed(seed + 1) % count;
    while (std::gcd(factor_, uint64_t{count}) != 1) {
      factor_ = (factor_ + 1) % count;
    }
  }
  uint32_t operator()(uint32_t i) const {
    return static_cast<uint32_t>((factor_ * i + offset_) % count_);
  }

 private:
  uint64_t count_;
  uint64_t factor_ = 1;
  uint64_t offset_ = 0;
};

// What a device checks before it starts a kernel.
inline void check_launch(const char *operation, Shape shape) {
  if (shape.blocks == 0 || shape.blocks > most_blocks || shape.threads == 0 ||
      shape.threads > most_threads_in_a_block) {
    throw Failure(TL_DEVICE_ERROR, std::string(operation) + ": kernel launch: a grid of " +
                                       std::to_string(shape.blocks) + " blocks of " +
                                       std::to_string(shape.threads) +
                                       " threads, expected 1 to 2147483647 of 1 to 1024");
  }
}

template <class... Parameters>
void run(const device::Stream &stream, const char *operation, Shape shape,
         void (*kernel)(Parameters...), Parameters... arguments) {
  check_launch(operation, shape);
  gridDim = {shape.blocks, 1, 1};
  blockDim = {shape.threads, 1, 1};
  const Permutation blocks(stream.schedule, shape.blocks);
  for (uint32_t i = 0; i < shape.blocks; ++i) {
    const uint32_t block = blocks(i);
    blockIdx = {block, 0, 0};
    const Permutation threads(stream.schedule == 0 ? 0 : mixed(stream.schedule) + block,
                              shape.threads);
    for (uint32_t j = 0; j < shape.threads; ++j) {
      threadIdx = {threads(j), 0, 0};
      kernel(arguments...);
    }
  }
}

}  // namespace torchlean::cuda::emulation
