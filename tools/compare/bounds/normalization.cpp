// Budgets of softmax, layer norm and its gradient.
#include "compare/bounds/softmax_line.hpp"
#include "compare/standard.hpp"

#include <utility>

namespace torchlean::tools {
namespace {

using enum Allowance::Unit;

// ---- Softmax -----------------------------------------------------------------------------------

Allowance softmax_allowance(const Case &one, const SoftmaxLine &line, double x, std::uint64_t n) {
  // What NaN, +Inf or nothing but -Inf makes of a line, and an absent entry.
  if (!line.is_finite() || std::isinf(x)) return {exact};
  const Limits &limits = limits_of(one.dtype);
  const SoftmaxLine::Weight weight = line.weight(x);
  const auto value = static_cast<double>(weight.probability);
  const long double error = limits.epsilon * SoftmaxLine::error(weight, 4, static_cast<double>(n)) +
                            2 * limits.smallest_subnormal + line.subnormals(weight);
  return {absolute, static_cast<double>(error) + subnormal_slack(one.dtype, value),
          reference_ulps * ulp_of(one.dtype, value) +
              static_cast<double>(line.reference_error(weight))};
}

// ---- Layer norm --------------------------------------------------------------------------------

// normalized * gamma + beta, both steps rounded.
double scaled_and_shifted(tl_dtype dtype, double normalized, double gamma, double beta) {
  if (dtype == TL_FLOAT64) return normalized * gamma + beta;
  return rounded(dtype, rounded(dtype, normalized * gamma) + beta);
}

// What of a row its bound is made from.
struct RowOfNorm {
  double largest = 0;         // M
  double inv_std = 0;         // the baseline's
  bool is_bounded = true;     // the specification gives a bound at all
  double variance_slack = 0;  // what squares below binary64's normal range add to the variance
  double relative_offset() const { return 1 + largest * inv_std; }
};

RowOfNorm row_of_norm(const Case &one, const Outcome &baseline, std::uint64_t row) {
  const Limits &limits = limits_of(TL_FLOAT64);  // mean and variance are accumulated there
  const std::uint64_t cols = one.dims[1];
  const auto count = static_cast<long double>(cols);
  RowOfNorm result;
  Magnitudes values;
  long double mean = 0;
  for (std::uint64_t c = 0; c < cols; ++c) {
    const double x = one.inputs[0].value(row * cols + c);
    values.add(x, limits);
    mean += x / count;
    result.largest = std::fmax(result.largest, std::fabs(x));
  }
  Magnitudes squares;
  for (std::uint64_t c = 0; c < cols; ++c) {
    const long double difference = one.inputs[0].value(row * cols + c) - mean;
    squares.add(difference * difference, limits);
  }
  result.inv_std = baseline.outputs[2].value(row);
  result.is_bounded =
      values.is_finite && values.sum <= limits.largest && squares.sum <= limits.largest &&
      static_cast<double>(cols) * 0x1p-52 * result.largest * result.inv_std <= 0.125;
  result.variance_slack = 4 * limits.smallest_subnormal *
                          static_cast<double>(squares.below_normal) / static_cast<double>(cols);
  return result;
}

// ---- The gradient of layer norm ----------------------------------------------------------------

// dh and dh * normalized of one row.
struct RowOfGradient {
  Magnitudes dh;
  Magnitudes products;
  long double lost = 0;  // what dh below the normal range adds to the second sum, in subnormals
};

RowOfGradient row_of_gradient(const Case &one, std::uint64_t row) {
  const Limits &limits = limits_of(one.dtype);
  const std::uint64_t cols = one.dims[1];
  RowOfGradient result;
  for (std::uint64_t c = 0; c < cols; ++c) {
    const long double dh =
        static_cast<long double>(one.inputs[0].value(row * cols + c)) * one.inputs[3].value(c);
    const long double normalized = one.inputs[1].value(row * cols + c);
    result.dh.add(dh, limits);
    result.products.add(dh * normalized, limits);
    if (is_below_normal(limits, dh)) result.lost += 4 * std::fabs(normalized);
  }
  result.lost += static_cast<long double>(4 * result.products.below_normal);
  return result;
}

Allowance dx_allowance(const Case &one, const RowOfGradient &row, const Place &place) {
  const Limits &limits = limits_of(one.dtype);
  const std::uint64_t cols = one.dims[1];
  const long double normalized = std::fabs(one.inputs[1].value(place.index));
  const long double inv_std = std::fabs(one.inputs[2].value(place.index / cols));
  const long double scale = std::fabs(rounded(one.dtype, one.scalars[0]));
  const long double inv_cols = std::fabs(rounded(one.dtype, one.scalars[1]));
  const long double dh = std::fabs(static_cast<long double>(one.inputs[0].value(place.index)) *
                                   one.inputs[3].value(place.index % cols));
  // The three terms in parentheses, then what they are multiplied by.
  const long double terms = dh * scale + row.dh.sum + normalized * row.products.sum;
  const long double factor = inv_std * inv_cols;
  for (const long double step : {terms, terms * inv_std, terms * factor}) {
    if (!(step <= limits.largest)) return {};  // NaN, too
  }
  const auto count = [&](long double value) {
    return is_below_normal(limits, value) ? 4.0L : 0.0L;
  };
  const long double subnormals =
      (count(dh) * scale + count(dh * scale) + static_cast<long double>(4 * row.dh.below_normal) +
       normalized * row.lost + count(normalized * row.products.sum)) *
          factor +
      count(terms * inv_std) * inv_cols;
  const auto unit = static_cast<double>(limits.epsilon * terms * factor);
  const double more = static_cast<double>(subnormals) * limits.smallest_subnormal +
                      subnormal_slack(one.dtype, place.expected);
  // The reference rounds seven times at most on the way of any term, half an eps each.
  return {absolute, (8 + tree_depth(cols)) * unit + more, 3.6 * unit + more};
}

// Sums over the rows of terms that are rounded already.
Allowance column_sum_allowance(const Case &one, const Place &place, bool is_gamma) {
  const Limits &limits = limits_of(one.dtype);
  const std::uint64_t rows = one.dims[0];
  Magnitudes magnitudes;
  for (std::uint64_t i = place.index; i < one.inputs[0].size(); i += one.dims[1]) {
    const long double term = one.inputs[0].value(i);
    magnitudes.add(is_gamma ? term * one.inputs[1].value(i) : term, limits);
  }
  return relative_to(one, place, magnitudes, sum_factor(rows));
}

}  // namespace

Standard softmax_standard(const Case &one, const Outcome &, const Outcome &, const Setting &) {
  const Array &x = one.inputs[0];
  const std::uint64_t n = one.dims.empty() ? 1 : one.dims[one.number];
  std::uint64_t inner = 1;
  for (std::size_t a = one.number + 1; a < one.dims.size(); ++a) inner *= one.dims[a];
  std::vector<Allowance> allowances(x.size());
  for (std::uint64_t first = 0; first < x.size(); ++first) {
    if (first / inner % n != 0) continue;
    std::vector<double> scores;
    for (std::uint64_t k = 0; k < n; ++k) scores.push_back(x.value(first + k * inner));
    const SoftmaxLine line(one.dtype, scores);
    for (std::uint64_t k = 0; k < n; ++k) {
      allowances[first + k * inner] = softmax_allowance(one, line, scores[k], n);
    }
  }
  return {{}, {std::move(allowances)}, {}};
}

Standard masked_softmax_standard(const Case &one, const Outcome &, const Outcome &,
                                 const Setting &) {
  const std::uint64_t cols = one.dims[1];
  std::vector<Allowance> allowances(one.inputs[0].size(), Allowance{exact});  // blocked: +0
  for (std::uint64_t start = 0; start < allowances.size(); start += cols) {
    std::vector<double> scores;
    std::vector<std::uint64_t> places;
    for (std::uint64_t i = start; i < start + cols; ++i) {
      if (one.inputs[1].value(i) == 0) continue;
      scores.push_back(one.inputs[0].value(i));
      places.push_back(i);
    }
    const SoftmaxLine line(one.dtype, scores);
    for (std::size_t k = 0; k < places.size(); ++k) {
      allowances[places[k]] = softmax_allowance(one, line, scores[k], cols);
    }
  }
  return {{}, {std::move(allowances)}, {}};
}

Standard layer_norm_standard(const Case &one, const Outcome &baseline, const Outcome &got,
                             const Setting &) {
  const std::uint64_t rows = one.dims[0];
  const std::uint64_t cols = one.dims[1];
  Standard standard{baseline.outputs, {{}, {}, {}}, {}};
  standard.allowances[0].assign(rows * cols, Allowance{exact});
  const double unit = 8 * static_cast<double>(cols) * 0x1p-52;
  const double wide_unit = 8 * wide_roundoff(one.dtype);
  for (std::uint64_t row = 0; row < rows; ++row) {
    const RowOfNorm norm = row_of_norm(one, baseline, row);
    const double inv_std = norm.inv_std;
    const double from_variance = 0.5 * std::pow(inv_std, 2) * norm.variance_slack;
    for (std::uint64_t i = row * cols; i < (row + 1) * cols; ++i) {
      standard.expected[0].bits[i] =
          to_bits(one.dtype, scaled_and_shifted(one.dtype, got.outputs[1].value(i),
                                                one.inputs[1].value(i - row * cols),
                                                one.inputs[2].value(i - row * cols)));
      const double value = baseline.outputs[1].value(i);
      const double size = 1 + std::fabs(value);
      const double ulp = ulp_of(one.dtype, value);
      if (!norm.is_bounded) {
        standard.allowances[1].emplace_back();
        continue;
      }
      standard.allowances[1].push_back(
          {absolute,
           ulp + unit * norm.relative_offset() * size + std::fabs(value) * from_variance +
               subnormal_slack(one.dtype, value),
           reference_ulps * ulp + wide_unit * (std::sqrt(static_cast<double>(cols)) + size)});
    }
    if (!norm.is_bounded) {
      standard.allowances[2].emplace_back();
      continue;
    }
    const double ulp = ulp_of(one.dtype, inv_std);
    standard.allowances[2].push_back({absolute,
                                      ulp + unit * inv_std * norm.relative_offset() +
                                          inv_std * from_variance +
                                          subnormal_slack(one.dtype, inv_std),
                                      reference_ulps * ulp + wide_unit * inv_std});
  }
  return standard;
}

Standard layer_norm_bwd_standard(const Case &one, const Outcome &baseline, const Outcome &,
                                 const Setting &) {
  const std::uint64_t cols = one.dims[1];
  Standard standard{{}, {{}, {}, {}}, {}};
  for (std::uint64_t row = 0; row < one.dims[0]; ++row) {
    const RowOfGradient sums = row_of_gradient(one, row);
    for (std::uint64_t i = row * cols; i < (row + 1) * cols; ++i) {
      standard.allowances[0].push_back(
          dx_allowance(one, sums, {0, i, baseline.outputs[0].value(i)}));
    }
  }
  for (const std::size_t output : {std::size_t{1}, std::size_t{2}}) {
    for (std::uint64_t c = 0; c < cols; ++c) {
      standard.allowances[output].push_back(
          column_sum_allowance(one, {output, c, baseline.outputs[output].value(c)}, output == 1));
    }
  }
  return standard;
}

}  // namespace torchlean::tools
