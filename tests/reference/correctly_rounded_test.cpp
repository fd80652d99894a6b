// The elementary functions against MPFR in many digits.
#include "correctly_rounded.hpp"
#include "support/oracle.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace torchlean::reference;
using namespace torchlean::test;

namespace {

// For each function the range in which the result is neither trivial nor out of range.
struct Case {
  const char *name;
  const correctly_rounded::Elementary &function;
  double low, high;
};

const Case cases[] = {
    {"exp", correctly_rounded::exp, -760, 720},   {"log", correctly_rounded::log, 0, 1e4},
    {"log1p", correctly_rounded::log1p, -1, 1e4}, {"sin", correctly_rounded::sin, -1e3, 1e3},
    {"cos", correctly_rounded::cos, -1e3, 1e3},   {"tanh", correctly_rounded::tanh, -25, 25},
};

template <class T>
void check(const Case &c, T x) {
  Wide exact(300);
  mpfr_set_d(exact.value, x, MPFR_RNDN);
  c.function.exact(exact.value, exact.value, MPFR_RNDN);
  const T expected = exact.rounded<T>();
  const T result = c.function(x);
  INFO(c.name, " of ", x);
  CHECK(same(result, expected));
}

template <class T>
void check_everywhere(int count) {
  std::mt19937_64 random(3);
  for (const Case &c : cases) {
    std::uniform_real_distribution<double> inside(c.low, c.high);
    std::uniform_real_distribution<double> small(-1, 1);
    for (int i = 0; i < count; ++i) {
      check(c, any_pattern<T>(random));
      check(c, static_cast<T>(inside(random)));
      check(c, static_cast<T>(std::ldexp(small(random), -static_cast<int>(random() % 160))));
    }
  }
}

}  // namespace

TEST_CASE("float results are the nearest floats") { check_everywhere<float>(samples(4000)); }

TEST_CASE("double results are the nearest doubles") { check_everywhere<double>(samples(1000)); }

TEST_CASE("results at the borders of the range are rounded once") {
  // Where exp leaves the normal range, the subnormal range and the finite range, and the floats
  // around.
  for (const float border : {-87.33654f, -103.97208f, -103.27893f, 88.72284f}) {
    float x = border;
    for (int i = 0; i < 20; ++i) x = std::nextafter(x, -1000.0f);
    for (int i = 0; i < 40; ++i, x = std::nextafter(x, 1000.0f)) check(cases[0], x);
  }
  for (const double border :
       {-708.3964185322641, -745.1332191019411, -744.4400719213812, 709.782712893384}) {
    double x = border;
    for (int i = 0; i < 20; ++i) x = std::nextafter(x, -1000.0);
    for (int i = 0; i < 40; ++i, x = std::nextafter(x, 1000.0)) check(cases[0], x);
  }
  // Functions that stay close to x all through the subnormal range.
  for (const Case &c : cases)
    for (const double x :
         {0x1p-1074, 0x1.8p-1073, 0x1p-1022, 0x1.fffffffffffffp-1023, 0x1p-149, 0x1p-126}) {
      check(c, x);
      check(c, -x);
      check(c, static_cast<float>(x));
    }
}

TEST_CASE("floats whose result lies next to a tie are rounded right") {
  // Where the C library's binary64 result cannot decide: about one float in 2^19.
  double (*const libm[])(double) = {std::exp, std::log, std::log1p, std::sin, std::cos, std::tanh};
  int found = 0;
  for (int k = 0; k < 6; ++k) {
    float x = 0.7f;
    for (int i = 0; i < samples(1 << 19); ++i, x = std::nextafter(x, 1e9f)) {
      const int64_t tail = std::bit_cast<uint64_t>(libm[k](x)) % (1 << 29);
      if (std::abs(tail - (1 << 28)) > 2000) continue;
      check(cases[k], x);
      ++found;
    }
  }
  CHECK(found > 10);
}

TEST_CASE("MPFR decides within 2^-20 ulp of a tie between two floats, and nowhere else") {
  const auto decides = [](double y) {
    return !correctly_rounded::rounds_safely(y) || !correctly_rounded::rounds_safely(-y);
  };
  std::mt19937_64 random(4);
  for (int exponent = -149; exponent < 128; ++exponent)
    for (int i = 0; i < 20; ++i) {
      const int digits = std::min(exponent + 149, 23);  // after the first
      const double ulp = std::ldexp(1, exponent - digits);
      const double y =
          std::ldexp(1, exponent) + ulp * static_cast<double>(random() % (1U << digits));
      CHECK(decides(y + 0.5 * ulp));
      for (const double offset : {-0x1p-21, -0.9e-6, 0.9e-6, 0x1p-21})
        CHECK(decides(y + (0.5 + offset) * ulp));
      for (const double offset : {-0.5, -0x1p-19, -1e-6, 1e-6, 0x1p-19, 0.5 - 0x1p-20})
        CHECK_FALSE(decides(y + (0.5 + offset) * ulp));
    }
  // Half the smallest subnormal ties with zero, and halfway to 2^128 with infinity.
  CHECK(decides(0x1p-150));
  CHECK(decides(0x1.ffffffp127));
  for (const double y : {0.0, 0x1p-1074, 0x1p-151, 0x1.8p128, 0x1p1023, HUGE_VAL, std::nan("")})
    CHECK_FALSE(decides(y));
}

TEST_CASE_TEMPLATE("special values are those of C99 Annex F", T, float, double) {
  const T infinity = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  CHECK(same(correctly_rounded::exp(T(0)), T(1)));
  CHECK(same(correctly_rounded::exp(T(-0.0)), T(1)));
  CHECK(same(correctly_rounded::exp(-infinity), T(0)));
  CHECK(same(correctly_rounded::exp(infinity), infinity));
  CHECK(same(correctly_rounded::exp(T(1e4)), infinity));
  CHECK(same(correctly_rounded::exp(T(-1e4)), T(0)));
  CHECK(same(correctly_rounded::log(T(0)), -infinity));
  CHECK(same(correctly_rounded::log(T(-0.0)), -infinity));
  CHECK(same(correctly_rounded::log(T(1)), T(0)));
  CHECK(same(correctly_rounded::log(T(-1)), nan));
  CHECK(same(correctly_rounded::log(infinity), infinity));
  CHECK(same(correctly_rounded::log1p(T(-0.0)), T(-0.0)));
  CHECK(same(correctly_rounded::log1p(T(-1)), -infinity));
  CHECK(same(correctly_rounded::log1p(T(-1.5)), nan));
  CHECK(same(correctly_rounded::log1p(infinity), infinity));
  CHECK(same(correctly_rounded::sin(T(-0.0)), T(-0.0)));
  CHECK(same(correctly_rounded::sin(infinity), nan));
  CHECK(same(correctly_rounded::cos(T(0)), T(1)));
  CHECK(same(correctly_rounded::cos(-infinity), nan));
  CHECK(same(correctly_rounded::tanh(T(-0.0)), T(-0.0)));
  CHECK(same(correctly_rounded::tanh(infinity), T(1)));
  CHECK(same(correctly_rounded::tanh(-infinity), T(-1)));
  for (const Case &c : cases) CHECK(same(c.function(nan), nan));
}

TEST_CASE("MPFR's exponent range is left as it was, on every thread") {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([i] {
      const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
      for (int k = 0; k < 200; ++k)
        if (i % 2 == 0)
          check(cases[k % 6], 0.5 + k);
        else
          check(cases[k % 6], 0x1p-149f * static_cast<float>(k));
      CHECK(mpfr_get_emin() == emin);
      CHECK(mpfr_get_emax() == emax);
      mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);  // what the expected values left on this thread
    });
  for (std::thread &thread : threads) thread.join();
}
