// Division by a number that all threads share: a multiplication and a shift.
#pragma once

#include "arithmetic.cuh"

#include <bit>

namespace torchlean::cuda {

struct Divided {
  uint64_t quotient;
  uint64_t remainder;
};

// Divides numbers below 2^63 by a number from 1 to 2^63. Made on the host, used in kernels.
//
// With 2^(s-1) < d <= 2^s and m = ceil(2^(63+s) / d) < 2^64, floor(m n / 2^(63+s)) is the quotient:
// m d exceeds 2^(63+s) by less than d <= 2^s, which n < 2^63 turns into less than one part in d
// (Granlund and Montgomery, Division by Invariant Integers using Multiplication, theorem 4.2).
class Divisor {
 public:
  explicit Divisor(uint64_t value = 1)
      : value_(value), shift_(static_cast<uint32_t>(std::bit_width(value - 1))) {
    __extension__ using Wide = unsigned __int128;
    multiplier_ = static_cast<uint64_t>(((Wide{1} << (63 + shift_)) + value - 1) / value);
  }

  __device__ uint64_t value() const { return value_; }
  __device__ Divided divide(uint64_t n) const {
    const uint64_t quotient = multiply_high(multiplier_, n << 1) >> shift_;
    return {quotient, n - quotient * value_};
  }

 private:
  uint64_t value_;
  uint64_t multiplier_;
  uint32_t shift_;
};

}  // namespace torchlean::cuda
