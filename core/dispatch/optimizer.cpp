// Optimizer family: one Adam or AdamW step.

#include "dispatch/call.hpp"

using namespace torchlean;

extern "C" tl_status tl_adam_step(const tl_buffer *parameters, const tl_buffer *gradient,
                                  const tl_buffer *first_moment, const tl_buffer *second_moment,
                                  const tl_adam_scalars *scalars, tl_buffer **out_parameters,
                                  tl_buffer **out_first_moment, tl_buffer **out_second_moment) {
  Call call(TL_OP_adam_step);
  const tl_operand *p = call.native("parameters", parameters);
  const tl_operand *g = call.native("gradient", gradient);
  const tl_operand *m = call.native("firstMoment", first_moment);
  const tl_operand *v = call.native("secondMoment", second_moment);
  call.check_same_count("gradient", g, p);
  call.check_same_count("firstMoment", m, p);
  call.check_same_count("secondMoment", v, p);
  if (call.failed()) return call.status();
  if (scalars == nullptr || scalars->struct_size < sizeof *scalars) {
    return call.refuse(TL_INVALID_ARGUMENT, "scalars is NULL or its struct_size is below {}",
                       sizeof *scalars);
  }
  const tl_adam_params params = {
      .struct_size = sizeof(tl_adam_params),
      .beta1 = call.rounded(scalars->beta1),
      .one_minus_beta1 = call.rounded(scalars->one_minus_beta1),
      .beta2 = call.rounded(scalars->beta2),
      .one_minus_beta2 = call.rounded(scalars->one_minus_beta2),
      .first_correction = call.rounded(scalars->first_correction),
      .second_correction = call.rounded(scalars->second_correction),
      .epsilon = call.rounded(scalars->epsilon),
      .decay = call.rounded(scalars->decay),
      .update_scale = call.rounded(scalars->update_scale),
  };
  return call.results<3>(
      {out_parameters, out_first_moment, out_second_moment}, {p->count, p->count, p->count},
      [&](Backend &backend, tl_storage **storages) {
        return backend.optimizer.adam_step(backend.instance, p, g, m, v, &params, 0, storages);
      });
}
