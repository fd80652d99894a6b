// The wider type in which a bounded operation computes all its steps before it rounds once.
//
// It has 11 bits or more to spare, so that a few roundings on the way stay a few thousandths of an
// ulp of the result, and an exponent range in which no sum or product of two values can overflow.
#pragma once

#include <cfloat>
#include <cmath>
#include <type_traits>

namespace torchlean::reference {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

static_assert(LDBL_MANT_DIG >= DBL_MANT_DIG + 11 && LDBL_MAX_EXP >= 8 * DBL_MAX_EXP);

// A sum whose error does not grow with the number of its terms (Neumaier's): what each addition
// loses is added up apart. Infinities and NaN as in IEEE arithmetic.
template <class W>
class CompensatedSum {
 public:
  void add(W x) {
    const W sum = sum_ + x;
    lost_ += std::fabs(sum_) >= std::fabs(x) ? (sum_ - sum) + x : (x - sum) + sum_;
    sum_ = sum;
  }
  W value() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

 private:
  W sum_ = 0;
  W lost_ = 0;
};

}  // namespace torchlean::reference
