// State that copies of one language binding share.
#include <torchlean/runtime.h>

#include <map>
#include <mutex>
#include <string>

namespace {

// Never destroyed: bindings use their state until the end of the process.
struct Bindings {
  std::mutex mutex;
  std::map<std::string, void *, std::less<>> states;
};

Bindings &bindings() {
  static auto *instance = new Bindings;
  return *instance;
}

}  // namespace

extern "C" void *tl_binding_state(const char *binding, void *candidate) {
  try {
    Bindings &all = bindings();
    const std::lock_guard guard(all.mutex);
    return all.states.emplace(binding, candidate).first->second;
  } catch (...) {
    return candidate;
  }
}
