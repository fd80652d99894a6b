// The LibTorch backend: its entry point, its table, the life of an instance, and ATen's errors.
#include "host_allocator.hpp"
#include "libtorch.hpp"

#include <ATen/Version.h>
#include <c10/util/Exception.h>

#include <string_view>

TL_BACKEND_NOTE("libtorch", TL_NOTE_CXX_RUNTIME, "LibTorch " TL_LIBTORCH_VERSION, "libtorch_cpu.so",
                TL_LIBTORCH_BUILD_ID);

namespace torchlean::libtorch {

const tl_host *host = nullptr;

namespace {

void create_instance(const tl_create_options *options, tl_instance **out) {
  const char *const wanted = known_part("options", options).device;
  expect_given("device", wanted);
  expect_given("out", out);
  const std::string_view device = wanted;
  if (device.starts_with("cuda"))
    throw Failure(TL_UNAVAILABLE, "device is \"" + std::string(device) +
                                      "\", expected \"cpu\": this build of the libtorch backend "
                                      "computes on the host only");
  if (!device.empty() && device != "cpu")
    throw Failure(TL_UNAVAILABLE, "device is \"" + std::string(device) + "\", expected \"cpu\"");
  install_host_allocator();
  auto instance = std::make_unique<tl_instance>();
  set_threads(*instance, options->num_threads);
  *out = instance.release();
}

tl_status create_status() noexcept { return status_of("create"); }

void destroy(tl_instance *instance) { delete instance; }

tl_status supports(tl_instance *, tl_operation operation, tl_dtype dtype);

BackendVTable vtable = {
    .struct_size = sizeof(BackendVTable),
    .magic = TL_BACKEND_MAGIC,
    .abi_version = TL_ABI_VERSION,
    .name = "libtorch",
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
  if (has_kernel(vtable, operation, dtype)) return TL_OK;
  host->set_error("the libtorch backend does not have this operation for this dtype");
  return TL_UNSUPPORTED;
}

// "LibTorch 2.15.0" of the library that was opened, which need not be the one built against. ATen
// tells its version only among its build settings.
std::string library_name() {
  constexpr std::string_view key = "TORCH_VERSION=";
  const std::string settings = at::show_config();
  const size_t found = settings.find(key);
  if (found == std::string::npos) return "LibTorch of unknown version";
  const size_t version = found + key.size();
  return "LibTorch " + settings.substr(version, settings.find_first_of(", \n", version) - version);
}

}  // namespace

std::string first_line(const c10::Error &error) {
  const std::string text = error.what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

void WarningsToLog::process(const c10::Warning &warning) {
  host->log(TL_LOG_WARN, ("LibTorch: " + warning.msg()).c_str());
}

tl_status status_of(const char *entry) noexcept {
  try {
    const std::string prefix = std::string(entry) + ": ";
    try {
      throw;
    } catch (const Failure &failure) {
      throw Failure(failure.status(), prefix + failure.what());
    } catch (const c10::OutOfMemoryError &error) {
      throw Failure(TL_OUT_OF_MEMORY, prefix + first_line(error));
    } catch (const c10::NotImplementedError &error) {
      host->log(TL_LOG_DEBUG, error.what());
      throw Failure(TL_UNSUPPORTED, prefix + first_line(error));
    } catch (const c10::Error &error) {
      host->log(TL_LOG_DEBUG, error.what());
      throw Failure(TL_INTERNAL, prefix + first_line(error));
    }
  } catch (...) {
    return status_of_current_exception(*host);
  }
}

}  // namespace torchlean::libtorch

extern "C" const BackendVTable *torchlean_backend_entry(const tl_host *host) {
  using namespace torchlean::libtorch;
  if (host->abi_version != TL_ABI_VERSION || host->struct_size < sizeof(tl_host)) {
    host->set_error("libtorch: core and backend are of different builds, and ABI 0 is not frozen");
    return nullptr;
  }
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
