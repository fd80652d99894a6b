// Settings and the rules between them.
#include "selection/settings.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <vector>

#include "selection/runtime.hpp"
#include "selection/variables.hpp"
#include "status/error.hpp"

namespace torchlean::settings {
namespace {

struct Listeners {
  std::mutex mutex;  // also makes a change and its spreading one step
  std::vector<tl_backend *> backends;
};

Listeners &listeners() {
  static auto *instance = new Listeners;
  return *instance;
}

// A backend without the feature answers TL_UNSUPPORTED: the core then just remembers the flag.
tl_status tell(tl_backend &backend, tl_setting setting, std::uint32_t value) {
  char reason[256];
  tl_status status = TL_OK;
  {
    const KeepErrorText keep;
    ThreadState &thread = thread_state();
    thread.error_is_fresh = false;
    status = backend.device.set_setting(backend.instance, setting, value);
    std::snprintf(reason, sizeof reason, "%.255s",
                  thread.error_is_fresh ? thread.error_text : status_name(status));
  }
  if (status == TL_OK || status == TL_UNSUPPORTED) return TL_OK;
  return fail(status, "{} did not take setting {}: {}", backend.name, setting, reason);
}

}  // namespace

void initialize(Values &values) {
  for (const tl_setting setting :
       {TL_SETTING_FLASH_ATTENTION, TL_SETTING_MEMORY_EFFICIENT_ATTENTION,
        TL_SETTING_MATH_ATTENTION, TL_SETTING_CUDNN_ATTENTION, TL_SETTING_CUDNN}) {
    values[setting] = 1;
  }
  const std::string &deterministic = option("TORCHLEAN_CUDA_DETERMINISTIC_REDUCTIONS");
  values[TL_SETTING_DETERMINISTIC] = deterministic.empty() || deterministic == "0" ? 0 : 1;
}

void adopt(Runtime &runtime, tl_backend &backend) {
  const std::lock_guard guard(listeners().mutex);
  const KeepErrorText keep;  // a setting that it did not take is no news here
  listeners().backends.push_back(&backend);
  for (tl_setting setting = 0; setting < TL_SETTING_COUNT; ++setting) {
    tell(backend, setting, runtime.settings[setting]);
  }
}

void forget(tl_backend &backend) {
  const std::lock_guard guard(listeners().mutex);
  std::erase(listeners().backends, &backend);
}

tl_status set(Runtime &runtime, tl_setting setting, bool enabled, std::uint32_t *former) {
  const std::lock_guard guard(listeners().mutex);
  Values &values = runtime.settings;
  if (setting == TL_SETTING_CUDNN_BENCHMARK && enabled && values[TL_SETTING_DETERMINISTIC] != 0) {
    return fail(
        TL_INVALID_ARGUMENT,
        "set_setting: cuDNN benchmark (3) cannot be on in deterministic mode; turn setting 2 "
        "off first");
  }
  const auto change = [&](tl_setting which, std::uint32_t value) -> tl_status {
    for (tl_backend *backend : listeners().backends) {
      if (const tl_status status = tell(*backend, which, value); status != TL_OK) {
        return status;
      }
    }
    values[which] = value;
    return TL_OK;
  };
  const std::uint32_t before = values[setting];
  if (const tl_status status = change(setting, enabled ? 1 : 0); status != TL_OK) return status;
  if (setting == TL_SETTING_DETERMINISTIC && enabled) {
    if (const tl_status status = change(TL_SETTING_CUDNN_BENCHMARK, 0); status != TL_OK)
      return status;
  }
  if (former != nullptr) *former = before;
  return TL_OK;
}

}  // namespace torchlean::settings
