/* Lean symbols: cross entropy and distillation. */
#include "object.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_buffer_cross_entropy_io(b_lean_obj_arg logits, b_lean_obj_arg weights,
                                                    uint32_t rows, uint32_t cols) {
  static const char operation[] = "cross_entropy_io";
  if (!tl_lean_is_buffer(logits)) {
    return tl_lean_io_wrong_class(operation, "logits", logits, "a Buffer");
  }
  if (!tl_lean_is_buffer(weights)) {
    return tl_lean_io_wrong_class(operation, "weights", weights, "a Buffer");
  }
  tl_buffer *out = NULL;
  return tl_lean_io_buffer(
      tl_cross_entropy(tl_lean_buffer(logits), tl_lean_buffer(weights), rows, cols, &out), &out);
}

lean_obj_res torchlean_cuda_buffer_distillation_io(b_lean_obj_arg student, b_lean_obj_arg teacher,
                                                   uint32_t rows, uint32_t cols, uint8_t gradient) {
  static const char operation[] = "distillation_io";
  if (!tl_lean_is_buffer(student)) {
    return tl_lean_io_wrong_class(operation, "student", student, "a Buffer");
  }
  if (!tl_lean_is_buffer(teacher)) {
    return tl_lean_io_wrong_class(operation, "teacher", teacher, "a Buffer");
  }
  tl_buffer *out = NULL;
  return tl_lean_io_buffer(
      tl_distillation(tl_lean_buffer(student), tl_lean_buffer(teacher), rows, cols, gradient, &out),
      &out);
}
