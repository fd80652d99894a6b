/* Lean symbols of the families that no backend has yet, so that every program links.
 *
 * Each answers "unsupported" whatever it is given. A family's symbols move to a file of their own
 * when the family comes.
 */
#include <stdio.h>

#include "object.h"
#include "symbols.h"

/* The parameters are there for the calling convention. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { text_size = 160 };

static void describe(char text[text_size], const char *operation) {
  snprintf(text, text_size, "%s: no backend has this operation yet", operation);
}

static lean_obj_res planned_io(const char *operation) {
  char text[text_size];
  describe(text, operation);
  return tl_lean_io_error(TL_UNSUPPORTED, text);
}

static _Noreturn void planned_pure(const char *operation) {
  char text[text_size];
  describe(text, operation);
  tl_lean_panic(text);
}

/* ---- Indexing -------------------------------------------------------------------------------- */

lean_obj_res torchlean_cuda_buffer_scatter_add(b_lean_obj_arg x, b_lean_obj_arg values, uint32_t n,
                                               b_lean_obj_arg indices, uint32_t k) {
  planned_pure("scatter_add");
}

lean_obj_res torchlean_cuda_buffer_gather_rows(b_lean_obj_arg mat, uint32_t rows, uint32_t cols,
                                               b_lean_obj_arg indices, uint32_t k) {
  planned_pure("gather_rows");
}

lean_obj_res torchlean_cuda_buffer_scatter_add_rows(b_lean_obj_arg mat, b_lean_obj_arg values,
                                                    uint32_t rows, uint32_t cols,
                                                    b_lean_obj_arg indices, uint32_t k) {
  planned_pure("scatter_add_rows");
}

/* ---- Normalization --------------------------------------------------------------------------- */

lean_obj_res torchlean_cuda_buffer_softmax_io(b_lean_obj_arg x, b_lean_obj_arg dims,
                                              uint32_t axis) {
  return planned_io("softmax_io");
}

lean_obj_res torchlean_cuda_buffer_hard_masked_softmax_by_row(b_lean_obj_arg scores,
                                                              b_lean_obj_arg mask, uint32_t rows,
                                                              uint32_t cols) {
  planned_pure("hard_masked_softmax_by_row");
}

lean_obj_res torchlean_cuda_buffer_layer_norm_fwd(b_lean_obj_arg x, b_lean_obj_arg gamma,
                                                  b_lean_obj_arg beta, uint32_t rows, uint32_t cols,
                                                  double inv_cols, double epsilon) {
  planned_pure("layer_norm_fwd");
}

lean_obj_res torchlean_cuda_buffer_layer_norm_bwd(b_lean_obj_arg d_out, b_lean_obj_arg normalized,
                                                  b_lean_obj_arg inv_std, b_lean_obj_arg gamma,
                                                  uint32_t rows, uint32_t cols, double cols_scale,
                                                  double inv_cols) {
  planned_pure("layer_norm_bwd");
}

/* ---- Loss ------------------------------------------------------------------------------------ */

lean_obj_res torchlean_cuda_buffer_cross_entropy_io(b_lean_obj_arg logits, b_lean_obj_arg weights,
                                                    uint32_t rows, uint32_t cols) {
  return planned_io("cross_entropy_io");
}

lean_obj_res torchlean_cuda_buffer_distillation_io(b_lean_obj_arg student, b_lean_obj_arg teacher,
                                                   uint32_t rows, uint32_t cols, uint8_t gradient) {
  return planned_io("distillation_io");
}

/* ---- Fourier --------------------------------------------------------------------------------- */

lean_obj_res torchlean_cuda_buffer_rfft1d_packed(b_lean_obj_arg x, uint32_t batch, uint32_t n) {
  planned_pure("rfft1d_packed");
}

lean_obj_res torchlean_cuda_buffer_irfft1d_packed(b_lean_obj_arg spec, uint32_t batch, uint32_t n) {
  planned_pure("irfft1d_packed");
}

lean_obj_res torchlean_cuda_buffer_irfft1d_packed_unnormalized(b_lean_obj_arg spec, uint32_t batch,
                                                               uint32_t n) {
  planned_pure("irfft1d_packed_unnormalized");
}

/* ---- Scan ------------------------------------------------------------------------------------ */

lean_obj_res torchlean_cuda_buffer_selective_scan_diag_fwd(b_lean_obj_arg a, b_lean_obj_arg b,
                                                           b_lean_obj_arg x, b_lean_obj_arg h0,
                                                           uint32_t seq_len, uint32_t state) {
  planned_pure("selective_scan_diag_fwd");
}

lean_obj_res torchlean_cuda_buffer_selective_scan_diag_bwd(b_lean_obj_arg a, b_lean_obj_arg b,
                                                           b_lean_obj_arg x, b_lean_obj_arg h0,
                                                           b_lean_obj_arg out, b_lean_obj_arg d_y,
                                                           uint32_t seq_len, uint32_t state) {
  planned_pure("selective_scan_diag_bwd");
}

lean_obj_res torchlean_cuda_buffer_selective_scan_diag_var_fwd(b_lean_obj_arg a, b_lean_obj_arg b,
                                                               b_lean_obj_arg x, b_lean_obj_arg h0,
                                                               uint32_t seq_len, uint32_t state) {
  planned_pure("selective_scan_diag_var_fwd");
}

lean_obj_res torchlean_cuda_buffer_selective_scan_diag_var_bwd(b_lean_obj_arg a, b_lean_obj_arg b,
                                                               b_lean_obj_arg x, b_lean_obj_arg h0,
                                                               b_lean_obj_arg out,
                                                               b_lean_obj_arg d_y, uint32_t seq_len,
                                                               uint32_t state) {
  planned_pure("selective_scan_diag_var_bwd");
}

/* ---- Convolution ----------------------------------------------------------------------------- */

lean_obj_res torchlean_cuda_buffer_conv_io(b_lean_obj_arg input, b_lean_obj_arg kernel,
                                           b_lean_obj_arg bias, b_lean_obj_arg input_dims,
                                           b_lean_obj_arg kernel_dims, b_lean_obj_arg strides,
                                           b_lean_obj_arg padding_before,
                                           b_lean_obj_arg padding_after, b_lean_obj_arg dilations,
                                           uint32_t groups) {
  return planned_io("conv_io");
}

lean_obj_res torchlean_cuda_conv_fwd(b_lean_obj_arg input, b_lean_obj_arg kernel,
                                     b_lean_obj_arg bias, b_lean_obj_arg in_spatial,
                                     b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride,
                                     b_lean_obj_arg padding, uint32_t in_c, uint32_t out_c) {
  planned_pure("conv_fwd");
}

lean_obj_res torchlean_cuda_conv_bwd(b_lean_obj_arg input, b_lean_obj_arg kernel,
                                     b_lean_obj_arg grad, b_lean_obj_arg in_spatial,
                                     b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride,
                                     b_lean_obj_arg padding, uint32_t in_c, uint32_t out_c) {
  planned_pure("conv_bwd");
}

lean_obj_res torchlean_cuda_convtranspose_fwd(b_lean_obj_arg input, b_lean_obj_arg kernel,
                                              b_lean_obj_arg bias, b_lean_obj_arg in_spatial,
                                              b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride,
                                              b_lean_obj_arg padding, uint32_t in_c,
                                              uint32_t out_c) {
  planned_pure("convtranspose_fwd");
}

lean_obj_res torchlean_cuda_convtranspose_bwd(b_lean_obj_arg input, b_lean_obj_arg kernel,
                                              b_lean_obj_arg grad, b_lean_obj_arg in_spatial,
                                              b_lean_obj_arg kernel_spatial, b_lean_obj_arg stride,
                                              b_lean_obj_arg padding, uint32_t in_c,
                                              uint32_t out_c) {
  planned_pure("convtranspose_bwd");
}

/* ---- Pooling --------------------------------------------------------------------------------- */

lean_obj_res torchlean_cuda_maxpool_fwd(b_lean_obj_arg input, b_lean_obj_arg in_spatial,
                                        b_lean_obj_arg kernel, b_lean_obj_arg stride,
                                        b_lean_obj_arg padding, uint32_t channels) {
  planned_pure("maxpool_fwd");
}

lean_obj_res torchlean_cuda_maxpool_bwd(b_lean_obj_arg input, b_lean_obj_arg grad,
                                        b_lean_obj_arg in_spatial, b_lean_obj_arg kernel,
                                        b_lean_obj_arg stride, b_lean_obj_arg padding,
                                        uint32_t channels) {
  planned_pure("maxpool_bwd");
}

lean_obj_res torchlean_cuda_avgpool_fwd(b_lean_obj_arg input, b_lean_obj_arg in_spatial,
                                        b_lean_obj_arg kernel, b_lean_obj_arg stride,
                                        b_lean_obj_arg padding, uint32_t channels) {
  planned_pure("avgpool_fwd");
}

lean_obj_res torchlean_cuda_avgpool_bwd(b_lean_obj_arg grad, b_lean_obj_arg in_spatial,
                                        b_lean_obj_arg kernel, b_lean_obj_arg stride,
                                        b_lean_obj_arg padding, uint32_t channels) {
  planned_pure("avgpool_bwd");
}

lean_obj_res torchlean_cuda_smooth_maxpool_fwd(b_lean_obj_arg input, double beta,
                                               b_lean_obj_arg in_spatial, b_lean_obj_arg kernel,
                                               b_lean_obj_arg stride, b_lean_obj_arg padding,
                                               uint32_t channels) {
  planned_pure("smooth_maxpool_fwd");
}

lean_obj_res torchlean_cuda_smooth_maxpool_bwd(b_lean_obj_arg input, b_lean_obj_arg grad,
                                               double beta, b_lean_obj_arg in_spatial,
                                               b_lean_obj_arg kernel, b_lean_obj_arg stride,
                                               b_lean_obj_arg padding, uint32_t channels) {
  planned_pure("smooth_maxpool_bwd");
}

/* ---- Encoded --------------------------------------------------------------------------------- */

lean_obj_res torchlean_cuda_buffer_encoded_binary(b_lean_obj_arg a, b_lean_obj_arg b, uint8_t op) {
  planned_pure("encoded_binary");
}

lean_obj_res torchlean_cuda_buffer_encoded_neg(b_lean_obj_arg x) { planned_pure("encoded_neg"); }
