/* Lean symbols: arithmetic on encoded buffers. No backend has that family yet: the classes of the
 * arguments are checked, and the answer is "unsupported". */
#include "call.h"
#include "symbols.h"

static lean_obj_res refuse(tl_lean_call *call) {
  tl_lean_refuse(call, TL_UNSUPPORTED, "no backend has this operation yet");
  return tl_lean_end(call, 1);
}

lean_obj_res torchlean_cuda_buffer_encoded_binary(b_lean_obj_arg a, b_lean_obj_arg b, uint8_t op) {
  (void)op;
  tl_lean_call call = tl_lean_pure("encoded_binary");
  tl_lean_take_buffer(&call, "a", a);
  tl_lean_take_buffer(&call, "b", b);
  return refuse(&call);
}

lean_obj_res torchlean_cuda_buffer_encoded_neg(b_lean_obj_arg x) {
  tl_lean_call call = tl_lean_pure("encoded_neg");
  tl_lean_take_buffer(&call, "x", x);
  return refuse(&call);
}
