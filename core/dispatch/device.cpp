// Device family: devices, settings, memory figures, threads of the thread's current backend.
#include <cmath>

#include "buffers/counters.hpp"
#include "buffers/gate.hpp"
#include "buffers/host_memory.hpp"
#include "selection/runtime.hpp"
#include "selection/settings.hpp"
#include "status/float_environment.hpp"
#include "status/structs.hpp"

namespace torchlean {
namespace {

// What a failed call of a backend's device entry means for the caller.
tl_status report(const char *query, Backend &backend, tl_status status) {
  if (status == TL_OK) return TL_OK;
  if (status == TL_DEVICE_LOST) backend.is_lost.store(true, std::memory_order_relaxed);
  const ThreadState &thread = thread_state();
  if (thread.error_is_fresh) {
    return fail(status, "{}: {}", query, thread.error_text);
  }
  return fail(status, "{}: {} (backend {}, which gave no reason)", query, status_name(status),
              backend.name);
}

// Runs ask(backend) inside the gate and words its failure.
template <class Ask>
tl_status with_backend(const char *query, const void *out, const Ask &ask) noexcept {
  if (out == nullptr) return fail(TL_INVALID_ARGUMENT, "{}: out is NULL", query);
  const GateEntry inside;
  if (!inside) return gate().refusal(query);
  tl_backend *backend = current_backend(query);
  if (backend == nullptr) return TL_UNAVAILABLE;
  if (backend->is_closed) {
    return fail(TL_UNAVAILABLE, "{}: the backend {} has been closed", query, backend->name);
  }
  const DefaultFloatEnvironment float_environment;
  thread_state().error_is_fresh = false;
  return report(query, *backend, ask(*backend));
}

// The same for figures that read as zeros where no backend serves.
template <class Value, class Ask>
tl_status figure(const char *query, Value *out, const Ask &ask) noexcept {
  return with_backend(query, out, [&](tl_backend &backend) -> tl_status {
    Value value = {};
    const tl_status status = backend.is_null ? TL_OK : ask(backend, value);
    if (status == TL_OK) *out = value;
    return status;
  });
}

// A property that a backend lacks reads as zero.
tl_status or_zero(tl_status status) { return status == TL_UNSUPPORTED ? TL_OK : status; }

bool is_cuda(tl_backend &backend) {
  tl_device_properties properties = {};
  properties.struct_size = sizeof properties;
  const std::uint32_t index = backend.device_index.load(std::memory_order_relaxed);
  return backend.device.properties(backend.instance, index, &properties) == TL_OK &&
         properties.is_cuda != 0;
}

// A control that needs a backend: the null backend refuses it with its reason.
tl_status refuse_null(tl_backend &backend) { return backend.device.synchronize(backend.instance); }

}  // namespace
}  // namespace torchlean

using namespace torchlean;

extern "C" {

tl_status tl_device_count(uint32_t *out) {
  return figure("device_count", out, [](tl_backend &backend, std::uint32_t &count) {
    return backend.device.count(backend.instance, &count);
  });
}

tl_status tl_get_device(uint32_t *out) {
  return figure("get_device", out, [](tl_backend &backend, std::uint32_t &index) -> tl_status {
    index = backend.device_index.load(std::memory_order_relaxed);
    return TL_OK;
  });
}

tl_status tl_set_device(uint32_t index) {
  return with_backend("set_device", &index, [&](tl_backend &backend) -> tl_status {
    if (backend.is_null) return refuse_null(backend);
    std::uint32_t count = 0;
    if (const tl_status status = backend.device.count(backend.instance, &count); status != TL_OK) {
      return status;
    }
    if (index >= count) {
      return fail(TL_INVALID_ARGUMENT, "index is {}, expected less than the {} device(s) of {}",
                  index, count, backend.name);
    }
    if (const std::uint64_t live = counters::live_handles(); live != 0) {
      return fail(TL_INVALID_ARGUMENT,
                  "{} buffer handles are alive, expected none; drop them first", live);
    }
    const tl_status status = backend.device.select(backend.instance, index);
    if (status == TL_UNSUPPORTED && count == 1) return TL_OK;  // there is nothing to select
    if (status == TL_OK) backend.device_index.store(index, std::memory_order_relaxed);
    return status;
  });
}

tl_status tl_get_device_info(uint32_t index, tl_device_info *out) {
  return with_backend("device_info", out, [&](tl_backend &backend) -> tl_status {
    if (backend.is_null) return refuse_null(backend);
    std::uint32_t count = 0;
    if (const tl_status status = backend.device.count(backend.instance, &count); status != TL_OK) {
      return status;
    }
    if (index >= count) {
      return fail(TL_INVALID_ARGUMENT, "index is {}, expected less than the {} device(s) of {}",
                  index, count, backend.name);
    }
    tl_device_properties properties = {};
    properties.struct_size = sizeof properties;
    const tl_status status = backend.device.properties(backend.instance, index, &properties);
    if (or_zero(status) != TL_OK) return status;
    ThreadState &thread = thread_state();
    std::memcpy(thread.device_name, properties.name, sizeof properties.name);
    thread.device_name[sizeof thread.device_name - 1] = '\0';
    return write_struct("device_info", out,
                        {.struct_size = 0,
                         .name = thread.device_name,
                         .is_cuda = properties.is_cuda,
                         .capability = properties.capability,
                         .multiprocessor_count = properties.multiprocessor_count,
                         .clock_khz = properties.clock_khz,
                         .memory_clock_khz = properties.memory_clock_khz,
                         .memory_bus_width = properties.memory_bus_width,
                         .total_bytes = properties.total_bytes});
  });
}

tl_status tl_driver_version(uint32_t *out) {
  return figure("driver_version", out, [](tl_backend &backend, std::uint32_t &version) {
    std::uint32_t runtime = 0;
    return or_zero(backend.device.versions(backend.instance, &version, &runtime));
  });
}

tl_status tl_runtime_version(uint32_t *out) {
  return figure("runtime_version", out, [](tl_backend &backend, std::uint32_t &version) {
    std::uint32_t driver = 0;
    return or_zero(backend.device.versions(backend.instance, &driver, &version));
  });
}

tl_status tl_synchronize(void) {
  return with_backend("synchronize", "", [](tl_backend &backend) {
    return backend.device.synchronize(backend.instance);
  });
}

tl_status tl_empty_cache(void) {
  return with_backend("empty_cache", "", [](tl_backend &backend) {
    if (backend.is_null) return refuse_null(backend);
    return or_zero(
        backend.device.empty_cache(backend.instance));  // without a cache nothing is to do
  });
}

void tl_collect_allocator(void) { host_memory::collect(); }

tl_status tl_get_setting(tl_setting setting, uint32_t *out) {
  if (setting >= TL_SETTING_COUNT) {
    return fail(TL_INVALID_ARGUMENT, "get_setting: id is {}, expected 0 to {}", setting,
                TL_SETTING_COUNT - 1);
  }
  return figure("get_setting", out, [&](tl_backend &, std::uint32_t &value) -> tl_status {
    value = started_runtime("get_setting")->settings[setting].load(std::memory_order_relaxed);
    return TL_OK;
  });
}

tl_status tl_set_setting(tl_setting setting, uint32_t enabled, uint32_t *out_former) {
  if (setting >= TL_SETTING_COUNT) {
    return fail(TL_INVALID_ARGUMENT, "set_setting: id is {}, expected 0 to {}", setting,
                TL_SETTING_COUNT - 1);
  }
  return with_backend("set_setting", "", [&](tl_backend &backend) -> tl_status {
    if (backend.is_null) return refuse_null(backend);
    return settings::set(*started_runtime("set_setting"), setting, enabled != 0, out_former);
  });
}

tl_status tl_get_memory_fraction(double *out) {
  return figure("get_memory_fraction", out, [](tl_backend &backend, double &fraction) -> tl_status {
    fraction = backend.memory_fraction.load(std::memory_order_relaxed);
    return TL_OK;
  });
}

tl_status tl_set_memory_fraction(double fraction) {
  return with_backend("set_memory_fraction", "", [&](tl_backend &backend) -> tl_status {
    if (backend.is_null) return refuse_null(backend);
    if (!(std::isfinite(fraction) && fraction > 0.0 && fraction <= 1.0)) {
      return fail(TL_INVALID_ARGUMENT, "fraction is {}, expected above 0 and at most 1", fraction);
    }
    const tl_status status = backend.device.set_memory_fraction(backend.instance, fraction);
    if (or_zero(status) != TL_OK) return status;
    // Host backends take their payloads from the core's service, so they are capped there.
    if (!is_cuda(backend)) host_memory::set_fraction(fraction);
    backend.memory_fraction.store(fraction, std::memory_order_relaxed);
    return TL_OK;
  });
}

tl_status tl_get_num_threads(uint32_t *out) {
  return figure("get_num_threads", out, [](tl_backend &backend, std::uint32_t &threads) {
    return or_zero(backend.device.num_threads(backend.instance, &threads));
  });
}

tl_status tl_set_num_threads(uint32_t threads) {
  return with_backend("set_num_threads", "", [&](tl_backend &backend) {
    if (backend.is_null) return refuse_null(backend);
    return backend.device.set_num_threads(backend.instance, threads);
  });
}

tl_status tl_get_memory_figures(tl_memory_figures *out) {
  return with_backend("memory_figures", out, [&](tl_backend &backend) -> tl_status {
    tl_memory_info info = {};
    info.struct_size = sizeof info;
    const tl_status status =
        backend.is_null ? TL_OK : backend.device.memory_info(backend.instance, &info);
    if (or_zero(status) != TL_OK) return status;
    return write_struct("memory_figures", out,
                        {.struct_size = 0,
                         .allocated_bytes = info.allocated_bytes,
                         .reserved_bytes = info.reserved_bytes,
                         .peak_allocated_bytes = info.peak_allocated_bytes,
                         .peak_reserved_bytes = info.peak_reserved_bytes,
                         .device_free_bytes = info.device_free_bytes,
                         .device_total_bytes = info.device_total_bytes});
  });
}

tl_status tl_get_counters(tl_counters *out) {
  return write_struct("counters", out, counters::snapshot());
}

}  // extern "C"
