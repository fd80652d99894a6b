/* Lean symbol: one step of Adam or AdamW. */
#include "call.h"
#include "symbols.h"

/* (parameters, (first moment, second moment)) after the step. */
lean_obj_res torchlean_cuda_buffer_adam_step(b_lean_obj_arg parameters, b_lean_obj_arg gradient,
                                             b_lean_obj_arg first_moment,
                                             b_lean_obj_arg second_moment, double beta1,
                                             double one_minus_beta1, double beta2,
                                             double one_minus_beta2, double first_moment_correction,
                                             double second_moment_correction, double epsilon,
                                             double decay, double update_scale) {
  tl_lean_call call = tl_lean_pure("adam_step");
  const tl_buffer *p = tl_lean_take_buffer(&call, "parameters", parameters);
  const tl_buffer *g = tl_lean_take_buffer(&call, "gradient", gradient);
  const tl_buffer *m = tl_lean_take_buffer(&call, "firstMoment", first_moment);
  const tl_buffer *v = tl_lean_take_buffer(&call, "secondMoment", second_moment);
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
  if (tl_lean_ok(&call)) {
    call.status = tl_adam_step(p, g, m, v, &scalars, &call.out[0], &call.out[1], &call.out[2]);
  }
  return tl_lean_end(&call, 3);
}
