// Elementary functions, correctly rounded: the result is the representable number nearest to the
// exact value, ties to even, subnormals and overflow included. Special values as C99 Annex F.
#pragma once

#include <mpfr.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace torchlean::reference::correctly_rounded {

// Does every number within 2^-20 float ulp of y round to the same float? The C library errs by a
// few binary64 ulp, each 2^-29 of a float's.
inline bool rounds_safely(double y) {
  double magnitude = std::fabs(y);
  if (!(magnitude < 0x1p128)) return true;        // NaN, or past the last tie
  if (magnitude < FLT_MIN) magnitude += FLT_MIN;  // where floats lie equally far apart
  constexpr int64_t dropped = int64_t{1} << (DBL_MANT_DIG - FLT_MANT_DIG);
  const auto tail = static_cast<int64_t>(std::bit_cast<uint64_t>(magnitude) % dropped);
  return std::abs(tail - dropped / 2) > dropped >> 20;
}

// Callable with a float or a double; expects the default floating-point environment.
struct Elementary {
  float operator()(float x) const { return nearest(x, approximate(x)); }
  double operator()(double x) const;

  // The float next to the function's value at x, given y = approximate(x).
  float nearest(float x, double y) const {
    return rounds_safely(y) ? static_cast<float>(y) : through_mpfr(x);
  }
  float through_mpfr(float x) const;

  double (*approximate)(double);                    // the C library's, good to a few ulp
  int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);  // MPFR's, which rounds once
};

extern const Elementary exp, log, log1p, sin, cos, tanh;

}  // namespace torchlean::reference::correctly_rounded
