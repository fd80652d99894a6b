/* Lean symbols: elementwise operations on native buffers, and their gradients. */
#include "call.h"
#include "symbols.h"

/* The operands carry the argument names of symbols.tsv into messages. */
static lean_obj_res unary(tl_unary_op op, const char *operation, b_lean_obj_arg x) {
  tl_lean_call call = tl_lean_pure(operation);
  const tl_buffer *operand = tl_lean_take_buffer(&call, "x", x);
  if (tl_lean_ok(&call)) call.status = tl_unary(op, operand, &call.out[0]);
  return tl_lean_end(&call, 1);
}

static lean_obj_res binary(tl_binary_op op, const char *operation, const char *first,
                           b_lean_obj_arg a, const char *second, b_lean_obj_arg b) {
  tl_lean_call call = tl_lean_pure(operation);
  const tl_buffer *left = tl_lean_take_buffer(&call, first, a);
  const tl_buffer *right = tl_lean_take_buffer(&call, second, b);
  if (tl_lean_ok(&call)) call.status = tl_binary(op, left, right, &call.out[0]);
  return tl_lean_end(&call, 1);
}

static lean_obj_res select_bwd(tl_select_bwd_op op, const char *operation, b_lean_obj_arg a,
                               b_lean_obj_arg b, b_lean_obj_arg gradient) {
  tl_lean_call call = tl_lean_pure(operation);
  const tl_buffer *left = tl_lean_take_buffer(&call, "a", a);
  const tl_buffer *right = tl_lean_take_buffer(&call, "b", b);
  const tl_buffer *upstream = tl_lean_take_buffer(&call, "dLdy", gradient);
  if (tl_lean_ok(&call)) {
    call.status = tl_select_bwd(op, left, right, upstream, &call.out[0], &call.out[1]);
  }
  return tl_lean_end(&call, 2);
}

/* ---- One operand ---------------------------------------------------------------------------- */

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
  tl_lean_call call = tl_lean_pure("scale");
  const tl_buffer *operand = tl_lean_take_buffer(&call, "x", x);
  if (tl_lean_ok(&call)) call.status = tl_scale(operand, c, &call.out[0]);
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_clamp(b_lean_obj_arg x, double lo, double hi) {
  tl_lean_call call = tl_lean_pure("clamp");
  const tl_buffer *operand = tl_lean_take_buffer(&call, "x", x);
  if (tl_lean_ok(&call)) call.status = tl_clamp(operand, lo, hi, &call.out[0]);
  return tl_lean_end(&call, 1);
}

/* ---- Two operands --------------------------------------------------------------------------- */

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
  tl_lean_call call = tl_lean_pure("axpy");
  const tl_buffer *left = tl_lean_take_buffer(&call, "a", a);
  const tl_buffer *right = tl_lean_take_buffer(&call, "b", b);
  if (tl_lean_ok(&call)) call.status = tl_axpy(left, right, c, &call.out[0]);
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_scaled_prod_exp(b_lean_obj_arg x, b_lean_obj_arg y, double c) {
  tl_lean_call call = tl_lean_pure("scaled_prod_exp");
  const tl_buffer *left = tl_lean_take_buffer(&call, "x", x);
  const tl_buffer *right = tl_lean_take_buffer(&call, "y", y);
  if (tl_lean_ok(&call)) call.status = tl_scaled_prod_exp(left, right, c, &call.out[0]);
  return tl_lean_end(&call, 1);
}

/* ---- Gradients ------------------------------------------------------------------------------ */

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
  tl_lean_call call = tl_lean_pure("clamp_bwd");
  const tl_buffer *input = tl_lean_take_buffer(&call, "x", x);
  const tl_buffer *upstream = tl_lean_take_buffer(&call, "dLdy", gradient);
  if (tl_lean_ok(&call)) call.status = tl_clamp_bwd(input, upstream, lo, hi, &call.out[0]);
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_max_bwd(b_lean_obj_arg a, b_lean_obj_arg b,
                                           b_lean_obj_arg gradient) {
  return select_bwd(TL_SELECT_MAX_BWD, "max_bwd", a, b, gradient);
}

lean_obj_res torchlean_cuda_buffer_min_bwd(b_lean_obj_arg a, b_lean_obj_arg b,
                                           b_lean_obj_arg gradient) {
  return select_bwd(TL_SELECT_MIN_BWD, "min_bwd", a, b, gradient);
}
