// Optimizer steps. ATen's fused Adam rounds in another order, so the loop is our own.
#include "composed.hpp"
#include "kernels.hpp"
#include "libtorch.hpp"

namespace torchlean::libtorch {
namespace {

template <class T>
struct AdamScalars {
  explicit AdamScalars(const tl_adam_params &p)
      : beta1(static_cast<T>(p.beta1)),
        one_minus_beta1(static_cast<T>(p.one_minus_beta1)),
        beta2(static_cast<T>(p.beta2)),
        one_minus_beta2(static_cast<T>(p.one_minus_beta2)),
        first_correction(static_cast<T>(p.first_correction)),
        second_correction(static_cast<T>(p.second_correction)),
        epsilon(static_cast<T>(p.epsilon)),
        decay(static_cast<T>(p.decay)),
        update_scale(static_cast<T>(p.update_scale)) {}

  T beta1, one_minus_beta1, beta2, one_minus_beta2;
  T first_correction, second_correction;
  T epsilon, decay, update_scale;
};

// The tensor of an operand of the same dtype and size as the parameters.
at::Tensor alike(const char *argument, const tl_operand *operand, const tl_operand *parameters) {
  at::Tensor tensor = native_tensor(argument, operand);
  expect_member(argument, "dtype", operand->dtype, parameters->dtype);
  expect_member(argument, "count", operand->count, parameters->count);
  return tensor;
}

void adam_step(tl_instance &instance, const tl_operand *parameters, const tl_operand *gradient,
               const tl_operand *first_moment, const tl_operand *second_moment,
               const tl_adam_params *params, tl_flags, tl_storage **out) {
  const tl_adam_params &known = known_part("params", params);
  const at::Tensor parameter_values = native_tensor("parameters", parameters);
  const at::Tensor gradients = alike("gradient", gradient, parameters);
  const at::Tensor first_moments = alike("first_moment", first_moment, parameters);
  const at::Tensor second_moments = alike("second_moment", second_moment, parameters);
  if (instance.composed)
    return hand_out(out, composed::adam_step(parameter_values, gradients, first_moments,
                                             second_moments, known));
  with_native(parameters->dtype, [&]<class T>(T) {
    const T *const p = parameter_values.const_data_ptr<T>();
    const T *const g = gradients.const_data_ptr<T>();
    const T *const m = first_moments.const_data_ptr<T>();
    const T *const v = second_moments.const_data_ptr<T>();
    const int64_t n = extent("count", parameters->count);
    const at::Tensor results[3] = {empty(n, scalar_type<T>), empty(n, scalar_type<T>),
                                   empty(n, scalar_type<T>)};
    T *const new_p = results[0].mutable_data_ptr<T>();
    T *const new_m = results[1].mutable_data_ptr<T>();
    T *const new_v = results[2].mutable_data_ptr<T>();
    const AdamScalars<T> s(known);
    each(n, [=](int64_t i) {
      const T first = std::fma(g[i], s.one_minus_beta1, m[i] * s.beta1);
      const T second = std::fma(g[i] * g[i], s.one_minus_beta2, v[i] * s.beta2);
      const T update =
          (first * s.first_correction) / (std::sqrt(second * s.second_correction) + s.epsilon);
      new_p[i] = std::fma(update, s.update_scale, std::fma(p[i], s.decay, p[i]));
      new_m[i] = first;
      new_v[i] = second;
    });
    hand_out(out, {results[0], results[1], results[2]});
  });
}

}  // namespace

const tl_optimizer_table optimizer_table = {
    .struct_size = sizeof(tl_optimizer_table),
    .adam_step = entry<"adam_step", adam_step>,
};

}  // namespace torchlean::libtorch
