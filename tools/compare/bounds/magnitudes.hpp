// What the bounds have in common: magnitudes of terms, what is allowed below the normal range, and
// the reference's own error.
#pragma once

#include "compare/bounds.hpp"

#include <algorithm>
#include <cmath>

namespace torchlean::tools {

// The reference rounds sums, products and what it computes in a wider type once.
inline constexpr double reference_ulps = 0.501;

// Half the distance of neighbours around one in that wider type: binary64 for float32, at least 64
// significant bits for float64.
inline double wide_roundoff(tl_dtype dtype) { return dtype == TL_FLOAT32 ? 0x1p-53 : 0x1p-64; }

inline double rounded(tl_dtype dtype, double value) {
  return to_value(dtype, to_bits(dtype, value));
}

inline bool is_below_normal(const Limits &limits, long double value) {
  return value != 0 && std::fabs(value) < limits.smallest_normal;
}

// A result below the normal range may miss by two smallest subnormals more.
inline double subnormal_slack(tl_dtype dtype, double expected) {
  const Limits &limits = limits_of(dtype);
  return std::fabs(expected) < limits.smallest_normal ? 2 * limits.smallest_subnormal : 0;
}

// Magnitudes of the terms of a sum.
struct Magnitudes {
  long double sum = 0;
  std::uint64_t count = 0;
  std::uint64_t below_normal = 0;  // each adds four smallest subnormals
  bool is_finite = true;

  void add(long double term, const Limits &limits) {
    const long double size = std::fabs(term);
    is_finite = is_finite && std::isfinite(size);
    sum += size;
    ++count;
    if (is_below_normal(limits, size)) ++below_normal;
  }
};

// The bound `relative` times eps times the magnitudes, where the specification gives one at all.
inline Allowance relative_to(const Case &one, const Place &place, const Magnitudes &magnitudes,
                             double relative, double more_subnormals = 0) {
  const Limits &limits = limits_of(one.dtype);
  if (!magnitudes.is_finite || magnitudes.sum > limits.largest) return {};
  const double subnormals = (4 * static_cast<double>(magnitudes.below_normal) + more_subnormals) *
                            limits.smallest_subnormal;
  return {Allowance::Unit::absolute,
          relative * limits.epsilon * static_cast<double>(magnitudes.sum) + subnormals +
              subnormal_slack(one.dtype, place.expected),
          reference_ulps * ulp_of(one.dtype, place.expected)};
}

// The factor that a sum of n terms may cost.
inline double tree_depth(std::uint64_t n) {
  return 8 * std::max(1.0, std::log2(static_cast<double>(n)));
}
inline double sum_factor(std::uint64_t n) {
  return std::min(static_cast<double>(n) - 1, tree_depth(n));
}

}  // namespace torchlean::tools
