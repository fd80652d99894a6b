/* Lean symbol: one step of Adam or AdamW. */
#include "object.h"
#include "symbols.h"

/* (parameters, (first moment, second moment)) after the step. */
lean_obj_res torchlean_cuda_buffer_adam_step(b_lean_obj_arg parameters, b_lean_obj_arg gradient,
                                             b_lean_obj_arg first_moment,
                                             b_lean_obj_arg second_moment, double beta1,
                                             double one_minus_beta1, double beta2,
                                             double one_minus_beta2, double first_moment_correction,
                                             double second_moment_correction, double epsilon,
                                             double decay, double update_scale) {
  static const char operation[] = "adam_step";
  const tl_buffer *p = tl_lean_expect_buffer(operation, "parameters", parameters);
  const tl_buffer *g = tl_lean_expect_buffer(operation, "gradient", gradient);
  const tl_buffer *m = tl_lean_expect_buffer(operation, "firstMoment", first_moment);
  const tl_buffer *v = tl_lean_expect_buffer(operation, "secondMoment", second_moment);
  const tl_adam_scalars scalars = {.struct_size = sizeof scalars,
                                   .beta1 = beta1,
                                   .one_minus_beta1 = one_minus_beta1,
                                   .beta2 = beta2,
                                   .one_minus_beta2 = one_minus_beta2,
                                   .first_correction = first_moment_correction,
                                   .second_correction = second_moment_correction,
                                   .epsilon = epsilon,
                                   .decay = decay,
                                   .update_scale = update_scale};
  tl_buffer *new_p = NULL;
  tl_buffer *new_m = NULL;
  tl_buffer *new_v = NULL;
  tl_lean_must(tl_adam_step(p, g, m, v, &scalars, &new_p, &new_m, &new_v));
  lean_object *moments = tl_lean_pair(tl_lean_wrap(new_m), tl_lean_wrap(new_v));
  return tl_lean_pair(tl_lean_wrap(new_p), moments);
}
