// The entry point and the table, of both backends: cuda-native where CMake names the toolkit,
// cuda-emulated elsewhere.
#include "instance.hpp"

#ifdef TL_CUDA_VERSION
#define TL_CUDA_NAME "cuda-native"
#define TL_CUDA_LIBRARY "CUDA " TL_CUDA_VERSION
TL_BACKEND_NOTE(TL_CUDA_NAME, TL_NOTE_NEEDS_NVIDIA_DRIVER, TL_CUDA_LIBRARY, "", "");
#else
#define TL_CUDA_NAME "cuda-emulated"
#define TL_CUDA_LIBRARY ""
TL_BACKEND_NOTE(TL_CUDA_NAME, TL_NOTE_TEST_ONLY, "kernel sources of cuda-native", "", "");
#endif

namespace torchlean::cuda {

namespace {

void create_instance(const tl_create_options *given, tl_instance **out) {
  const tl_create_options options = known_part("options", given);
  expect_given("device", options.device);
  auto instance = std::make_unique<tl_instance>();
  instance->select(device::index_of(options));
  *out = instance.release();
}

void destroy(tl_instance *instance) { delete instance; }

tl_status supports(tl_instance *, tl_operation operation, tl_dtype dtype);

const BackendVTable vtable = {
    .struct_size = sizeof(BackendVTable),
    .magic = TL_BACKEND_MAGIC,
    .abi_version = TL_ABI_VERSION,
    .name = TL_CUDA_NAME,
    .version = TORCHLEAN_VERSION,
    .library = TL_CUDA_LIBRARY,
    .create = entry<create_instance>,
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

}  // namespace torchlean::cuda

const BackendVTable *torchlean_backend_entry(const tl_host *host) {
  if (!torchlean::is_of_this_build(*host)) return nullptr;
  torchlean::cuda::host = host;
  return &torchlean::cuda::vtable;
}
