/* Lean symbols: matrix products. */
#include <inttypes.h>

#include "call.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_buffer_bmm_with_transpose(b_lean_obj_arg a, b_lean_obj_arg b,
                                                      uint32_t batch, uint32_t m, uint32_t n,
                                                      uint32_t p, uint32_t transpose_a,
                                                      uint32_t transpose_b) {
  tl_lean_call call = tl_lean_pure("bmm_with_transpose");
  const tl_buffer *left = tl_lean_take_buffer(&call, "a", a);
  const tl_buffer *right = tl_lean_take_buffer(&call, "b", b);
  if (tl_lean_ok(&call)) {
    call.status =
        tl_bmm_with_transpose(left, right, batch, m, n, p, transpose_a, transpose_b, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

/* (result, 1) asks the caller to replay from the operands. */
lean_obj_res torchlean_cuda_buffer_bmm_scaled_io(b_lean_obj_arg a, b_lean_obj_arg b, uint32_t batch,
                                                 uint32_t m, uint32_t n, uint32_t p,
                                                 uint32_t transpose_a, uint32_t transpose_b,
                                                 double scale) {
  tl_lean_call call = tl_lean_io("bmm_scaled_io");
  const tl_buffer *left = tl_lean_take_buffer(&call, "a", a);
  const tl_buffer *right = tl_lean_take_buffer(&call, "b", b);
  uint32_t replay = 0;
  if (tl_lean_ok(&call)) {
    call.status = tl_bmm_scaled(left, right, batch, m, n, p, transpose_a, transpose_b, scale,
                                &call.out[0], &replay);
  }
  if (!tl_lean_ok(&call)) return tl_lean_end_value(&call, NULL);
  return tl_lean_end_value(&call, tl_lean_pair(tl_lean_wrap(call.out[0]), lean_box(replay)));
}

lean_obj_res torchlean_dgemm_cuda(b_lean_obj_arg a, b_lean_obj_arg b, uint32_t m, uint32_t n,
                                  uint32_t p) {
  tl_lean_call call = tl_lean_pure("dgemm");
  tl_lean_take_float_array(&call, "a", a);
  tl_lean_take_float_array(&call, "b", b);
  tl_lean_require(&call);
  const uint64_t count = (uint64_t)m * p;
  lean_object *out = tl_lean_make_array(sizeof(double), count);
  if (out == NULL) {
    tl_lean_refuse(&call, TL_OUT_OF_MEMORY, "no memory for a FloatArray of %" PRIu64 " elements",
                   count);
  } else {
    call.status = tl_dgemm(tl_lean_doubles(a), lean_sarray_size(a), tl_lean_doubles(b),
                           lean_sarray_size(b), m, n, p, tl_lean_doubles(out), count);
  }
  return tl_lean_end_value(&call, out);
}
