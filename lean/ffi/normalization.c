/* Lean symbols: softmax, layer norm and its gradient. */
#include "object.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_buffer_softmax_io(b_lean_obj_arg x, b_lean_obj_arg dims,
                                              uint32_t axis) {
  static const char operation[] = "softmax_io";
  if (!tl_lean_is_buffer(x)) return tl_lean_io_wrong_class(operation, "x", x, "a Buffer");
  tl_lean_dims shape;
  lean_object *error = tl_lean_io_dims(operation, "dims", dims, &shape);
  if (error != NULL) return error;
  tl_buffer *out = NULL;
  return tl_lean_io_buffer(tl_softmax(tl_lean_buffer(x), shape.values, shape.length, axis, &out),
                           &out);
}

lean_obj_res torchlean_cuda_buffer_hard_masked_softmax_by_row(b_lean_obj_arg scores,
                                                              b_lean_obj_arg mask, uint32_t rows,
                                                              uint32_t cols) {
  static const char operation[] = "hard_masked_softmax_by_row";
  const tl_buffer *values = tl_lean_expect_buffer(operation, "scores", scores);
  const tl_buffer *allowed = tl_lean_expect_buffer(operation, "mask", mask);
  tl_buffer *out = NULL;
  tl_lean_must(tl_hard_masked_softmax_by_row(values, allowed, rows, cols, &out));
  return tl_lean_wrap(out);
}

/* (result, (normalized, invStd)). The host's reciprocal of cols is not used: cols itself divides.
 */
lean_obj_res torchlean_cuda_buffer_layer_norm_fwd(b_lean_obj_arg x, b_lean_obj_arg gamma,
                                                  b_lean_obj_arg beta, uint32_t rows, uint32_t cols,
                                                  double inv_cols, double epsilon) {
  static const char operation[] = "layer_norm_fwd";
  (void)inv_cols;
  const tl_buffer *input = tl_lean_expect_buffer(operation, "x", x);
  const tl_buffer *factor = tl_lean_expect_buffer(operation, "gamma", gamma);
  const tl_buffer *offset = tl_lean_expect_buffer(operation, "beta", beta);
  tl_buffer *out = NULL;
  tl_buffer *normalized = NULL;
  tl_buffer *inv_std = NULL;
  tl_lean_must(
      tl_layer_norm_fwd(input, factor, offset, rows, cols, epsilon, &out, &normalized, &inv_std));
  lean_object *statistics = tl_lean_pair(tl_lean_wrap(normalized), tl_lean_wrap(inv_std));
  return tl_lean_pair(tl_lean_wrap(out), statistics);
}

/* (dX, (dGamma, dBeta)). */
lean_obj_res torchlean_cuda_buffer_layer_norm_bwd(b_lean_obj_arg d_out, b_lean_obj_arg normalized,
                                                  b_lean_obj_arg inv_std, b_lean_obj_arg gamma,
                                                  uint32_t rows, uint32_t cols, double cols_scale,
                                                  double inv_cols) {
  static const char operation[] = "layer_norm_bwd";
  const tl_buffer *gradient = tl_lean_expect_buffer(operation, "dOut", d_out);
  const tl_buffer *normal = tl_lean_expect_buffer(operation, "normalized", normalized);
  const tl_buffer *inverse = tl_lean_expect_buffer(operation, "invStd", inv_std);
  const tl_buffer *factor = tl_lean_expect_buffer(operation, "gamma", gamma);
  tl_buffer *dx = NULL;
  tl_buffer *dgamma = NULL;
  tl_buffer *dbeta = NULL;
  tl_lean_must(tl_layer_norm_bwd(gradient, normal, inverse, factor, rows, cols, cols_scale,
                                 inv_cols, &dx, &dgamma, &dbeta));
  lean_object *parameters = tl_lean_pair(tl_lean_wrap(dgamma), tl_lean_wrap(dbeta));
  return tl_lean_pair(tl_lean_wrap(dx), parameters);
}
