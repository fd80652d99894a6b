// What softmax and the losses have in common: one line of scores, and the weights of its entries.
#pragma once

#include "compare/bounds/magnitudes.hpp"

#include <cmath>
#include <vector>

namespace torchlean::tools {

// One softmax. All is computed in long double, whose own error is next to nothing beside any bound.
// An entry of -Inf beside a finite maximum is absent.
class SoftmaxLine {
 public:
  // Of one entry: exp(x - max), that over the sum, and |x - max|.
  struct Weight {
    long double exponential;
    long double probability;
    long double depth;
  };

  SoftmaxLine(tl_dtype dtype, const std::vector<double> &scores) : dtype_(dtype) {
    for (const double x : scores) {
      has_nan_ = has_nan_ || std::isnan(x);
      max_ = std::fmax(max_, x);
    }
    if (!is_finite()) return;
    bool is_max_seen = false;
    for (const double x : scores) {
      const long double exponential = std::exp(x - max_);
      if (is_below_normal(limits_of(dtype), exponential)) ++below_normal_;
      if (x == max_ && !is_max_seen) {
        is_max_seen = true;
      } else {
        others_ += exponential;
      }
    }
  }

  // Whether the weights are numbers: no NaN, no +Inf, not nothing but -Inf.
  bool is_finite() const { return !has_nan_ && std::isfinite(max_); }

  long double max() const { return max_; }
  Weight weight(double x) const {
    const long double exponential = std::exp(x - max_);
    return {exponential, exponential / (1 + others_), max_ - x};
  }
  // -log of the probability
  long double distance(double x) const { return (max_ - x) + std::log1p(others_); }

  // The bound on a probability without its eps: (constant + |x - max| + 2 log2 n) times it.
  static long double error(const Weight &weight, double constant, double n) {
    if (weight.probability == 0) return 0;
    return (constant + weight.depth + 2 * std::log2(n)) * weight.probability;
  }

  // How far the reference's probability is off before it is rounded: a few steps in its wider type,
  // the difference x - max among them.
  long double reference_error(const Weight &weight) const {
    return wide_roundoff(dtype_) * error(weight, 8, 1);
  }

  // What the parts of a probability below the normal range may add: its exponential, the others in
  // the sum.
  long double subnormals(const Weight &weight) const {
    const Limits &limits = limits_of(dtype_);
    const long double own = is_below_normal(limits, weight.exponential) ? 1 : 0;
    const long double others = static_cast<long double>(below_normal_) * weight.probability;
    return 4 * limits.smallest_subnormal * (own + others) / (1 + others_);
  }

 private:
  tl_dtype dtype_;
  long double max_ = -HUGE_VALL;
  long double others_ = 0;  // the sum without its largest term, which is 1
  std::uint64_t below_normal_ = 0;
  bool has_nan_ = false;
};

}  // namespace torchlean::tools
