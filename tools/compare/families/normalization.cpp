// Rows of the family normalization.
#include "compare/operations.hpp"
#include "compare/wrong.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace torchlean::tools {
namespace {

constexpr ValueKind score_kinds[] = {
    {"ordinary", ordinary_values}, {"tied", tied_values}, {"spread", spread_values},
    {"absent", absent_values},     {"huge", huge_values}, {"sprinkled", sprinkled_values}};

// What only one kind fills.
bool is_long(const std::vector<std::uint64_t> &dims) { return product_of(dims) > 65536; }

bool is_too_long(const Generator &generator, const std::vector<std::uint64_t> &dims) {
  return generator.size() == Size::small && product_of(dims) > 1000;
}

// ---- Softmax -----------------------------------------------------------------------------------

void softmax_cases(const Generator &generator) {
  static const std::vector<std::vector<std::uint64_t>> shapes = {
      {},        {1},      {5},       {0, 3},       {3, 0},    {2, 3, 4}, {2, 0, 3},
      {1, 4099}, {257, 3}, {63, 129}, {7, 1, 5, 3}, {3, 1025}, {65537, 2}};
  for (const ValueKind &kind : score_kinds) {
    for (const auto &dims : shapes) {
      if (is_too_long(generator, dims)) continue;
      if (is_long(dims) && kind.make != ordinary_values) continue;
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

// Some rows have nothing allowed. NaN allows, -0 does not.
Array mask_values(Random &random, tl_dtype dtype, std::uint64_t rows, std::uint64_t cols) {
  std::vector<double> values;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const bool is_blocked = random.below(5) == 0;
    for (std::uint64_t c = 0; c < cols; ++c) {
      const double blocked = random.below(2) == 0 ? 0.0 : -0.0;
      const double allowed = random.below(8) == 0 ? nan_value : random.uniform() - 0.25;
      values.push_back(is_blocked || random.below(3) == 0 ? blocked : allowed);
    }
  }
  return from_values(dtype, values);
}

void masked_softmax_cases(const Generator &generator) {
  for (const ValueKind &kind : score_kinds) {
    for (const auto &dims : generator.matrices()) {
      if (is_long(dims) && kind.make != ordinary_values) continue;
      generator.add(kind.name, dims_text(dims), [&](Case &one, Random &random) {
        one.inputs = {kind.make(random, one.dtype, dims[0] * dims[1]),
                      mask_values(random, one.dtype, dims[0], dims[1])};
        one.dims = dims;
      });
    }
  }
}

void wrong_masked_softmax(const Generator &generator) {
  wrong_operands(generator, [](Case &one, Random &random) {
    one.inputs = {ordinary_values(random, one.dtype, 15), ordinary_values(random, one.dtype, 15)};
    one.dims = {3, 5};
  });
}

// ---- Layer norm --------------------------------------------------------------------------------

// Small differences beside a large common offset.
Array offset_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  const double offset = dtype == TL_FLOAT32 ? 1e6 : 1e8;
  std::vector<double> values;
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(offset + random.uniform());
  return from_values(dtype, values);
}

constexpr ValueKind norm_kinds[] = {
    {"ordinary", ordinary_values},     {"offset", offset_values}, {"tied", tied_values},
    {"cancelling", cancelling_values}, {"tiny", tiny_values},     {"huge", huge_values},
    {"sprinkled", sprinkled_values}};

// What fills the second and further operands.
Array factors(const ValueKind &kind, Random &random, tl_dtype dtype, std::uint64_t count) {
  return kind.make == sprinkled_values ? sprinkled_values(random, dtype, count)
                                       : ordinary_values(random, dtype, count);
}

template <class Fill>
void norm_cases(const Generator &generator, Fill fill) {
  for (const ValueKind &kind : norm_kinds) {
    for (const auto &dims : generator.matrices()) {
      if (product_of(dims) == 0 || (is_long(dims) && kind.make != ordinary_values)) continue;
      generator.add(kind.name, dims_text(dims), [&](Case &one, Random &random) {
        one.dims = dims;
        fill(kind, one, random);
      });
    }
  }
}

void layer_norm_cases(const Generator &generator) {
  norm_cases(generator, [](const ValueKind &kind, Case &one, Random &random) {
    const std::uint64_t cols = one.dims[1];
    one.inputs = {kind.make(random, one.dtype, one.dims[0] * cols),
                  factors(kind, random, one.dtype, cols), factors(kind, random, one.dtype, cols)};
    one.scalars = {1e-5};
  });
  for (const double epsilon : {0.0, 1e-300, 1e3}) {
    generator.add("ordinary", fmt::format("17x31:epsilon={}", epsilon),
                  [&](Case &one, Random &random) {
                    one.inputs = {ordinary_values(random, one.dtype, 17 * 31),
                                  ordinary_values(random, one.dtype, 31),
                                  ordinary_values(random, one.dtype, 31)};
                    one.dims = {17, 31};
                    one.scalars = {epsilon};
                  });
  }
}

void layer_norm_bwd_cases(const Generator &generator) {
  norm_cases(generator, [](const ValueKind &kind, Case &one, Random &random) {
    const std::uint64_t rows = one.dims[0];
    const std::uint64_t cols = one.dims[1];
    one.inputs = {kind.make(random, one.dtype, rows * cols),
                  factors(kind, random, one.dtype, rows * cols),
                  factors(kind, random, one.dtype, rows), factors(kind, random, one.dtype, cols)};
    const auto scale = static_cast<double>(cols);
    one.scalars = {scale, 1 / scale};
  });
}

void refuse_no_rows_and_cols(const Generator &generator,
                             const std::function<void(Case &, Random &)> &right) {
  for (const std::vector<std::uint64_t> &dims :
       std::vector<std::vector<std::uint64_t>>{{0, 5}, {3, 0}, {too_many, too_many}}) {
    generator.refuse(dims_text(dims), [&](Case &one, Random &random) {
      right(one, random);
      one.dims = dims;
      // Empty operands where the dims ask for them, so that nothing else is wrong.
      for (Array &input : one.inputs) {
        if (dims[0] * dims[1] == 0 && input.size() == 15) input.bits.clear();
        if (input.size() == 3) input.bits.resize(std::min<std::uint64_t>(dims[0], 3));
        if (input.size() == 5) input.bits.resize(std::min<std::uint64_t>(dims[1], 5));
      }
    });
  }
}

void wrong_layer_norm(const Generator &generator) {
  const auto right = [](Case &one, Random &random) {
    one.inputs = {ordinary_values(random, one.dtype, 15), ordinary_values(random, one.dtype, 5),
                  ordinary_values(random, one.dtype, 5)};
    one.dims = {3, 5};
    one.scalars = {1e-5};
  };
  wrong_operands(generator, right);
  refuse_no_rows_and_cols(generator, right);
}

void wrong_layer_norm_bwd(const Generator &generator) {
  const auto right = [](Case &one, Random &random) {
    one.inputs = {ordinary_values(random, one.dtype, 15), ordinary_values(random, one.dtype, 15),
                  ordinary_values(random, one.dtype, 3), ordinary_values(random, one.dtype, 5)};
    one.dims = {3, 5};
    one.scalars = {5, 0.2};
  };
  wrong_operands(generator, right);
  refuse_no_rows_and_cols(generator, right);
}

Results run_layer_norm(const Case &c, const Inputs &in) {
  LayerNorm norm =
      layer_norm_fwd(in.at(0), in.at(1), in.at(2), c.dims.at(0), c.dims.at(1), c.scalars.at(0));
  return results(std::move(norm.out), std::move(norm.normalized), std::move(norm.inv_std));
}

Results run_layer_norm_bwd(const Case &c, const Inputs &in) {
  tl_buffer *dx = nullptr;
  tl_buffer *dgamma = nullptr;
  tl_buffer *dbeta = nullptr;
  check(tl_layer_norm_bwd(in.at(0).get(), in.at(1).get(), in.at(2).get(), in.at(3).get(),
                          c.dims.at(0), c.dims.at(1), c.scalars.at(0), c.scalars.at(1), &dx,
                          &dgamma, &dbeta));
  return results(Buffer(dx), Buffer(dgamma), Buffer(dbeta));
}

// The row of a (rows, cols) output, the column's gamma and beta.
Terms layer_norm_terms(const Case &one, const Place &place) {
  const std::uint64_t cols = one.dims[1];
  Terms terms;
  if (place.output < 2) {
    terms.emplace_back(0, place.index);
    terms.emplace_back(1, place.index % cols);
    terms.emplace_back(2, place.index % cols);
  }
  const std::uint64_t row = place.output < 2 ? place.index / cols : place.index;
  for (std::uint64_t c = 0; c < cols; ++c) terms.emplace_back(0, row * cols + c);
  return terms;
}

Terms layer_norm_bwd_terms(const Case &one, const Place &place) {
  const std::uint64_t cols = one.dims[1];
  if (place.output == 0) {
    return {{0, place.index}, {1, place.index}, {2, place.index / cols}, {3, place.index % cols}};
  }
  Terms terms;
  for (std::uint64_t i = place.index; i < one.inputs[0].size(); i += cols) {
    terms.emplace_back(0, i);
    if (place.output == 1) terms.emplace_back(1, i);
  }
  return terms;
}

// The element, then the line that it belongs to.
Terms softmax_terms(const Case &one, const Place &place) {
  Terms terms = {{0, place.index}};
  if (one.dims.empty()) return terms;
  std::uint64_t inner = 1;
  for (std::size_t a = one.number + 1; a < one.dims.size(); ++a) inner *= one.dims[a];
  const std::uint64_t outer = place.index / inner / one.dims[one.number];
  const Place line = {place.output, outer * inner + place.index % inner, place.expected};
  const Terms others = axis_terms(one, line);
  terms.insert(terms.end(), others.begin(), others.end());
  return terms;
}

constexpr const char *softmax_budget =
    "(4 + |x - max| + 2 log2 n) eps of the value, 2 smallest subnormals";

}  // namespace

std::vector<Operation> normalization_operations() {
  return {
      {.name = "softmax",
       .rule = Rule::bounded,
       .budget = softmax_budget,
       .cases = softmax_cases,
       .wrong = wrong_axis,
       .call = [](const Case &c,
                  const Inputs &in) { return results(softmax(in.at(0), c.dims, c.number)); },
       .standard = softmax_standard,
       .terms = softmax_terms,
       .shape = dims_shape},
      {.name = "hard_masked_softmax_by_row",
       .rule = Rule::bounded,
       .budget = softmax_budget,
       .cases = masked_softmax_cases,
       .wrong = wrong_masked_softmax,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(
                 hard_masked_softmax_by_row(in.at(0), in.at(1), c.dims.at(0), c.dims.at(1)));
           },
       .standard = masked_softmax_standard,
       .shape = dims_shape},
      {.name = "layer_norm_fwd",
       .rule = Rule::bounded,
       .budget = "out: the same bits, given normalized; normalized, invStd: 1 ulp + 8 cols 2^-52 "
                 "(1 + max|x| invStd) times 1 + |normalized|, invStd",
       .cases = layer_norm_cases,
       .wrong = wrong_layer_norm,
       .call = run_layer_norm,
       .standard = layer_norm_standard,
       .terms = layer_norm_terms,
       .shape = layer_norm_shape},
      {.name = "layer_norm_bwd",
       .rule = Rule::bounded,
       .budget = "dX: (8 + 8 max(1, log2 cols)) eps (|dh colsScale| + sum|dh| + |normalized| "
                 "sum|dh normalized|) |invStd invCols|; dGamma, dBeta: as sums over the rows",
       .cases = layer_norm_bwd_cases,
       .wrong = wrong_layer_norm_bwd,
       .call = run_layer_norm_bwd,
       .standard = layer_norm_bwd_standard,
       .terms = layer_norm_bwd_terms,
       .shape = layer_norm_bwd_shape},
  };
}

}  // namespace torchlean::tools
