// What MPFR decides: double results, and float results next to a tie.
#include "correctly_rounded.hpp"

#include <cmath>
#include <limits>

namespace torchlean::reference::correctly_rounded {
namespace {

// Gives MPFR this thread's exponent range of T and takes it back at the end. MPFR writes a number
// as 0.1xxx * 2^e, whence the shifts by one.
template <class T>
class ExponentRange {
 public:
  ExponentRange() : emin_(mpfr_get_emin()), emax_(mpfr_get_emax()) {
    using Limits = std::numeric_limits<T>;
    mpfr_set_emin(Limits::min_exponent - Limits::digits + 1);  // the smallest subnormal
    mpfr_set_emax(Limits::max_exponent);
  }
  ~ExponentRange() {
    mpfr_set_emin(emin_);
    mpfr_set_emax(emax_);
  }
  ExponentRange(const ExponentRange &) = delete;
  ExponentRange &operator=(const ExponentRange &) = delete;

 private:
  mpfr_exp_t emin_;
  mpfr_exp_t emax_;
};

// MPFR keeps constants for each thread; one that ends gives them back.
struct ThreadCache {
  ~ThreadCache() { mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE); }
};

template <class T>
T rounded_once(const Elementary &function, T x) {
  static thread_local const ThreadCache cache;
  const ExponentRange<T> range;
  mpfr_t value;
  mpfr_init2(value, std::numeric_limits<T>::digits);
  mpfr_set_d(value, x, MPFR_RNDN);
  const int inexact = function.exact(value, value, MPFR_RNDN);
  mpfr_subnormalize(value, inexact, MPFR_RNDN);
  const T result = static_cast<T>(mpfr_get_d(value, MPFR_RNDN));
  mpfr_clear(value);
  return result;
}

}  // namespace

float Elementary::through_mpfr(float x) const { return rounded_once(*this, x); }

double Elementary::operator()(double x) const { return rounded_once(*this, x); }

const Elementary exp{std::exp, mpfr_exp};
const Elementary log{std::log, mpfr_log};
const Elementary log1p{std::log1p, mpfr_log1p};
const Elementary sin{std::sin, mpfr_sin};
const Elementary cos{std::cos, mpfr_cos};
const Elementary tanh{std::tanh, mpfr_tanh};

}  // namespace torchlean::reference::correctly_rounded
