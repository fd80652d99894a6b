// A real number in 400 binary digits, so that a test can write down a formula as it stands.
#pragma once

#include "oracle.hpp"

#include <concepts>

namespace torchlean::test {

class Number {
 public:
  template <class T>
  Number(T x) {
    if constexpr (std::is_integral_v<T>)
      mpfr_set_si(wide_.value, static_cast<long>(x), MPFR_RNDN);
    else
      mpfr_set_d(wide_.value, static_cast<double>(x), MPFR_RNDN);
  }
  Number(const Number &other) { mpfr_set(wide_.value, other.wide_.value, MPFR_RNDN); }
  Number &operator=(const Number &other) {
    mpfr_set(wide_.value, other.wide_.value, MPFR_RNDN);
    return *this;
  }

  friend Number operator+(const Number &a, const Number &b) { return make(mpfr_add, a, b); }
  friend Number operator-(const Number &a, const Number &b) { return make(mpfr_sub, a, b); }
  friend Number operator*(const Number &a, const Number &b) { return make(mpfr_mul, a, b); }
  friend Number operator/(const Number &a, const Number &b) { return make(mpfr_div, a, b); }
  Number &operator+=(const Number &other) {
    mpfr_add(wide_.value, wide_.value, other.wide_.value, MPFR_RNDN);
    return *this;
  }
  friend bool operator<=(const Number &a, const Number &b) {
    return mpfr_lessequal_p(a.wide_.value, b.wide_.value) != 0;
  }

  friend Number abs(const Number &x) { return make(mpfr_abs, x); }
  friend Number sqrt(const Number &x) { return make(mpfr_sqrt, x); }
  friend Number exp(const Number &x) { return make(mpfr_exp, x); }
  friend Number log(const Number &x) { return make(mpfr_log, x); }
  friend Number log1p(const Number &x) { return make(mpfr_log1p, x); }
  friend Number sin(const Number &x) { return make(mpfr_sin, x); }
  friend Number cos(const Number &x) { return make(mpfr_cos, x); }
  friend Number tanh(const Number &x) { return make(mpfr_tanh, x); }
  // The cosine and the sine of x/n turns.
  friend Number cos_turn(const Number &x, unsigned long n) { return make(mpfr_cosu, x, n); }
  friend Number sin_turn(const Number &x, unsigned long n) { return make(mpfr_sinu, x, n); }

  template <class T>
  T rounded() const {
    return wide_.rounded<T>();
  }

 private:
  static mpfr_srcptr argument(const Number &x) { return x.wide_.value; }
  static unsigned long argument(unsigned long n) { return n; }

  template <class... Arguments>
  static Number make(auto function, const Arguments &...arguments) {
    Number result(0);
    function(result.wide_.value, argument(arguments)..., MPFR_RNDN);
    return result;
  }

  Wide wide_{400};
};

// How far apart two neighbours of T near x are.
template <class T>
Number ulp(const Number &x) {
  using Limits = std::numeric_limits<T>;
  const T magnitude = std::max(abs(x).template rounded<T>(), Limits::min());
  return std::ldexp(T(1), std::ilogb(magnitude) - (Limits::digits - 1));
}

// |value - exact| in ulp of the exact value.
template <class T>
double error_in_ulp(T value, const Number &exact) {
  return (abs(Number(value) - exact) / ulp<T>(exact)).template rounded<double>();
}

}  // namespace torchlean::test
