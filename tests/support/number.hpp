// A real number in 400 binary digits, so that a test can write down a formula as it stands.
#pragma once

#include "oracle.hpp"

#include <concepts>

namespace torchlean::test {

// Its digits lie in the object: a table of cases makes millions of numbers, and memory
// from malloc would take most of their time.
class Number {
 public:
  template <class T>
  Number(T x) : Number() {
    if constexpr (std::is_integral_v<T>)
      mpfr_set_si(value_, static_cast<long>(x), MPFR_RNDN);
    else
      mpfr_set_d(value_, static_cast<double>(x), MPFR_RNDN);
  }
  Number(const Number &other) : Number() { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Number &operator=(const Number &other) {
    if (this != &other) mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }

  friend Number operator+(const Number &a, const Number &b) { return make(mpfr_add, a, b); }
  friend Number operator-(const Number &a, const Number &b) { return make(mpfr_sub, a, b); }
  friend Number operator*(const Number &a, const Number &b) { return make(mpfr_mul, a, b); }
  friend Number operator/(const Number &a, const Number &b) { return make(mpfr_div, a, b); }
  Number &operator+=(const Number &other) {
    mpfr_add(value_, value_, other.value_, MPFR_RNDN);
    return *this;
  }
  friend bool operator<=(const Number &a, const Number &b) {
    return mpfr_lessequal_p(a.value_, b.value_) != 0;
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
    return torchlean::test::rounded<T>(value_);
  }

 private:
  Number() {
    mpfr_custom_init(digits_, precision);
    mpfr_custom_init_set(value_, MPFR_ZERO_KIND, 0, precision, digits_);
  }

  static mpfr_srcptr argument(const Number &x) { return x.value_; }
  static unsigned long argument(unsigned long n) { return n; }

  template <class... Arguments>
  static Number make(auto function, const Arguments &...arguments) {
    Number result;
    function(result.value_, argument(arguments)..., MPFR_RNDN);
    return result;
  }

  static constexpr mpfr_prec_t precision = 400;
  mp_limb_t digits_[(precision + GMP_NUMB_BITS - 1) / GMP_NUMB_BITS];
  mpfr_t value_;
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
