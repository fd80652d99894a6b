// The bounds, formula by formula.
#include "compare/bounds/magnitudes.hpp"

#include <algorithm>
#include <cmath>

namespace torchlean::tools {
namespace {

using enum Allowance::Unit;

Allowance staged(const Case &one, const Place &place, double bound) {
  const double total = bound + subnormal_slack(one.dtype, place.expected);
  return {absolute, total, total};
}

Allowance within_ulps(const Case &one, const Place &place, double backend, double reference) {
  const double slack = std::fabs(place.expected) < limits_of(one.dtype).smallest_normal ? 2 : 0;
  return {Allowance::Unit::ulps, backend + slack, reference};
}

std::uint64_t product(const std::vector<std::uint64_t> &dims, std::size_t from, std::size_t to) {
  std::uint64_t result = 1;
  for (std::size_t i = from; i < to; ++i) result *= dims[i];
  return result;
}

// The input element of broadcast_to that the output element reads.
std::uint64_t broadcast_index(const Case &one, std::uint64_t out_index) {
  std::vector<std::uint64_t> strides(one.dims.size(), 1);
  for (std::size_t a = strides.size(); a-- > 1;) strides[a - 1] = strides[a] * one.dims[a];
  std::uint64_t index = 0;
  for (std::size_t axis = one.out_dims.size(); axis-- > 0;) {
    const std::uint64_t coordinate = out_index % one.out_dims[axis];
    out_index /= one.out_dims[axis];
    const std::uint64_t source = one.axis_map[axis];
    if (source != 0 && one.dims[source - 1] > 1) index += coordinate * strides[source - 1];
  }
  return index;
}

Magnitudes product_magnitudes(const Case &one, const Place &place) {
  const Terms terms = matmul_terms(one, place);
  Magnitudes magnitudes;
  for (std::size_t k = 0; k < terms.size(); k += 2) {
    const long double a = one.inputs[0].value(terms[k].second);
    const long double b = one.inputs[1].value(terms[k + 1].second);
    magnitudes.add(a * b, limits_of(one.dtype));
    magnitudes.is_finite = magnitudes.is_finite && std::isfinite(a) && std::isfinite(b);
  }
  return magnitudes;
}

}  // namespace

// ---- Terms -------------------------------------------------------------------------------------

Terms same_place(const Case &one, const Place &place) {
  Terms terms;
  for (std::size_t k = 0; k < one.inputs.size(); ++k) {
    if (place.index < one.inputs[k].size()) terms.emplace_back(k, place.index);
  }
  return terms;
}

Terms whole_input(const Case &one, const Place &) {
  Terms terms;
  for (std::uint64_t i = 0; i < one.inputs[0].size(); ++i) terms.emplace_back(0, i);
  return terms;
}

Terms row_terms(const Case &one, const Place &place) {
  Terms terms;
  for (std::uint64_t j = 0; j < one.dims[1]; ++j)
    terms.emplace_back(0, place.index * one.dims[1] + j);
  return terms;
}

Terms own_row_terms(const Case &one, const Place &place) {
  return row_terms(one, {place.output, place.index / one.dims[1], place.expected});
}

Terms column_terms(const Case &one, const Place &place) {
  Terms terms;
  for (std::uint64_t i = 0; i < one.dims[0]; ++i)
    terms.emplace_back(0, i * one.dims[1] + place.index);
  return terms;
}

Terms axis_terms(const Case &one, const Place &place) {
  if (one.dims.empty()) return {{0, place.index}};
  const std::uint64_t n = one.dims[one.number];
  const std::uint64_t inner = product(one.dims, one.number + 1, one.dims.size());
  Terms terms;
  for (std::uint64_t k = 0; k < n; ++k) {
    terms.emplace_back(0, (place.index / inner * n + k) * inner + place.index % inner);
  }
  return terms;
}

Terms broadcast_terms(const Case &one, const Place &place) {
  Terms terms;
  for (std::uint64_t i = 0; i < one.inputs[0].size(); ++i) {
    if (broadcast_index(one, i) == place.index) terms.emplace_back(0, i);
  }
  return terms;
}

Terms broadcast_source(const Case &one, const Place &place) {
  return {{0, broadcast_index(one, place.index)}};
}

Terms matmul_terms(const Case &one, const Place &place) {
  const MatmulShape &s = one.matmul;
  const std::uint64_t j = place.index % s.p;
  const std::uint64_t i = place.index / s.p % s.m;
  const std::uint64_t batch = place.index / s.p / s.m;
  Terms terms;
  for (std::uint64_t k = 0; k < s.n; ++k) {
    terms.emplace_back(0, batch * s.m * s.n + (s.transpose_a ? k * s.m + i : i * s.n + k));
    terms.emplace_back(1, batch * s.n * s.p + (s.transpose_b ? j * s.n + k : k * s.p + j));
  }
  return terms;
}

// ---- Elementwise -------------------------------------------------------------------------------

Allowance two_ulps(const Case &one, const Place &place) { return within_ulps(one, place, 2, 0); }

Allowance sigmoid_bound(const Case &one, const Place &place) {
  return within_ulps(one, place, 8, 8);
}

Allowance gelu_bound(const Case &one, const Place &place) {
  return staged(one, place,
                2 * std::fabs(one.inputs[0].value(place.index)) * limits_of(one.dtype).epsilon);
}

Allowance gelu_bwd_bound(const Case &one, const Place &place) {
  const double x = one.inputs[0].value(place.index);
  const double g = one.inputs[1].value(place.index);
  const double s = rounded(one.dtype, 0.7978845608028654);
  const double d = (rounded(one.dtype, 0.134145) * x * x + 1) * s;
  return staged(
      one, place,
      8 * limits_of(one.dtype).epsilon * (1 + std::fabs(x) * (1 + std::fabs(d))) * std::fabs(g));
}

Allowance rand_normal_bound(const Case &one, const Place &place) {
  // Random(k).next() is the finalizer that the specification names; u1 belongs to counter 2i.
  const auto u = static_cast<std::uint32_t>(Random(one.number + 2 * place.index).next());
  const double u1 = rounded(one.dtype, (static_cast<double>(u) + 1) / (0x1p32 + 1));
  const double r = std::sqrt(std::fmax(0, -2 * std::log(u1)));
  const double mean = rounded(one.dtype, one.scalars[0]);
  const double deviation = rounded(one.dtype, one.scalars[1]);
  const double epsilon = limits_of(one.dtype).epsilon;
  return staged(one, place,
                8 * epsilon * std::fabs(deviation) * (1 + r) + epsilon * std::fabs(mean));
}

// ---- Sums --------------------------------------------------------------------------------------

Allowance detail::bound_of_sum(const Case &one, const Place &place, const Terms &terms) {
  Magnitudes magnitudes;
  for (const auto &[input, index] : terms) {
    magnitudes.add(one.inputs[input].value(index), limits_of(one.dtype));
  }
  if (terms.size() <= 1) return {Allowance::Unit::ulps, 0, 0};  // the element itself, or zero
  return relative_to(one, place, magnitudes, sum_factor(terms.size()));
}

Allowance mean_bound(const Case &one, const Place &place) {
  const Array &x = one.inputs[0];
  if (x.size() == 0) return {Allowance::Unit::ulps, 0, 0};  // NaN
  Magnitudes magnitudes;
  for (std::uint64_t i = 0; i < x.size(); ++i) magnitudes.add(x.value(i), limits_of(one.dtype));
  const auto n = static_cast<double>(x.size());
  return relative_to(one, place, magnitudes, (tree_depth(x.size()) + 2) / n);
}

// ---- Products ----------------------------------------------------------------------------------

Allowance matmul_bound(const Case &one, const Place &place) {
  const auto n = static_cast<double>(one.matmul.n);
  return relative_to(one, place, product_magnitudes(one, place), 2 * n, n);
}

Allowance scaled_matmul_bound(const Case &one, const Place &place) {
  Magnitudes magnitudes = product_magnitudes(one, place);
  magnitudes.sum *= std::fabs(one.scalars[0]);
  const auto n = static_cast<double>(one.matmul.n);
  Allowance allowance = relative_to(one, place, magnitudes, 2 * n + 2, n);
  // The reference scales a rounded product, or rounds scaled operands: it has the bound of
  // everyone.
  allowance.of_reference = allowance.of_backend;
  return allowance;
}

bool must_replay(const Case &one) {
  const MatmulShape &shape = one.matmul;
  if (shape.batch == 0 || shape.m == 0 || shape.p == 0) return false;  // an empty result never asks
  const double scale = one.scalars[0];
  if (!std::isfinite(scale)) return true;
  const Limits &limits = limits_of(one.dtype);
  const double factor = std::fabs(scale) <= 1 ? rounded(one.dtype, std::sqrt(std::fabs(scale))) : 1;
  return std::any_of(one.inputs.begin(), one.inputs.end(), [&](const Array &input) {
    for (std::uint64_t i = 0; i < input.size(); ++i) {
      const double x = input.value(i);
      if (!std::isfinite(x)) return true;
      if (x != 0 && std::fabs(rounded(one.dtype, x * factor)) < limits.smallest_normal) return true;
    }
    return false;
  });
}

}  // namespace torchlean::tools
