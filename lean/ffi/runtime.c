/* Lean symbols: state of the runtime, telemetry, and the failure of a pure computation. */
#include "call.h"
#include "symbols.h"

uint32_t torchlean_cuda_runtime_status(uint32_t token) {
  (void)token;
  return tl_runtime_status();
}

uint32_t torchlean_runtime_collect_allocator(uint32_t token) {
  (void)token;
  tl_collect_allocator();
  return 0;
}

/* The failure of a pure computation of the program itself. */
lean_obj_res torchlean_cuda_buffer_fail(b_lean_obj_arg message) {
  tl_lean_call call = tl_lean_pure("buffer_fail");
  tl_lean_take_string(&call, "message", message);
  if (tl_lean_ok(&call)) tl_lean_fail(&call, TL_INVALID_ARGUMENT, lean_string_cstr(message));
  return tl_lean_end(&call, 1);
}

/* ---- Payload counters ----------------------------------------------------------------------- */

static tl_counters payload_counters(void) {
  tl_counters counters = {.struct_size = sizeof counters};
  tl_get_counters(&counters); /* cannot fail: the structure is the core's own */
  return counters;
}

uint64_t torchlean_cuda_allocator_live_bytes(uint32_t token) {
  (void)token;
  return payload_counters().live_bytes;
}

uint64_t torchlean_cuda_allocator_peak_bytes(uint32_t token) {
  (void)token;
  return payload_counters().peak_bytes;
}

uint64_t torchlean_cuda_allocator_alloc_count(uint32_t token) {
  (void)token;
  return payload_counters().created_buffers;
}

uint64_t torchlean_cuda_allocator_free_count(uint32_t token) {
  (void)token;
  return payload_counters().retired_buffers;
}

/* ---- Wrapper counters ----------------------------------------------------------------------- */

uint64_t torchlean_cuda_wrapper_live_count(uint32_t token) {
  (void)token;
  return tl_lean_count_wrappers().live;
}

uint64_t torchlean_cuda_wrapper_peak_count(uint32_t token) {
  (void)token;
  return tl_lean_count_wrappers().peak;
}

uint64_t torchlean_cuda_wrapper_alloc_count(uint32_t token) {
  (void)token;
  return tl_lean_count_wrappers().created;
}

uint64_t torchlean_cuda_wrapper_finalize_count(uint32_t token) {
  (void)token;
  return tl_lean_count_wrappers().finalized;
}

/* ---- Figures of the backend's allocator: zero where it cannot say --------------------------- */

static tl_memory_figures memory_figures(void) {
  tl_memory_figures figures = {.struct_size = sizeof figures};
  const tl_memory_figures nothing = {.struct_size = sizeof figures};
  return tl_get_memory_figures(&figures) == TL_OK ? figures : nothing;
}

uint64_t torchlean_cuda_allocator_device_free_bytes(uint32_t token) {
  (void)token;
  return memory_figures().device_free_bytes;
}

uint64_t torchlean_cuda_allocator_device_total_bytes(uint32_t token) {
  (void)token;
  return memory_figures().device_total_bytes;
}

uint64_t torchlean_libtorch_allocated_bytes(uint32_t token) {
  (void)token;
  return memory_figures().allocated_bytes;
}

uint64_t torchlean_libtorch_reserved_bytes(uint32_t token) {
  (void)token;
  return memory_figures().reserved_bytes;
}

uint64_t torchlean_libtorch_peak_allocated_bytes(uint32_t token) {
  (void)token;
  return memory_figures().peak_allocated_bytes;
}

uint64_t torchlean_libtorch_peak_reserved_bytes(uint32_t token) {
  (void)token;
  return memory_figures().peak_reserved_bytes;
}
