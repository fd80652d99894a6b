// Bounds of pools and of their gradients.
#include "compare/bounds/magnitudes.hpp"
#include "compare/bounds/windows.hpp"
#include "compare/windows.hpp"

#include <optional>

namespace torchlean::tools {
namespace {

using enum WindowSide;

// One channel behind the other: windows and their entries by flat index over all channels.
class Pool {
 public:
  explicit Pool(const WindowShape &shape)
      : windows_(shape, WindowKind::pool),
        channels_(shape.in_channels),
        in_count_(windows_.count(position)),
        out_count_(windows_.count(window)) {
    for (const std::uint64_t taps : shape.kernel) volume_ *= static_cast<double>(taps);
  }

  std::uint64_t window_count() const { return channels_ * out_count_; }
  double volume() const { return volume_; }  // of a window, its padding included

  // The positions of a window's entries, in their order.
  std::vector<std::uint64_t> entries(std::uint64_t w) const {
    return others(window, w, out_count_, position, in_count_);
  }
  // The windows that a position is an entry of.
  std::vector<std::uint64_t> windows_over(std::uint64_t i) const {
    return others(position, i, in_count_, window, out_count_);
  }

 private:
  std::vector<std::uint64_t> others(WindowSide side, std::uint64_t index, std::uint64_t count,
                                    WindowSide other, std::uint64_t other_count) const {
    std::vector<std::uint64_t> all;
    for (const Meeting &met : windows_.meetings(side, index % count)) {
      all.push_back(index / count * other_count + met[other]);
    }
    return all;
  }

  WindowGeometry windows_;
  std::uint64_t channels_;
  std::uint64_t in_count_;
  std::uint64_t out_count_;
  double volume_ = 1;
};

// The allowance of every element of the only output.
template <class AllowanceOf>
Standard each_element(const Outcome &baseline, AllowanceOf allowance_of) {
  const Array &expected = baseline.outputs[0];
  Standard standard;
  std::vector<Allowance> &allowances = standard.allowances.emplace_back();
  for (std::uint64_t i = 0; i < expected.size(); ++i) {
    allowances.push_back(allowance_of(Place{0, i, expected.value(i)}));
  }
  return standard;
}

// ---- Maximum -----------------------------------------------------------------------------------

// The position whose entry is the window's maximum: the last NaN, else the first of those that tie.
std::uint64_t winner(const Array &x, const std::vector<std::uint64_t> &entries) {
  std::uint64_t best = entries.at(0);
  for (const std::uint64_t i : entries) {
    if (is_nan(x.dtype, x.bits[i]) || x.value(i) > x.value(best)) best = i;
  }
  return best;
}

// ---- Average -----------------------------------------------------------------------------------

// 2 N eps times the magnitudes of N terms, over the volume. The reference rounds the sum to a
// double, the quotient to a double, and that to the dtype.
Allowance average_bound(const Case &one, const Place &place, const Magnitudes &magnitudes,
                        double volume, double subnormals) {
  const Limits &limits = limits_of(one.dtype);
  if (!magnitudes.is_finite || magnitudes.sum > limits.largest) return {};
  const double error = 2 * static_cast<double>(magnitudes.count) * limits.epsilon *
                       static_cast<double>(magnitudes.sum) / volume;
  const double more_roundings = one.dtype == TL_FLOAT64 ? 1 : 0;
  return {Allowance::Unit::absolute,
          error + 4 * subnormals * limits.smallest_subnormal +
              subnormal_slack(one.dtype, place.expected),
          (more_roundings + reference_ulps) * ulp_of(one.dtype, place.expected)};
}

// ---- Smooth maximum ----------------------------------------------------------------------------

// What the entries of a window have in common; padding counts as zeros.
struct SmoothWindow {
  SmoothWindow(const Case &one, const Pool &pool, std::uint64_t w)
      : limits(limits_of(one.dtype)),
        beta(rounded(one.dtype, one.scalars.at(0))),
        volume(pool.volume()) {
    const Array &x = one.inputs[0];
    const std::vector<std::uint64_t> entries = pool.entries(w);
    const double padding = volume - static_cast<double>(entries.size());
    std::optional<double> best;
    const auto consider = [&](double entry) {
      is_checked = is_checked && std::isfinite(entry);
      if (!best || (beta > 0 ? entry > *best : entry < *best)) best = entry;
    };
    for (const std::uint64_t i : entries) consider(x.value(i));
    if (padding > 0) consider(0);
    pivot = *best;
    const auto add = [&](double entry, double times) {
      is_checked = is_checked && std::fabs(static_cast<long double>(entry) - pivot) <=
                                     static_cast<long double>(limits.largest);
      const long double exponential = std::exp(exponent(entry));
      sum += times * exponential;
      if (exponential < limits.smallest_normal) below_normal += times;
    };
    for (const std::uint64_t i : entries) add(x.value(i), 1);
    if (padding > 0) add(0, padding);
  }

  long double exponent(double entry) const {
    return static_cast<long double>(beta) * (static_cast<long double>(entry) - pivot);
  }
  double logarithm() const { return std::log(volume); }  // the largest that log(sum) can be

  const Limits &limits;
  double beta;
  double volume;
  double pivot = 0;
  long double sum = 0;
  double below_normal = 0;  // exponentials
  bool is_checked = true;   // every x - pivot is finite
};

Allowance smooth_bound(const Case &one, const Place &place, const SmoothWindow &at) {
  const double spread = (1 + at.logarithm()) / std::fabs(at.beta);
  if (!at.is_checked || std::fabs(at.pivot) + spread > at.limits.largest) return {};
  const double epsilon = at.limits.epsilon;
  const double error =
      epsilon * (2 * std::fabs(at.pivot) + (8 + 2 * std::log2(at.volume)) * spread);
  // Exponentials are divided by beta; the quotient may lie below the normal range itself.
  const double quotient = static_cast<double>(std::log(at.sum)) / std::fabs(at.beta);
  const double subnormals =
      4 * at.limits.smallest_subnormal *
      (at.below_normal / std::fabs(at.beta) + (is_below_normal(at.limits, quotient) ? 1 : 0));
  return {Allowance::Unit::absolute,
          error + subnormals + subnormal_slack(one.dtype, place.expected),
          reference_ulps * ulp_of(one.dtype, place.expected) +
              8 * wide_roundoff(one.dtype) * (std::fabs(at.pivot) + spread)};
}

// The windows over one position: their gradients times its weights, added up.
class SmoothGradient {
 public:
  explicit SmoothGradient(const Case &one) : one_(one), limits_(limits_of(one.dtype)) {}

  void add(const SmoothWindow &at, double x, double gradient) {
    is_checked_ = is_checked_ && at.is_checked && std::isfinite(gradient);
    if (!is_checked_) return;
    const long double exponent = at.exponent(x);
    const long double weight = std::exp(exponent) / at.sum;
    const long double term = weight * std::fabs(gradient);
    const auto distance = static_cast<double>(std::fabs(exponent));
    ++count_;
    sum_ += term;
    if (weight > 0) {
      error_ += static_cast<double>(term) * (4 + distance + 2 * std::log2(at.volume));
      wide_error_ += static_cast<double>(term) * (1 + distance + at.logarithm());
    }
    if (weight < limits_.smallest_normal) small_weights_ += std::fabs(gradient);
    if (is_below_normal(limits_, term)) ++small_terms_;
  }

  Allowance allowance(const Place &place) const {
    if (!is_checked_ || sum_ > limits_.largest) return {};
    const auto sum = static_cast<double>(sum_);
    const double additions = count_ > 0 ? sum_factor(count_) * sum : 0;
    const double subnormals = (4 * small_weights_ + 4 * small_terms_) * limits_.smallest_subnormal;
    // The reference rounds its weights to doubles, and the sum once.
    const bool is_double = one_.dtype == TL_FLOAT64;
    return {Allowance::Unit::absolute,
            limits_.epsilon * (error_ + additions) + subnormals +
                subnormal_slack(one_.dtype, place.expected),
            reference_ulps * ulp_of(one_.dtype, place.expected) +
                8 * wide_roundoff(one_.dtype) * wide_error_ +
                (is_double ? limits_.epsilon / 2 * sum + small_weights_ * limits_.smallest_subnormal
                           : 0)};
  }

 private:
  const Case &one_;
  const Limits &limits_;
  std::uint64_t count_ = 0;
  long double sum_ = 0;
  double error_ = 0;
  double wide_error_ = 0;
  double small_weights_ = 0;
  double small_terms_ = 0;
  bool is_checked_ = true;
};

}  // namespace

Terms pool_terms(const Case &one, const Place &place) {
  Terms terms;
  for (const std::uint64_t i : Pool(one.windows).entries(place.index)) terms.emplace_back(0, i);
  return terms;
}

Terms pool_bwd_terms(const Case &one, const Place &place) {
  const Pool pool(one.windows);
  const std::vector<std::uint64_t> windows = pool.windows_over(place.index);
  Terms terms;
  const std::size_t gradient = one.inputs.size() - 1;
  for (const std::uint64_t w : windows) terms.emplace_back(gradient, w);
  if (gradient == 0) return terms;  // the average does not look at the input
  for (const std::uint64_t w : windows) {
    for (const std::uint64_t i : pool.entries(w)) terms.emplace_back(0, i);
  }
  return terms;
}

Standard maxpool_bwd_standard(const Case &one, const Outcome &baseline, const Outcome &,
                              const Setting &) {
  const Pool pool(one.windows);
  const Array &x = one.inputs[0];
  const Array &gradient = one.inputs[1];
  std::vector<Magnitudes> won(x.size());
  for (std::uint64_t w = 0; w < gradient.size(); ++w) {
    won[winner(x, pool.entries(w))].add(gradient.value(w), limits_of(one.dtype));
  }
  return each_element(baseline, [&](const Place &place) -> Allowance {
    const Magnitudes &magnitudes = won[place.index];
    if (!magnitudes.is_finite) return {};
    // No gradient, or one: zero, or the gradient itself.
    if (magnitudes.count <= 1) return {Allowance::Unit::ulps, 0, 0};
    return relative_to(one, place, magnitudes, sum_factor(magnitudes.count));
  });
}

Standard avgpool_standard(const Case &one, const Outcome &baseline, const Outcome &,
                          const Setting &) {
  const Pool pool(one.windows);
  return each_element(baseline, [&](const Place &place) {
    Magnitudes magnitudes;
    for (const std::uint64_t i : pool.entries(place.index)) {
      magnitudes.add(one.inputs[0].value(i), limits_of(one.dtype));
    }
    return average_bound(one, place, magnitudes, pool.volume(),
                         static_cast<double>(magnitudes.below_normal) / pool.volume());
  });
}

Standard avgpool_bwd_standard(const Case &one, const Outcome &baseline, const Outcome &,
                              const Setting &) {
  const Pool pool(one.windows);
  const Limits &limits = limits_of(one.dtype);
  return each_element(baseline, [&](const Place &place) {
    Magnitudes magnitudes;
    double small_terms = 0;  // what each window gives
    for (const std::uint64_t w : pool.windows_over(place.index)) {
      const double gradient = one.inputs[0].value(w);
      magnitudes.add(gradient, limits);
      if (is_below_normal(limits, gradient / pool.volume())) ++small_terms;
    }
    return average_bound(one, place, magnitudes, pool.volume(), small_terms);
  });
}

Standard smooth_maxpool_standard(const Case &one, const Outcome &baseline, const Outcome &,
                                 const Setting &) {
  const Pool pool(one.windows);
  return each_element(baseline, [&](const Place &place) {
    return smooth_bound(one, place, SmoothWindow(one, pool, place.index));
  });
}

Standard smooth_maxpool_bwd_standard(const Case &one, const Outcome &baseline, const Outcome &,
                                     const Setting &) {
  const Pool pool(one.windows);
  std::vector<SmoothWindow> windows;
  windows.reserve(pool.window_count());
  for (std::uint64_t w = 0; w < pool.window_count(); ++w) windows.emplace_back(one, pool, w);
  return each_element(baseline, [&](const Place &place) {
    SmoothGradient gradient(one);
    for (const std::uint64_t w : pool.windows_over(place.index)) {
      gradient.add(windows[w], one.inputs[0].value(place.index), one.inputs[1].value(w));
    }
    return gradient.allowance(place);
  });
}

}  // namespace torchlean::tools
