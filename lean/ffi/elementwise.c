/* Lean symbols: elementwise operations on native buffers, and their gradients. */
#include "object.h"
#include "symbols.h"

/* The operands carry the argument names of symbols.tsv into messages. */
static lean_obj_res unary(tl_unary_op op, const char *operation, b_lean_obj_arg x) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_unary(op, tl_lean_expect_buffer(operation, "x", x), &out));
  return tl_lean_wrap(out);
}

static lean_obj_res binary(tl_binary_op op, const char *operation, const char *first,
                           b_lean_obj_arg a, const char *second, b_lean_obj_arg b) {
  const tl_buffer *left = tl_lean_expect_buffer(operation, first, a);
  const tl_buffer *right = tl_lean_expect_buffer(operation, second, b);
  tl_buffer *out = NULL;
  tl_lean_must(tl_binary(op, left, right, &out));
  return tl_lean_wrap(out);
}

static lean_obj_res select_bwd(tl_select_bwd_op op, const char *operation, b_lean_obj_arg a,
                               b_lean_obj_arg b, b_lean_obj_arg gradient) {
  const tl_buffer *left = tl_lean_expect_buffer(operation, "a", a);
  const tl_buffer *right = tl_lean_expect_buffer(operation, "b", b);
  tl_buffer *da = NULL;
  tl_buffer *db = NULL;
  tl_lean_must(
      tl_select_bwd(op, left, right, tl_lean_expect_buffer(operation, "dLdy", gradient), &da, &db));
  return tl_lean_pair(tl_lean_wrap(da), tl_lean_wrap(db));
}

/* ---- One operand -------------------------------------------------------------------------------
 */

lean_obj_res torchlean_cuda_buffer_abs(b_lean_obj_arg x) { return unary(TL_UNARY_ABS, "abs", x); }

lean_obj_res torchlean_cuda_buffer_neg(b_lean_obj_arg x) { return unary(TL_UNARY_NEG, "neg", x); }

lean_obj_res torchlean_cuda_buffer_floor(b_lean_obj_arg x) {
  return unary(TL_UNARY_FLOOR, "floor", x);
}

lean_obj_res torchlean_cuda_buffer_sqrt(b_lean_obj_arg x) {
  return unary(TL_UNARY_SQRT, "sqrt", x);
}

lean_obj_res torchlean_cuda_buffer_inv(b_lean_obj_arg x) { return unary(TL_UNARY_INV, "inv", x); }

lean_obj_res torchlean_cuda_buffer_relu(b_lean_obj_arg x) {
  return unary(TL_UNARY_RELU, "relu", x);
}

lean_obj_res torchlean_cuda_buffer_exp(b_lean_obj_arg x) { return unary(TL_UNARY_EXP, "exp", x); }

lean_obj_res torchlean_cuda_buffer_log(b_lean_obj_arg x) { return unary(TL_UNARY_LOG, "log", x); }

lean_obj_res torchlean_cuda_buffer_log1p(b_lean_obj_arg x) {
  return unary(TL_UNARY_LOG1P, "log1p", x);
}

lean_obj_res torchlean_cuda_buffer_sin(b_lean_obj_arg x) { return unary(TL_UNARY_SIN, "sin", x); }

lean_obj_res torchlean_cuda_buffer_cos(b_lean_obj_arg x) { return unary(TL_UNARY_COS, "cos", x); }

lean_obj_res torchlean_cuda_buffer_tanh(b_lean_obj_arg x) {
  return unary(TL_UNARY_TANH, "tanh", x);
}

lean_obj_res torchlean_cuda_buffer_sigmoid(b_lean_obj_arg x) {
  return unary(TL_UNARY_SIGMOID, "sigmoid", x);
}

lean_obj_res torchlean_cuda_buffer_gelu(b_lean_obj_arg x) {
  return unary(TL_UNARY_GELU, "gelu", x);
}

lean_obj_res torchlean_cuda_buffer_scale(b_lean_obj_arg x, double c) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_scale(tl_lean_expect_buffer("scale", "x", x), c, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_clamp(b_lean_obj_arg x, double lo, double hi) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_clamp(tl_lean_expect_buffer("clamp", "x", x), lo, hi, &out));
  return tl_lean_wrap(out);
}

/* ---- Two operands ------------------------------------------------------------------------------
 */

lean_obj_res torchlean_cuda_buffer_add(b_lean_obj_arg a, b_lean_obj_arg b) {
  return binary(TL_BINARY_ADD, "add", "a", a, "b", b);
}

lean_obj_res torchlean_cuda_buffer_sub(b_lean_obj_arg a, b_lean_obj_arg b) {
  return binary(TL_BINARY_SUB, "sub", "a", a, "b", b);
}

lean_obj_res torchlean_cuda_buffer_mul(b_lean_obj_arg a, b_lean_obj_arg b) {
  return binary(TL_BINARY_MUL, "mul", "a", a, "b", b);
}

lean_obj_res torchlean_cuda_buffer_div(b_lean_obj_arg a, b_lean_obj_arg b) {
  return binary(TL_BINARY_DIV, "div", "a", a, "b", b);
}

lean_obj_res torchlean_cuda_buffer_max(b_lean_obj_arg a, b_lean_obj_arg b) {
  return binary(TL_BINARY_MAX, "max", "a", a, "b", b);
}

lean_obj_res torchlean_cuda_buffer_min(b_lean_obj_arg a, b_lean_obj_arg b) {
  return binary(TL_BINARY_MIN, "min", "a", a, "b", b);
}

lean_obj_res torchlean_cuda_buffer_mask(b_lean_obj_arg values, b_lean_obj_arg allowed) {
  return binary(TL_BINARY_MASK, "mask", "values", values, "allowed", allowed);
}

lean_obj_res torchlean_cuda_buffer_axpy(b_lean_obj_arg a, b_lean_obj_arg b, double c) {
  const tl_buffer *left = tl_lean_expect_buffer("axpy", "a", a);
  const tl_buffer *right = tl_lean_expect_buffer("axpy", "b", b);
  tl_buffer *out = NULL;
  tl_lean_must(tl_axpy(left, right, c, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_scaled_prod_exp(b_lean_obj_arg x, b_lean_obj_arg y, double c) {
  const tl_buffer *left = tl_lean_expect_buffer("scaled_prod_exp", "x", x);
  const tl_buffer *right = tl_lean_expect_buffer("scaled_prod_exp", "y", y);
  tl_buffer *out = NULL;
  tl_lean_must(tl_scaled_prod_exp(left, right, c, &out));
  return tl_lean_wrap(out);
}

/* ---- Gradients ---------------------------------------------------------------------------------
 */

lean_obj_res torchlean_cuda_buffer_abs_bwd(b_lean_obj_arg x, b_lean_obj_arg gradient) {
  return binary(TL_BINARY_ABS_BWD, "abs_bwd", "x", x, "dLdy", gradient);
}

lean_obj_res torchlean_cuda_buffer_sqrt_bwd(b_lean_obj_arg x, b_lean_obj_arg gradient) {
  return binary(TL_BINARY_SQRT_BWD, "sqrt_bwd", "x", x, "dLdy", gradient);
}

lean_obj_res torchlean_cuda_buffer_relu_bwd(b_lean_obj_arg x, b_lean_obj_arg gradient) {
  return binary(TL_BINARY_RELU_BWD, "relu_bwd", "x", x, "dLdy", gradient);
}

lean_obj_res torchlean_cuda_buffer_gelu_bwd(b_lean_obj_arg x, b_lean_obj_arg gradient) {
  return binary(TL_BINARY_GELU_BWD, "gelu_bwd", "x", x, "dLdy", gradient);
}

lean_obj_res torchlean_cuda_buffer_clamp_bwd(b_lean_obj_arg x, b_lean_obj_arg gradient, double lo,
                                             double hi) {
  const tl_buffer *input = tl_lean_expect_buffer("clamp_bwd", "x", x);
  const tl_buffer *upstream = tl_lean_expect_buffer("clamp_bwd", "dLdy", gradient);
  tl_buffer *out = NULL;
  tl_lean_must(tl_clamp_bwd(input, upstream, lo, hi, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_max_bwd(b_lean_obj_arg a, b_lean_obj_arg b,
                                           b_lean_obj_arg gradient) {
  return select_bwd(TL_SELECT_MAX_BWD, "max_bwd", a, b, gradient);
}

lean_obj_res torchlean_cuda_buffer_min_bwd(b_lean_obj_arg a, b_lean_obj_arg b,
                                           b_lean_obj_arg gradient) {
  return select_bwd(TL_SELECT_MIN_BWD, "min_bwd", a, b, gradient);
}
