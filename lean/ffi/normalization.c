/* Lean symbols: softmax, layer norm and its gradient. */
#include "call.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_buffer_softmax_io(b_lean_obj_arg x, b_lean_obj_arg dims,
                                              uint32_t axis) {
  tl_lean_call call = tl_lean_io("softmax_io");
  const tl_buffer *input = tl_lean_take_buffer(&call, "x", x);
  tl_lean_dims storage;
  const tl_list shape = tl_lean_take_dims(&call, "dims", dims, storage);
  if (tl_lean_ok(&call)) {
    call.status = tl_softmax(input, shape.values, shape.length, axis, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_hard_masked_softmax_by_row(b_lean_obj_arg scores,
                                                              b_lean_obj_arg mask, uint32_t rows,
                                                              uint32_t cols) {
  tl_lean_call call = tl_lean_pure("hard_masked_softmax_by_row");
  const tl_buffer *values = tl_lean_take_buffer(&call, "scores", scores);
  const tl_buffer *allowed = tl_lean_take_buffer(&call, "mask", mask);
  if (tl_lean_ok(&call)) {
    call.status = tl_hard_masked_softmax_by_row(values, allowed, rows, cols, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

/* (result, (normalized, invStd)). The host's reciprocal of cols is not used: cols itself divides.
 */
lean_obj_res torchlean_cuda_buffer_layer_norm_fwd(b_lean_obj_arg x, b_lean_obj_arg gamma,
                                                  b_lean_obj_arg beta, uint32_t rows, uint32_t cols,
                                                  double inv_cols, double epsilon) {
  (void)inv_cols;
  tl_lean_call call = tl_lean_pure("layer_norm_fwd");
  const tl_buffer *input = tl_lean_take_buffer(&call, "x", x);
  const tl_buffer *factor = tl_lean_take_buffer(&call, "gamma", gamma);
  const tl_buffer *offset = tl_lean_take_buffer(&call, "beta", beta);
  if (tl_lean_ok(&call)) {
    call.status = tl_layer_norm_fwd(input, factor, offset, rows, cols, epsilon, &call.out[0],
                                    &call.out[1], &call.out[2]);
  }
  return tl_lean_end(&call, 3);
}

/* (dX, (dGamma, dBeta)). */
lean_obj_res torchlean_cuda_buffer_layer_norm_bwd(b_lean_obj_arg d_out, b_lean_obj_arg normalized,
                                                  b_lean_obj_arg inv_std, b_lean_obj_arg gamma,
                                                  uint32_t rows, uint32_t cols, double cols_scale,
                                                  double inv_cols) {
  tl_lean_call call = tl_lean_pure("layer_norm_bwd");
  const tl_buffer *gradient = tl_lean_take_buffer(&call, "dOut", d_out);
  const tl_buffer *normal = tl_lean_take_buffer(&call, "normalized", normalized);
  const tl_buffer *inverse = tl_lean_take_buffer(&call, "invStd", inv_std);
  const tl_buffer *factor = tl_lean_take_buffer(&call, "gamma", gamma);
  if (tl_lean_ok(&call)) {
    call.status = tl_layer_norm_bwd(gradient, normal, inverse, factor, rows, cols, cols_scale,
                                    inv_cols, &call.out[0], &call.out[1], &call.out[2]);
  }
  return tl_lean_end(&call, 3);
}
