// A backend whose every result is an error of ATen's own, thrown inside LibTorch (rule B5). The
// core's checks keep ordinary calls from making ATen throw.
//
// rand_uniform is all it has; the key chooses where ATen throws.
#include "host_allocator.hpp"
#include "libtorch.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/bmm.h>

namespace torchlean::libtorch {
namespace {

at::Tensor five() { return empty(5, at::kFloat).zero_(); }

void generate(tl_instance &, tl_random_op, tl_dtype, uint64_t, uint64_t key, const tl_scalars *,
              tl_flags, tl_storage **out) {
  const at::Tensor x = five();
  switch (key % 3) {
    case 0: return hand_out(out, x.view({1, 2, 3}));
    case 1: return hand_out(out, at::bmm(x.view({1, 5, 1}), x.view({1, 5, 1})));
    default:
      at::parallel_for(0, 4, 1, [&](int64_t begin, int64_t) { x.narrow(0, begin, 9).zero_(); });
  }
}

void count(tl_instance &, uint32_t *out) { *out = 1; }
void synchronize(tl_instance &) {}
void release(tl_instance *, tl_storage *storage) { delete storage; }

void create(const tl_create_options *, tl_instance **out) {
  install_host_allocator();
  auto instance = std::make_unique<tl_instance>();
  set_threads(*instance, 2);
  *out = instance.release();
}
tl_status create_status() noexcept { return status_of("create"); }
void destroy(tl_instance *instance) { delete instance; }

tl_status supports(tl_instance *, tl_operation operation, tl_dtype) {
  return operation == TL_OP_rand_uniform ? TL_OK : TL_UNSUPPORTED;
}

// What is not set stays NULL: the core answers TL_UNSUPPORTED there.
constexpr tl_device_table throwing_device = [] {
  tl_device_table table = {};
  table.struct_size = sizeof table;
  table.count = entry<"device_count", count>;
  table.synchronize = entry<"synchronize", synchronize>;
  return table;
}();

constexpr tl_memory_table throwing_memory = [] {
  tl_memory_table table = {};
  table.struct_size = sizeof table;
  table.release = release;
  return table;
}();

constexpr tl_random_table throwing_random = {
    .struct_size = sizeof(tl_random_table),
    .generate = entry<"generate", generate>,
};

constexpr BackendVTable throwing_backend = [] {
  BackendVTable table = {};
  table.struct_size = sizeof table;
  table.magic = TL_BACKEND_MAGIC;
  table.abi_version = TL_ABI_VERSION;
  table.name = "aten-throwing";
  table.version = "0.1.0";
  table.library = "";
  table.create = guarded<&create, &create_status>;
  table.destroy = destroy;
  table.supports = supports;
  table.device = &throwing_device;
  table.memory = &throwing_memory;
  table.random = &throwing_random;
  return table;
}();

}  // namespace
}  // namespace torchlean::libtorch

TL_BACKEND_NOTE("aten-throwing", TL_NOTE_CXX_RUNTIME | TL_NOTE_TEST_ONLY, "", "", "");

extern "C" const BackendVTable *torchlean_backend_entry(const tl_host *host) {
  torchlean::libtorch::host = host;
  return &torchlean::libtorch::throwing_backend;
}
