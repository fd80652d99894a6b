/* Lean symbols: version, devices, settings, memory fraction of the serving backend. */
#include <inttypes.h>
#include <stdio.h>

#include "call.h"
#include "symbols.h"

/* "LibTorch 2.15.0"; a backend without a library of its own gives its name and version. */
lean_obj_res torchlean_libtorch_version(uint32_t token) {
  (void)token;
  tl_backend_info info = {.struct_size = sizeof info};
  if (tl_runtime_status() == TL_NOT_LINKED || tl_get_backend_info(NULL, &info) != TL_OK) {
    return lean_mk_string("unavailable");
  }
  if (info.library[0] != '\0') return lean_mk_string(info.library);
  char text[128];
  snprintf(text, sizeof text, "%s %s", info.name, info.version);
  return lean_mk_string(text);
}

/* ---- Devices -------------------------------------------------------------------------------- */

/* A pure symbol: where no device can be counted there is none. */
uint32_t torchlean_libtorch_device_count(uint32_t token) {
  (void)token;
  uint32_t count = 0;
  return tl_device_count(&count) == TL_OK ? count : 0;
}

uint32_t torchlean_libtorch_get_device(uint32_t token) {
  (void)token;
  uint32_t index = 0;
  return tl_get_device(&index) == TL_OK ? index : 0;
}

/* Refused while any wrapper is alive. Handles the core counts itself; a poisoned buffer has none.
 */
lean_obj_res torchlean_libtorch_set_device(uint32_t index) {
  tl_lean_call call = tl_lean_io("set_device");
  const uint64_t live = tl_lean_count_wrappers().live;
  if (live != 0) {
    tl_lean_refuse(&call, TL_INVALID_ARGUMENT,
                   "%" PRIu64 " buffers are alive, expected none; drop them first", live);
  } else {
    call.status = tl_set_device(index);
  }
  return tl_lean_end_value(&call, lean_box(0));
}

typedef struct {
  tl_status status;
  tl_device_info info;
} Device;

static Device device(uint32_t index) {
  Device found = {.info = {.struct_size = sizeof found.info}};
  found.status = tl_get_device_info(index, &found.info);
  return found;
}

lean_obj_res torchlean_libtorch_device_name(uint32_t index) {
  tl_lean_call call = tl_lean_io("device_name");
  const Device found = device(index);
  call.status = found.status;
  return tl_lean_end_value(&call, tl_lean_ok(&call) ? lean_mk_string(found.info.name) : NULL);
}

lean_obj_res torchlean_libtorch_device_capability(uint32_t index) {
  const Device found = device(index);
  return tl_lean_io_u32(found.status, found.info.capability);
}

lean_obj_res torchlean_libtorch_device_sm_count(uint32_t index) {
  const Device found = device(index);
  return tl_lean_io_u32(found.status, found.info.multiprocessor_count);
}

lean_obj_res torchlean_libtorch_device_clock_khz(uint32_t index) {
  const Device found = device(index);
  return tl_lean_io_u32(found.status, found.info.clock_khz);
}

lean_obj_res torchlean_libtorch_device_mem_clock_khz(uint32_t index) {
  const Device found = device(index);
  return tl_lean_io_u32(found.status, found.info.memory_clock_khz);
}

lean_obj_res torchlean_libtorch_device_mem_bus_width(uint32_t index) {
  const Device found = device(index);
  return tl_lean_io_u32(found.status, found.info.memory_bus_width);
}

lean_obj_res torchlean_libtorch_device_total_bytes(uint32_t index) {
  const Device found = device(index);
  return tl_lean_io_u64(found.status, found.info.total_bytes);
}

lean_obj_res torchlean_libtorch_driver_version(uint32_t token) {
  (void)token;
  uint32_t version = 0;
  const tl_status status = tl_driver_version(&version);
  return tl_lean_io_u32(status, version);
}

lean_obj_res torchlean_libtorch_runtime_version(uint32_t token) {
  (void)token;
  uint32_t version = 0;
  const tl_status status = tl_runtime_version(&version);
  return tl_lean_io_u32(status, version);
}

lean_obj_res torchlean_libtorch_synchronize(uint32_t token) {
  (void)token;
  return tl_lean_io_unit(tl_synchronize());
}

lean_obj_res torchlean_libtorch_empty_cache(uint32_t token) {
  (void)token;
  return tl_lean_io_unit(tl_empty_cache());
}

/* ---- Settings ------------------------------------------------------------------------------- */

lean_obj_res torchlean_libtorch_get_setting(uint32_t id) {
  uint32_t value = 0;
  const tl_status status = tl_get_setting(id, &value);
  return tl_lean_io_u32(status, value);
}

lean_obj_res torchlean_libtorch_set_setting(uint32_t id, uint32_t enabled) {
  return tl_lean_io_unit(tl_set_setting(id, enabled, NULL));
}

lean_obj_res torchlean_libtorch_get_memory_fraction(uint32_t token) {
  (void)token;
  double fraction = 0;
  const tl_status status = tl_get_memory_fraction(&fraction);
  return tl_lean_io_f64(status, fraction);
}

lean_obj_res torchlean_libtorch_set_memory_fraction(double fraction) {
  return tl_lean_io_unit(tl_set_memory_fraction(fraction));
}
