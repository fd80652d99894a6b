// One Adam or AdamW step, every step rounded as it is written.
#include "elementwise.hpp"

namespace torchlean::conformance {
namespace {

struct Scalars {
  double beta1, one_minus_beta1, beta2, one_minus_beta2, first_correction, second_correction,
      epsilon, decay, update_scale;
};

Subject subject(const Scalars &s, const char *label) {
  return {TL_OP_adam_step,
          [s](const Operands &x, tl_buffer **out) {
            const tl_adam_scalars scalars = {sizeof scalars,
                                             s.beta1,
                                             s.one_minus_beta1,
                                             s.beta2,
                                             s.one_minus_beta2,
                                             s.first_correction,
                                             s.second_correction,
                                             s.epsilon,
                                             s.decay,
                                             s.update_scale};
            return tl_adam_step(x[0], x[1], x[2], x[3], &scalars, &out[0], &out[1], &out[2]);
          },
          label};
}

// (p, g, m, v) -> (p', m', v')
auto formula(const Scalars &s) {
  return [s](auto p, auto g, auto m, auto v) {
    using T = decltype(p);
    const auto rounded = [](double x) { return static_cast<T>(x); };
    const T decayed_m = m * rounded(s.beta1), decayed_v = v * rounded(s.beta2), square = g * g;
    const T new_m = std::fma(g, rounded(s.one_minus_beta1), decayed_m);
    const T new_v = std::fma(square, rounded(s.one_minus_beta2), decayed_v);
    const T corrected_m = new_m * rounded(s.first_correction);
    const T corrected_v = new_v * rounded(s.second_correction);
    const T root = std::sqrt(corrected_v), divisor = root + rounded(s.epsilon);
    const T u = corrected_m / divisor, decayed_p = std::fma(p, rounded(s.decay), p);
    return std::array<T, 3>{std::fma(u, rounded(s.update_scale), decayed_p), new_m, new_v};
  };
}

}  // namespace

void add_optimizer(Table &table) {
  // m' = 4/2 + 2/2, v' = 16/4 + 20/4, u = 3*4 / (sqrt(9*4) + 0), p' = (8 - 8/2) - u
  const Scalars round = {0.5, 0.5, 0.25, 0.25, 4, 4, 0, -0.5, -1};
  add_exact<4>(table, subject(round, ", round numbers"), formula(round),
               []<class T>() -> std::vector<std::vector<T>> {
                 using V = Values<T>;
                 return {{8, 4, 2, 20, 2, 3, 9},
                         {8, 0, 0, 0, V::nan, 0, 0},        // 0 / 0
                         {8, 0, 2, -4, V::nan, 1, -1},      // the root of a negative
                         {V::inf, 4, 2, 20, V::nan, 3, 9},  // Inf - Inf / 2
                         {8, V::nan, 2, 20, V::nan, V::nan, V::nan}};
               });
  const Scalars usual = {0.9,  1 - 0.9, 0.999, 1 - 0.999, 1 / (1 - 0.9 * 0.9), 1 / (1 - 0.998001),
                         1e-8, -1e-5,   -1e-3};
  add_exact<4>(table, subject(usual, ", AdamW"), formula(usual),
               []<class T>() -> std::vector<std::vector<T>> { return {}; });
  table.add(TL_OP_adam_step, Kind::wrong, "scalars", []<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{1, 2});
    const auto with = [&](const tl_adam_scalars *scalars) {
      return [&x, scalars](tl_buffer **out) {
        return tl_adam_step(x.get(), x.get(), x.get(), x.get(), scalars, &out[0], &out[1], &out[2]);
      };
    };
    tl_adam_scalars small = {};
    small.struct_size = sizeof small - 1;
    check.refused("scalars of NULL", with(nullptr));
    check.refused("a structure too small", with(&small));
  });
}

}  // namespace torchlean::conformance
