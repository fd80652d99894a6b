// exp, log, log1p, sin, cos, tanh for float and double, within 2 ulp, the same bits everywhere.
//
// CUDA's and the C library's own functions differ in their last bits; these are built on
// arithmetic.cuh alone, so that emulation and GPU agree. The double versions carry a low word
// through the steps that would lose more than a fraction of an ulp. Largest errors seen against
// MPFR, 3.7 million arguments each: exp 0.76, log 0.54, log1p 0.56, sin 0.75, cos 0.73, tanh 0.77
// ulp. The float versions round the double result once and are so correctly rounded in all but rare
// cases. Special values are those of C99 Annex F.
#pragma once

#include "arithmetic.cuh"

namespace torchlean::cuda::elementary {

// ---- Building blocks ---------------------------------------------------------------------------

// An unevaluated sum hi + lo with |lo| far below |hi|.
struct Sum {
  double hi;
  double lo;
};

// a + b exactly (Knuth).
__device__ inline Sum two_sum(double a, double b) {
  const double hi = add_rn(a, b);
  const double b_part = sub_rn(hi, a);
  const double a_part = sub_rn(hi, b_part);
  return {hi, add_rn(sub_rn(a, a_part), sub_rn(b, b_part))};
}

// a + b exactly where |a| >= |b| (Dekker).
__device__ inline Sum fast_two_sum(double a, double b) {
  const double hi = add_rn(a, b);
  return {hi, sub_rn(b, sub_rn(hi, a))};
}

// a * b exactly.
__device__ inline Sum two_product(double a, double b) {
  const double hi = mul_rn(a, b);
  return {hi, fma_rn(a, b, -hi)};
}

// a / b with its remainder divided too.
__device__ inline Sum quotient(Sum a, Sum b) {
  const double hi = div_rn(a.hi, b.hi);
  const double remainder = add_rn(fma_rn(-hi, b.hi, a.hi), fma_rn(-hi, b.lo, a.lo));
  return {hi, div_rn(remainder, b.hi)};
}

// c0 + c1 x + c2 x^2 + ...
template <class... Rest>
__device__ double horner(double x, double c0, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return c0;
  } else {
    return fma_rn(horner(x, rest...), x, c0);
  }
}

// 1 / n!, rounded; n! itself is exact up to 18.
constexpr double factorial(int n) { return n == 0 ? 1.0 : n * factorial(n - 1); }
template <int n>
inline constexpr double inverse_factorial = 1.0 / factorial(n);

inline constexpr double infinity = __builtin_huge_val();
inline constexpr double ln2_hi =
    0x1.62e42fefa2p-1;  // 40 bits: an integer below 2^13 times it is exact
inline constexpr double ln2_lo = 0x1.9ef35793c7673p-41;
inline constexpr double inverse_ln2 = 0x1.71547652b82fep+0;
inline constexpr double sqrt2 = 0x1.6a09e667f3bcdp+0;
inline constexpr double half_pi_hi = 0x1.921fb54442d18p+0;
inline constexpr double half_pi_lo = 0x1.1a62633145c07p-54;
inline constexpr double quarter_pi = 0x1.921fb54442d18p-1;

__device__ inline double not_a_number() { return from_bits(uint64_t{0x7ff8000000000000u}); }

// The integer nearest to a, |a| < 2^51, by rounding at 1.5 * 2^52.
__device__ inline double nearest_integer(double a) { return sub_rn(add_rn(a, 0x1.8p52), 0x1.8p52); }

// 2^k for a normal result.
__device__ inline double power_of_two(int k) {
  return from_bits(static_cast<uint64_t>(k + 1023) << 52);
}

// a * 2^k, rounded once, |k| <= 2044.
__device__ inline double scaled(double a, int k) {
  return mul_rn(mul_rn(a, power_of_two(k / 2)), power_of_two(k - k / 2));
}

// ---- Exponential -------------------------------------------------------------------------------

// e^x = 2^exponent * (1 + fraction), |fraction| < 0.42.
struct ReducedExp {
  int exponent;
  Sum fraction;
};

// |x| < 800. With k = round(x / ln 2) and r = x - k ln 2, |r| <= 0.347: e^x = 2^k e^r, and
// e^r - 1 = r + r^2 (1/2! + r/3! + ...), cut after r^13 (error below 2^-57).
__device__ inline ReducedExp reduced_exp(double x) {
  const double k = nearest_integer(mul_rn(x, inverse_ln2));
  const double r_above = fma_rn(-k, ln2_hi, x);
  const double correction = mul_rn(k, ln2_lo);
  const double r = sub_rn(r_above, correction);
  const double r_lo = sub_rn(sub_rn(r_above, r), correction);
  const double series = horner(r, inverse_factorial<2>, inverse_factorial<3>, inverse_factorial<4>,
                               inverse_factorial<5>, inverse_factorial<6>, inverse_factorial<7>,
                               inverse_factorial<8>, inverse_factorial<9>, inverse_factorial<10>,
                               inverse_factorial<11>, inverse_factorial<12>, inverse_factorial<13>);
  Sum fraction = fast_two_sum(r, mul_rn(mul_rn(r, r), series));
  fraction.lo = add_rn(fraction.lo, fma_rn(r_lo, fraction.hi, r_lo));
  return {static_cast<int>(k), fraction};
}

__device__ inline double exp(double x) {
  if (is_nan(x)) {
    return add_rn(x, x);
  }
  if (x > 710.0) {
    return infinity;
  }
  if (x < -746.0) {
    return 0.0;
  }
  const ReducedExp reduced = reduced_exp(x);
  const Sum sum = fast_two_sum(1.0, reduced.fraction.hi);
  return scaled(add_rn(sum.hi, add_rn(sum.lo, reduced.fraction.lo)), reduced.exponent);
}

// ---- Logarithm ---------------------------------------------------------------------------------

// x = 2^exponent * significand, sqrt(1/2) < significand <= sqrt(2).
struct Decomposed {
  int exponent;
  double significand;
};

// x positive and finite.
__device__ inline Decomposed decompose(double x) {
  int exponent = 0;
  if (x < 0x1p-1022) {
    x = mul_rn(x, 0x1p54);
    exponent = -54;
  }
  const uint64_t bits = bits_of(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  const double significand = from_bits((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (significand > sqrt2) {
    return {exponent + 1, mul_rn(significand, 0.5)};
  }
  return {exponent, significand};
}

// k ln 2 + log(1 + f), -0.293 < f < 0.415. With s = f / (2 + f), |s| < 0.172:
// log(1 + f) = 2 atanh(s) = 2 s + s^3 (2/3 + 2/5 s^2 + ...), cut after s^21.
__device__ inline double log_of_parts(int k, Sum f) {
  Sum denominator = two_sum(2.0, f.hi);
  denominator.lo = add_rn(denominator.lo, f.lo);
  const Sum s = quotient(f, denominator);
  const double square = mul_rn(s.hi, s.hi);
  const double series = horner(square, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13,
                               2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21);
  const double tail = fma_rn(mul_rn(s.hi, square), series, mul_rn(2.0, s.lo));
  const Sum sum = two_sum(mul_rn(static_cast<double>(k), ln2_hi), mul_rn(2.0, s.hi));
  return add_rn(sum.hi, add_rn(sum.lo, fma_rn(static_cast<double>(k), ln2_lo, tail)));
}

__device__ inline double log(double x) {
  if (is_nan(x) || x < 0.0) {
    return is_nan(x) ? add_rn(x, x) : not_a_number();
  }
  if (x == 0.0) {
    return -infinity;
  }
  if (x == infinity) {
    return x;
  }
  const Decomposed parts = decompose(x);
  return log_of_parts(parts.exponent, {sub_rn(parts.significand, 1.0), 0.0});
}

__device__ inline double log1p(double x) {
  if (is_nan(x) || x < -1.0) {
    return is_nan(x) ? add_rn(x, x) : not_a_number();
  }
  if (x == -1.0) {
    return -infinity;
  }
  if (x == infinity || absolute(x) < 0x1p-54) {
    return x;
  }
  if (x > -0.29 && x < 0.41) {
    return log_of_parts(0, {x, 0.0});
  }
  const Sum argument = two_sum(1.0, x);
  const Decomposed parts = decompose(argument.hi);
  return log_of_parts(parts.exponent,
                      {sub_rn(parts.significand, 1.0), scaled(argument.lo, -parts.exponent)});
}

// ---- Hyperbolic tangent ------------------------------------------------------------------------

// tanh(x) = E / (E + 2) with E = e^(2x) - 1, for x > 0.
__device__ inline double tanh(double x) {
  const double magnitude = absolute(x);
  if (is_nan(x)) {
    return add_rn(x, x);
  }
  if (magnitude < 0x1p-28) {
    return x;
  }
  double result = 1.0;
  if (magnitude < 20.0) {
    const ReducedExp reduced = reduced_exp(mul_rn(2.0, magnitude));
    const double power = power_of_two(reduced.exponent);
    Sum numerator = two_sum(sub_rn(power, 1.0), mul_rn(power, reduced.fraction.hi));
    numerator.lo = fma_rn(power, reduced.fraction.lo, numerator.lo);
    Sum denominator = two_sum(numerator.hi, 2.0);
    denominator.lo = add_rn(denominator.lo, numerator.lo);
    const Sum ratio = quotient(numerator, denominator);
    result = add_rn(ratio.hi, ratio.lo);
  }
  return x < 0.0 ? -result : result;
}

// ---- Sine and cosine ---------------------------------------------------------------------------

// |x| = quadrant * pi/2 + angle modulo 2 pi, |angle| <= pi/4.
struct ReducedAngle {
  unsigned quadrant;
  Sum angle;
};

// A 64-bit word of 2/pi as a fixed-point number: word 0 is its integer part, 0.
__device__ inline uint64_t two_over_pi(unsigned word) {
  static constexpr uint64_t words[] = {
#include "../two_over_pi.inc"
  };
  return words[word];
}

// x finite. Payne and Hanek: |x| = m 2^e with a 53-bit integer m, and of the product with 2/pi only
// the bits below the multiples of 4 matter. 192 bits of 2/pi starting there leave an error of
// 2^-137, while no double comes closer than 2^-62 to a multiple of pi/2.
__device__ inline ReducedAngle reduced_angle(double x) {
  const double magnitude = absolute(x);
  if (magnitude <= quarter_pi) {
    return {0, {magnitude, 0.0}};
  }
  const uint64_t bits = bits_of(magnitude);
  const uint64_t m = (bits & 0x000fffffffffffffu) | 0x0010000000000000u;
  const unsigned start = static_cast<unsigned>(static_cast<int>(bits >> 52) - 1075 + 62);
  const unsigned word = start / 64;
  const unsigned shift = start % 64;
  uint64_t window[3];
  for (unsigned i = 0; i < 3; ++i) {
    const uint64_t below = shift == 0 ? 0 : two_over_pi(word + i + 1) >> (64 - shift);
    window[i] = (two_over_pi(word + i) << shift) | below;
  }
  // The product modulo 2^192, most significant word first; its two top bits count quadrants.
  const uint64_t p2 = m * window[2];
  const uint64_t p1 = m * window[1] + multiply_high(m, window[2]);
  const uint64_t carry = p1 < m * window[1] ? 1 : 0;
  const uint64_t p0 = m * window[0] + multiply_high(m, window[1]) + carry;
  uint64_t f0 = (p0 << 2) | (p1 >> 62);
  uint64_t f1 = (p1 << 2) | (p2 >> 62);
  uint64_t f2 = p2 << 2;
  unsigned quadrant = static_cast<unsigned>(p0 >> 62);
  const bool negative = (f0 >> 63) != 0;
  if (negative) {  // from the nearest multiple down
    quadrant = (quadrant + 1) % 4;
    f2 = ~f2 + 1;
    f1 = ~f1 + (f2 == 0 ? 1 : 0);
    f0 = ~f0 + (f1 == 0 && f2 == 0 ? 1 : 0);
  }
  int leading = 0;
  if (f0 == 0) {
    f0 = f1;
    f1 = f2;
    leading = 64;
  }
  const int zeros = leading_zeros(f0);
  if (zeros > 0) {
    f0 = (f0 << zeros) | (f1 >> (64 - zeros));
    f1 <<= zeros;
  }
  leading += zeros;
  const double turn_hi = mul_rn(static_cast<double>(f0 >> 11), power_of_two(-53 - leading));
  const double turn_lo =
      mul_rn(static_cast<double>(((f0 & 0x7ffu) << 42) | (f1 >> 22)), power_of_two(-106 - leading));
  Sum angle = two_product(turn_hi, half_pi_hi);
  angle.lo = add_rn(angle.lo, fma_rn(turn_hi, half_pi_lo, mul_rn(turn_lo, half_pi_hi)));
  angle = fast_two_sum(angle.hi, angle.lo);
  return {quadrant, negative ? Sum{-angle.hi, -angle.lo} : angle};
}

// sin(hi + lo) = hi + lo cos(hi) - hi^3/3! + ..., cut after hi^17; |hi| <= pi/4.
__device__ inline double sine_near_zero(Sum angle) {
  const double square = mul_rn(angle.hi, angle.hi);
  const double series =
      horner(square, -inverse_factorial<3>, inverse_factorial<5>, -inverse_factorial<7>,
             inverse_factorial<9>, -inverse_factorial<11>, inverse_factorial<13>,
             -inverse_factorial<15>, inverse_factorial<17>);
  const double lo = mul_rn(angle.lo, fma_rn(square, -0.5, 1.0));
  return add_rn(angle.hi, fma_rn(angle.hi, mul_rn(square, series), lo));
}

// cos(hi + lo) = 1 - hi^2/2! - hi lo + hi^4/4! - ..., cut after hi^18; |hi| <= pi/4.
__device__ inline double cosine_near_zero(Sum angle) {
  const Sum square = two_product(angle.hi, angle.hi);
  const double series =
      horner(square.hi, inverse_factorial<4>, -inverse_factorial<6>, inverse_factorial<8>,
             -inverse_factorial<10>, inverse_factorial<12>, -inverse_factorial<14>,
             inverse_factorial<16>, -inverse_factorial<18>);
  const Sum leading = fast_two_sum(1.0, mul_rn(-0.5, square.hi));
  const double lo = fma_rn(-0.5, square.lo, fma_rn(-angle.hi, angle.lo, leading.lo));
  return add_rn(leading.hi, fma_rn(mul_rn(square.hi, square.hi), series, lo));
}

// sin(angle + turns * pi/2).
__device__ inline double sine_of_turned(Sum angle, unsigned turns) {
  const double value = turns % 2 == 0 ? sine_near_zero(angle) : cosine_near_zero(angle);
  return turns % 4 < 2 ? value : -value;
}

__device__ inline double sin(double x) {
  if (absolute(x) < 0x1p-27) {
    return x;
  }
  if (is_nan(x) || absolute(x) == infinity) {
    return sub_rn(x, x);
  }
  const ReducedAngle reduced = reduced_angle(x);
  const double value = sine_of_turned(reduced.angle, reduced.quadrant);
  return x < 0.0 ? -value : value;
}

__device__ inline double cos(double x) {
  if (is_nan(x) || absolute(x) == infinity) {
    return sub_rn(x, x);
  }
  const ReducedAngle reduced = reduced_angle(x);
  return sine_of_turned(reduced.angle, reduced.quadrant + 1);
}

// ---- float -------------------------------------------------------------------------------------

__device__ inline float exp(float x) { return round_to_float(exp(static_cast<double>(x))); }
__device__ inline float log(float x) { return round_to_float(log(static_cast<double>(x))); }
__device__ inline float log1p(float x) { return round_to_float(log1p(static_cast<double>(x))); }
__device__ inline float tanh(float x) { return round_to_float(tanh(static_cast<double>(x))); }
__device__ inline float sin(float x) { return round_to_float(sin(static_cast<double>(x))); }
__device__ inline float cos(float x) { return round_to_float(cos(static_cast<double>(x))); }

}  // namespace torchlean::cuda::elementary
