/* Lean symbols: arithmetic on encoded buffers. No backend has that family yet: the classes of the
 * arguments are checked, and the answer is "unsupported". */
#include <stdio.h>

#include "object.h"
#include "symbols.h"

static _Noreturn void refuse(const char *operation) {
  char text[96];
  snprintf(text, sizeof text, "%s: no backend has this operation yet", operation);
  tl_lean_panic(text);
}

lean_obj_res torchlean_cuda_buffer_encoded_binary(b_lean_obj_arg a, b_lean_obj_arg b, uint8_t op) {
  static const char operation[] = "encoded_binary";
  (void)op;
  tl_lean_expect_buffer(operation, "a", a);
  tl_lean_expect_buffer(operation, "b", b);
  refuse(operation);
}

lean_obj_res torchlean_cuda_buffer_encoded_neg(b_lean_obj_arg x) {
  static const char operation[] = "encoded_neg";
  tl_lean_expect_buffer(operation, "x", x);
  refuse(operation);
}
