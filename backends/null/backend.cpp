// The null backend: answers every call with "not linked" and why.
//
// It is compiled into the core and serves where nothing else can, or where it is asked for. Its
// table is made from the list of all entries, so it can lack none.
#include <torchlean/backend.h>

#include <memory>
#include <string>
#include <torchlean/backend.hpp>
#include <type_traits>

struct tl_instance {
  std::string reason;
};

namespace torchlean::null_backend {
namespace {

const tl_host *host = nullptr;

template <class Function>
struct Refuse;

template <class... Arguments>
struct Refuse<tl_status (*)(tl_instance *, Arguments...)> {
  static tl_status call(tl_instance *self, Arguments...) {
    host->set_error(self->reason.c_str());
    return TL_UNAVAILABLE;
  }
};

template <class... Arguments>
struct Refuse<void (*)(tl_instance *, Arguments...)> {
  static void call(tl_instance *, Arguments...) {}
};

void create(const tl_create_options *options, tl_instance **out) {
  auto instance = std::make_unique<tl_instance>();
  instance->reason = options->reason != nullptr ? options->reason : "no backend serves";
  *out = instance.release();
}

tl_status status_of_exception() { return status_of_current_exception(*host); }

tl_status supports(tl_instance *, tl_operation, tl_dtype) { return TL_UNSUPPORTED; }

// One static sub-table per family, every entry refusing.
template <class Table>
Table &table() {
  static Table instance = {};
  instance.struct_size = sizeof instance;
  return instance;
}

BackendVTable make_vtable() {
  BackendVTable vtable = {};
  vtable.struct_size = sizeof vtable;
  vtable.magic = TL_BACKEND_MAGIC;
  vtable.abi_version = TL_ABI_VERSION;
  vtable.name = "null";
  vtable.version = TORCHLEAN_VERSION;
  vtable.library = "";
  vtable.create = guarded<create, status_of_exception>;
  vtable.destroy = [](tl_instance *instance) { delete instance; };
  vtable.supports = supports;
  for_each_entry([&](auto entry) {
    using Table = std::remove_cvref_t<decltype(*(vtable.*entry.family))>;
    auto &function = table<Table>().*entry.member;
    function = &Refuse<std::remove_cvref_t<decltype(function)>>::call;
    vtable.*entry.family = &table<Table>();
  });
  return vtable;
}

}  // namespace
}  // namespace torchlean::null_backend

extern "C" const BackendVTable *torchlean_null_backend_entry(const tl_host *host) {
  torchlean::null_backend::host = host;
  static const BackendVTable vtable = torchlean::null_backend::make_vtable();
  return &vtable;
}
