// The timeline layer: each call of a backend's entry as an event in a file that chrome://tracing
// and Perfetto read.
#pragma once

#include "layers/layers.hpp"

namespace torchlean {

// Whether TORCHLEAN_TIMELINE names a file that can be written; says once why not.
bool has_timeline();

// Where has_timeline().
LayeredInstance add_timeline_layer(const LayeredInstance &inner);

}  // namespace torchlean
