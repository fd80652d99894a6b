// One step of Adam or AdamW.
#include "reference.hpp"

#include <cmath>

namespace torchlean::reference {
namespace {

void adam_step(tl_instance &instance, const tl_operand *parameters, const tl_operand *gradient,
               const tl_operand *first_moment, const tl_operand *second_moment,
               const tl_adam_params *params, tl_flags, tl_storage **out) {
  const tl_adam_params known = known_part("params", params);
  expect_given("parameters", parameters);
  with_native(parameters->dtype, [&]<class T>(T) {
    const auto p = values_of<T>("parameters", parameters);
    const auto g = values_of<T>("gradient", gradient);
    const auto m = values_of<T>("first_moment", first_moment);
    const auto v = values_of<T>("second_moment", second_moment);
    expect_equal("gradient.count", g.size(), p.size());
    expect_equal("first_moment.count", m.size(), p.size());
    expect_equal("second_moment.count", v.size(), p.size());

    const auto beta1 = static_cast<T>(known.beta1);
    const auto beta2 = static_cast<T>(known.beta2);
    const auto one_minus_beta1 = static_cast<T>(known.one_minus_beta1);
    const auto one_minus_beta2 = static_cast<T>(known.one_minus_beta2);
    const auto correction1 = static_cast<T>(known.first_correction);
    const auto correction2 = static_cast<T>(known.second_correction);
    const auto epsilon = static_cast<T>(known.epsilon);
    const auto decay = static_cast<T>(known.decay);
    const auto update_scale = static_cast<T>(known.update_scale);

    Result<T> new_p(instance, p.size());
    Result<T> new_m(instance, p.size());
    Result<T> new_v(instance, p.size());
    for (uint64_t i = 0; i < p.size(); ++i) {
      new_m[i] = std::fma(g[i], one_minus_beta1, m[i] * beta1);
      new_v[i] = std::fma(g[i] * g[i], one_minus_beta2, v[i] * beta2);
      const T u = (new_m[i] * correction1) / (std::sqrt(new_v[i] * correction2) + epsilon);
      new_p[i] = std::fma(u, update_scale, std::fma(p[i], decay, p[i]));
    }
    hand_out(out, new_p, new_m, new_v);
  });
}

}  // namespace

const tl_optimizer_table optimizer_table = {
    .struct_size = sizeof(tl_optimizer_table),
    .adam_step = entry<"adam_step", adam_step>,
};

}  // namespace torchlean::reference
