// Rows of the families elementwise and optimizer.
#include "compare/operations.hpp"
#include "compare/places.hpp"
#include "compare/wrong.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace torchlean::tools {
namespace {

std::vector<Array> several(std::size_t operands, Random &random, tl_dtype dtype, std::uint64_t n,
                           Array (*make)(Random &, tl_dtype, std::uint64_t)) {
  std::vector<Array> arrays;
  for (std::size_t k = 0; k < operands; ++k) arrays.push_back(make(random, dtype, n));
  return arrays;
}

// Every length with the first scalars, every kind of content with all of them.
void cases_of(const Generator &generator, std::size_t operands,
              const std::vector<std::vector<double>> &scalars) {
  struct OperandKind {
    const char *name;
    std::uint64_t length;
    Array (*make)(Random &, tl_dtype, std::uint64_t);
  };
  static constexpr OperandKind operand_kinds[] = {{"ordinary", 129, ordinary_values},
                                                  {"wide", 1025, wide_values},
                                                  {"tiny", 257, tiny_values},
                                                  {"tied", 129, tied_values}};
  for (const std::uint64_t n : generator.lengths()) {
    generator.add("length", fmt::format("n={}", n), [&](Case &one, Random &random) {
      one.inputs = several(operands, random, one.dtype, n, ordinary_values);
      one.scalars = scalars[0];
    });
  }
  for (const auto &values : scalars) {
    const std::string label = values.empty() ? "" : fmt::format(":{}", fmt::join(values, ":"));
    for (const OperandKind &kind : operand_kinds) {
      generator.add(kind.name, fmt::format("n={}{}", kind.length, label),
                    [&](Case &one, Random &random) {
                      one.inputs = several(operands, random, one.dtype, kind.length, kind.make);
                      one.scalars = values;
                    });
    }
    generator.add("special", "all" + label, [&](Case &one, Random &random) {
      one.inputs = special_combinations(random, one.dtype, operands);
      one.scalars = values;
    });
  }
}

// What bits cannot show: where an operation is bounded, whether its bits depend on the place.
void place_cases(const Generator &generator, std::size_t operands,
                 const std::vector<double> &scalars) {
  // A prime, so that each operand comes to every place of a vector.
  generator.add(place_kind, "n=61", [&](Case &one, Random &random) {
    one.inputs = several(operands, random, one.dtype, 61, sprinkled_values);
    one.scalars = scalars;
    one.length = generator.size() >= Size::standard ? 40009 : 4099;
  });
}

template <std::size_t operands>
void plain_cases(const Generator &generator) {
  cases_of(generator, operands, {{}});
}

template <std::size_t operands>
void bounded_cases(const Generator &generator) {
  cases_of(generator, operands, {{}});
  place_cases(generator, operands, {});
}

void scale_cases(const Generator &generator) {
  cases_of(generator, 1, {{-3.7}, {0}, {-0.0}, {0.1}, {1e-40}, {1e300}, {infinity}, {nan_value}});
}

void axpy_cases(const Generator &generator) {
  cases_of(generator, 2, {{-3.7}, {0}, {1e-40}, {infinity}, {nan_value}});
}

// Proper ranges, a point, a reversed one, open ends.
const std::vector<std::vector<double>> ranges = {{-1, 1.1},      {0, 0},           {-0.0, 0.0},
                                                 {1, -1},        {-infinity, 0.1}, {0.1, infinity},
                                                 {nan_value, 1}, {-1, nan_value}};

void clamp_cases(const Generator &generator) { cases_of(generator, 1, ranges); }
void clamp_bwd_cases(const Generator &generator) { cases_of(generator, 2, ranges); }
void scaled_prod_exp_cases(const Generator &generator) {
  cases_of(generator, 2, {{-0.5}, {1}, {0}, {1e-40}, {infinity}});
  place_cases(generator, 2, {-0.5});
}

// beta1, 1 - beta1, beta2, 1 - beta2, corrections, epsilon, decay, update scale.
void adam_cases(const Generator &generator) {
  cases_of(generator, 4,
           {{0.9, 0.1, 0.999, 0.001, 10, 1000, 1e-8, 0, -0.01},
            {0.9, 0.1, 0.999, 0.001, 1, 1, 1e-8, -1e-4, -0.001},
            {0, 1, 0, 1, 1, 1, 0, 0, -1}});
}

Results run_adam(const Case &c, const Inputs &in) {
  const std::vector<double> &v = c.scalars;
  const tl_adam_scalars scalars = {sizeof scalars, v.at(0), v.at(1), v.at(2), v.at(3),
                                   v.at(4),        v.at(5), v.at(6), v.at(7), v.at(8)};
  tl_buffer *parameters = nullptr;
  tl_buffer *first_moment = nullptr;
  tl_buffer *second_moment = nullptr;
  check(tl_adam_step(in.at(0).get(), in.at(1).get(), in.at(2).get(), in.at(3).get(), &scalars,
                     &parameters, &first_moment, &second_moment));
  return results(Buffer(parameters), Buffer(first_moment), Buffer(second_moment));
}

template <tl_unary_op op>
Operation exact_unary(const char *name) {
  return {.name = name,
          .rule = Rule::exact,
          .budget = "the same bits",
          .cases = plain_cases<1>,
          .wrong = wrong_elementwise<1>,
          .call = [](const Case &, const Inputs &in) { return results(unary(op, in.at(0))); }};
}

template <tl_unary_op op>
Operation bounded_unary(const char *name, const char *budget = "2 ulp", Bound bound = two_ulps) {
  return {.name = name,
          .rule = Rule::bounded,
          .budget = budget,
          .cases = bounded_cases<1>,
          .wrong = wrong_elementwise<1>,
          .call = [](const Case &, const Inputs &in) { return results(unary(op, in.at(0))); },
          .bound = bound};
}

template <tl_binary_op op>
Operation exact_binary(const char *name, Rule rule = Rule::exact) {
  return {.name = name,
          .rule = rule,
          .budget = "the same bits",
          .cases = plain_cases<2>,
          .wrong = wrong_elementwise<2>,
          .call = [](const Case &, const Inputs &in) {
            return results(binary(op, in.at(0), in.at(1)));
          }};
}

template <tl_select_bwd_op op>
Operation selection_gradient(const char *name) {
  return {.name = name,
          .rule = Rule::exact,
          .budget = "the same bits",
          .cases = plain_cases<3>,
          .wrong = wrong_elementwise<3>,
          .call = [](const Case &, const Inputs &in) {
            PairGradients gradients = select_bwd(op, in.at(0), in.at(1), in.at(2));
            return results(std::move(gradients.a), std::move(gradients.b));
          }};
}

}  // namespace

std::vector<Operation> elementwise_operations() {
  return {
      exact_unary<TL_UNARY_ABS>("abs"),
      exact_unary<TL_UNARY_NEG>("neg"),
      exact_unary<TL_UNARY_FLOOR>("floor"),
      exact_unary<TL_UNARY_SQRT>("sqrt"),
      exact_unary<TL_UNARY_INV>("inv"),
      exact_unary<TL_UNARY_RELU>("relu"),
      bounded_unary<TL_UNARY_EXP>("exp"),
      bounded_unary<TL_UNARY_LOG>("log"),
      bounded_unary<TL_UNARY_LOG1P>("log1p"),
      bounded_unary<TL_UNARY_SIN>("sin"),
      bounded_unary<TL_UNARY_COS>("cos"),
      bounded_unary<TL_UNARY_TANH>("tanh"),
      bounded_unary<TL_UNARY_SIGMOID>("sigmoid", "8 ulp, of each backend", sigmoid_bound),
      bounded_unary<TL_UNARY_GELU>("gelu", "2 |x| eps, of each backend", gelu_bound),
      {.name = "scale",
       .rule = Rule::exact,
       .budget = "the same bits",
       .cases = scale_cases,
       .wrong = wrong_elementwise<1>,
       .call = [](const Case &c,
                  const Inputs &in) { return results(scale(in.at(0), c.scalars.at(0))); }},
      {.name = "clamp",
       .rule = Rule::exact_either_zero,
       .budget = "the same bits, either zero",
       .cases = clamp_cases,
       .wrong = wrong_elementwise<1>,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(clamp(in.at(0), c.scalars.at(0), c.scalars.at(1)));
           }},
      exact_binary<TL_BINARY_ADD>("add"),
      exact_binary<TL_BINARY_SUB>("sub"),
      exact_binary<TL_BINARY_MUL>("mul"),
      exact_binary<TL_BINARY_DIV>("div"),
      exact_binary<TL_BINARY_MAX>("max", Rule::exact_either_zero),
      exact_binary<TL_BINARY_MIN>("min", Rule::exact_either_zero),
      exact_binary<TL_BINARY_MASK>("mask"),
      exact_binary<TL_BINARY_ABS_BWD>("abs_bwd"),
      exact_binary<TL_BINARY_SQRT_BWD>("sqrt_bwd"),
      exact_binary<TL_BINARY_RELU_BWD>("relu_bwd"),
      {.name = "gelu_bwd",
       .rule = Rule::bounded,
       .budget = "8 eps (1 + |x| (1 + |d|)) |g|, of each backend",
       .cases = bounded_cases<2>,
       .wrong = wrong_elementwise<2>,
       .call = [](const Case &, const Inputs &in) { return results(gelu_bwd(in.at(0), in.at(1))); },
       .bound = gelu_bwd_bound},
      {.name = "clamp_bwd",
       .rule = Rule::exact,
       .budget = "the same bits",
       .cases = clamp_bwd_cases,
       .wrong = wrong_elementwise<2>,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(clamp_bwd(in.at(0), in.at(1), c.scalars.at(0), c.scalars.at(1)));
           }},
      {.name = "axpy",
       .rule = Rule::exact,
       .budget = "the same bits",
       .cases = axpy_cases,
       .wrong = wrong_elementwise<2>,
       .call = [](const Case &c,
                  const Inputs &in) { return results(axpy(in.at(0), in.at(1), c.scalars.at(0))); }},
      {.name = "scaled_prod_exp",
       .rule = Rule::bounded,
       .budget = "2 ulp of exp of the rounded product",
       .cases = scaled_prod_exp_cases,
       .wrong = wrong_elementwise<2>,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(scaled_prod_exp(in.at(0), in.at(1), c.scalars.at(0)));
           },
       .bound = two_ulps},
      selection_gradient<TL_SELECT_MAX_BWD>("max_bwd"),
      selection_gradient<TL_SELECT_MIN_BWD>("min_bwd"),
      {.name = "adam_step",
       .rule = Rule::exact,
       .budget = "the same bits",
       .cases = adam_cases,
       .wrong = wrong_elementwise<4>,
       .call = run_adam},
  };
}

}  // namespace torchlean::tools
