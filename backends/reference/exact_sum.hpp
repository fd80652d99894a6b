// A sum of doubles and of products of two doubles that rounds only once, at its end.
//
// Kulisch's accumulator: fixed-point numbers wide enough for every product of two doubles, one for
// the positive terms and one for the negative. Their digits have 32 bits but lie in words of 64, so
// that carries wait until the end.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace torchlean::reference {

__extension__ typedef unsigned __int128 uint128;
__extension__ typedef __int128 int128;

// Holds up to 2^32 terms.
class ExactSum {
 public:
  void add(double x) {
    if (!std::isfinite(x)) return add_nonfinite(x);
    const Parts parts(x);
    deposit<3>(parts.negative, parts.significand, parts.exponent);
  }

  void add_product(double a, double b) {
    if (!std::isfinite(a) || !std::isfinite(b)) return add_nonfinite(a * b);
    const Parts x(a);
    const Parts y(b);
    deposit<5>(x.negative != y.negative, uint128{x.significand} * y.significand,
               x.exponent + y.exponent);
  }

  // A double holds every product of two floats.
  void add_product(float a, float b) { add(double{a} * double{b}); }

  // The sum as a float or double, rounded to nearest even; the sum itself starts again from
  // nothing. Infinities and NaN as in IEEE arithmetic; an exact zero is +0.
  template <class T>
  T take();

 private:
  // |x| = significand * 2^exponent
  struct Parts {
    explicit Parts(double x) {
      const auto bits = std::bit_cast<uint64_t>(x);
      const int biased = static_cast<int>(bits >> 52) & 0x7ff;
      negative = bits >> 63 != 0;
      exponent = std::max(biased, 1) - 1075;
      significand = (bits & 0xfffffffffffff) | uint64_t{biased != 0} << 52;
    }
    bool negative;
    int exponent;
    uint64_t significand;
  };

  // Bit 0 weighs as much as the product of the two smallest subnormals.
  static constexpr int lowest_exponent = -2148;
  // A product stays below 2^2048, which ends in digit 131; 2^32 of them end in the next. Reading
  // what is to be rounded may look at two digits more.
  static constexpr int digit_count = 135;

  using Terms = std::array<uint64_t, digit_count>;

  // Adds +-significand * 2^exponent, which spans at most this many digits.
  template <int spanned>
  void deposit(bool negative, uint128 significand, int exponent) {
    const int position = exponent - lowest_exponent;
    const int first = position / 32;
    const int shift = position % 32;
    uint64_t *digit = &terms_[negative ? 1 : 0][first];
    digit[0] += static_cast<uint32_t>(significand << shift);
    significand >>= 32 - shift;
    for (int i = 1; i < spanned; ++i, significand >>= 32)
      digit[i] += static_cast<uint32_t>(significand);
    low_ = std::min(low_, first);
    high_ = std::max(high_, first + spanned - 1);
  }

  // Once nonfinite, always: an infinity, or NaN.
  void add_nonfinite(double x) { nonfinite_ += x; }

  // |sum|, digit by digit, and its sign.
  struct Total;
  Total total() const;

  std::array<Terms, 2> terms_{};  // positive and negative
  int low_ = digit_count;         // digits outside [low_, high_] are 0
  int high_ = -1;
  double nonfinite_ = 0;
};

}  // namespace torchlean::reference
