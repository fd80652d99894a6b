// The NVTX layer: each call of a backend's entry as a range that NVIDIA's profilers show.
#pragma once

#include "layers/layers.hpp"

namespace torchlean {

// Whether there is an NVTX library. It is looked up at the first call; where there is none, an
// attempt record says so in the status.
bool has_nvtx();

// Where has_nvtx().
LayeredInstance add_nvtx_layer(const LayeredInstance &inner);

}  // namespace torchlean
