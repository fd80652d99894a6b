// One step of Adam or AdamW, in one pass over its operands.
#include "map.hpp"

#define HWY_TARGET_INCLUDE "optimizer.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {

struct AdamStep {
  static constexpr int operands = 4;  // parameters, gradient, first and second moment
  static constexpr int results = 3;   // parameters, moments

  // scalar: the members of tl_adam_params in their order.
  template <class D, class T, class V>
  static HWY_INLINE void apply(D d, const T *scalar, const V *x, V *y) {
    const auto number = [&](int k) HWY_ATTR { return hn::Set(d, scalar[k]); };
    const V g = x[1];
    const V m = fma(g, number(1), hn::Mul(x[2], number(0)));
    const V v = fma(hn::Mul(g, g), number(3), hn::Mul(x[3], number(2)));
    const V root = hn::Sqrt(hn::Mul(v, number(5)));
    const V u = hn::Div(hn::Mul(m, number(4)), hn::Add(root, number(6)));
    y[0] = fma(u, number(8), fma(x[0], number(7), x[0]));
    y[1] = m;
    y[2] = v;
  }
};

template <class T>
constexpr MapLoop<T> adam_loop = map_loop<AdamStep, T>;

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlean::cpu {
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

    Result<T> new_p(instance, p.size());
    Result<T> new_m(instance, p.size());
    Result<T> new_v(instance, p.size());
    MapArguments<T> arguments{};
    arguments.in = {p.data(), g.data(), m.data(), v.data()};
    arguments.out = {new_p.begin(), new_m.begin(), new_v.begin()};
    size_t k = 0;
    for (const double scalar :
         {known.beta1, known.one_minus_beta1, known.beta2, known.one_minus_beta2,
          known.first_correction, known.second_correction, known.epsilon, known.decay,
          known.update_scale})
      arguments.scalar[k++] = static_cast<T>(scalar);
    run_map(instance, TORCHLEAN_CPU_CHOOSE(instance.target, adam_loop<T>), costs_steps, arguments,
            p.size());
    hand_out(out, new_p, new_m, new_v);
  });
}

}  // namespace

const tl_optimizer_table optimizer_table = {
    .struct_size = sizeof(tl_optimizer_table),
    .adam_step = entry<"adam_step", adam_step>,
};

}  // namespace torchlean::cpu

#endif  // HWY_ONCE
