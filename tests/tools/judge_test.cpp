// What the comparison accepts and what it refuses, value by value, and whether its table is
// complete.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "compare/judge.hpp"
#include "compare/operations.hpp"

using namespace torchlean::tools;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// The verdict on `got` where `expected` is right, for the given operation and inputs.
Verdict verdict_on(const char *operation, const std::vector<double> &x,
                   const std::vector<double> &expected, const std::vector<double> &got,
                   bool baseline_is_reference = true) {
  Case one;
  one.operation = operation;
  one.inputs = {from_values(TL_FLOAT32, x)};
  return judge(*find_operation(operation), one, {{from_values(TL_FLOAT32, expected)}, false},
               {{from_values(TL_FLOAT32, got)}, false}, {baseline_is_reference, false});
}

bool accepts(const char *operation, double expected, double got) {
  return verdict_on(operation, {1}, {expected}, {got}).is_good();
}

double steps_above(double value, int steps) {
  auto result = static_cast<float>(value);
  for (int i = 0; i < steps; ++i) result = std::nextafter(result, 1e30F);
  return static_cast<double>(result);
}

}  // namespace

TEST_CASE("every compared operation has a row, and every row an operation") {
  std::size_t compared = 0;
  for (const tl_operation_info &info : torchlean::operations()) {
    if (info.is_compared == 0) continue;
    ++compared;
    CAPTURE(info.name);
    CHECK(find_operation(info.name) != nullptr);
  }
  CHECK(operation_table().size() == compared);
  for (const Operation &row : operation_table()) {
    CAPTURE(row.name);
    CHECK((row.rule == Rule::bounded) == (row.bound != nullptr));
  }
}

TEST_CASE("T2: exact operations compare bits, NaN with any NaN, and the sign of zero") {
  CHECK(accepts("add", 1, 1));
  CHECK_FALSE(accepts("add", 1, steps_above(1, 1)));
  CHECK(accepts("add", nan_value, -nan_value));
  CHECK_FALSE(accepts("add", nan_value, 1));
  CHECK_FALSE(accepts("add", 1, nan_value));
  CHECK_FALSE(accepts("add", infinity, -infinity));
  CHECK_FALSE(accepts("add", 0.0, -0.0));
}

TEST_CASE("T2: max, min, clamp and the row maximum may return either zero") {
  for (const char *name : {"max", "min", "clamp", "reduce_max_by_row", "reduce_max_by_column"}) {
    CAPTURE(name);
    CHECK(accepts(name, 0.0, -0.0));
    CHECK_FALSE(accepts(name, 0.0, limits_of(TL_FLOAT32).smallest_subnormal));
  }
}

TEST_CASE("T2: copies keep NaN payloads") { CHECK_FALSE(accepts("copy", nan_value, -nan_value)); }

TEST_CASE("bounded elementwise operations may miss the reference by 2 ulp, another backend by 4") {
  CHECK(accepts("exp", 1, steps_above(1, 2)));
  CHECK_FALSE(accepts("exp", 1, steps_above(1, 3)));
  CHECK(verdict_on("exp", {0}, {1}, {steps_above(1, 4)}, false).is_good());
  CHECK_FALSE(verdict_on("exp", {0}, {1}, {steps_above(1, 5)}, false).is_good());
  CHECK(accepts("exp", 0.0, -0.0));
  CHECK_FALSE(accepts("exp", infinity, limits_of(TL_FLOAT32).largest / 2));
  CHECK_FALSE(accepts("exp", nan_value, 1));
}

TEST_CASE("below the normal range two smallest subnormals more are allowed") {
  const double tiny = 8 * limits_of(TL_FLOAT32).smallest_subnormal;
  CHECK(accepts("exp", tiny, steps_above(tiny, 4)));
  CHECK_FALSE(accepts("exp", tiny, steps_above(tiny, 5)));
}

TEST_CASE("sums are judged by the magnitudes of their terms") {
  // Three terms: min(n - 1, 8 log2 3) = 2, times eps 2^-23, times 2e6 + 1: 0.477, and 0.501 ulp.
  const std::vector<double> x = {1e6, -1e6, 1};
  CHECK(verdict_on("reduce_sum", x, {1}, {1.45}).is_good());
  CHECK_FALSE(verdict_on("reduce_sum", x, {1}, {1.48}).is_good());
  CHECK(verdict_on("reduce_sum", x, {1}, {1.45}).budget_used < 1);
}

TEST_CASE("the sum of one element is that element") {
  CHECK_FALSE(verdict_on("reduce_sum", {1}, {1}, {steps_above(1, 1)}).is_good());
  CHECK(verdict_on("reduce_sum", {-0.0}, {-0.0}, {0.0}).is_good());
}

TEST_CASE("sums that a nonfinite term reaches, or whose magnitudes overflow, are not judged") {
  const double largest = limits_of(TL_FLOAT32).largest;
  CHECK(verdict_on("reduce_sum", {infinity, 1}, {infinity}, {nan_value}).unchecked == 1);
  CHECK(verdict_on("reduce_sum", {largest, -largest}, {0}, {infinity}).unchecked == 1);
}

TEST_CASE("the largest number of ulps and the share of the budget are kept") {
  const Verdict verdict = verdict_on("exp", {1, 2}, {1, 1}, {1, steps_above(1, 1)});
  CHECK(verdict.largest_ulp == 1);
  CHECK(verdict.budget_used == doctest::Approx(0.5));
}

TEST_CASE("in deterministic mode sums compare bits, other bounded operations keep their bound") {
  const auto accepts_in_deterministic_mode = [](const char *operation) {
    Case one;
    one.inputs = {from_values(TL_FLOAT32, {1, 2})};
    return judge(*find_operation(operation), one, {{from_values(TL_FLOAT32, {3})}, false},
                 {{from_values(TL_FLOAT32, {steps_above(3, 1)})}, false}, {true, true})
        .is_good();
  };
  for (const char *name : {"reduce_sum", "reduce_mean"}) {
    CAPTURE(name);
    CHECK_FALSE(accepts_in_deterministic_mode(name));
  }
  CHECK(accepts_in_deterministic_mode("exp"));
}

TEST_CASE("mean ulps count every element that is finite on both sides") {
  const Verdict verdict = verdict_on("exp", {1, 2, 3}, {1, 1, 1}, {1, steps_above(1, 1), 1});
  CHECK(verdict.ulp_total == 1);
  CHECK(verdict.measured == 3);
}

TEST_CASE("a result of another size is refused") {
  CHECK(verdict_on("add", {1}, {1, 2}, {1}).complaint == "output 0 has 1 elements, expected 2");
}

TEST_CASE("T5: empty, all-zero and all-NaN results prove nothing") {
  const auto proof = [](const std::vector<double> &values) {
    return proof_of({{from_values(TL_FLOAT64, values)}, false});
  };
  CHECK(proof({}) == Proof::empty);
  CHECK(proof({0.0, -0.0}) == Proof::all_zero);
  CHECK(proof({nan_value, nan_value}) == Proof::all_nan);
  CHECK(proof({0, 1}) == Proof::proving);
}

TEST_CASE("bmm_scaled must ask for a replay where an operand or the scale is nonfinite") {
  Case one;
  one.matmul = {1, 1, 1, 1, false, false};
  one.inputs = {from_values(TL_FLOAT32, {1}), from_values(TL_FLOAT32, {2})};
  one.scalars = {0.5};
  CHECK_FALSE(must_replay(one));
  one.scalars = {infinity};
  CHECK(must_replay(one));
  one.scalars = {0.5};
  one.inputs[1] = from_values(TL_FLOAT32, {nan_value});
  CHECK(must_replay(one));
}

TEST_CASE("distances count representable numbers, across zero too") {
  const double tiny = limits_of(TL_FLOAT64).smallest_subnormal;
  CHECK(ulp_distance(TL_FLOAT64, to_bits(TL_FLOAT64, tiny), to_bits(TL_FLOAT64, -tiny)) == 2);
  CHECK(ulp_distance(TL_FLOAT32, to_bits(TL_FLOAT32, 0.0), to_bits(TL_FLOAT32, -0.0)) == 0);
  CHECK(ulp_distance(TL_FLOAT32, to_bits(TL_FLOAT32, 1), to_bits(TL_FLOAT32, 2)) == 0x800000);
}

TEST_CASE("T4: a case's inputs depend on the seed and its name alone") {
  const auto words = [](std::uint64_t seed, const std::string &pattern) {
    std::vector<std::uint64_t> bits;
    Generator generator(
        {"add", TL_FLOAT32, seed, Size::small,
         [&](const Case &one) { return one.name().find(pattern) != std::string::npos; },
         [&](const Case &one) { bits = one.inputs[0].bits; }});
    find_operation("add")->cases(generator);
    return bits;
  };
  CHECK(words(1, "wide") == words(1, ", wide, n=1025]"));
  CHECK(words(1, "wide") != words(2, "wide"));
}
