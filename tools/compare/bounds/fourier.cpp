// Budget of the Fourier transforms: the Euclidean norm of each transform's error.
#include "compare/bounds/magnitudes.hpp"
#include "compare/standard.hpp"

#include <bit>

namespace torchlean::tools {
namespace {

// One transform: its inputs that count, its result.
Allowance transform_allowance(const Case &one, const std::vector<double> &inputs,
                              const Array &result, std::uint64_t first, std::uint64_t count,
                              bool divides) {
  const Limits &limits = limits_of(one.dtype);
  const std::uint64_t n = one.dims[1];
  const auto length = static_cast<long double>(n);
  Magnitudes magnitudes;
  double below_normal = 0;  // terms that a factor of a root of unity may bring there
  for (const double x : inputs) {
    magnitudes.add(x, limits);
    if (x != 0 && std::fabs(x) < length * limits.smallest_normal) ++below_normal;
  }
  const long double growth = std::has_single_bit(n) ? 2 : length;
  if (!magnitudes.is_finite || growth * magnitudes.sum > limits.largest) return {};

  long double squares = 0;
  long double roundings = 0;
  long double subnormals = 0;
  for (std::uint64_t i = first; i < first + count; ++i) {
    const long double value = result.value(i);
    const long double rounding = reference_ulps * ulp_of(one.dtype, result.value(i));
    const long double lost =
        4 * below_normal * limits.smallest_subnormal / (divides ? length : 1.0L) +
        subnormal_slack(one.dtype, result.value(i));
    squares += value * value;
    roundings += rounding * rounding;
    subnormals += lost * lost;
  }
  const long double norm = std::sqrt(squares);
  const long double levels = 1 + std::log2(length);
  // The reference's longest way: three transforms of four times the length, in its wider type.
  const long double wide = 12 * (levels + 2) * wide_roundoff(one.dtype);
  return {Allowance::Unit::absolute,
          static_cast<double>(4 * limits.epsilon * levels * norm + std::sqrt(subnormals)),
          static_cast<double>(std::sqrt(roundings) + wide * norm)};
}

}  // namespace

Standard fourier_standard(const Case &one, const Outcome &baseline, const Outcome &,
                          const Setting &) {
  const bool is_inverse = one.operation != "rfft1d_packed";
  const std::uint64_t batch = one.dims[0];
  const std::uint64_t n = one.dims[1];
  const std::uint64_t packed = 2 * (n / 2 + 1);
  const std::uint64_t width = is_inverse ? packed : n;
  const std::uint64_t out_width = is_inverse ? n : packed;
  Standard standard;
  for (std::uint64_t b = 0; b < batch; ++b) {
    std::vector<double> inputs;
    for (std::uint64_t i = 0; i < width; ++i) {
      // The inverse ignores the imaginary parts of the first bin and of an even length's middle
      // one.
      if (is_inverse && (i == 1 || i == n + 1)) continue;
      inputs.push_back(one.inputs[0].value(b * width + i));
    }
    standard.groups.push_back({0, b * out_width, out_width,
                               transform_allowance(one, inputs, baseline.outputs[0], b * out_width,
                                                   out_width, one.operation == "irfft1d_packed")});
  }
  return standard;
}

}  // namespace torchlean::tools
