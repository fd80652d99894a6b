// The LibTorch backend: its entry point, its table, the life of an instance.
//
// Compiled twice: for the test-only backend libtorch-composed, too, which computes on the host what
// GPUs compute elsewhere (composed.hpp).
#include "cuda.hpp"
#include "host_allocator.hpp"
#include "libtorch.hpp"

#include <caffe2/core/common.h>

#include <string_view>

#ifdef TL_LIBTORCH_COMPOSED
#define TL_LIBTORCH_NAME "libtorch-composed"
#define TL_LIBTORCH_FLAGS TL_NOTE_CXX_RUNTIME | TL_NOTE_TEST_ONLY
#else
#define TL_LIBTORCH_NAME "libtorch"
#define TL_LIBTORCH_FLAGS TL_NOTE_CXX_RUNTIME
#endif

TL_BACKEND_NOTE(TL_LIBTORCH_NAME, TL_LIBTORCH_FLAGS, "LibTorch " TL_LIBTORCH_VERSION,
                "libtorch_cpu.so", TL_LIBTORCH_BUILD_ID);

namespace torchlean::libtorch {

namespace {

#ifdef TL_LIBTORCH_COMPOSED
constexpr bool always_composed = true;
#else
constexpr bool always_composed = false;
#endif

void settle_on_cuda(tl_instance &instance, std::string_view device, bool has_driver) {
  try {
    const c10::DeviceIndex index = cuda::index_of(device);
    cuda::open(has_driver);
    cuda::prepare(index);
    instance.cuda_device = index;
    instance.composed = true;
  } catch (const Failure &failure) {
    throw Failure(failure.status(), "device is \"" + std::string(device) + "\": " + failure.what());
  } catch (const c10::Error &error) {
    host->log(TL_LOG_DEBUG, error.what());
    throw Failure(TL_UNAVAILABLE,
                  "device is \"" + std::string(device) + "\": " + first_line(error));
  }
}

// The backend's own choice: a GPU where one works.
void settle_anywhere(tl_instance &instance, bool has_driver) {
  if (!has_driver) return;
  try {
    settle_on_cuda(instance, "cuda", has_driver);
  } catch (const Failure &failure) {
    host->log(TL_LOG_WARN,
              (std::string("libtorch computes on the host: ") + failure.what()).c_str());
  }
}

void create_instance(const tl_create_options *given, tl_instance **out) {
  calling_instance = nullptr;
  const tl_create_options options = known_part("options", given);
  expect_given("device", options.device);
  expect_given("out", out);
  const std::string_view device = options.device;
  const bool has_driver = options.has_nvidia_driver != 0;
  if (always_composed && !device.empty() && device != "cpu")
    throw Failure(TL_UNAVAILABLE, "device is \"" + std::string(device) + "\", expected \"cpu\"");
  WarningsToLog warnings;
  const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  install_host_allocator();
  auto instance = std::make_unique<tl_instance>();
  instance->composed = always_composed;
  set_threads(*instance, options.num_threads);
  if (device.empty() && !always_composed) {
    settle_anywhere(*instance, has_driver);
  } else if (!device.empty() && device != "cpu") {
    settle_on_cuda(*instance, device, has_driver);
  }
  *out = instance.release();
}

tl_status create_status() noexcept { return status_of("create"); }

void destroy(tl_instance *instance) { delete instance; }

tl_status supports(tl_instance *, tl_operation operation, tl_dtype dtype);

BackendVTable vtable = {
    .struct_size = sizeof(BackendVTable),
    .magic = TL_BACKEND_MAGIC,
    .abi_version = TL_ABI_VERSION,
    .name = TL_LIBTORCH_NAME,
    .version = TORCHLEAN_VERSION,
    .library = "",  // known when the entry point has asked LibTorch
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

// "LibTorch 2.15.0" of the library that was opened, which need not be the one built against. ATen's
// own at::show_config() would ask for CUDA before libtorch_cuda.so can be opened.
std::string library_name() {
  const auto &settings = caffe2::GetBuildOptions();
  const auto version = settings.find("TORCH_VERSION");
  return "LibTorch " + (version == settings.end() ? "of unknown version" : version->second);
}

}  // namespace

}  // namespace torchlean::libtorch

extern "C" const BackendVTable *torchlean_backend_entry(const tl_host *host) {
  using namespace torchlean::libtorch;
  if (!torchlean::is_of_this_build(*host)) return nullptr;
  torchlean::libtorch::host = host;
  try {
    WarningsToLog warnings;
    const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
    static const std::string library = library_name();
    vtable.library = library.c_str();
  } catch (...) {
    status_of("libtorch");
    return nullptr;
  }
  return &vtable;
}
