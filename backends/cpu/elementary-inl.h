// exp_of, log_of, log1p_of, sin_of, cos_of, tanh_of: float and double, within 2 ulp, by the same
// steps on every target, so that a result depends on its argument alone (docs/cpu.md has the
// errors found). Special values as C99 Annex F.
//
// Every step is one rounded operation or a fused multiply-add (simd-inl.h's, never Highway's).
//
// Included once per target, like Highway's own headers.
#if defined(TORCHLEAN_CPU_ELEMENTARY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLEAN_CPU_ELEMENTARY_INL
#undef TORCHLEAN_CPU_ELEMENTARY_INL
#else
#define TORCHLEAN_CPU_ELEMENTARY_INL
#endif

#include "angle.hpp"
#include "elementary_constants.hpp"
#include "simd-inl.h"

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {

template <class D>
using ConstantsOf = ElementaryConstants<hn::TFromD<D>>;

// ---- Building blocks ----------------------------------------------------------------------------

// c[first] + c[first + step] x + c[first + 2 step] x^2 + ...
template <size_t first, size_t step, class D, class T, size_t count>
HWY_INLINE hn::Vec<D> horner_from(D d, hn::Vec<D> x, const T (&c)[count]) {
  if constexpr (first + step >= count) {
    return hn::Set(d, c[first]);
  } else {
    return fma(horner_from<first + step, step>(d, x, c), x, hn::Set(d, c[first]));
  }
}

template <class D, class T, size_t count>
HWY_INLINE hn::Vec<D> horner(D d, hn::Vec<D> x, const T (&c)[count]) {
  return horner_from<0, 1>(d, x, c);
}

// The same in half the time from x to the result: even powers and odd ones side by side.
template <class D, class T, size_t count>
HWY_INLINE hn::Vec<D> horner_of_halves(D d, hn::Vec<D> x, hn::Vec<D> square, const T (&c)[count]) {
  return fma(horner_from<1, 2>(d, square, c), x, horner_from<0, 2>(d, square, c));
}

// x, but at most `highest`; NaN stays.
template <class D>
HWY_INLINE hn::Vec<D> at_most(D d, hn::TFromD<D> highest, hn::Vec<D> x) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Min(hn::Set(d, highest), x);  // the second of two where one is NaN
#else
  const auto limit = hn::Set(d, highest);
  return hn::IfThenElse(hn::Lt(limit, x), limit, x);
#endif
}

template <class D>
HWY_INLINE hn::Vec<D> at_least(D d, hn::TFromD<D> lowest, hn::Vec<D> x) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Max(hn::Set(d, lowest), x);
#else
  const auto limit = hn::Set(d, lowest);
  return hn::IfThenElse(hn::Gt(limit, x), limit, x);
#endif
}

// The power of two whose biased exponent is in the lowest bits.
template <class D>
HWY_INLINE hn::Vec<D> of_exponent(D d, hn::Vec<hn::RebindToUnsigned<D>> exponent) {
  return hn::BitCast(d, hn::ShiftLeft<ConstantsOf<D>::mantissa_bits>(exponent));
}

// ---- Exponential --------------------------------------------------------------------------------

// x = n ln 2 + r, where n is a multiple of 2^-root_bits and in the lowest bits of `bits`. |x| small
// enough for n to fit.
template <class D>
struct ReducedExp {
  hn::Vec<hn::RebindToUnsigned<D>> bits;
  hn::Vec<D> n;
  hn::Vec<D> r;
};

template <int root_bits, class D>
HWY_INLINE ReducedExp<D> reduced_exp(D d, hn::Vec<D> x) {
  using C = ConstantsOf<D>;
  const auto to_multiple = hn::Set(d, C::to_integer / (1 << root_bits));
  const auto shifted = fma(x, hn::Set(d, C::log2_e), to_multiple);
  const auto n = hn::Sub(shifted, to_multiple);
  const auto above = fma(n, hn::Set(d, -C::ln2_hi), x);
  return {hn::BitCast(hn::RebindToUnsigned<D>(), shifted), n,
          fma(n, hn::Set(d, -C::ln2_lo), above)};
}

// The same for any x: where n is beyond all exponents, r is finite.
template <class D>
HWY_INLINE ReducedExp<D> reduced_for_exp(D d, hn::Vec<D> x) {
  using C = ConstantsOf<D>;
#if HWY_TARGET == HWY_AVX3
  // The one of smaller magnitude, with the sign of r, and 1 where r is NaN.
  auto e = reduced_exp<C::exp_root_bits>(d, x);
  constexpr int smaller = 2;
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(float)) {
    e.r = hn::Vec<D>{_mm512_range_ps(e.r.raw, hn::Set(d, 1.0F).raw, smaller)};
  } else {
    e.r = hn::Vec<D>{_mm512_range_pd(e.r.raw, hn::Set(d, 1.0).raw, smaller)};
  }
  return e;
#else
  return reduced_exp<C::exp_root_bits>(d,
                                       at_least(d, C::exp_lowest, at_most(d, C::exp_highest, x)));
#endif
}

// 2^(n - floor(n)).
template <class D>
HWY_INLINE hn::Vec<D> root_of(D d, const ReducedExp<D> &e) {
  using C = ConstantsOf<D>;
#if HWY_TARGET == HWY_AVX3
  return hn::Vec<D>{_mm512_permutex2var_pd(hn::Load(d, C::exp_roots).raw, e.bits.raw,
                                           hn::Load(d, C::exp_roots + hn::MaxLanes(d)).raw)};
#else
  const hn::RebindToSigned<D> di;
  const auto index = hn::And(hn::BitCast(di, e.bits), hn::Set(di, (1 << C::exp_root_bits) - 1));
  return hn::GatherIndex(d, C::exp_roots, index);
#endif
}

// p * 2^floor(n), rounded once, for 0.5 < p < 4. Half of n is a normal exponent, but with AVX-512
// any n will do.
template <class D>
HWY_INLINE hn::Vec<D> scaled(D d, hn::Vec<D> p, const ReducedExp<D> &e) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(float)) {
    return hn::Vec<D>{_mm512_scalef_ps(p.raw, e.n.raw)};
  } else {
    return hn::Vec<D>{_mm512_scalef_pd(p.raw, e.n.raw)};
  }
#else
  using C = ConstantsOf<D>;
  const auto whole = hn::ShiftRight<C::exp_root_bits>(e.bits);
  const auto half = hn::ShiftRight<1>(whole);
  const auto bias = hn::Set(hn::RebindToUnsigned<D>(), typename C::Bits{C::bias});
  const auto rest = hn::Sub(whole, half);
  return hn::Mul(hn::Mul(p, of_exponent(d, hn::Add(half, bias))),
                 of_exponent(d, hn::Add(rest, bias)));
#endif
}

template <class D>
HWY_INLINE hn::Vec<D> exp_of(D d, hn::Vec<D> x) {
  using C = ConstantsOf<D>;
  const auto e = reduced_for_exp(d, x);
  const auto square = hn::Mul(e.r, e.r);
  const auto tail = fma(square, horner_of_halves(d, e.r, square, C::exp_q), e.r);
  if constexpr (C::exp_root_bits == 0) {
    return scaled(d, hn::Add(tail, hn::Set(d, hn::TFromD<D>(1))), e);
  } else {
    const auto root = root_of(d, e);
    return scaled(d, fma(tail, root, root), e);
  }
}

// ---- Logarithm ----------------------------------------------------------------------------------

// x = 2^k (1 + f), sqrt(1/2) <= 1 + f <= sqrt(2).
template <class V>
struct Decomposed {
  V k;
  V f;
};

// x positive and finite; subnormal only where may_be_subnormal.
template <bool may_be_subnormal, class D>
HWY_INLINE Decomposed<hn::Vec<D>> decomposed(D d, hn::Vec<D> x) {
  using C = ConstantsOf<D>;
  using T = hn::TFromD<D>;
  using Bits = typename C::Bits;
  const hn::RebindToUnsigned<D> du;
  constexpr T two_to_mantissa = T(Bits{1} << C::mantissa_bits);
  constexpr Bits one = Bits{C::bias} << C::mantissa_bits;
  auto excess = hn::Set(d, two_to_mantissa + T(C::bias));  // of the exponent as it is read below
  if constexpr (may_be_subnormal) {
    const auto is_small = hn::Lt(x, hn::Set(d, std::numeric_limits<T>::min()));
    x = hn::IfThenElse(is_small, hn::Mul(x, hn::Set(d, two_to_mantissa)), x);
    excess = hn::IfThenElse(is_small, hn::Set(d, two_to_mantissa + T(C::bias + C::mantissa_bits)),
                            excess);
  }
  const auto bits = hn::Add(hn::BitCast(du, x), hn::Set(du, one - C::sqrt_half));
  const auto exponent = hn::ShiftRight<C::mantissa_bits>(bits);
  // 2^mantissa_bits + exponent, as its mantissa is the integer.
  const auto read = hn::BitCast(d, hn::Or(exponent, hn::BitCast(du, hn::Set(d, two_to_mantissa))));
  const auto mantissa = hn::And(bits, hn::Set(du, (Bits{1} << C::mantissa_bits) - 1));
  const auto significand = hn::BitCast(d, hn::Add(mantissa, hn::Set(du, C::sqrt_half)));
  return {hn::Sub(read, excess), hn::Sub(significand, hn::Set(d, T(1)))};
}

// f^2/2 - f + log(1 + f) + low. Floats do without a division: theirs takes as long as the rest.
template <class D>
HWY_INLINE hn::Vec<D> log_tail(D d, hn::Vec<D> f, hn::Vec<D> square, hn::Vec<D> low) {
  using C = ConstantsOf<D>;
  using T = hn::TFromD<D>;
  if constexpr (sizeof(T) == sizeof(float)) {
    return fma(hn::Mul(square, f), horner_of_halves(d, f, square, C::log_q), low);
  } else {
    const auto s = hn::Div(f, hn::Add(f, hn::Set(d, T(2))));
    const auto z = hn::Mul(s, s);
    // 2 s + s z q = f - (f^2/2 - s (f^2/2 + z q))
    return fma(s, fma(z, horner(d, z, C::log_q), hn::Mul(square, hn::Set(d, T(0.5)))), low);
  }
}

// k ln 2 + log(1 + f) + correction, which is far below f or below 1.
template <class D>
HWY_INLINE hn::Vec<D> log_of_parts(D d, Decomposed<hn::Vec<D>> parts, hn::Vec<D> correction) {
  using C = ConstantsOf<D>;
  const auto f = parts.f;
  const auto square = hn::Mul(f, f);
  const auto half_square = hn::Mul(square, hn::Set(d, hn::TFromD<D>(0.5)));
  const auto low = fma(parts.k, hn::Set(d, C::ln2_lo), correction);
  const auto subtracted = hn::Sub(hn::Sub(half_square, log_tail(d, f, square, low)), f);
  return hn::Sub(hn::Mul(parts.k, hn::Set(d, C::ln2_hi)), subtracted);
}

// What log is outside (0, infinity), given x - 0, and log1p outside (-1, infinity), given x + 1.
template <class D>
HWY_INLINE hn::Vec<D> log_outside(D d, hn::Vec<D> x) {
  using Limits = std::numeric_limits<hn::TFromD<D>>;
  const auto zero = hn::Zero(d);
  const auto not_positive = hn::IfThenElse(hn::Eq(x, zero), hn::Set(d, -Limits::infinity()),
                                           hn::Set(d, Limits::quiet_NaN()));
  return hn::IfThenElse(hn::Le(x, zero), not_positive, x);  // infinity and NaN
}

template <class D>
HWY_INLINE hn::Mask<D> is_between(D d, hn::Vec<D> x, hn::TFromD<D> low, hn::TFromD<D> high) {
  return hn::And(hn::Gt(x, hn::Set(d, low)), hn::Lt(x, hn::Set(d, high)));
}

template <class D>
HWY_INLINE hn::Vec<D> log_of(D d, hn::Vec<D> x) {
  using Limits = std::numeric_limits<hn::TFromD<D>>;
  const auto is_normal =
      hn::And(hn::Ge(x, hn::Set(d, Limits::min())), hn::Lt(x, hn::Set(d, Limits::infinity())));
  // Subnormal and special arguments cost a fifth of the steps.
  if (HWY_LIKELY(hn::AllTrue(d, is_normal)))
    return log_of_parts(d, decomposed<false>(d, x), hn::Zero(d));
  const auto y = log_of_parts(d, decomposed<true>(d, x), hn::Zero(d));
  const auto is_inside = is_between(d, x, hn::TFromD<D>(0), Limits::infinity());
  return hn::IfThenElse(is_inside, y, log_outside(d, x));
}

template <class D>
HWY_INLINE hn::Vec<D> log1p_of(D d, hn::Vec<D> x) {
  using C = ConstantsOf<D>;
  using T = hn::TFromD<D>;
  const auto one = hn::Set(d, T(1));
  // 1 + x = sum + rest exactly (Knuth), and log(sum + rest) = log(sum) + rest / sum + ...
  const auto sum = hn::Add(one, x);
  const auto of_x = hn::Sub(sum, one);
  const auto rest = hn::Add(hn::Sub(one, hn::Sub(sum, of_x)), hn::Sub(x, of_x));
  const auto y = log_of_parts(d, decomposed<false>(d, sum), hn::Div(rest, sum));
  const auto is_inside = is_between(d, x, T(-1), std::numeric_limits<T>::infinity());
  const auto is_tiny = hn::Lt(hn::Abs(x), hn::Set(d, C::log1p_keeps));
  return hn::IfThenElse(is_tiny, x, hn::IfThenElse(is_inside, y, log_outside(d, sum)));
}

// ---- Hyperbolic tangent -------------------------------------------------------------------------

// float: F / (F + 1) with F = (e^(2|x|) - 1) / 2, or F - F (F / (F + 1)) where F is small: it lets
// through less of what the quotient loses. r is three times as far above 0 as below: where it is
// negative, F is large enough for what its own terms lose.
template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == sizeof(float)> * = nullptr>
HWY_INLINE hn::Vec<D> tanh_of(D d, hn::Vec<D> x) {
  using C = ConstantsOf<D>;
  const auto a = at_most(d, C::tanh_highest, hn::Abs(x));
  // a = n (ln 2) / 2 + r, near enough by a float's ln 2, and 2^n from the lowest bits of `shifted`
  const auto to_exponent = hn::Set(d, C::to_integer + C::bias);
  const auto below = hn::Sub(a, hn::Set(d, C::tanh_middle));
  const auto shifted = fma(below, hn::Set(d, 2 * C::log2_e), to_exponent);
  const auto n = hn::Sub(shifted, to_exponent);
  const auto r = fma(n, hn::Set(d, -4 * C::tanh_middle), a);
  const auto power = of_exponent(d, hn::BitCast(hn::RebindToUnsigned<D>(), shifted));
  // (e^(2r) - 1) / 2
  const auto square = hn::Mul(r, r);
  const auto fraction = fma(square, horner_of_halves(d, r, square, C::tanh_exp_q), r);
  const auto half = hn::Set(d, 0.5F);
  const auto numerator = fma(power, fraction, fma(power, half, hn::Neg(half)));
  const auto quotient = hn::Div(numerator, hn::Sub(hn::Set(d, -1.0F), numerator));  // its negative
  const auto difference = fma(numerator, quotient, numerator);
  const auto is_small = hn::Lt(a, hn::Set(d, 3 * C::tanh_middle));  // n = 0
  return hn::CopySign(hn::IfThenElse(is_small, difference, quotient), x);
}

// double: E / (E + 2) with E = e^(2|x|) - 1 in two words.
template <class D, hwy::EnableIf<sizeof(hn::TFromD<D>) == sizeof(double)> * = nullptr>
HWY_INLINE hn::Vec<D> tanh_of(D d, hn::Vec<D> x) {
  using C = ConstantsOf<D>;
  const auto one = hn::Set(d, 1.0);
  const auto two = hn::Set(d, 2.0);
  const auto a = at_most(d, C::tanh_highest, hn::Abs(x));
  const auto e = reduced_exp<0>(d, hn::Add(a, a));
  // e^r - 1 = r + tail, |tail| < |r|
  const auto square = hn::Mul(e.r, e.r);
  const auto tail = hn::Mul(square, horner_of_halves(d, e.r, square, C::tanh_exp_q));
  const auto fraction = hn::Add(e.r, tail);
  const auto fraction_lo = hn::Sub(tail, hn::Sub(fraction, e.r));
  // E = (2^n - 1) + 2^n (e^r - 1), by Knuth's sum
  const auto exponent =
      hn::Add(e.bits, hn::Set(hn::RebindToUnsigned<D>(), typename C::Bits{C::bias}));
  const auto power = of_exponent(d, exponent);
  const auto base = hn::Sub(power, one);
  const auto product = hn::Mul(power, fraction);
  const auto numerator = hn::Add(base, product);
  const auto of_product = hn::Sub(numerator, base);
  const auto lost =
      hn::Add(hn::Sub(base, hn::Sub(numerator, of_product)), hn::Sub(product, of_product));
  const auto numerator_lo = fma(power, fraction_lo, lost);
  const auto denominator = hn::Add(numerator, two);
  const auto added = hn::Sub(denominator, two);  // numerator as it arrived in there
  const auto denominator_lo = hn::Add(
      hn::Add(hn::Sub(numerator, added), hn::Sub(two, hn::Sub(denominator, added))), numerator_lo);
  const auto inverse = hn::Div(one, denominator);
  const auto quotient = hn::Mul(numerator, inverse);
  const auto remainder = hn::Sub(fma(hn::Neg(quotient), denominator, numerator),
                                 fma(quotient, denominator_lo, hn::Neg(numerator_lo)));
  const auto y = fma(remainder, inverse, quotient);
  return hn::CopySign(y, x);
}

// ---- Sine and cosine ----------------------------------------------------------------------------

// a = n pi/2 + r with |r| <= pi/4; quarters holds n in its lowest bits.
template <class D>
struct ReducedAngle {
  hn::Vec<hn::RebindToUnsigned<D>> quarters;
  hn::Vec<D> r;
};

// The lanes that `is_hard` marks, one by one.
template <class D>
HWY_NOINLINE void reduce_hard_angles(D d, hn::Vec<D> a, hn::Mask<D> is_hard,
                                     ReducedAngle<D> &reduced) {
  using T = hn::TFromD<D>;
  const hn::RebindToUnsigned<D> du;
  HWY_ALIGN T angle[hn::MaxLanes(d)];
  HWY_ALIGN T hard[hn::MaxLanes(d)];
  HWY_ALIGN T r[hn::MaxLanes(d)];
  HWY_ALIGN typename ConstantsOf<D>::Bits quarters[hn::MaxLanes(d)];
  hn::Store(a, d, angle);
  hn::Store(hn::IfThenElseZero(is_hard, hn::Set(d, T(1))), d, hard);
  hn::Store(reduced.r, d, r);
  hn::Store(reduced.quarters, du, quarters);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if (hard[i] == 0) continue;
    const Angle exact = reduced_angle(static_cast<double>(angle[i]));
    quarters[i] = exact.quadrant;
    r[i] = static_cast<T>(exact.radians);
  }
  reduced = {hn::Load(du, quarters), hn::Load(d, r)};
}

// a >= 0 or NaN.
template <class D>
HWY_INLINE ReducedAngle<D> reduced_angles(D d, hn::Vec<D> a) {
  using C = ConstantsOf<D>;
  const auto to_integer = hn::Set(d, C::to_integer);
  const auto shifted = fma(a, hn::Set(d, C::two_over_pi), to_integer);
  const auto n = hn::Sub(shifted, to_integer);
  auto r = a;
  for (const auto part : C::half_pi) r = fma(n, hn::Set(d, -part), r);
  ReducedAngle<D> reduced = {hn::BitCast(hn::RebindToUnsigned<D>(), shifted), r};
  // Too large, or so close to a multiple of pi/2 other than 0 that digits are missing.
  const auto is_close =
      hn::And(hn::Lt(hn::Abs(r), hn::Set(d, C::angle_lowest)), hn::Ne(n, hn::Zero(d)));
  const auto is_hard = hn::Or(hn::Gt(a, hn::Set(d, C::angle_highest)), is_close);
  if (HWY_UNLIKELY(!hn::AllFalse(d, is_hard))) reduce_hard_angles(d, a, is_hard, reduced);
  return reduced;
}

// sin(reduced + turns pi/2), its sign flipped where `sign` has the sign bit.
template <class D, class VU>
HWY_INLINE hn::Vec<D> sine_of_turned(D d, const ReducedAngle<D> &reduced, uint32_t turns, VU sign) {
  using C = ConstantsOf<D>;
  using T = hn::TFromD<D>;
  using Bits = typename C::Bits;
  const hn::RebindToUnsigned<D> du;
  const auto quarters = hn::Add(reduced.quarters, hn::Set(du, Bits{turns}));
  const auto r = reduced.r;
  const auto z = hn::Mul(r, r);
  const auto sine = fma(hn::Mul(r, z), horner(d, z, C::sin_q), r);
  const auto cosine =
      fma(hn::Mul(z, z), horner(d, z, C::cos_q), fma(z, hn::Set(d, T(-0.5)), hn::Set(d, T(1))));
  const auto is_odd = hn::TestBit(quarters, hn::Set(du, Bits{1}));
  const auto value = hn::IfThenElse(hn::RebindMask(d, is_odd), cosine, sine);
  constexpr int to_sign_bit = sizeof(T) * 8 - 2;  // bit 1 says which half of the circle
  const auto flip =
      hn::And(hn::ShiftLeft<to_sign_bit>(quarters), hn::Set(du, Bits{1} << (sizeof(T) * 8 - 1)));
  return hn::BitCast(d, hn::Xor(hn::BitCast(du, value), hn::Xor(flip, sign)));
}

template <class D>
HWY_INLINE hn::Vec<D> sin_of(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  const auto magnitude = hn::Abs(x);
  const auto sign = hn::Xor(hn::BitCast(du, x), hn::BitCast(du, magnitude));
  return sine_of_turned(d, reduced_angles(d, magnitude), 0, sign);
}

template <class D>
HWY_INLINE hn::Vec<D> cos_of(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  return sine_of_turned(d, reduced_angles(d, hn::Abs(x)), 1, hn::Zero(du));
}

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TORCHLEAN_CPU_ELEMENTARY_INL
