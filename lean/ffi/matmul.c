/* Lean symbols: matrix products. */
#include <inttypes.h>
#include <stdio.h>

#include "object.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_buffer_bmm_with_transpose(b_lean_obj_arg a, b_lean_obj_arg b,
                                                      uint32_t batch, uint32_t m, uint32_t n,
                                                      uint32_t p, uint32_t transpose_a,
                                                      uint32_t transpose_b) {
  const tl_buffer *left = tl_lean_expect_buffer("bmm_with_transpose", "a", a);
  const tl_buffer *right = tl_lean_expect_buffer("bmm_with_transpose", "b", b);
  tl_buffer *out = NULL;
  tl_lean_must(tl_bmm_with_transpose(left, right, batch, m, n, p, transpose_a, transpose_b, &out));
  return tl_lean_wrap(out);
}

/* (result, 1) asks the caller to replay from the operands. */
lean_obj_res torchlean_cuda_buffer_bmm_scaled_io(b_lean_obj_arg a, b_lean_obj_arg b, uint32_t batch,
                                                 uint32_t m, uint32_t n, uint32_t p,
                                                 uint32_t transpose_a, uint32_t transpose_b,
                                                 double scale) {
  static const char operation[] = "bmm_scaled_io";
  if (!tl_lean_is_buffer(a)) return tl_lean_io_wrong_class(operation, "a", a, "a Buffer");
  if (!tl_lean_is_buffer(b)) return tl_lean_io_wrong_class(operation, "b", b, "a Buffer");
  tl_buffer *out = NULL;
  uint32_t replay = 0;
  const tl_status status = tl_bmm_scaled(tl_lean_buffer(a), tl_lean_buffer(b), batch, m, n, p,
                                         transpose_a, transpose_b, scale, &out, &replay);
  if (status != TL_OK) return tl_lean_io_error(status, tl_last_error());
  return lean_io_result_mk_ok(tl_lean_pair(tl_lean_wrap(out), lean_box(replay)));
}

/* Elements of a FloatArray are aligned as doubles. */
static double *doubles(lean_object *array) { return (double *)(void *)lean_sarray_cptr(array); }

lean_obj_res torchlean_dgemm_cuda(b_lean_obj_arg a, b_lean_obj_arg b, uint32_t m, uint32_t n,
                                  uint32_t p) {
  tl_lean_expect_float_array("dgemm", "a", a);
  tl_lean_expect_float_array("dgemm", "b", b);
  const uint64_t count = (uint64_t)m * p;
  lean_object *out = tl_lean_make_array(sizeof(double), count);
  if (out == NULL) {
    char text[96];
    snprintf(text, sizeof text, "dgemm: no memory for a FloatArray of %" PRIu64 " elements", count);
    tl_lean_panic(text);
  }
  tl_lean_must(tl_dgemm(doubles(a), lean_sarray_size(a), doubles(b), lean_sarray_size(b), m, n, p,
                        doubles(out), count));
  return out;
}
