// The cpu backend: its entry point, its table, and the life of an instance.
#include "targets.hpp"
#include "threads.hpp"

#include <hwy/highway.h>

#define TEXT_OF(number) #number
#define NUMBER_AS_TEXT(number) TEXT_OF(number)
#define HIGHWAY_VERSION \
  NUMBER_AS_TEXT(HWY_MAJOR) "." NUMBER_AS_TEXT(HWY_MINOR) "." NUMBER_AS_TEXT(HWY_PATCH)

TL_BACKEND_NOTE("cpu", 0, "", "", "");

namespace torchlean::cpu {

const tl_host *host = nullptr;

namespace {

void create_instance(const tl_create_options *options, tl_instance **out) {
  const tl_create_options known = known_part("options", options);
  expect_given("options.device", known.device);
  expect_given("out", out);
  const std::string device = known.device;
  if (!device.empty() && device != "cpu")
    throw Failure(TL_UNAVAILABLE, "device is \"" + device + "\", expected \"cpu\"");
  auto instance = std::make_unique<tl_instance>(chosen_target());
  instance->threads = known.num_threads == 0 ? default_threads() : known.num_threads;
  *out = instance.release();
}

tl_status create_status() noexcept { return status_of_current_exception(*host); }

void destroy(tl_instance *instance) { delete instance; }

tl_status supports(tl_instance *, tl_operation operation, tl_dtype dtype);

const BackendVTable vtable = {
    .struct_size = sizeof(BackendVTable),
    .magic = TL_BACKEND_MAGIC,
    .abi_version = TL_ABI_VERSION,
    .name = "cpu",
    .version = TORCHLEAN_VERSION,
    .library = "Highway " HIGHWAY_VERSION,
    .create = guarded<&create_instance, &create_status>,
    .destroy = destroy,
    .supports = supports,
    .device = &device_table,
    .memory = &memory_table,
    .transfer = &transfer_table,
    .random = &random_table,
    .elementwise = &elementwise_table,
    .optimizer = &optimizer_table,
    .reduction = &reduction_table,
    .view = &view_table,
    .indexing = &indexing_table,
    .matmul = &matmul_table,
    .normalization = &normalization_table,
    .loss = &loss_table,
    .fourier = &fourier_table,
    .scan = &scan_table,
    .convolution = &convolution_table,
    .pooling = &pooling_table,
};

tl_status supports(tl_instance *, tl_operation operation, tl_dtype dtype) {
  return supports_by_table(vtable, *host, operation, dtype);
}

}  // namespace
}  // namespace torchlean::cpu

extern "C" const BackendVTable *torchlean_backend_entry(const tl_host *host) {
  if (!torchlean::is_of_this_build(*host)) return nullptr;
  torchlean::cpu::host = host;
  return &torchlean::cpu::vtable;
}
