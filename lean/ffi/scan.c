/* Lean symbols: the diagonal linear recurrence of selective state spaces, and its gradient. */
#include "object.h"
#include "symbols.h"

/* The functions of runtime.h for coefficients per state, and per step and state. */
typedef tl_status (*Forward)(const tl_buffer *a, const tl_buffer *b, const tl_buffer *x,
                             const tl_buffer *h0, uint64_t seq_len, uint64_t state,
                             tl_buffer **out);
typedef tl_status (*Backward)(const tl_buffer *a, const tl_buffer *b, const tl_buffer *x,
                              const tl_buffer *h0, const tl_buffer *h, const tl_buffer *d_y,
                              uint64_t seq_len, uint64_t state, tl_buffer **out_da,
                              tl_buffer **out_db, tl_buffer **out_dx, tl_buffer **out_dh0);

static lean_obj_res forward(Forward scan, const char *operation, b_lean_obj_arg a, b_lean_obj_arg b,
                            b_lean_obj_arg x, b_lean_obj_arg h0, uint32_t seq_len, uint32_t state) {
  const tl_buffer *decay = tl_lean_expect_buffer(operation, "a", a);
  const tl_buffer *gain = tl_lean_expect_buffer(operation, "b", b);
  const tl_buffer *input = tl_lean_expect_buffer(operation, "x", x);
  const tl_buffer *start = tl_lean_expect_buffer(operation, "h0", h0);
  tl_buffer *out = NULL;
  tl_lean_must(scan(decay, gain, input, start, seq_len, state, &out));
  return tl_lean_wrap(out);
}

/* (dA, (dB, (dX, dH0))). */
static lean_obj_res backward(Backward scan, const char *operation, b_lean_obj_arg a,
                             b_lean_obj_arg b, b_lean_obj_arg x, b_lean_obj_arg h0,
                             b_lean_obj_arg out, b_lean_obj_arg d_y, uint32_t seq_len,
                             uint32_t state) {
  const tl_buffer *decay = tl_lean_expect_buffer(operation, "a", a);
  const tl_buffer *gain = tl_lean_expect_buffer(operation, "b", b);
  const tl_buffer *input = tl_lean_expect_buffer(operation, "x", x);
  const tl_buffer *start = tl_lean_expect_buffer(operation, "h0", h0);
  const tl_buffer *states = tl_lean_expect_buffer(operation, "out", out);
  const tl_buffer *gradient = tl_lean_expect_buffer(operation, "dY", d_y);
  tl_buffer *da = NULL;
  tl_buffer *db = NULL;
  tl_buffer *dx = NULL;
  tl_buffer *dh0 = NULL;
  tl_lean_must(
      scan(decay, gain, input, start, states, gradient, seq_len, state, &da, &db, &dx, &dh0));
  lean_object *rest = tl_lean_pair(tl_lean_wrap(dx), tl_lean_wrap(dh0));
  rest = tl_lean_pair(tl_lean_wrap(db), rest);
  return tl_lean_pair(tl_lean_wrap(da), rest);
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
