// Layers: backends that wrap a backend, put around every instance as TORCHLEAN_LAYERS and
// TORCHLEAN_TIMELINE ask.
#pragma once

#include "loader/table.hpp"

namespace torchlean {

struct LayeredInstance {
  FullTable table;
  tl_instance *instance;
  void (*destroy)(tl_instance *);
};

// Takes `instance` over; without layers the result is the instance itself.
LayeredInstance wrap_in_layers(const BackendVTable &vtable, tl_instance *instance);

}  // namespace torchlean
