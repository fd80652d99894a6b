// Real numbers in many binary digits, so that a test can write down a formula as it stands.
#pragma once

#include "oracle.hpp"

#include <concepts>

namespace torchlean::test {

// Its digits lie in the object: a table of cases makes millions of numbers, and memory
// from malloc would take most of their time.
template <mpfr_prec_t precision>
class Real {
 public:
  template <class T>
  Real(T x) : Real() {
    if constexpr (std::is_integral_v<T>)
      mpfr_set_si(value_, static_cast<long>(x), MPFR_RNDN);
    else
      mpfr_set_d(value_, static_cast<double>(x), MPFR_RNDN);
  }
  Real(const Real &other) : Real() { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Real &operator=(const Real &other) {
    if (this != &other) mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }

  friend Real operator+(const Real &a, const Real &b) { return make(mpfr_add, a, b); }
  friend Real operator-(const Real &a, const Real &b) { return make(mpfr_sub, a, b); }
  friend Real operator*(const Real &a, const Real &b) { return make(mpfr_mul, a, b); }
  friend Real operator/(const Real &a, const Real &b) { return make(mpfr_div, a, b); }
  Real &operator+=(const Real &other) {
    mpfr_add(value_, value_, other.value_, MPFR_RNDN);
    return *this;
  }
  friend bool operator<=(const Real &a, const Real &b) {
    return mpfr_lessequal_p(a.value_, b.value_) != 0;
  }

  friend Real abs(const Real &x) { return make(mpfr_abs, x); }
  friend Real sqrt(const Real &x) { return make(mpfr_sqrt, x); }
  friend Real exp(const Real &x) { return make(mpfr_exp, x); }
  friend Real log(const Real &x) { return make(mpfr_log, x); }
  friend Real log1p(const Real &x) { return make(mpfr_log1p, x); }
  friend Real sin(const Real &x) { return make(mpfr_sin, x); }
  friend Real cos(const Real &x) { return make(mpfr_cos, x); }
  friend Real tanh(const Real &x) { return make(mpfr_tanh, x); }
  // The cosine and the sine of x/n turns.
  friend Real cos_turn(const Real &x, unsigned long n) { return make(mpfr_cosu, x, n); }
  friend Real sin_turn(const Real &x, unsigned long n) { return make(mpfr_sinu, x, n); }

  template <class T>
  T rounded() const {
    return torchlean::test::rounded<T>(value_);
  }

 private:
  Real() {
    mpfr_custom_init(digits_, precision);
    mpfr_custom_init_set(value_, MPFR_ZERO_KIND, 0, precision, digits_);
  }

  static mpfr_srcptr argument(const Real &x) { return x.value_; }
  static unsigned long argument(unsigned long n) { return n; }

  template <class... Arguments>
  static Real make(auto function, const Arguments &...arguments) {
    Real result;
    function(result.value_, argument(arguments)..., MPFR_RNDN);
    return result;
  }

  mp_limb_t digits_[(precision + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS];
  mpfr_t value_;
};

// Of numbers whose sum is near 1 even the smallest count: 1 + e^-200 has 290 digits.
using Number = Real<400>;

// How far apart two neighbours of T near x are.
template <class T, mpfr_prec_t precision>
Real<precision> ulp(const Real<precision> &x) {
  using Limits = std::numeric_limits<T>;
  const T magnitude = std::max(abs(x).template rounded<T>(), Limits::min());
  return std::ldexp(T(1), std::ilogb(magnitude) - (Limits::digits - 1));
}

// |value - exact| in ulp of the exact value.
template <class T, mpfr_prec_t precision>
double error_in_ulp(T value, const Real<precision> &exact) {
  return (abs(value - exact) / ulp<T>(exact)).template rounded<double>();
}

}  // namespace torchlean::test
