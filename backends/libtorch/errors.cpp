// ATen's exceptions as statuses, its warnings as log lines.
#include "cuda.hpp"

namespace torchlean::libtorch {

const tl_host *host = nullptr;

std::string first_line(const c10::Error &error) {
  const std::string text = error.what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

void WarningsToLog::process(const c10::Warning &warning) {
  host->log(TL_LOG_WARN, ("LibTorch: " + warning.msg()).c_str());
}

namespace {

// An error of the device's. Work is only submitted by most calls, and so the fault may be that of a
// call before, which the core waits for where TORCHLEAN_SYNCHRONOUS is set.
Failure device_failure(const std::string &prefix, const c10::Error &error) {
  if (calling_instance == nullptr || !calling_instance->is_on_cuda() ||
      !cuda::is_lost(calling_instance->cuda_device))
    return {TL_DEVICE_ERROR, prefix + first_line(error)};
  calling_instance->lost = true;
  const char *const waits = host->option("TORCHLEAN_SYNCHRONOUS");
  const bool is_own = waits != nullptr && std::string_view(waits) == "1";
  return {TL_DEVICE_LOST,
          prefix + (is_own ? "" : "from an earlier operation: ") + first_line(error)};
}

}  // namespace

tl_status status_of(const char *entry) noexcept {
  try {
    const std::string prefix = std::string(entry) + ": ";
    try {
      throw;
    } catch (const Failure &failure) {
      throw Failure(failure.status(), prefix + failure.what());
    } catch (const c10::OutOfMemoryError &error) {
      throw Failure(TL_OUT_OF_MEMORY, prefix + first_line(error));
    } catch (const c10::AcceleratorError &error) {
      host->log(TL_LOG_DEBUG, error.what());
      throw device_failure(prefix, error);
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
