/* Matrix products, normalization, losses, transforms, scans, convolution, pooling: each call is
 * logged. */
#include <inttypes.h>

#include "log.h"

static void say_bmm(const tl_operand *a, const tl_operand *b, const tl_bmm_params *p) {
  say_operand(a);
  say_operand(b);
  say(" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32, p->batch, p->m, p->n,
      p->p, p->transpose_a, p->transpose_b);
}

static tl_status bmm(tl_instance *self, const tl_operand *a, const tl_operand *b,
                     const tl_bmm_params *params, tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin("matmul.bmm");
  say_bmm(a, b, params);
  return end(out, 1);
}

static tl_status bmm_scaled(tl_instance *self, const tl_operand *a, const tl_operand *b,
                            const tl_bmm_params *params, double scale, tl_flags flags,
                            tl_storage **out, uint32_t *out_replay) {
  (void)self, (void)flags;
  begin("matmul.bmm_scaled");
  say_bmm(a, b, params);
  say(" %g", scale);
  *out_replay = 1;
  return end(out, 1);
}

static tl_status dgemm(tl_instance *self, const double *a, const double *b, uint64_t m, uint64_t n,
                       uint64_t p, double *out) {
  (void)self;
  begin("matmul.dgemm");
  say_words(a, TL_FLOAT64, 8, m * n);
  say_words(b, TL_FLOAT64, 8, n * p);
  say(" %" PRIu64 " %" PRIu64 " %" PRIu64, m, n, p);
  for (uint64_t i = 0; i < m * p; ++i) out[i] = 41;
  return end(NULL, 0);
}

const tl_matmul_table matmul_table = {
    .struct_size = sizeof matmul_table, .bmm = bmm, .bmm_scaled = bmm_scaled, .dgemm = dgemm};

/* ---- Normalization, loss, fourier, scan ----------------------------------------------------- */

static tl_status softmax(tl_instance *self, const tl_operand *x, uint64_t outer, uint64_t n,
                         uint64_t inner, tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin("normalization.softmax");
  say_operand(x);
  say(" %" PRIu64 " %" PRIu64 " %" PRIu64, outer, n, inner);
  return end(out, 1);
}

static tl_status masked_softmax(tl_instance *self, const tl_operand *scores, const tl_operand *mask,
                                uint64_t rows, uint64_t cols, tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin("normalization.masked_softmax");
  say_operand(scores);
  say_operand(mask);
  say(" %" PRIu64 " %" PRIu64, rows, cols);
  return end(out, 1);
}

static tl_status layer_norm(tl_instance *self, const tl_operand *x, const tl_operand *gamma,
                            const tl_operand *beta, uint64_t rows, uint64_t cols, double epsilon,
                            tl_flags flags, tl_storage *out[3]) {
  (void)self, (void)flags;
  begin("normalization.layer_norm");
  say_operand(x);
  say_operand(gamma);
  say_operand(beta);
  say(" %" PRIu64 " %" PRIu64 " %g", rows, cols, epsilon);
  return end(out, 3);
}

static tl_status layer_norm_bwd(tl_instance *self, const tl_operand *d_out,
                                const tl_operand *normalized, const tl_operand *inv_std,
                                const tl_operand *gamma, const tl_layer_norm_bwd_params *params,
                                tl_flags flags, tl_storage *out[3]) {
  (void)self, (void)flags;
  begin("normalization.layer_norm_bwd");
  say_operand(d_out);
  say_operand(normalized);
  say_operand(inv_std);
  say_operand(gamma);
  say(" %" PRIu64 " %" PRIu64 " %g %g", params->rows, params->cols, params->cols_scale,
      params->inv_cols);
  return end(out, 3);
}

static tl_status loss(tl_instance *self, tl_loss_op op, const tl_operand *prediction,
                      const tl_operand *target, uint64_t rows, uint64_t cols, tl_flags flags,
                      tl_storage **out) {
  (void)self, (void)flags;
  begin_with("loss.loss", op);
  say_operand(prediction);
  say_operand(target);
  say(" %" PRIu64 " %" PRIu64, rows, cols);
  return end(out, 1);
}

static tl_status transform(tl_instance *self, tl_fourier_op op, const tl_operand *x, uint64_t batch,
                           uint64_t n, tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin_with("fourier.transform", op);
  say_operand(x);
  say(" %" PRIu64 " %" PRIu64, batch, n);
  return end(out, 1);
}

static tl_status scan_forward(tl_instance *self, tl_scan_op op, const tl_operand *a,
                              const tl_operand *b, const tl_operand *x, const tl_operand *h0,
                              uint64_t time, uint64_t state, tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin_with("scan.forward", op);
  const tl_operand *operands[] = {a, b, x, h0};
  for (int i = 0; i < 4; ++i) say_operand(operands[i]);
  say(" %" PRIu64 " %" PRIu64, time, state);
  return end(out, 1);
}

static tl_status scan_backward(tl_instance *self, tl_scan_op op, const tl_operand *a,
                               const tl_operand *b, const tl_operand *x, const tl_operand *h0,
                               const tl_operand *h, const tl_operand *d_y, uint64_t time,
                               uint64_t state, tl_flags flags, tl_storage *out[4]) {
  (void)self, (void)flags;
  begin_with("scan.backward", op);
  const tl_operand *operands[] = {a, b, x, h0, h, d_y};
  for (int i = 0; i < 6; ++i) say_operand(operands[i]);
  say(" %" PRIu64 " %" PRIu64, time, state);
  return end(out, 4);
}

const tl_normalization_table normalization_table = {.struct_size = sizeof normalization_table,
                                                    .softmax = softmax,
                                                    .masked_softmax = masked_softmax,
                                                    .layer_norm = layer_norm,
                                                    .layer_norm_bwd = layer_norm_bwd};
const tl_loss_table loss_table = {.struct_size = sizeof loss_table, .loss = loss};
const tl_fourier_table fourier_table = {.struct_size = sizeof fourier_table,
                                        .transform = transform};
const tl_scan_table scan_table = {
    .struct_size = sizeof scan_table, .forward = scan_forward, .backward = scan_backward};

/* ---- Convolution, pooling ------------------------------------------------------------------- */

static void say_convolution(const tl_convolution_params *p) {
  say(" batch %" PRIu64 " channels %" PRIu64 " %" PRIu64 " groups %" PRIu64, p->batch,
      p->in_channels, p->out_channels, p->groups);
  say_axes("in", p->in);
  say_axes("kernel", p->kernel);
  say_axes("stride", p->stride);
  say_axes("before", p->padding_before);
  say_axes("after", p->padding_after);
  say_axes("dilation", p->dilation);
}

static tl_status convolution_forward(tl_instance *self, tl_convolution_op op,
                                     const tl_operand *input, const tl_operand *kernel,
                                     const tl_operand *bias, const tl_convolution_params *params,
                                     tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin_with("convolution.forward", op);
  say_operand(input);
  say_operand(kernel);
  say_operand(bias);
  say_convolution(params);
  return end(out, 1);
}

static tl_status convolution_backward(tl_instance *self, tl_convolution_op op,
                                      const tl_operand *input, const tl_operand *kernel,
                                      const tl_operand *gradient,
                                      const tl_convolution_params *params, tl_flags flags,
                                      tl_storage *out[3]) {
  (void)self, (void)flags;
  begin_with("convolution.backward", op);
  say_operand(input);
  say_operand(kernel);
  say_operand(gradient);
  say_convolution(params);
  return end(out, 3);
}

static void say_pooling(tl_pooling_op op, const tl_pooling_params *p) {
  say(" channels %" PRIu64, p->channels);
  say_axes("in", p->in);
  say_axes("kernel", p->kernel);
  say_axes("stride", p->stride);
  say_axes("padding", p->padding);
  if (op == TL_POOLING_SMOOTH_MAX) say(" beta %g", p->beta);
}

static tl_status pooling_forward(tl_instance *self, tl_pooling_op op, const tl_operand *input,
                                 const tl_pooling_params *params, tl_flags flags,
                                 tl_storage **out) {
  (void)self, (void)flags;
  begin_with("pooling.forward", op);
  say_operand(input);
  say_pooling(op, params);
  return end(out, 1);
}

static tl_status pooling_backward(tl_instance *self, tl_pooling_op op, const tl_operand *input,
                                  const tl_operand *gradient, const tl_pooling_params *params,
                                  tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin_with("pooling.backward", op);
  say_operand(input);
  say_operand(gradient);
  say_pooling(op, params);
  return end(out, 1);
}

const tl_convolution_table convolution_table = {.struct_size = sizeof convolution_table,
                                                .forward = convolution_forward,
                                                .backward = convolution_backward};
const tl_pooling_table pooling_table = {
    .struct_size = sizeof pooling_table, .forward = pooling_forward, .backward = pooling_backward};
