// The elementary functions against MPFR.
#include "elementary.cuh"

#include <doctest/doctest.h>

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace elementary = torchlean::cuda::elementary;

namespace {

template <class T>
struct Function {
  const char *name;
  T (*ours)(T);
  int (*exact)(mpfr_t, const mpfr_t, mpfr_rnd_t);
};

template <class T>
const Function<T> functions[] = {
    {"exp", elementary::exp, mpfr_exp},       {"log", elementary::log, mpfr_log},
    {"log1p", elementary::log1p, mpfr_log1p}, {"sin", elementary::sin, mpfr_sin},
    {"cos", elementary::cos, mpfr_cos},       {"tanh", elementary::tanh, mpfr_tanh},
};

class Number {
 public:
  explicit Number(mpfr_prec_t bits) { mpfr_init2(value, bits); }
  ~Number() { mpfr_clear(value); }
  Number(const Number &) = delete;
  Number &operator=(const Number &) = delete;
  mpfr_t value;
};

template <class T>
T rounded(const Number &number) {
  return sizeof(T) == 4 ? static_cast<T>(mpfr_get_flt(number.value, MPFR_RNDN))
                        : static_cast<T>(mpfr_get_d(number.value, MPFR_RNDN));
}

// Distance from the exact value in units of the last place of its binade; infinite where the kinds
// of value differ or the sign of an exact zero does.
template <class T>
double ulps(const Function<T> &function, T x) {
  Number argument(53);
  Number exact(160);
  Number difference(160);
  mpfr_set_d(argument.value, static_cast<double>(x), MPFR_RNDN);
  function.exact(exact.value, argument.value, MPFR_RNDN);
  const T ours = function.ours(x);
  const T nearest = rounded<T>(exact);
  const double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(nearest) || std::isnan(ours)) {
    return std::isnan(nearest) == std::isnan(ours) ? 0 : wrong;
  }
  if (std::isinf(nearest) || std::isinf(ours) || mpfr_zero_p(exact.value)) {
    return nearest == ours && std::signbit(nearest) == std::signbit(ours) ? 0 : wrong;
  }
  const long digits = std::numeric_limits<T>::digits;
  const long lowest = std::numeric_limits<T>::min_exponent - digits;
  const long unit = std::max<long>(mpfr_get_exp(exact.value) - digits, lowest);
  mpfr_sub_d(difference.value, exact.value, static_cast<double>(ours), MPFR_RNDN);
  mpfr_mul_2si(difference.value, difference.value, -unit, MPFR_RNDN);
  return std::fabs(mpfr_get_d(difference.value, MPFR_RNDN));
}

template <class T>
std::vector<T> arguments(uint64_t count) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> result = {T(0), T(1), T(0.5), T(2), T(20), Limits::infinity(), Limits::quiet_NaN(),
                           Limits::max(), Limits::min(), Limits::denorm_min(),
                           // where results over- and underflow, and where methods change
                           T(88.72284), T(103.97), T(709.782712893384), T(745.1332191019411),
                           T(0.7853981633974483), T(0x1p-28), T(0x1p-54), T(0.41), T(0.29),
                           // the double that comes nearest to a multiple of pi/2
                           T(0x1.6ac5b262ca1ffp+849)};
  for (uint64_t i = 0, n = result.size(); i < n; ++i) {
    const T above = std::nextafter(result[i], Limits::infinity());
    const T below = std::nextafter(result[i], -Limits::infinity());
    result.insert(result.end(), {-result[i], above, -above, below, -below});
  }
  std::mt19937_64 random(20240607);
  std::uniform_real_distribution<double> around_zero(-2, 2);
  std::uniform_real_distribution<double> wide(-750, 750);
  std::uniform_real_distribution<double> exponent(-60, 10);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t bits = random();
    T any;
    std::memcpy(&any, &bits, sizeof any);
    const double multiple = static_cast<double>(bits >> (bits % 50 + 14));
    result.insert(result.end(),
                  {any, static_cast<T>(around_zero(random)), static_cast<T>(wide(random)),
                   static_cast<T>(std::exp2(exponent(random))),
                   static_cast<T>(multiple * 1.5707963267948966)});
  }
  return result;
}

}  // namespace

TEST_CASE_TEMPLATE("each elementary function is within 1 ulp, special values included", T, float,
                   double) {
  const std::vector<T> xs = arguments<T>(4000);
  for (const Function<T> &function : functions<T>) {
    double worst = 0;
    T where = 0;
    for (const T x : xs) {
      const double error = ulps(function, x);
      if (error > worst) {
        worst = error;
        where = x;
      }
    }
    INFO(std::string(function.name) << " at " << static_cast<double>(where));
    CHECK(worst <= 1.0);
  }
}

TEST_CASE("the table of 2/pi holds the digits of 2/pi") {
  Number two_over_pi(2000);
  mpfr_t &value = two_over_pi.value;
  mpfr_const_pi(value, MPFR_RNDN);
  mpfr_ui_div(value, 2, value, MPFR_RNDN);
  CHECK(elementary::two_over_pi(0) == 0);
  for (unsigned word = 1; word <= 20; ++word) {
    mpfr_mul_2ui(value, value, 64, MPFR_RNDN);
    CHECK(elementary::two_over_pi(word) == mpfr_get_uj(value, MPFR_RNDZ));
    mpfr_frac(value, value, MPFR_RNDN);
  }
}
