// What the tests compare with: MPFR in plenty of digits, and random numbers of every kind.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include <mpfr.h>

namespace torchlean::test {

template <class T>
inline constexpr T infinity = std::numeric_limits<T>::infinity();
template <class T>
inline constexpr T quiet_nan = std::numeric_limits<T>::quiet_NaN();

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// The same bits, or both NaN.
template <class T>
bool same(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<Bits<T>>(a) == std::bit_cast<Bits<T>>(b);
}

// How many representable numbers lie between two finite numbers or infinities.
template <class T>
double steps(T a, T b) {
  const auto place = [](T x) {
    const auto magnitude = static_cast<int64_t>(std::bit_cast<Bits<T>>(std::fabs(x)));
    return std::signbit(x) ? -magnitude : magnitude;
  };
  const int64_t low = std::min(place(a), place(b)), high = std::max(place(a), place(b));
  return static_cast<double>(static_cast<uint64_t>(high) - static_cast<uint64_t>(low));
}

template <class T>
bool all_same(const std::vector<T> &a, const std::vector<T> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same<T>);
}

template <class T>
T rounded(mpfr_srcptr x) {
  if constexpr (sizeof(T) == 4)
    return mpfr_get_flt(x, MPFR_RNDN);
  else
    return mpfr_get_d(x, MPFR_RNDN);
}

// A number of MPFR's whose precision leaves nothing to be rounded before the end.
class Wide {
 public:
  explicit Wide(mpfr_prec_t precision) {
    mpfr_init2(value, precision);
    mpfr_set_zero(value, 1);
  }
  ~Wide() { mpfr_clear(value); }
  Wide(const Wide &) = delete;
  Wide &operator=(const Wide &) = delete;

  template <class T>
  T rounded() const {
    return torchlean::test::rounded<T>(value);
  }

  mpfr_t value;
};

// Every bit pattern is equally likely: all magnitudes, subnormals, infinities, NaN.
template <class T>
T any_pattern(std::mt19937_64 &random) {
  return std::bit_cast<T>(static_cast<Bits<T>>(random()));
}

template <class T>
T any_finite(std::mt19937_64 &random) {
  for (;;)
    if (const T x = any_pattern<T>(random); std::isfinite(x)) return x;
}

template <class T>
std::vector<T> normal_values(size_t n, double mean = 0, double deviation = 1, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> distribution(mean, deviation);
  std::vector<T> x(n);
  for (T &value : x) value = static_cast<T>(distribution(random));
  return x;
}

// How many samples: more in long runs.
inline int samples(int usual) {
  return std::getenv("TL_TEST_LONG") != nullptr ? 50 * usual : usual;
}

}  // namespace torchlean::test
