// Scan family: the diagonal linear recurrence of selective state spaces, and its gradient.
#include "dispatch/call.hpp"

namespace torchlean {
namespace {

// The arguments that both directions have; `call` has failed where they do not fit.
struct Scan {
  tl_scan_op op;
  std::uint64_t time;
  std::uint64_t state;
  std::uint64_t count = 0;         // of a sequence
  std::uint64_t coefficients = 0;  // of a and of b
  const tl_operand *a = nullptr;
  const tl_operand *b = nullptr;
  const tl_operand *x = nullptr;
  const tl_operand *h0 = nullptr;

  Scan(Call &call, tl_scan_op which, const tl_buffer *a_buffer, const tl_buffer *b_buffer,
       const tl_buffer *x_buffer, const tl_buffer *h0_buffer, std::uint64_t seq_len,
       std::uint64_t states)
      : op(which), time(seq_len), state(states) {
    const std::array<std::uint64_t, 2> dims = {time, state};
    count = call.product("seqLen and state", dims);
    coefficients = op == TL_SCAN_CONSTANT ? state : count;
    a = coefficient(call, "a", a_buffer);
    b = coefficient(call, "b", b_buffer);
    x = sequence(call, "x", x_buffer);
    h0 = call.native("h0", h0_buffer);
    call.check_count("h0", h0, state, "state");
  }

  const tl_operand *sequence(Call &call, const char *argument, const tl_buffer *buffer) const {
    const tl_operand *operand = call.native(argument, buffer);
    call.check_count(argument, operand, count, "seqLen * state");
    return operand;
  }

  const tl_operand *coefficient(Call &call, const char *argument, const tl_buffer *buffer) const {
    if (op != TL_SCAN_CONSTANT) return sequence(call, argument, buffer);
    const tl_operand *operand = call.native(argument, buffer);
    call.check_count(argument, operand, state, "state");
    return operand;
  }
};

tl_status forward(tl_operation operation, tl_scan_op op, const tl_buffer *a, const tl_buffer *b,
                  const tl_buffer *x, const tl_buffer *h0, std::uint64_t time, std::uint64_t state,
                  tl_buffer **out) {
  Call call(operation);
  const Scan scan(call, op, a, b, x, h0, time, state);
  return call.result(out, scan.count, [&](Backend &backend, tl_storage **storage) {
    return backend.scan.forward(backend.instance, op, scan.a, scan.b, scan.x, scan.h0, time, state,
                                0, storage);
  });
}

tl_status backward(tl_operation operation, tl_scan_op op, const tl_buffer *a, const tl_buffer *b,
                   const tl_buffer *x, const tl_buffer *h0, const tl_buffer *h,
                   const tl_buffer *d_y, std::uint64_t time, std::uint64_t state,
                   const std::array<tl_buffer **, 4> &out) {
  Call call(operation);
  const Scan scan(call, op, a, b, x, h0, time, state);
  const tl_operand *states = scan.sequence(call, "out", h);
  const tl_operand *gradient = scan.sequence(call, "dY", d_y);
  const std::array<std::uint64_t, 4> counts = {scan.coefficients, scan.coefficients, scan.count,
                                               state};
  // Nothing flows back through no time: whatever gradients have elements are zeros.
  if (time == 0) return call.filled<4>(out, counts, 0.0);
  return call.results<4>(out, counts, [&](Backend &backend, tl_storage **storages) {
    return backend.scan.backward(backend.instance, op, scan.a, scan.b, scan.x, scan.h0, states,
                                 gradient, time, state, 0, storages);
  });
}

}  // namespace
}  // namespace torchlean

using namespace torchlean;

extern "C" {

tl_status tl_selective_scan_diag_fwd(const tl_buffer *a, const tl_buffer *b, const tl_buffer *x,
                                     const tl_buffer *h0, uint64_t seq_len, uint64_t state,
                                     tl_buffer **out) {
  return forward(TL_OP_selective_scan_diag_fwd, TL_SCAN_CONSTANT, a, b, x, h0, seq_len, state, out);
}

tl_status tl_selective_scan_diag_var_fwd(const tl_buffer *a, const tl_buffer *b, const tl_buffer *x,
                                         const tl_buffer *h0, uint64_t seq_len, uint64_t state,
                                         tl_buffer **out) {
  return forward(TL_OP_selective_scan_diag_var_fwd, TL_SCAN_VARYING, a, b, x, h0, seq_len, state,
                 out);
}

tl_status tl_selective_scan_diag_bwd(const tl_buffer *a, const tl_buffer *b, const tl_buffer *x,
                                     const tl_buffer *h0, const tl_buffer *h, const tl_buffer *d_y,
                                     uint64_t seq_len, uint64_t state, tl_buffer **out_da,
                                     tl_buffer **out_db, tl_buffer **out_dx, tl_buffer **out_dh0) {
  return backward(TL_OP_selective_scan_diag_bwd, TL_SCAN_CONSTANT, a, b, x, h0, h, d_y, seq_len,
                  state, {out_da, out_db, out_dx, out_dh0});
}

tl_status tl_selective_scan_diag_var_bwd(const tl_buffer *a, const tl_buffer *b, const tl_buffer *x,
                                         const tl_buffer *h0, const tl_buffer *h,
                                         const tl_buffer *d_y, uint64_t seq_len, uint64_t state,
                                         tl_buffer **out_da, tl_buffer **out_db, tl_buffer **out_dx,
                                         tl_buffer **out_dh0) {
  return backward(TL_OP_selective_scan_diag_var_bwd, TL_SCAN_VARYING, a, b, x, h0, h, d_y, seq_len,
                  state, {out_da, out_db, out_dx, out_dh0});
}

}  // extern "C"
