// The end of an exact sum: carries, and the one rounding.
#include "exact_sum.hpp"

#include <limits>

namespace torchlean::reference {

struct ExactSum::Total {
  std::array<uint32_t, digit_count> digits{};
  bool negative = false;

  // Sets the digits to a - b and returns whether that is negative; then they are meaningless.
  bool subtract(const Terms &a, const Terms &b, int low, int high) {
    int128 carried = 0;
    for (int i = low; i <= high; ++i) {
      carried += int128{a[i]} - b[i];
      digits[i] = static_cast<uint32_t>(carried);
      carried >>= 32;
    }
    return carried < 0;
  }

  // The 64 bits from a position on.
  uint64_t bits_from(int position) const {
    const int i = position / 32;
    const uint128 window = uint128{digits[i + 2]} << 64 | uint64_t{digits[i + 1]} << 32 | digits[i];
    return static_cast<uint64_t>(window >> position % 32);
  }

  // Is any bit below a position set?
  bool any_below(int position) const {
    const int i = position / 32;
    return digits[i] << 1 << (31 - position % 32) != 0 ||
           std::any_of(digits.begin(), digits.begin() + i,
                       [](uint32_t digit) { return digit != 0; });
  }
};

ExactSum::Total ExactSum::total() const {
  const auto &[positive, negative] = terms_;
  Total result;
  result.negative = result.subtract(positive, negative, low_, high_ + 1);
  if (result.negative) result.subtract(negative, positive, low_, high_ + 1);
  return result;
}

template <class T>
T ExactSum::take() {
  using Limits = std::numeric_limits<T>;
  constexpr int smallest = Limits::min_exponent - Limits::digits - lowest_exponent;

  T result = static_cast<T>(nonfinite_);
  const Total sum = total();
  int top = high_ + 1;  // where carries end
  while (top >= 0 && sum.digits[top] == 0) --top;
  if (top >= 0 && nonfinite_ == 0) {
    const int width = 32 * top + std::bit_width(sum.digits[top]);
    const int unit = std::max(width - Limits::digits, smallest);  // the last bit that is kept
    uint64_t kept = sum.bits_from(unit);
    const bool half = sum.bits_from(unit - 1) % 2 == 1;
    if (half && (kept % 2 == 1 || sum.any_below(unit - 1))) ++kept;
    result = std::ldexp(static_cast<T>(kept), unit + lowest_exponent);
    if (sum.negative) result = -result;
  }
  for (Terms &terms : terms_)
    for (int i = low_; i <= high_; ++i) terms[i] = 0;
  low_ = digit_count;
  high_ = -1;
  nonfinite_ = 0;
  return result;
}

template float ExactSum::take<float>();
template double ExactSum::take<double>();

}  // namespace torchlean::reference
