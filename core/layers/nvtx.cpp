// The NVTX layer. Its library is looked up when it is asked for, so that nothing needs it to build.
#include "layers/nvtx.hpp"

#include <dlfcn.h>

#include <string>

#include "layers/describe.hpp"
#include "layers/layer.hpp"
#include "loader/attempts.hpp"

namespace torchlean {
namespace {

// The ranges of NVTX's C interface, which nest within a thread. Each answers the depth, or a
// negative number where no profiler listens.
struct Nvtx {
  int (*push)(const char *name) = nullptr;
  int (*pop)() = nullptr;
};

// CUDA brought the first one up to version 12; the second one has the same functions for programs
// that look them up at run time.
constexpr const char *libraries[] = {"libnvToolsExt.so.1", "libnvtx3interop.so.1"};

Nvtx look_up() {
  Nvtx found;
  std::string reasons;
  for (const char *library : libraries) {
    void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    const char *words = opened == nullptr ? dlerror() : "it lacks nvtxRangePushA or nvtxRangePop";
    if (opened != nullptr) {
      found.push = reinterpret_cast<decltype(found.push)>(dlsym(opened, "nvtxRangePushA"));
      found.pop = reinterpret_cast<decltype(found.pop)>(dlsym(opened, "nvtxRangePop"));
      if (found.push != nullptr && found.pop != nullptr) return found;
    }
    reasons += (reasons.empty() ? "no range is marked: " : "; ") + std::string(words);
  }
  Attempt attempt;
  attempt.name = "layer nvtx";
  attempt.status = TL_UNAVAILABLE;
  attempt.reason = reasons;
  attempts::record(attempt);
  return {};
}

const Nvtx &nvtx() {
  static const Nvtx instance = look_up();
  return instance;
}

struct NvtxHook {
  template <class Forward, class... Values>
  static auto call(const char *family, const char *entry, const Forward &forward,
                   const Values &...) {
    struct Range {
      ~Range() { nvtx().pop(); }
    } range;
    nvtx().push(event_of(family, entry).name);
    return forward();
  }
};

}  // namespace

bool has_nvtx() { return nvtx().push != nullptr && nvtx().pop != nullptr; }

LayeredInstance add_nvtx_layer(const LayeredInstance &inner) { return add_layer<NvtxHook>(inner); }

}  // namespace torchlean
