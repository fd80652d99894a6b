// ATen's host memory, taken from the core.
#pragma once

#include <cstdint>

namespace torchlean::libtorch {

// Makes ATen take the blocks of all host tensors from tl_host.alloc, for the rest of the process
// and for every user of this LibTorch in it. Blocks that exist already go back where they came
// from.
void install_host_allocator();

// Bytes of live blocks now, and the most there ever were.
uint64_t allocated_bytes();
uint64_t peak_allocated_bytes();

}  // namespace torchlean::libtorch
