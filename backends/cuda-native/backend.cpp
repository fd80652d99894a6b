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

// The dtypes of an operation whose entry exists: transfers of encoded words have rows of their own,
// moves of whole elements take every dtype, arithmetic the native ones.
bool takes(tl_operation operation, tl_dtype dtype) {
  switch (operation) {
    case TL_OP_upload_encoded:
    case TL_OP_download_encoded: return dtype == TL_ENCODED;
    case TL_OP_zeros_like:
    case TL_OP_copy:
    case TL_OP_duplicate:
    case TL_OP_concat1d:
    case TL_OP_slice1d: return dtype < TL_DTYPE_COUNT;
    default: return dtype == TL_FLOAT32 || dtype == TL_FLOAT64;
  }
}

bool has_entry(tl_operation operation);

tl_status supports(tl_instance *, tl_operation operation, tl_dtype dtype) {
  if (has_entry(operation) && takes(operation, dtype)) {
    return TL_OK;
  }
  host->set_error("supports: cuda-emulated does not have this operation in this dtype");
  return TL_UNSUPPORTED;
}

const BackendVTable vtable = {
    .struct_size = sizeof(BackendVTable),
    .magic = TL_BACKEND_MAGIC,
    .abi_version = TL_ABI_VERSION,
    .name = "cuda-emulated",
    .version = "0.1.0",
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

// Whether the operation's row of operations.def names an entry that the table holds.
bool has_entry(tl_operation operation) {
  switch (operation) {
#define TL_OPERATION(name, family, entry, enumerator, accuracy, state, runtime, lean) \
  case TL_OP_##name:                                                                  \
    return vtable.family != nullptr && vtable.family->entry != nullptr;
#include <torchlean/operations.def>
#undef TL_OPERATION
    default: return false;
  }
}

}  // namespace

}  // namespace torchlean::cuda

const BackendVTable *torchlean_backend_entry(const tl_host *host) {
  torchlean::cuda::host = host;
  return &torchlean::cuda::vtable;
}
