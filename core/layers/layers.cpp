// The layers there are, and putting them around an instance.
#include "layers/layers.hpp"

#include <string_view>

#include "layers/nvtx.hpp"
#include "layers/timeline.hpp"
#include "layers/trace.hpp"
#include "selection/variables.hpp"

namespace torchlean {

LayeredInstance wrap_in_layers(const BackendVTable &vtable, tl_instance *instance) {
  LayeredInstance layered = {complete(vtable), instance, vtable.destroy};
  if (has_timeline()) layered = add_timeline_layer(layered);  // innermost: it times the backend
  // The first one named is outermost, so it comes last. The variable's table admits known names
  // only.
  std::string_view names = option("TORCHLEAN_LAYERS");
  while (!names.empty()) {
    const std::size_t comma = names.rfind(',');
    const std::string_view name = comma == names.npos ? names : names.substr(comma + 1);
    if (name == "trace") layered = add_trace_layer(layered);
    if (name == "nvtx" && has_nvtx()) layered = add_nvtx_layer(layered);
    names = comma == names.npos ? std::string_view{} : names.substr(0, comma);
  }
  return layered;
}

}  // namespace torchlean
