// ATen's host memory, taken from the core.
#pragma once

#include "../host/host_blocks.hpp"

namespace torchlean::libtorch {

// Makes ATen take the blocks of all host tensors from tl_host.alloc, for the rest of the process
// and for every user of this LibTorch in it. Blocks that exist already go back where they came
// from.
void install_host_allocator();

// The blocks behind all host tensors, and the bytes of those in use.
HostBlocks &host_blocks();
const Gauge &allocated_bytes();

}  // namespace torchlean::libtorch
