#include "executor.hpp"

namespace torchlean::cuda::emulation {

namespace {

thread_local const char *operation_under_way = nullptr;
thread_local Block *block_under_way = nullptr;

// Fibers belong to their host thread and live as long as it does.
Block &block_of_this_host_thread() {
  thread_local Block block;
  return block;
}

}  // namespace

void check_launch(const char *operation, const Shape &shape) {
  const std::string launch = std::string(operation) + ": kernel launch: ";
  if (shape.blocks == 0 || shape.blocks > most_blocks || shape.threads == 0 ||
      shape.threads > most_threads_in_a_block) {
    throw Failure(TL_DEVICE_ERROR, launch + "a grid of " + std::to_string(shape.blocks) +
                                       " blocks of " + std::to_string(shape.threads) +
                                       " threads, expected 1 to 2147483647 of 1 to 1024");
  }
  if (shape.dynamic_shared_bytes > most_shared_bytes) {
    throw Failure(TL_DEVICE_ERROR, launch + std::to_string(shape.dynamic_shared_bytes) +
                                       " bytes of shared memory, expected at most " +
                                       std::to_string(most_shared_bytes));
  }
}

Execution::Execution(const char *operation, const Shape &shape, Block *block) {
  operation_under_way = operation;
  block_under_way = block;
  gridDim = {shape.blocks, 1, 1};
  blockDim = {shape.threads, 1, 1};
}

Execution::~Execution() { block_under_way = nullptr; }

Block &Execution::cooperating(const char *function, Site site) {
  if (block_under_way == nullptr) {
    throw Failure(TL_INTERNAL, std::string(operation_under_way) + ": emulation: " + function +
                                   " at " + site.text() +
                                   " in a kernel that was launched without cooperation");
  }
  return *block_under_way;
}

void run_fibers(const device::Stream &stream, const char *operation, const Shape &shape,
                const std::function<void()> &kernel) {
  check_launch(operation, shape);
  Block &block = block_of_this_host_thread();
  const Execution execution(operation, shape, &block);
  const Block::Launch launch = {operation, shape.threads, shape.dynamic_shared_bytes,
                                stream.schedule, kernel};
  for_each_block(stream, shape, [&](uint32_t number) { block.run(launch, number); });
  block.end_launch();
}

}  // namespace torchlean::cuda::emulation
