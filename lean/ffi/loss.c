/* Lean symbols: cross entropy and distillation. */
#include "call.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_buffer_cross_entropy_io(b_lean_obj_arg logits, b_lean_obj_arg weights,
                                                    uint32_t rows, uint32_t cols) {
  tl_lean_call call = tl_lean_io("cross_entropy_io");
  const tl_buffer *scores = tl_lean_take_buffer(&call, "logits", logits);
  const tl_buffer *targets = tl_lean_take_buffer(&call, "weights", weights);
  if (tl_lean_ok(&call)) call.status = tl_cross_entropy(scores, targets, rows, cols, &call.out[0]);
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_distillation_io(b_lean_obj_arg student, b_lean_obj_arg teacher,
                                                   uint32_t rows, uint32_t cols, uint8_t gradient) {
  tl_lean_call call = tl_lean_io("distillation_io");
  const tl_buffer *learner = tl_lean_take_buffer(&call, "student", student);
  const tl_buffer *model = tl_lean_take_buffer(&call, "teacher", teacher);
  if (tl_lean_ok(&call)) {
    call.status = tl_distillation(learner, model, rows, cols, gradient, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}
