// MPFR decides; for float the C library's binary64 result does where it lies clear of a tie.
#include "correctly_rounded.hpp"

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdlib>
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
T through_mpfr(const Elementary &function, T x) {
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

// Does every number within 2^-20 float ulp of y round to the same float? The C library errs by a
// few binary64 ulp, each 2^-29 of a float's.
bool rounds_safely(double y) {
  if (!(std::fabs(y) >= FLT_MIN && std::fabs(y) <= FLT_MAX)) return false;
  constexpr int64_t dropped = int64_t{1} << (DBL_MANT_DIG - FLT_MANT_DIG);
  const auto tail = static_cast<int64_t>(std::bit_cast<uint64_t>(y) % dropped);
  return std::abs(tail - dropped / 2) > dropped >> 20;
}

}  // namespace

float Elementary::operator()(float x) const {
  const double y = approximate(x);
  return rounds_safely(y) ? static_cast<float>(y) : through_mpfr(*this, x);
}

double Elementary::operator()(double x) const { return through_mpfr(*this, x); }

const Elementary exp{std::exp, mpfr_exp};
const Elementary log{std::log, mpfr_log};
const Elementary log1p{std::log1p, mpfr_log1p};
const Elementary sin{std::sin, mpfr_sin};
const Elementary cos{std::cos, mpfr_cos};
const Elementary tanh{std::tanh, mpfr_tanh};

}  // namespace torchlean::reference::correctly_rounded
