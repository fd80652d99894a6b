/* Lean symbols: the diagonal linear recurrence of selective state spaces, and its gradient. */
#include "call.h"
#include "symbols.h"

/* The functions of runtime.h for coefficients per state, and per step and state. */
typedef tl_status (*Forward)(const tl_buffer *a, const tl_buffer *b, const tl_buffer *x,
                             const tl_buffer *h0, uint64_t seq_len, uint64_t state,
                             tl_buffer **out);
typedef tl_status (*Backward)(const tl_buffer *a, const tl_buffer *b, const tl_buffer *x,
                              const tl_buffer *h0, const tl_buffer *h, const tl_buffer *d_y,
                              uint64_t seq_len, uint64_t state, tl_buffer **out_da,
                              tl_buffer **out_db, tl_buffer **out_dx, tl_buffer **out_dh0);

/* The operands of the forward direction. */
typedef struct {
  const tl_buffer *a;
  const tl_buffer *b;
  const tl_buffer *x;
  const tl_buffer *h0;
} Operands;

static Operands take_operands(tl_lean_call *call, b_lean_obj_arg a, b_lean_obj_arg b,
                              b_lean_obj_arg x, b_lean_obj_arg h0) {
  Operands operands;
  operands.a = tl_lean_take_buffer(call, "a", a);
  operands.b = tl_lean_take_buffer(call, "b", b);
  operands.x = tl_lean_take_buffer(call, "x", x);
  operands.h0 = tl_lean_take_buffer(call, "h0", h0);
  return operands;
}

static lean_obj_res forward(Forward scan, const char *operation, b_lean_obj_arg a, b_lean_obj_arg b,
                            b_lean_obj_arg x, b_lean_obj_arg h0, uint32_t seq_len, uint32_t state) {
  tl_lean_call call = tl_lean_pure(operation);
  const Operands in = take_operands(&call, a, b, x, h0);
  if (tl_lean_ok(&call)) {
    call.status = scan(in.a, in.b, in.x, in.h0, seq_len, state, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

/* (dA, (dB, (dX, dH0))). */
static lean_obj_res backward(Backward scan, const char *operation, b_lean_obj_arg a,
                             b_lean_obj_arg b, b_lean_obj_arg x, b_lean_obj_arg h0,
                             b_lean_obj_arg out, b_lean_obj_arg d_y, uint32_t seq_len,
                             uint32_t state) {
  tl_lean_call call = tl_lean_pure(operation);
  const Operands in = take_operands(&call, a, b, x, h0);
  const tl_buffer *states = tl_lean_take_buffer(&call, "out", out);
  const tl_buffer *gradient = tl_lean_take_buffer(&call, "dY", d_y);
  if (tl_lean_ok(&call)) {
    call.status = scan(in.a, in.b, in.x, in.h0, states, gradient, seq_len, state, &call.out[0],
                       &call.out[1], &call.out[2], &call.out[3]);
  }
  return tl_lean_end(&call, 4);
}

lean_obj_res torchlean_cuda_buffer_selective_scan_diag_fwd(b_lean_obj_arg a, b_lean_obj_arg b,
                                                           b_lean_obj_arg x, b_lean_obj_arg h0,
                                                           uint32_t seq_len, uint32_t state) {
  return forward(tl_selective_scan_diag_fwd, "selective_scan_diag_fwd", a, b, x, h0, seq_len,
                 state);
}

lean_obj_res torchlean_cuda_buffer_selective_scan_diag_bwd(b_lean_obj_arg a, b_lean_obj_arg b,
                                                           b_lean_obj_arg x, b_lean_obj_arg h0,
                                                           b_lean_obj_arg out, b_lean_obj_arg d_y,
                                                           uint32_t seq_len, uint32_t state) {
  return backward(tl_selective_scan_diag_bwd, "selective_scan_diag_bwd", a, b, x, h0, out, d_y,
                  seq_len, state);
}

lean_obj_res torchlean_cuda_buffer_selective_scan_diag_var_fwd(b_lean_obj_arg a, b_lean_obj_arg b,
                                                               b_lean_obj_arg x, b_lean_obj_arg h0,
                                                               uint32_t seq_len, uint32_t state) {
  return forward(tl_selective_scan_diag_var_fwd, "selective_scan_diag_var_fwd", a, b, x, h0,
                 seq_len, state);
}

lean_obj_res torchlean_cuda_buffer_selective_scan_diag_var_bwd(b_lean_obj_arg a, b_lean_obj_arg b,
                                                               b_lean_obj_arg x, b_lean_obj_arg h0,
                                                               b_lean_obj_arg out,
                                                               b_lean_obj_arg d_y, uint32_t seq_len,
                                                               uint32_t state) {
  return backward(tl_selective_scan_diag_var_bwd, "selective_scan_diag_var_bwd", a, b, x, h0, out,
                  d_y, seq_len, state);
}
