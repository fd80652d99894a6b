/* Lean symbols: what a buffer is, its release, allocation and copies. */
#include "object.h"
#include "symbols.h"

/* ---- Identity ----------------------------------------------------------------------------------
 */

uint8_t torchlean_cuda_buffer_dtype(b_lean_obj_arg b) {
  tl_dtype dtype = 0;
  tl_lean_must(tl_buffer_dtype(tl_lean_expect_buffer("dtype", "b", b), &dtype));
  return (uint8_t)dtype;
}

/* none for native buffers. */
lean_obj_res torchlean_cuda_buffer_format(b_lean_obj_arg b) {
  uint32_t is_encoded = 0;
  tl_format format;
  tl_lean_must(tl_buffer_format(tl_lean_expect_buffer("format", "b", b), &is_encoded, &format));
  if (!is_encoded) return lean_box(0);
  lean_object *some = lean_alloc_ctor(1, 1, 0);
  lean_ctor_set(some, 0, tl_lean_make_format(&format));
  return some;
}

uint32_t torchlean_cuda_buffer_size(b_lean_obj_arg b) {
  return (uint32_t)tl_buffer_size(tl_lean_expect_buffer("size", "b", b));
}

/* Not shared with another call of the same buffer, since the token differs. */
uint32_t torchlean_cuda_buffer_size_with_token(b_lean_obj_arg b, uint32_t token) {
  (void)token;
  return (uint32_t)tl_buffer_size(tl_lean_expect_buffer("size_with_token", "b", b));
}

/* ---- Release -----------------------------------------------------------------------------------
 */

uint32_t torchlean_cuda_buffer_release_with_token(b_lean_obj_arg b, uint32_t token) {
  (void)token;
  return tl_buffer_release(tl_lean_expect_buffer("release_with_token", "b", b));
}

/* Another reference to `keep`, no new handle; both may be the same object. */
lean_obj_res torchlean_cuda_buffer_release_then(b_lean_obj_arg workspace, b_lean_obj_arg keep) {
  tl_buffer *retired = tl_lean_expect_buffer("release_then", "workspace", workspace);
  tl_lean_expect_buffer("release_then", "keep", keep);
  tl_buffer_release(retired);
  lean_inc(keep);
  return keep;
}

/* ---- Allocation --------------------------------------------------------------------------------
 */

lean_obj_res torchlean_cuda_buffer_zeros(uint32_t n, uint8_t dtype) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_zeros(n, dtype, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_zeros_io(uint32_t n, uint8_t dtype) {
  tl_buffer *out = NULL;
  return tl_lean_io_buffer(tl_zeros(n, dtype, &out), &out);
}

lean_obj_res torchlean_cuda_buffer_zeros_like(b_lean_obj_arg reference, uint32_t count) {
  tl_buffer *out = NULL;
  tl_lean_must(
      tl_zeros_like(tl_lean_expect_buffer("zeros_like", "reference", reference), count, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_full(uint32_t n, double v, uint8_t dtype) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_full(n, v, dtype, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_full_io(uint32_t n, double v, uint8_t dtype) {
  tl_buffer *out = NULL;
  return tl_lean_io_buffer(tl_full(n, v, dtype, &out), &out);
}

/* ---- Copies ------------------------------------------------------------------------------------
 */

lean_obj_res torchlean_cuda_buffer_copy(b_lean_obj_arg x) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_copy(tl_lean_expect_buffer("copy", "x", x), &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_duplicate(b_lean_obj_arg x) {
  tl_buffer *first = NULL;
  tl_buffer *second = NULL;
  tl_lean_must(tl_duplicate(tl_lean_expect_buffer("duplicate", "x", x), &first, &second));
  return tl_lean_pair(tl_lean_wrap(first), tl_lean_wrap(second));
}

lean_obj_res torchlean_cuda_buffer_copy_and_release(b_lean_obj_arg x) {
  tl_buffer *source = tl_lean_expect_buffer("copy_and_release", "x", x);
  tl_buffer *out = NULL;
  tl_lean_must(tl_copy(source, &out));
  tl_buffer_release(source);
  return tl_lean_wrap(out);
}
