// exp for loops that the compiler turns into vectors.
#pragma once

#include "kernels.hpp"

#include <array>
#include <limits>
#include <numbers>

namespace torchlean::libtorch {
namespace detail {

template <class T>
struct ExponentialConstants;

template <>
struct ExponentialConstants<float> {
  static constexpr size_t degree = 7;    // where the series of exp ends
  static constexpr float lowest = -104;  // below it exp rounds to 0
  // ln 2 in two parts: an exponent times the first is exact.
  static constexpr float upper = 0x1.62e4p-1F;
  static constexpr float lower = 0x1.7f7d1cp-20F;
};

template <>
struct ExponentialConstants<double> {
  static constexpr size_t degree = 13;
  static constexpr double lowest = -746;
  static constexpr double upper = 0x1.62e42feep-1;
  static constexpr double lower = 0x1.a39ef35793c76p-33;
};

// 1/k! for k <= degree.
template <class T, size_t degree>
consteval std::array<T, degree + 1> inverse_factorials() {
  std::array<T, degree + 1> terms{1};
  double factorial = 1;
  for (size_t k = 1; k <= degree; ++k)
    terms[k] = static_cast<T>(1 / (factorial *= static_cast<double>(k)));
  return terms;
}

// 2^n in the normal range, given n + to_integer.
template <class T>
[[gnu::always_inline]] inline T power_of_two(T shifted) {
  constexpr int digits = std::numeric_limits<T>::digits - 1;
  constexpr int bias = std::numeric_limits<T>::max_exponent - 1;
  return std::bit_cast<T>((std::bit_cast<Bits<T>>(shifted) + bias) << digits);
}

}  // namespace detail

// e^x for x <= 0, within 1.5 ulp, or a smallest subnormal; NaN stays NaN.
template <class T>
[[gnu::always_inline]] inline T exponential(T x) {
  using Constants = detail::ExponentialConstants<T>;
  // Adding it rounds to an integer and leaves that in the lowest bits.
  constexpr T to_integer = std::numeric_limits<T>::digits == 24 ? T(0x1.8p23) : T(0x1.8p52);
  // x = n ln 2 + r with |r| <= ln 2 / 2, or little more.
  const T shifted = x * static_cast<T>(std::numbers::log2e) + to_integer;
  const T n = shifted - to_integer;
  const T r = (x - n * Constants::upper) - n * Constants::lower;
  constexpr auto terms = detail::inverse_factorials<T, Constants::degree>();
  T power = terms[Constants::degree];
#pragma GCC unroll 13
  for (size_t k = 1; k <= Constants::degree; ++k) power = power * r + terms[Constants::degree - k];
  // In two steps, since the result may be subnormal.
  const T half = n * T(0.5) + to_integer;
  const T rest = (n - (half - to_integer)) + to_integer;
  power = (power * detail::power_of_two(half)) * detail::power_of_two(rest);
  return choose(x < Constants::lowest, T(0), power);
}

}  // namespace torchlean::libtorch
