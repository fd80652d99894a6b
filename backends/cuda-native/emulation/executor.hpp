// Runs a kernel on the calling host thread, block after block.
//
// A kernel may not depend on the order in which its blocks run, nor its threads between barriers,
// so the order is a parameter, the stream's schedule: 0 is the natural one, every other number
// another permutation of the blocks and, anew after each barrier, of the threads of a block.
#pragma once

#include "../device_api.hpp"
#include "block.hpp"
#include "cuda_language.hpp"
#include "schedule.hpp"

#include <functional>

namespace torchlean::cuda::device {

// The stream of an emulated device: work is done when submitted.
struct Stream {
  const tl_host *host = nullptr;
  uint64_t schedule = 0;
  // 0, or tail mode: grids are as large as a device allows, and of each launch's blocks only this
  // many run, the last ones. It shows that huge arrays are addressed right, in time that is short;
  // results are complete only where no more blocks were needed.
  uint32_t tail_blocks = 0;
};

}  // namespace torchlean::cuda::device

namespace torchlean::cuda::emulation {

// One dimension of a launch, as in <<<blocks, threads, dynamic_shared_bytes>>>.
struct Shape {
  uint32_t blocks;
  uint32_t threads;
  size_t dynamic_shared_bytes = 0;
};

inline constexpr uint32_t most_blocks = 0x7fffffff;

// What a device checks before it starts a kernel.
void check_launch(const char *operation, const Shape &shape);

// The blocks of a launch that run, in the stream's order: visit(block).
template <class Visitor>
void for_each_block(const device::Stream &stream, const Shape &shape, Visitor visit) {
  const uint32_t count =
      stream.tail_blocks == 0 ? shape.blocks : std::min(shape.blocks, stream.tail_blocks);
  const Permutation order(stream.schedule, count);
  for (uint32_t i = 0; i < count; ++i) {
    visit(shape.blocks - count + order(i));
  }
}

// The kernel under way on this host thread.
class Execution {
 public:
  Execution(const char *operation, const Shape &shape, Block *block);
  ~Execution();
  Execution(const Execution &) = delete;
  Execution &operator=(const Execution &) = delete;

  // The block whose threads cooperate; a Failure that names `function` where they do not.
  static Block &cooperating(const char *function, Site site);
};

// Threads that do not cooperate: each in turn, as a plain call.
template <class... Parameters>
void run(const device::Stream &stream, const char *operation, const Shape &shape,
         void (*kernel)(Parameters...), Parameters... arguments) {
  check_launch(operation, shape);
  const Execution execution(operation, shape, nullptr);
  for_each_block(stream, shape, [&](uint32_t block) {
    blockIdx = {block, 0, 0};
    const Permutation threads(seed_of_part(stream.schedule, block), shape.threads);
    for (uint32_t i = 0; i < shape.threads; ++i) {
      threadIdx = {threads(i), 0, 0};
      kernel(arguments...);
    }
  });
}

// Threads that cooperate: each a fiber, which calls `kernel`.
void run_fibers(const device::Stream &stream, const char *operation, const Shape &shape,
                const std::function<void()> &kernel);

template <class... Parameters>
void run_blocks(const device::Stream &stream, const char *operation, const Shape &shape,
                void (*kernel)(Parameters...), Parameters... arguments) {
  run_fibers(stream, operation, shape, [&] { kernel(arguments...); });
}

}  // namespace torchlean::cuda::emulation
