// exp, log, log1p, sin, cos, tanh: how far they are from the exact values.
#include "reference/fixture.hpp"
#include "support/oracle.hpp"

#include <cmath>
#include <random>

using namespace torchlean::test;

namespace {

struct Function {
  const char *name;
  tl_unary_op op;
  double (*in_double)(double);                      // the C library's
  int (*exact)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);  // MPFR's
  double float_bound;                               // docs/cpu.md: found, and what is promised is 2
  double double_bound;
};

const Function functions[] = {
    {"exp", TL_UNARY_EXP, std::exp, mpfr_exp, 1.1, 1.15},
    {"log", TL_UNARY_LOG, std::log, mpfr_log, 0.9, 0.9},
    {"log1p", TL_UNARY_LOG1P, std::log1p, mpfr_log1p, 0.9, 0.9},
    {"sin", TL_UNARY_SIN, std::sin, mpfr_sin, 1.7, 1.7},
    {"cos", TL_UNARY_COS, std::cos, mpfr_cos, 1.7, 1.7},
    {"tanh", TL_UNARY_TANH, std::tanh, mpfr_tanh, 1.85, 1.4},
};

bool is_long() {
  const char *const value = std::getenv("TL_TEST_LONG");
  return value != nullptr && *value == '1';
}

template <class T>
std::vector<T> values_of(Backend &backend, tl_unary_op op, const std::vector<T> &x) {
  const Buffer<T> operand(backend, x);
  return result<T>(backend, x.size(), [&](tl_storage **out) {
    return backend.table->elementwise->unary(backend.instance, op, operand.operand(), &no_scalars,
                                             0, out);
  });
}

// |y - exact| in units of the exact value's last place; 0 where both are the same special value,
// infinity where one is and the other is not. Where the exact value rounds to infinity or is next
// to it, both count.
template <class T>
double error(T y, double exact) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(exact) || std::isnan(y))
    return std::isnan(exact) && std::isnan(y) ? 0 : Limits::infinity();
  if (std::isinf(static_cast<T>(exact)) || std::isinf(y)) {
    const bool is_near = std::fabs(exact) >= Limits::max() * (1 - 2 * Limits::epsilon()) &&
                         std::fabs(y) >= Limits::max() * (1 - 2 * Limits::epsilon());
    return is_near && std::signbit(y) == std::signbit(exact) ? 0 : Limits::infinity();
  }
  const int binade =
      std::max(exact == 0 ? Limits::min_exponent : std::ilogb(exact) + 1, Limits::min_exponent);
  return std::fabs(static_cast<double>(y) - exact) / std::ldexp(1.0, binade - Limits::digits);
}

}  // namespace

// The C library's doubles err by less than 1e-8 of a float's last place.
TEST_CASE("float: a sample of all inputs, or each of them where time allows") {
  Backend backend;
  const uint64_t stride = is_long() ? 1 : 131'071;
  for (const Function &function : functions) {
    double largest = 0;
    float where = 0;
    std::vector<float> x;
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += stride) {
      x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
      if (x.size() < 65'536 && bits + stride < uint64_t{1} << 32) continue;
      const std::vector<float> y = values_of(backend, function.op, x);
      for (size_t i = 0; i < x.size(); ++i) {
        const double distance = error(y[i], function.in_double(static_cast<double>(x[i])));
        if (distance <= largest) continue;
        largest = distance;
        where = x[i];
      }
      x.clear();
    }
    MESSAGE(std::string(function.name) << ": " << largest << " ulp at " << where);
    CHECK(largest < function.float_bound);
  }
}

TEST_CASE("double: places of every size, against MPFR") {
  Backend backend;
  std::mt19937_64 random(5);
  std::vector<double> x;
  const size_t count = is_long() ? 1'000'000 : 1000;
  while (x.size() < count) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    x.push_back(std::ldexp(1 + unit, static_cast<int>(random() % 24) - 14));
    x.push_back(-x.back());
    x.push_back(std::bit_cast<double>(random()));
    // Next to multiples of pi/2, where nearly all of the argument cancels.
    x.push_back(static_cast<double>(random() % 1'000'000) * 1.5707963267948966);
  }
  for (const Function &function : functions) {
    const std::vector<double> y = values_of(backend, function.op, x);
    double largest = 0;
    double where = 0;
    Wide exact{200};
    for (size_t i = 0; i < x.size(); ++i) {
      mpfr_set_d(exact.value, x[i], MPFR_RNDN);
      function.exact(exact.value, exact.value, MPFR_RNDN);
      const double nearest = mpfr_get_d(exact.value, MPFR_RNDN);
      double distance = error(y[i], nearest);
      if (std::isfinite(distance) && std::isfinite(nearest) && std::isfinite(y[i])) {
        const int binade = std::max(nearest == 0 ? -1021 : std::ilogb(nearest) + 1, -1021);
        mpfr_sub_d(exact.value, exact.value, y[i], MPFR_RNDN);
        mpfr_mul_2si(exact.value, exact.value, 53 - binade, MPFR_RNDN);
        distance = std::fabs(mpfr_get_d(exact.value, MPFR_RNDN));
      }
      if (distance <= largest) continue;
      largest = distance;
      where = x[i];
    }
    MESSAGE(std::string(function.name) << ": " << largest << " ulp at " << where);
    CHECK(largest < function.double_bound);
  }
}
