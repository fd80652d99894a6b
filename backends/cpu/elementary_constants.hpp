// Numbers of the elementary functions: reductions, and minimax polynomials found by the exchange
// algorithm in 200-bit arithmetic, lowest coefficient first.
#pragma once

#include <cstdint>

namespace torchlean::cpu {

template <class T>
struct ElementaryConstants;

template <>
struct ElementaryConstants<float> {
  using Bits = uint32_t;
  static constexpr int mantissa_bits = 23;
  static constexpr int bias = 127;
  // Added to a small number it rounds to an integer, which its lowest bits then hold.
  static constexpr float to_integer = 0x1.8p23F;

  // ---- exp: x = n ln 2 + r, n a multiple of u = 2^-exp_root_bits; e^r = 1 + r + r^2 q(r) within
  // 2^-27.7 for |r| <= u ln 2 / 2 ----
  static constexpr float log2_e = 0x1.715476p0F;
  static constexpr float ln2_hi = 0x1.62e4p-1F;  // few bits: n times it is exact
  static constexpr float ln2_lo = 0x1.7f7d1cp-20F;
  static constexpr float exp_lowest = -104.5F;  // e to it is 0
  static constexpr float exp_highest = 89.0F;   // infinity
  static constexpr int exp_root_bits = 0;
  static constexpr float exp_q[] = {0x1p-1F, 0x1.5554aep-3F, 0x1.555486p-5F, 0x1.12290ep-7F,
                                    0x1.6d9a92p-10F};

  // ---- log(1 + f) = f - f^2/2 + f^3 q(f) within 2^-27.2 for sqrt(1/2) <= 1 + f <= sqrt(2) ----
  static constexpr Bits sqrt_half = 0x3f3504f3;  // the bits of it
  static constexpr float log_q[] = {0x1.555554p-2F,  -0x1.000226p-2F, 0x1.99a008p-3F,
                                    -0x1.547244p-3F, 0x1.22da1ep-3F,  -0x1.0d8542p-3F,
                                    0x1.055b68p-3F,  -0x1.38b57cp-4F};
  static constexpr float log1p_keeps = 0x1p-25F;  // log1p(x) rounds to x below it

  // ---- sin, cos: x = n pi/2 + r. pi/2 in parts: n times all but the last two is exact ----
  static constexpr float two_over_pi = 0x1.45f306p-1F;
  static constexpr float half_pi[] = {0x1.92p0F, 0x1.fbp-12F, 0x1.5110b4p-22F, 0x1.84698ap-48F};
  static constexpr float angle_highest = 0x1p13F;  // reduced so up to here
  static constexpr float angle_lowest = 0x1p-20F;  // and where r is not smaller than this
  static constexpr float sin_q[] = {-0x1.555546p-3F, 0x1.110756p-7F, -0x1.994b4p-13F};
  static constexpr float cos_q[] = {0x1.55554ap-5F, -0x1.6c0c82p-10F, 0x1.99ff42p-16F};

  // ---- tanh: (e^(2r) - 1) / 2 = r + r^2 q(r) for -ln 2 / 8 <= r <= 3 ln 2 / 8, within 2^-27 of
  // the result; 1 beyond the highest ----
  static constexpr float tanh_middle = 0x1.62e43p-4F;  // of the places for n = 0: ln 2 / 8
  static constexpr float tanh_exp_q[] = {0x1.fffff4p-1F, 0x1.555698p-1F, 0x1.555802p-2F,
                                         0x1.0e7486p-3F, 0x1.ac04fap-5F};
  static constexpr float tanh_highest = 9.02F;
};

template <>
struct ElementaryConstants<double> {
  using Bits = uint64_t;
  static constexpr int mantissa_bits = 52;
  static constexpr int bias = 1023;
  static constexpr double to_integer = 0x1.8p52;

  static constexpr double log2_e = 0x1.71547652b82fep+0;
  static constexpr double ln2_hi = 0x1.62e42fefa3p-1;
  static constexpr double ln2_lo = 0x1.3de6af278ece6p-42;
  static constexpr double exp_lowest = -746;
  static constexpr double exp_highest = 710;
  static constexpr int exp_root_bits = 4;  // q(r) within 2^-56.2
  static constexpr double exp_q[] = {0x1.fffffffffffb9p-2, 0x1.555555548f88fp-3,
                                     0x1.55555558fcb02p-5, 0x1.11123aae81deep-7,
                                     0x1.6c14c6e647d90p-10};
  // 2^(j/16)
  alignas(64) static constexpr double exp_roots[] = {
      0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
      0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
      0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
      0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};

  // log(1 + f) = 2 s + s z q(z), s = f / (2 + f), z = s^2
  static constexpr Bits sqrt_half = 0x3fe6a09e667f3bcd;
  static constexpr double log_q[] = {
      0x1.5555555555594p-1, 0x1.999999997f383p-2, 0x1.249249428c6d7p-2, 0x1.c71c5182dbeabp-3,
      0x1.74665c1f3cdf1p-3, 0x1.399ea118bf4ccp-3, 0x1.2f26202a6e111p-3};
  static constexpr double log1p_keeps = 0x1p-54;

  static constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
  static constexpr double half_pi[] = {0x1.921fb54400000p+0, 0x1.0b46000000000p-34,
                                       0x1.1a62633145c07p-54};
  static constexpr double angle_highest = 0x1p20;
  static constexpr double angle_lowest = 0x1p-28;
  static constexpr double sin_q[] = {-0x1.5555555555549p-3,  0x1.111111110f841p-7,
                                     -0x1.a01a019c0a278p-13, 0x1.71de3570fcc76p-19,
                                     -0x1.ae5e60c45055bp-26, 0x1.5d915e0dd0171p-33};
  static constexpr double cos_q[] = {0x1.555555555554cp-5,  -0x1.6c16c16c15140p-10,
                                     0x1.a01a019cab76ep-16, -0x1.27e4f805357ebp-22,
                                     0x1.1ee9e891d583ep-29, -0x1.8facd1e5495a7p-37};

  // e^r = 1 + r + r^2 q(r) within 2^-57.1 for |r| <= ln 2 / 2
  static constexpr double tanh_exp_q[] = {
      0x1.0000000000005p-1,  0x1.555555555555cp-3,  0x1.5555555552027p-5,  0x1.111111110e634p-7,
      0x1.6c16c17f6f704p-10, 0x1.a01a01b61641ap-13, 0x1.a019a5d45a913p-16, 0x1.71dde96c176d6p-19,
      0x1.28a364058468dp-22, 0x1.af77b2f315ed4p-26};
  static constexpr double tanh_highest = 20;
};

}  // namespace torchlean::cpu
