// The entry point and the table.
#include "instance.hpp"

#include <memory>

TL_BACKEND_NOTE("cuda-emulated", TL_NOTE_TEST_ONLY, "kernel sources of cuda-native", "", "");

namespace torchlean::cuda {

namespace {

void create_instance(const tl_create_options *options, tl_instance **out) {
  auto instance = std::make_unique<tl_instance>();
  instance->stream =
      device::create_stream(*host, options->device == nullptr ? "" : options->device);
  *out = instance.release();
}

void destroy(tl_instance *instance) {
  device::destroy_stream(instance->stream);
  delete instance;
}

tl_status supports(tl_instance *, tl_operation operation, tl_dtype dtype);

const BackendVTable vtable = {
    .struct_size = sizeof(BackendVTable),
    .magic = TL_BACKEND_MAGIC,
    .abi_version = TL_ABI_VERSION,
    .name = "cuda-emulated",
    .version = TORCHLEAN_VERSION,
    .library = "",
    .create = entry<create_instance>,
    .destroy = destroy,
    .supports = supports,
    .device = &device_table,
    .memory = &memory_table,
    .transfer = &transfer_table,
    .random = nullptr,
    .elementwise = &elementwise_table,
    .optimizer = &optimizer_table,
    .reduction = nullptr,
    .view = &view_table,
    .indexing = nullptr,
    .matmul = nullptr,
    .normalization = nullptr,
    .loss = nullptr,
    .fourier = nullptr,
    .scan = nullptr,
    .convolution = nullptr,
    .pooling = nullptr,
};

tl_status supports(tl_instance *, tl_operation operation, tl_dtype dtype) {
  if (has_kernel(vtable, operation, dtype)) {
    return TL_OK;
  }
  host->set_error("supports: cuda-emulated does not have this operation in this dtype");
  return TL_UNSUPPORTED;
}

}  // namespace

}  // namespace torchlean::cuda

const BackendVTable *torchlean_backend_entry(const tl_host *host) {
  torchlean::cuda::host = host;
  return &torchlean::cuda::vtable;
}
