// Rows of the family loss.
#include "compare/operations.hpp"
#include "compare/wrong.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace torchlean::tools {
namespace {

constexpr ValueKind score_kinds[] = {
    {"ordinary", ordinary_values}, {"tied", tied_values}, {"spread", spread_values},
    {"absent", absent_values},     {"huge", huge_values}, {"sprinkled", sprinkled_values}};

// Mostly small enough for sums of distances near the largest number; none for absent scores.
Array weights_for(Random &random, const Array &scores) {
  const Limits &limits = limits_of(scores.dtype);
  const double size = 0.25 / static_cast<double>(std::max<std::uint64_t>(scores.size(), 1));
  std::vector<double> weights;
  for (std::uint64_t i = 0; i < scores.size(); ++i) {
    const double weight = random.below(3) == 0 ? 0 : size * (2 * random.uniform() - 0.5);
    weights.push_back(scores.value(i) < -limits.largest ? -0.0 : weight);
  }
  return from_values(scores.dtype, weights);
}

template <class Fill>
void matrix_cases(const Generator &generator, const std::string &suffix, Fill fill) {
  for (const ValueKind &kind : score_kinds) {
    for (const auto &dims : generator.matrices()) {
      if (dims[0] * dims[1] > 65536 && kind.make != ordinary_values) continue;
      generator.add(kind.name, dims_text(dims) + suffix, [&](Case &one, Random &random) {
        one.inputs = {kind.make(random, one.dtype, dims[0] * dims[1])};
        one.dims = dims;
        fill(kind, one, random);
      });
    }
  }
}

void cross_entropy_cases(const Generator &generator) {
  matrix_cases(generator, "", [](const ValueKind &, Case &one, Random &random) {
    one.inputs.push_back(weights_for(random, one.inputs[0]));
  });
  matrix_cases(generator, ":one-hot", [](const ValueKind &, Case &one, Random &random) {
    Array weights = from_values(one.dtype, std::vector<double>(one.inputs[0].size()));
    for (std::uint64_t row = 0; one.dims[1] > 0 && row < one.dims[0]; ++row) {
      weights.bits[row * one.dims[1] + random.below(one.dims[1])] = to_bits(one.dtype, 1);
    }
    one.inputs.push_back(std::move(weights));
  });
}

void distillation_cases(const Generator &generator) {
  for (const bool is_gradient : {false, true}) {
    matrix_cases(generator, is_gradient ? ":gradient" : "",
                 [&](const ValueKind &kind, Case &one, Random &random) {
                   Array teacher = kind.make(random, one.dtype, one.inputs[0].size());
                   // What the student lacks the teacher lacks, too.
                   for (std::uint64_t i = 0; kind.make == absent_values && i < teacher.size();
                        ++i) {
                     if (std::isinf(one.inputs[0].value(i)))
                       teacher.bits[i] = one.inputs[0].bits[i];
                   }
                   one.inputs.push_back(std::move(teacher));
                   one.number = is_gradient ? 1 : 0;
                 });
  }
}

void right_loss(Case &one, Random &random) {
  one.inputs = {ordinary_values(random, one.dtype, 15), ordinary_values(random, one.dtype, 15)};
  one.dims = {3, 5};
}

void wrong_loss(const Generator &generator) {
  wrong_operands(generator, right_loss);
  generator.refuse("overflowing-dims", [](Case &one, Random &random) {
    right_loss(one, random);
    one.dims = {too_many, too_many};
  });
}

void wrong_distillation(const Generator &generator) {
  wrong_loss(generator);
  generator.refuse("gradient-of-2", [](Case &one, Random &random) {
    right_loss(one, random);
    one.number = 2;
  });
}

Results run_distillation(const Case &c, const Inputs &in) {
  tl_buffer *out = nullptr;
  check(tl_distillation(in.at(0).get(), in.at(1).get(), c.dims.at(0), c.dims.at(1),
                        static_cast<std::uint32_t>(std::min<std::uint64_t>(c.number, 2)), &out));
  return results(Buffer(out));
}

Terms loss_terms(const Case &one, const Place &place) {
  return one.number == 1 ? same_place(one, place) : whole_input(one, place);
}

}  // namespace

std::vector<Operation> loss_operations() {
  return {
      {.name = "cross_entropy",
       .rule = Rule::bounded,
       .budget = "(16 + 2 log2 n) eps sum|w|(|d| + 1) / rows",
       .cases = cross_entropy_cases,
       .wrong = wrong_loss,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(cross_entropy(in.at(0), in.at(1), c.dims.at(0), c.dims.at(1)));
           },
       .standard = cross_entropy_standard,
       .terms = loss_terms,
       .shape = dims_shape},
      {.name = "distillation",
       .rule = Rule::bounded,
       .budget = "eps sum p(16 + |t - max t| + 2 log2 n)(|d| + 1) / rows; gradient: eps "
                 "(q(6 + |s - max s| + 2 log2 cols) + p(6 + |t - max t| + 2 log2 cols)) / rows",
       .cases = distillation_cases,
       .wrong = wrong_distillation,
       .call = run_distillation,
       .standard = distillation_standard,
       .terms = loss_terms,
       .shape = dims_shape},
  };
}

}  // namespace torchlean::tools
