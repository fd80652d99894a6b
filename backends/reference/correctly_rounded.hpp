// Elementary functions, correctly rounded: the result is the representable number nearest to the
// exact value, ties to even, subnormals and overflow included. Special values as C99 Annex F.
#pragma once

#include <mpfr.h>

namespace torchlean::reference::correctly_rounded {

// Callable with a float or a double; expects the default floating-point environment.
struct Elementary {
  float operator()(float x) const;
  double operator()(double x) const;

  double (*approximate)(double);                    // the C library's, good to a few ulp
  int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);  // MPFR's, which rounds once
};

extern const Elementary exp, log, log1p, sin, cos, tanh;

}  // namespace torchlean::reference::correctly_rounded
