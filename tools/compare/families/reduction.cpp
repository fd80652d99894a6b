// Rows of the family reduction.
#include "compare/operations.hpp"
#include "compare/wrong.hpp"

#include <fmt/format.h>

namespace torchlean::tools {
namespace {

constexpr ValueKind sum_kinds[] = {{"ordinary", ordinary_values},
                                   {"cancelling", cancelling_values},
                                   {"tiny", tiny_values},
                                   {"sprinkled", sprinkled_values}};
constexpr ValueKind order_kinds[] = {{"ordinary", ordinary_values},
                                     {"tied", tied_values},
                                     {"wide", wide_values},
                                     {"sprinkled", sprinkled_values}};

void total_cases(const Generator &generator) {
  for (const ValueKind &kind : sum_kinds) {
    for (const std::uint64_t n : generator.lengths()) {
      generator.add(kind.name, fmt::format("n={}", n), [&](Case &one, Random &random) {
        one.inputs = {kind.make(random, one.dtype, n)};
      });
    }
  }
  generator.add("ordinary", "n=65537", [&](Case &one, Random &random) {
    one.inputs = {ordinary_values(random, one.dtype, 65537)};
  });
}

template <const auto &kinds>
void matrix_cases(const Generator &generator) {
  for (const ValueKind &kind : kinds) {
    for (const auto &dims : generator.matrices()) {
      generator.add(kind.name, fmt::format("{}", dims_text(dims)), [&](Case &one, Random &random) {
        one.inputs = {kind.make(random, one.dtype, dims[0] * dims[1])};
        one.dims = dims;
      });
    }
  }
}

void top_k_cases(const Generator &generator) {
  for (const ValueKind &kind : order_kinds) {
    for (const auto &dims : generator.matrices()) {
      if (dims[1] > 200) continue;  // counted pair by pair
      for (const std::uint64_t k : {std::uint64_t{0}, std::uint64_t{1}, dims[1] / 2, dims[1] + 3}) {
        generator.add(kind.name, fmt::format("{}:k={}", dims_text(dims), k),
                      [&](Case &one, Random &random) {
                        one.inputs = {kind.make(random, one.dtype, dims[0] * dims[1])};
                        one.dims = dims;
                        one.number = k;
                      });
      }
    }
  }
}

void axis_cases(const Generator &generator) {
  static const std::vector<std::vector<std::uint64_t>> shapes = {
      {}, {5}, {2, 3}, {2, 3, 4}, {2, 0, 3}, {1, 257}, {257, 1}, {7, 1, 5, 3}, {13, 17, 19}};
  for (const ValueKind &kind : sum_kinds) {
    for (const auto &dims : shapes) {
      for (std::uint64_t axis = 0; axis < std::max<std::size_t>(dims.size(), 1); ++axis) {
        generator.add(kind.name, fmt::format("{}:axis={}", dims_text(dims), axis),
                      [&](Case &one, Random &random) {
                        one.inputs = {kind.make(random, one.dtype, product_of(dims))};
                        one.dims = dims;
                        one.number = axis;
                      });
      }
    }
  }
}

void adjoint_cases(const Generator &generator) {
  struct Shape {
    std::vector<std::uint64_t> in;
    std::vector<std::uint64_t> out;
    std::vector<std::uint64_t> map;
  };
  static const std::vector<Shape> shapes = {{{}, {}, {}},
                                            {{}, {7}, {0}},
                                            {{3}, {3}, {1}},
                                            {{3}, {65, 3}, {0, 1}},
                                            {{3}, {3, 65}, {1, 0}},
                                            {{2, 3}, {3, 2}, {2, 1}},
                                            {{1, 3}, {4, 3}, {1, 2}},
                                            {{2, 1, 3}, {2, 5, 3}, {1, 2, 3}},
                                            {{3}, {0, 3}, {0, 1}},
                                            {{2, 3, 4}, {5, 4, 2, 3, 6}, {0, 3, 1, 2, 0}}};
  for (const ValueKind &kind : sum_kinds) {
    for (const Shape &shape : shapes) {
      generator.add(kind.name,
                    fmt::format("{}from{}:map={}", dims_text(shape.in), dims_text(shape.out),
                                fmt::join(shape.map, ".")),
                    [&](Case &one, Random &random) {
                      one.inputs = {kind.make(random, one.dtype, product_of(shape.out))};
                      one.dims = shape.in;
                      one.out_dims = shape.out;
                      one.axis_map = shape.map;
                    });
    }
  }
}

void wrong_sum_axis(const Generator &generator) {
  wrong_axis(generator);
  generator.refuse("rank-0-axis-1", [](Case &one, Random &random) {
    one.inputs = {ordinary_values(random, one.dtype, 1)};
    one.number = 1;
  });
}

void wrong_adjoint(const Generator &generator) {
  const auto right = [](Case &one, Random &random) {
    one.inputs = {ordinary_values(random, one.dtype, 15)};
    one.dims = {3};
    one.out_dims = {5, 3};
    one.axis_map = {0, 1};
  };
  wrong_operands(generator, right);
  wrong_axis_maps(generator, right);
}

constexpr const char *sum_budget = "min(n - 1, 8 max(1, log2 n)) eps sum|x|";

}  // namespace

std::vector<Operation> reduction_operations() {
  return {
      {.name = "reduce_sum",
       .rule = Rule::bounded,
       .budget = sum_budget,
       .cases = total_cases,
       .wrong = wrong_elementwise<1>,
       .call = [](const Case &, const Inputs &in) { return results(reduce_sum(in.at(0))); },
       .bound = sum_bound<whole_input>,
       .terms = whole_input,
       .is_reproducible = true},
      {.name = "reduce_mean",
       .rule = Rule::bounded,
       .budget = "(8 max(1, log2 n) + 2) eps sum|x| / n",
       .cases = total_cases,
       .wrong = wrong_elementwise<1>,
       .call = [](const Case &, const Inputs &in) { return results(reduce_mean(in.at(0))); },
       .bound = mean_bound,
       .terms = whole_input,
       .is_reproducible = true},
      {.name = "reduce_sum_by_row",
       .rule = Rule::bounded,
       .budget = sum_budget,
       .cases = matrix_cases<sum_kinds>,
       .wrong = wrong_matrix,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(reduce_sum_by_row(in.at(0), c.dims.at(0), c.dims.at(1)));
           },
       .bound = sum_bound<row_terms>,
       .terms = row_terms,
       .shape = dims_shape,
       .is_reproducible = true},
      {.name = "reduce_sum_axis",
       .rule = Rule::bounded,
       .budget = sum_budget,
       .cases = axis_cases,
       .wrong = wrong_sum_axis,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(reduce_sum_axis(in.at(0), c.dims, c.number));
           },
       .bound = sum_bound<axis_terms>,
       .terms = axis_terms,
       .shape = dims_shape,
       .is_reproducible = true},
      {.name = "reduce_from_broadcast",
       .rule = Rule::bounded,
       .budget = sum_budget,
       .cases = adjoint_cases,
       .wrong = wrong_adjoint,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(reduce_from_broadcast(in.at(0), c.dims, c.out_dims, c.axis_map));
           },
       .bound = sum_bound<broadcast_terms>,
       .terms = broadcast_terms,
       .shape = adjoint_shape,
       .is_reproducible = true},
      {.name = "reduce_max_by_row",
       .rule = Rule::exact_either_zero,
       .budget = "the same bits, either zero",
       .cases = matrix_cases<order_kinds>,
       .wrong = wrong_matrix,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(reduce_max_by_row(in.at(0), c.dims.at(0), c.dims.at(1)));
           },
       .terms = row_terms,
       .shape = dims_shape},
      {.name = "reduce_max_by_column",
       .rule = Rule::exact_either_zero,
       .budget = "the same bits, either zero",
       .cases = matrix_cases<order_kinds>,
       .wrong = wrong_matrix,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(reduce_max_by_column(in.at(0), c.dims.at(0), c.dims.at(1)));
           },
       .terms = column_terms,
       .shape = dims_shape},
      {.name = "first_max_mask_by_row",
       .rule = Rule::exact,
       .budget = "the same bits",
       .cases = matrix_cases<order_kinds>,
       .wrong = wrong_matrix,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(first_max_mask_by_row(in.at(0), c.dims.at(0), c.dims.at(1)));
           },
       .terms = own_row_terms,
       .shape = dims_shape},
      {.name = "top_k_mask_by_row",
       .rule = Rule::exact,
       .budget = "the same bits",
       .cases = top_k_cases,
       .wrong = wrong_matrix,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(top_k_mask_by_row(in.at(0), c.dims.at(0), c.dims.at(1), c.number));
           },
       .terms = own_row_terms,
       .shape = dims_shape},
  };
}

}  // namespace torchlean::tools
