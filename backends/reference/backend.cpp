// The reference backend: its entry point, its table, and the life of an instance.
#include "reference.hpp"

#include <mpfr.h>

TL_BACKEND_NOTE("reference", TL_NOTE_FOR_CHECKING, "", "", "");

namespace torchlean::reference {

const tl_host *host = nullptr;

namespace {

void create_instance(const tl_create_options *options, tl_instance **out) {
  const char *const name = known_part("options", options).device;
  expect_given("options.device", name);
  expect_given("out", out);
  const std::string device = name;
  if (!device.empty() && device != "cpu")
    throw Failure(TL_UNAVAILABLE, "device is \"" + device + "\", expected \"cpu\"");
  if (!mpfr_buildopt_tls_p())
    throw Failure(TL_UNAVAILABLE, "this MPFR library was built without support for threads");
  *out = new tl_instance();
}

tl_status create_status() noexcept { return status_of_current_exception(*host); }

void destroy(tl_instance *instance) { delete instance; }

tl_status supports(tl_instance *, tl_operation operation, tl_dtype dtype);

const BackendVTable vtable = {
    .struct_size = sizeof(BackendVTable),
    .magic = TL_BACKEND_MAGIC,
    .abi_version = TL_ABI_VERSION,
    .name = "reference",
    .version = TORCHLEAN_VERSION,
    .library = "MPFR " MPFR_VERSION_STRING,
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
}  // namespace torchlean::reference

extern "C" const BackendVTable *torchlean_backend_entry(const tl_host *host) {
  if (!torchlean::is_of_this_build(*host)) return nullptr;
  torchlean::reference::host = host;
  return &torchlean::reference::vtable;
}
