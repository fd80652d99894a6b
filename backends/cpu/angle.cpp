// Payne's and Hanek's reduction: exact for any argument.
#include "angle.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace torchlean::cpu {
namespace {

__extension__ typedef unsigned __int128 uint128;

// 2/pi as a fixed-point number: word 0 is its integer part, 0.
constexpr uint64_t two_over_pi[] = {
#include "../two_over_pi.inc"
};

constexpr double half_pi_hi = 0x1.921fb54442d18p+0;
constexpr double half_pi_lo = 0x1.1a62633145c07p-54;
constexpr double quarter_pi = 0x1.921fb54442d18p-1;

}  // namespace

// x = m 2^e with a 53-bit integer m, and of the product with 2/pi only the bits below the multiples
// of 4 matter. 192 bits of 2/pi starting there leave an error of 2^-137, while no double comes
// closer than 2^-62 to a multiple of pi/2.
Angle reduced_angle(double x) {
  if (x <= quarter_pi) return {0, x};
  if (std::isinf(x)) return {0, std::numeric_limits<double>::quiet_NaN()};
  const auto bits = std::bit_cast<uint64_t>(x);
  const uint64_t m = (bits & 0x000fffffffffffff) | 0x0010000000000000;
  const auto start = static_cast<uint32_t>(static_cast<int>(bits >> 52) - 1075 + 62);
  const uint32_t word = start / 64;
  const uint32_t shift = start % 64;
  const auto window = [&](uint32_t i) {
    const uint128 two_words = uint128{two_over_pi[word + i]} << 64 | two_over_pi[word + i + 1];
    return static_cast<uint64_t>(two_words >> (64 - shift));
  };
  // The product modulo 2^192: the upper two words, and the lowest; the two top bits count
  // quadrants.
  const uint128 low = uint128{m} * window(2);
  const uint128 high =
      (uint128{m * window(0)} << 64) + uint128{m} * window(1) + static_cast<uint64_t>(low >> 64);
  auto quadrant = static_cast<uint32_t>(high >> 126);
  // The fraction of a quadrant, 190 bits of it, in two's complement: from the nearest multiple.
  uint128 fraction = high << 2 | static_cast<uint64_t>(low) >> 62;
  const bool negative = fraction >> 127 != 0;
  if (negative) {
    quadrant = (quadrant + 1) % 4;
    fraction = ~fraction;  // off by the unit that the lost 62 bits may owe
  }
  const auto upper = static_cast<uint64_t>(fraction >> 64);
  // At most some 62, as said above.
  const int zeros = upper != 0
                        ? std::countl_zero(upper)
                        : std::min(64 + std::countl_zero(static_cast<uint64_t>(fraction)), 127);
  fraction <<= zeros;
  // 53 bits, and as many behind them.
  const double hi =
      std::ldexp(static_cast<double>(static_cast<uint64_t>(fraction >> 75)), -53 - zeros);
  const double lo =
      std::ldexp(static_cast<double>(static_cast<uint64_t>(fraction >> 22) & 0x001fffffffffffff),
                 -106 - zeros);
  const double radians = std::fma(hi, half_pi_hi, std::fma(hi, half_pi_lo, lo * half_pi_hi));
  return {quadrant, negative ? -radians : radians};
}

}  // namespace torchlean::cpu
