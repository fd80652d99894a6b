// ExactSum against MPFR with enough digits to hold every sum exactly.
#include "exact_sum.hpp"
#include "support/oracle.hpp"

#include <doctest/doctest.h>

#include <vector>

using torchlean::reference::ExactSum;
using namespace torchlean::test;

namespace {

constexpr mpfr_prec_t exact_precision = 4400;  // 2^-2148 to 2^2048, and carries
constexpr double largest = std::numeric_limits<double>::max();
constexpr double smallest = std::numeric_limits<double>::denorm_min();

template <class T>
T sum_of(const std::vector<double> &terms) {
  ExactSum sum;
  for (const double term : terms) sum.add(term);
  return sum.take<T>();
}

template <class T>
T dot(const std::vector<double> &a, const std::vector<double> &b) {
  ExactSum sum;
  for (size_t i = 0; i < a.size(); ++i) sum.add_product(a[i], b[i]);
  return sum.take<T>();
}

// Compares a dot product with MPFR's, in both types.
void check_dot(const std::vector<double> &a, const std::vector<double> &b) {
  Wide exact(exact_precision), product(106);
  for (size_t i = 0; i < a.size(); ++i) {
    mpfr_set_d(product.value, a[i], MPFR_RNDN);
    REQUIRE(mpfr_mul_d(product.value, product.value, b[i], MPFR_RNDN) == 0);
    REQUIRE(mpfr_add(exact.value, exact.value, product.value, MPFR_RNDN) == 0);
  }
  CHECK(same(dot<double>(a, b), exact.rounded<double>()));
  CHECK(same(dot<float>(a, b), exact.rounded<float>()));
}

// Pairs of factors whose products lie within 2^+-spread of each other around 2^centre.
void check_random_dots(double centre, double spread, int count) {
  std::mt19937_64 random(static_cast<uint64_t>(centre + 5000));
  std::uniform_real_distribution<double> exponent(-spread, spread);
  std::uniform_real_distribution<double> mantissa(-1, 1);
  for (int i = 0; i < count; ++i) {
    std::vector<double> a, b;
    for (uint64_t n = random() % 20 + 1; n > 0; --n) {
      const int e = static_cast<int>(exponent(random) / 2);
      a.push_back(std::ldexp(mantissa(random), static_cast<int>(centre / 2) + e));
      b.push_back(std::ldexp(mantissa(random), static_cast<int>(centre / 2) + e));
    }
    check_dot(a, b);
  }
}

}  // namespace

TEST_CASE("sums and dot products of any finite doubles are rounded once") {
  std::mt19937_64 random(1);
  for (int i = 0; i < samples(2000); ++i) {
    std::vector<double> a, b;
    for (uint64_t n = random() % 30; n > 0; --n) {
      a.push_back(any_finite<double>(random));
      b.push_back(any_finite<double>(random));
    }
    check_dot(a, b);
    check_dot(a, std::vector<double>(a.size(), 1.0));
  }
}

TEST_CASE("dot products near every border of both types are rounded once") {
  for (const double centre : {0.0, -126.0, -149.0, 127.0, -1022.0, -1074.0, 1023.0})
    for (const double spread : {2.0, 40.0}) check_random_dots(centre, spread, samples(300));
}

TEST_CASE("terms that cancel leave what a rounded sum would have lost") {
  CHECK(sum_of<double>({1e300, 1.0, -1e300}) == 1.0);
  CHECK(sum_of<double>({1e16, 1.0, smallest, -1e16, -1.0}) == smallest);
  CHECK(same(sum_of<double>({1.5, -1.5}), +0.0));
  CHECK(same(sum_of<double>({-0.0, -0.0}), +0.0));
  CHECK(dot<double>({1e200, 3.0, -1e200}, {1e200, 5.0, 1e200}) == 15.0);
}

TEST_CASE("ties go to the even neighbour, and the last bit of any term decides them") {
  CHECK(sum_of<double>({1.0, 0x1p-53}) == 1.0);
  CHECK(sum_of<double>({1.0, 0x1p-53, smallest}) == 1.0 + 0x1p-52);
  CHECK(sum_of<double>({1.0 + 0x1p-52, 0x1p-53}) == 1.0 + 0x1p-51);
  CHECK(sum_of<double>({1.0 + 0x1p-52, 0x1p-53, -smallest}) == 1.0 + 0x1p-52);
  CHECK(sum_of<float>({1.0, 0x1p-24}) == 1.0f);
  CHECK(sum_of<float>({1.0, 0x1p-24, smallest}) == 1.0f + 0x1p-23f);
}

TEST_CASE("results below the normal range are rounded once too") {
  CHECK(dot<double>({smallest}, {0.5}) == 0.0);
  CHECK(dot<double>({smallest, smallest}, {0.5, smallest}) == smallest);
  CHECK(dot<double>({smallest}, {1.5}) == 2 * smallest);
  CHECK(same(dot<double>({-smallest}, {smallest}), -0.0));
  CHECK(sum_of<float>({0x1p-150}) == 0.0f);
  CHECK(sum_of<float>({0x1p-150, 0x1p-1000}) == 0x1p-149f);
}

TEST_CASE("only the result overflows, never what lies between") {
  CHECK(sum_of<double>({largest, largest}) == infinity<double>);
  CHECK(sum_of<double>({largest, largest, -largest}) == largest);
  CHECK(dot<double>({largest, largest, 2.0}, {largest, -largest, 3.0}) == 6.0);
  CHECK(dot<double>(std::vector<double>(1000, largest), std::vector<double>(1000, -largest)) ==
        -infinity<double>);
  CHECK(sum_of<float>({3.5e38}) == std::numeric_limits<float>::infinity());
}

TEST_CASE("nonfinite terms give what IEEE arithmetic gives") {
  CHECK(sum_of<double>({1.0, infinity<double>, -5.0}) == infinity<double>);
  CHECK(sum_of<float>({1.0, -infinity<double>}) == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(sum_of<double>({infinity<double>, -infinity<double>})));
  CHECK(std::isnan(sum_of<double>({1.0, std::nan("")})));
  CHECK(std::isnan(dot<double>({infinity<double>}, {0.0})));
  CHECK(dot<double>({infinity<double>, largest}, {-2.0, largest}) == -infinity<double>);
}

TEST_CASE("products of floats are exact") {
  std::mt19937_64 random(2);
  for (int i = 0; i < samples(2000); ++i) {
    const float a = any_finite<float>(random), b = any_finite<float>(random);
    ExactSum sum;
    sum.add_product(a, b);
    CHECK(same(sum.take<float>(), a == 0 || b == 0 ? 0.0f : a * b));
  }
}

TEST_CASE("a sum that was taken starts again from nothing") {
  ExactSum sum;
  for (const double x : {1e308, -3.0, infinity<double>, smallest}) {
    sum.add(x);
    CHECK(same(sum.take<double>(), x));
    CHECK(same(sum.take<double>(), 0.0));
  }
}
