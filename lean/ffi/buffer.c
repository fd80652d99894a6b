/* Lean symbols: what a buffer is, its release, allocation and copies. */
#include "call.h"
#include "symbols.h"

/* ---- Identity ------------------------------------------------------------------------------- */

uint8_t torchlean_cuda_buffer_dtype(b_lean_obj_arg b) {
  tl_lean_call call = tl_lean_pure("dtype");
  const tl_buffer *x = tl_lean_take_buffer(&call, "b", b);
  tl_dtype dtype = 0;
  if (tl_lean_ok(&call)) call.status = tl_buffer_dtype(x, &dtype);
  tl_lean_require(&call);
  return (uint8_t)dtype;
}

/* none for native buffers. */
lean_obj_res torchlean_cuda_buffer_format(b_lean_obj_arg b) {
  tl_lean_call call = tl_lean_pure("format");
  const tl_buffer *x = tl_lean_take_buffer(&call, "b", b);
  uint32_t is_encoded = 0;
  tl_format format;
  if (tl_lean_ok(&call)) call.status = tl_buffer_format(x, &is_encoded, &format);
  tl_lean_require(&call);
  if (!is_encoded) return lean_box(0);
  lean_object *some = lean_alloc_ctor(1, 1, 0);
  lean_ctor_set(some, 0, tl_lean_make_format(&format));
  return some;
}

static uint32_t size_of(const char *operation, b_lean_obj_arg b) {
  tl_lean_call call = tl_lean_pure(operation);
  const tl_buffer *x = tl_lean_take_handle(&call, "b", b);
  tl_lean_require(&call);
  return (uint32_t)tl_buffer_size(x);
}

uint32_t torchlean_cuda_buffer_size(b_lean_obj_arg b) { return size_of("size", b); }

/* Not shared with another call of the same buffer, since the token differs. */
uint32_t torchlean_cuda_buffer_size_with_token(b_lean_obj_arg b, uint32_t token) {
  (void)token;
  return size_of("size_with_token", b);
}

/* ---- Release -------------------------------------------------------------------------------- */

uint32_t torchlean_cuda_buffer_release_with_token(b_lean_obj_arg b, uint32_t token) {
  (void)token;
  tl_lean_call call = tl_lean_pure("release_with_token");
  tl_buffer *x = tl_lean_take_handle(&call, "b", b);
  tl_lean_require(&call);
  return tl_buffer_release(x);
}

/* Another reference to `keep`, no new handle; both may be the same object. */
lean_obj_res torchlean_cuda_buffer_release_then(b_lean_obj_arg workspace, b_lean_obj_arg keep) {
  tl_lean_call call = tl_lean_pure("release_then");
  tl_buffer *retired = tl_lean_take_handle(&call, "workspace", workspace);
  tl_lean_take_handle(&call, "keep", keep);
  if (!tl_lean_ok(&call)) return tl_lean_end(&call, 1);
  tl_buffer_release(retired);
  lean_inc(keep);
  return keep;
}

/* ---- Allocation ----------------------------------------------------------------------------- */

static lean_obj_res zeros(tl_lean_call call, uint32_t n, uint8_t dtype) {
  call.status = tl_zeros(n, dtype, &call.out[0]);
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_zeros(uint32_t n, uint8_t dtype) {
  return zeros(tl_lean_pure("zeros"), n, dtype);
}

lean_obj_res torchlean_cuda_buffer_zeros_io(uint32_t n, uint8_t dtype) {
  return zeros(tl_lean_io("zeros_io"), n, dtype);
}

lean_obj_res torchlean_cuda_buffer_zeros_like(b_lean_obj_arg reference, uint32_t count) {
  tl_lean_call call = tl_lean_pure("zeros_like");
  const tl_buffer *kind = tl_lean_take_buffer(&call, "reference", reference);
  if (tl_lean_ok(&call)) call.status = tl_zeros_like(kind, count, &call.out[0]);
  return tl_lean_end(&call, 1);
}

static lean_obj_res full(tl_lean_call call, uint32_t n, double v, uint8_t dtype) {
  call.status = tl_full(n, v, dtype, &call.out[0]);
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_full(uint32_t n, double v, uint8_t dtype) {
  return full(tl_lean_pure("full"), n, v, dtype);
}

lean_obj_res torchlean_cuda_buffer_full_io(uint32_t n, double v, uint8_t dtype) {
  return full(tl_lean_io("full_io"), n, v, dtype);
}

/* ---- Copies --------------------------------------------------------------------------------- */

lean_obj_res torchlean_cuda_buffer_copy(b_lean_obj_arg x) {
  return tl_lean_map(tl_copy, "copy", "x", x);
}

lean_obj_res torchlean_cuda_buffer_duplicate(b_lean_obj_arg x) {
  tl_lean_call call = tl_lean_pure("duplicate");
  const tl_buffer *source = tl_lean_take_buffer(&call, "x", x);
  if (tl_lean_ok(&call)) call.status = tl_duplicate(source, &call.out[0], &call.out[1]);
  return tl_lean_end(&call, 2);
}

lean_obj_res torchlean_cuda_buffer_copy_and_release(b_lean_obj_arg x) {
  tl_lean_call call = tl_lean_pure("copy_and_release");
  tl_buffer *source = tl_lean_take_buffer(&call, "x", x);
  if (tl_lean_ok(&call)) call.status = tl_copy(source, &call.out[0]);
  if (tl_lean_ok(&call)) tl_buffer_release(source);
  return tl_lean_end(&call, 1);
}
