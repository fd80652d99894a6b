// Rows of the family scan.
#include "compare/operations.hpp"
#include "compare/wrong.hpp"

#include <fmt/format.h>

#include <utility>

namespace torchlean::tools {
namespace {

// Between -1 and 1.
Array contracting_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(2 * random.uniform() - 1);
  return from_values(dtype, values);
}

// A little below 1: long memories.
Array slow_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(1 - random.uniform() / 256);
  return from_values(dtype, values);
}

// 1 and -1.
Array sign_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(random.below(2) == 0 ? 1 : -1);
  return from_values(dtype, values);
}

// What fills a, and all else.
struct Kind {
  const char *name;
  Array (*coefficients)(Random &, tl_dtype, std::uint64_t);
  Array (*values)(Random &, tl_dtype, std::uint64_t);
};
constexpr Kind kinds[] = {{"ordinary", contracting_values, ordinary_values},
                          {"slow", slow_values, ordinary_values},
                          {"signs", sign_values, cancelling_values},
                          {"growing", ordinary_values, ordinary_values},
                          {"tiny", contracting_values, tiny_values},
                          {"huge", contracting_values, huge_values},
                          {"sprinkled", contracting_values, sprinkled_values},
                          {"wide", sprinkled_values, wide_values}};

// Steps and states.
std::vector<std::vector<std::uint64_t>> shapes_of(const Generator &generator, const Kind &kind) {
  std::vector<std::vector<std::uint64_t>> shapes = {{0, 3},  {3, 0},   {1, 1},   {1, 5},
                                                    {2, 3},  {7, 1},   {31, 7},  {64, 5},
                                                    {65, 5}, {127, 3}, {257, 3}, {23, 67}};
  if (generator.size() >= Size::standard) {
    shapes.push_back({1025, 3});
    if (kind.coefficients == slow_values) {
      shapes.push_back({4099, 1});
      shapes.push_back({65537, 1});
      shapes.push_back({3, 1025});
    }
  }
  if (generator.size() == Size::large) shapes.push_back({4099, 31});
  return shapes;
}

std::uint64_t coefficient_count(const Case &one, bool is_varying) {
  return is_varying ? one.dims[0] * one.dims[1] : one.dims[1];
}

// The inputs in the order of the call: a, b, x, h0, then of a gradient h and dY.
void fill(Case &one, Random &random, const Kind &kind, bool is_varying, bool is_gradient) {
  const std::uint64_t count = one.dims[0] * one.dims[1];
  const std::uint64_t coefficients = coefficient_count(one, is_varying);
  one.inputs = {kind.coefficients(random, one.dtype, coefficients),
                kind.values(random, one.dtype, coefficients), kind.values(random, one.dtype, count),
                kind.values(random, one.dtype, one.dims[1])};
  if (!is_gradient) return;
  one.inputs.push_back(kind.values(random, one.dtype, count));
  one.inputs.push_back(kind.values(random, one.dtype, count));
}

template <bool is_varying, bool is_gradient>
void scan_cases(const Generator &generator) {
  for (const Kind &kind : kinds) {
    for (const auto &dims : shapes_of(generator, kind)) {
      generator.add(kind.name, dims_text(dims), [&](Case &one, Random &random) {
        one.dims = dims;
        fill(one, random, kind, is_varying, is_gradient);
      });
    }
  }
}

template <bool is_varying, bool is_gradient>
void wrong_scan(const Generator &generator) {
  const auto right = [](Case &one, Random &random) {
    one.dims = {5, 3};
    fill(one, random, kinds[0], is_varying, is_gradient);
  };
  wrong_operands(generator, right);
  generator.refuse("overflowing-dims", [&](Case &one, Random &random) {
    right(one, random);
    one.dims = {too_many, too_many};
  });
}

using Forward = Buffer (*)(const Buffer &, const Buffer &, const Buffer &, const Buffer &,
                           std::uint64_t, std::uint64_t);
using Backward = ScanGradients (*)(const Buffer &, const Buffer &, const Buffer &, const Buffer &,
                                   const Buffer &, const Buffer &, std::uint64_t, std::uint64_t);

template <Forward forward>
Results run(const Case &c, const Inputs &in) {
  return results(forward(in.at(0), in.at(1), in.at(2), in.at(3), c.dims.at(0), c.dims.at(1)));
}

template <Backward backward>
Results run(const Case &c, const Inputs &in) {
  ScanGradients gradients = backward(in.at(0), in.at(1), in.at(2), in.at(3), in.at(4), in.at(5),
                                     c.dims.at(0), c.dims.at(1));
  return results(std::move(gradients.a), std::move(gradients.b), std::move(gradients.x),
                 std::move(gradients.h0));
}

// What meets at the element's step, or at the first step of its state.
Terms scan_terms(const Case &one, const Place &place) {
  const std::uint64_t state = one.dims[1];
  Terms terms;
  for (std::size_t k = 0; k < one.inputs.size(); ++k) {
    const std::uint64_t index = one.inputs[k].size() == state ? place.index % state : place.index;
    if (index < one.inputs[k].size()) terms.emplace_back(k, index);
  }
  return terms;
}

constexpr const char *budget =
    "the recurrence bit for bit, or where |a| <= 1: 4 log2(2 T) eps sum|terms| of its exact value";

constexpr const char *constant_gradient_budget =
    "the recurrence bit for bit, or where |a| <= 1: 4 log2(2 T) eps sum|terms| of its exact value, "
    "which does not count for dA and dB in deterministic mode";

template <bool is_varying, auto forward>
Operation forward_row(const char *name) {
  return {.name = name,
          .rule = Rule::bounded,
          .budget = budget,
          .cases = scan_cases<is_varying, false>,
          .wrong = wrong_scan<is_varying, false>,
          .call = run<forward>,
          .standard = scan_standard,
          .terms = scan_terms,
          .shape = is_varying ? varying_scan_shape : scan_shape};
}

template <bool is_varying, auto backward>
Operation backward_row(const char *name) {
  return {.name = name,
          .rule = Rule::bounded,
          .budget = is_varying ? budget : constant_gradient_budget,
          .cases = scan_cases<is_varying, true>,
          .wrong = wrong_scan<is_varying, true>,
          .call = run<backward>,
          .standard = scan_bwd_standard,
          .terms = scan_terms,
          .shape = is_varying ? varying_scan_shape : scan_shape};
}

}  // namespace

std::vector<Operation> scan_operations() {
  return {
      forward_row<false, selective_scan_diag_fwd>("selective_scan_diag_fwd"),
      backward_row<false, selective_scan_diag_bwd>("selective_scan_diag_bwd"),
      forward_row<true, selective_scan_diag_var_fwd>("selective_scan_diag_var_fwd"),
      backward_row<true, selective_scan_diag_var_bwd>("selective_scan_diag_var_bwd"),
  };
}

}  // namespace torchlean::tools
