// Budgets of cross entropy, distillation and its gradient.
#include "compare/bounds/softmax_line.hpp"
#include "compare/standard.hpp"

#include <utility>

namespace torchlean::tools {
namespace {

using enum Allowance::Unit;

std::vector<double> row_of(const Array &array, std::uint64_t row, std::uint64_t cols) {
  std::vector<double> values;
  for (std::uint64_t j = 0; j < cols; ++j) values.push_back(array.value(row * cols + j));
  return values;
}

// The sum over all rows and columns of w * d, term by term.
class LossTerms {
 public:
  explicit LossTerms(const Case &one) : limits_(limits_of(one.dtype)) {}

  // A term whose bound is eps times `error`; what its weight may be off by on top of that, in
  // smallest subnormals, is multiplied by its distance.
  void add(long double weight, long double distance, long double error, double subnormals = 0) {
    magnitudes_.add(weight * distance, limits_);
    error_ += error;
    subnormals_ += subnormals * distance;
  }
  // A term whose value the specification does not name.
  void add_unnamed() { magnitudes_.is_finite = false; }

  // What lies below the normal range inside a distance is lost beside the eps that the bound grants
  // each of them.
  Allowance allowance(const Case &one, double expected) const {
    if (!magnitudes_.is_finite || magnitudes_.sum > limits_.largest) return {};
    const auto rows = static_cast<long double>(one.dims[0]);
    const long double subnormals =
        limits_.smallest_subnormal *
        (subnormals_ + static_cast<long double>(4 * magnitudes_.below_normal));
    const long double bound = (limits_.epsilon * error_ + subnormals) / rows;
    // The reference computes its few steps in the wider type, and rounds once.
    return {absolute, static_cast<double>(bound) + subnormal_slack(one.dtype, expected),
            reference_ulps * ulp_of(one.dtype, expected) +
                static_cast<double>(wide_roundoff(one.dtype) * error_ / rows)};
  }

 private:
  const Limits &limits_;
  Magnitudes magnitudes_;
  long double error_ = 0;
  long double subnormals_ = 0;
};

double log2_of_count(const Case &one) {
  return std::log2(static_cast<double>(one.dims[0] * one.dims[1]));
}

void add_cross_entropy(const Case &one, std::uint64_t row, LossTerms &terms) {
  const std::uint64_t cols = one.dims[1];
  const std::vector<double> x = row_of(one.inputs[0], row, cols);
  const SoftmaxLine line(one.dtype, x);
  const double factor = 16 + 2 * log2_of_count(one);
  for (std::uint64_t j = 0; j < cols; ++j) {
    const double weight = std::fabs(one.inputs[1].value(row * cols + j));
    if (weight == 0) continue;
    if (!line.is_finite() || std::isinf(x[j]) || !std::isfinite(weight)) {
      terms.add_unnamed();
      continue;
    }
    const long double distance = line.distance(x[j]);
    const bool overflows = distance > limits_of(one.dtype).largest;
    const long double size =
        distance + (overflows ? std::fabs(line.max()) + std::fabs(x[j]) : 0.0L);
    terms.add(weight, distance, factor * weight * (size + 1));
  }
}

void add_distillation(const Case &one, std::uint64_t row, LossTerms &terms) {
  const Limits &limits = limits_of(one.dtype);
  const std::uint64_t cols = one.dims[1];
  const std::vector<double> x = row_of(one.inputs[0], row, cols);
  const std::vector<double> t = row_of(one.inputs[1], row, cols);
  const SoftmaxLine student(one.dtype, x);
  const SoftmaxLine teacher(one.dtype, t);
  if (!student.is_finite() || !teacher.is_finite()) return terms.add_unnamed();
  for (std::uint64_t j = 0; j < cols; ++j) {
    const SoftmaxLine::Weight p = teacher.weight(t[j]);
    if (p.probability == 0) continue;
    if (std::isinf(x[j])) {
      // The term counts if the weight is a number of the dtype: not where it surely is none.
      if (p.probability > limits.smallest_subnormal / 4) terms.add_unnamed();
      continue;
    }
    const long double distance = student.distance(x[j]);
    const long double error =
        SoftmaxLine::error(p, 16, static_cast<double>(one.dims[0] * cols)) * (distance + 1);
    const double below = is_below_normal(limits, p.probability) ? 4 : 0;
    terms.add(p.probability, distance, error,
              below + static_cast<double>(teacher.subnormals(p)) / limits.smallest_subnormal);
  }
}

Standard gradient_standard(const Case &one, const Outcome &baseline) {
  const Limits &limits = limits_of(one.dtype);
  const std::uint64_t cols = one.dims[1];
  const auto rows = static_cast<long double>(one.dims[0]);
  std::vector<Allowance> allowances;
  for (std::uint64_t row = 0; row < one.dims[0]; ++row) {
    const std::vector<double> s = row_of(one.inputs[0], row, cols);
    const std::vector<double> t = row_of(one.inputs[1], row, cols);
    const SoftmaxLine student(one.dtype, s);
    const SoftmaxLine teacher(one.dtype, t);
    for (std::uint64_t j = 0; j < cols; ++j) {
      if (!student.is_finite() || !teacher.is_finite()) {
        allowances.emplace_back();
        continue;
      }
      const double expected = baseline.outputs[0].value(row * cols + j);
      long double error = 0;
      long double wide_error = 0;
      long double subnormals = 0;
      for (const auto &[line, x] : {std::pair{&student, s[j]}, std::pair{&teacher, t[j]}}) {
        const SoftmaxLine::Weight weight = line->weight(x);
        error += SoftmaxLine::error(weight, 6, static_cast<double>(cols));
        wide_error += line->reference_error(weight);
        subnormals += line->subnormals(weight);
        if (is_below_normal(limits, weight.probability)) {
          subnormals += 4 * limits.smallest_subnormal;
        }
      }
      allowances.push_back(
          {absolute,
           static_cast<double>((limits.epsilon * error + subnormals) / rows) +
               2 * limits.smallest_subnormal + subnormal_slack(one.dtype, expected),
           reference_ulps * ulp_of(one.dtype, expected) + static_cast<double>(wide_error / rows)});
    }
  }
  return {{}, {std::move(allowances)}, {}};
}

// Of a loss that is one number.
template <class AddRow>
Standard scalar_standard(const Case &one, const Outcome &baseline, AddRow add_row) {
  if (one.dims[0] == 0 || one.dims[1] == 0) return {{}, {{Allowance{exact}}}, {}};
  LossTerms terms(one);
  for (std::uint64_t row = 0; row < one.dims[0]; ++row) add_row(one, row, terms);
  return {{}, {{terms.allowance(one, baseline.outputs[0].value(0))}}, {}};
}

}  // namespace

Standard cross_entropy_standard(const Case &one, const Outcome &baseline, const Outcome &,
                                const Setting &) {
  return scalar_standard(one, baseline, add_cross_entropy);
}

Standard distillation_standard(const Case &one, const Outcome &baseline, const Outcome &,
                               const Setting &) {
  if (one.number == 1) return gradient_standard(one, baseline);
  return scalar_standard(one, baseline, add_distillation);
}

}  // namespace torchlean::tools
