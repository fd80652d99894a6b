// The trace layer: one line in the log, at level info, for each call of a backend's entry.
#pragma once

#include "layers/layers.hpp"

namespace torchlean {

LayeredInstance add_trace_layer(const LayeredInstance &inner);

}  // namespace torchlean
