// What the comparison accepts and what it refuses, value by value, and whether its table is
// complete.
#include <doctest/doctest.h>

#include <cmath>

#include "compare/judge.hpp"
#include "compare/operations.hpp"

using namespace torchlean::tools;

namespace {

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
    CHECK((row.rule == Rule::bounded) == (row.bound != nullptr || row.standard != nullptr));
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

// ---- Whole cases -------------------------------------------------------------------------------

namespace {

using Values = std::vector<double>;

// A case of float32 with the members that the operation takes.
Case case_of(const char *operation, const std::vector<Values> &inputs,
             const std::vector<std::uint64_t> &dims) {
  Case one;
  one.operation = operation;
  one.dims = dims;
  for (const Values &values : inputs) one.inputs.push_back(from_values(TL_FLOAT32, values));
  return one;
}

Outcome outcome_of(const std::vector<Values> &outputs) {
  Outcome outcome;
  for (const Values &values : outputs) outcome.outputs.push_back(from_values(TL_FLOAT32, values));
  return outcome;
}

Verdict verdict_on(const Case &one, const std::vector<Values> &expected,
                   const std::vector<Values> &got, const Setting &setting = {}) {
  return judge(*find_operation(one.operation), one, outcome_of(expected), outcome_of(got), setting);
}

bool accepts(const Case &one, double expected, double got) {
  return verdict_on(one, {{expected}}, {{got}}).is_good();
}

constexpr double eps = 0x1p-23;

}  // namespace

TEST_CASE("scatter_add is bounded where a row is hit twice or more, else exact") {
  Case one = case_of("scatter_add", {{-0.0, 1, 1}, {1, 1, 1}}, {3, 1});
  one.indices = {1, 2, 2};
  const auto accepts_of = [&](const Values &got, bool is_deterministic = false) {
    return verdict_on(one, {{-0.0, 2, 3}}, {got}, {true, is_deterministic}).is_good();
  };
  CHECK(accepts_of({-0.0, 2, 3}));
  CHECK_FALSE(accepts_of({0.0, 2, 3}));
  CHECK_FALSE(accepts_of({-0.0, steps_above(2, 1), 3}));
  // 2 * 2 * eps * 3, and the reference's 0.501 ulp: 12 eps and one; a step is 2 eps.
  CHECK(accepts_of({-0.0, 2, steps_above(3, 6)}));
  CHECK_FALSE(accepts_of({-0.0, 2, steps_above(3, 7)}));
  CHECK_FALSE(accepts_of({-0.0, 2, steps_above(3, 1)}, true));
  one.inputs[0] = from_values(TL_FLOAT32, {nan_value, 1, 1});
  CHECK(verdict_on(one, {{nan_value, 2, 3}}, {{nan_value, 2, 3}}).is_good());
  CHECK_FALSE(verdict_on(one, {{nan_value, 2, 3}}, {{-nan_value, 2, 3}}).is_good());
}

TEST_CASE("softmax is judged by the distance from the maximum") {
  // Of {0, -8}: (4 + 8 + 2 log2 2) eps of exp(-8) / (1 + exp(-8)).
  const Case one = case_of("softmax", {{0, -8}}, {2});
  const double small = 1 / (1 + std::exp(8.0));
  const double large = 1 / (1 + std::exp(-8.0));
  CHECK(verdict_on(one, {{large, small}}, {{large, small * (1 + 14 * eps)}}).is_good());
  CHECK_FALSE(verdict_on(one, {{large, small}}, {{large, small * (1 + 15.5 * eps)}}).is_good());
  CHECK(verdict_on(one, {{large, small}}, {{large * (1 - 6 * eps), small}}).is_good());
  CHECK_FALSE(verdict_on(one, {{large, small}}, {{large * (1 - 7.5 * eps), small}}).is_good());
}

TEST_CASE("softmax: an absent entry is +0, and what is nonfinite makes the line NaN") {
  const Case absent = case_of("softmax", {{0, -infinity}}, {2});
  CHECK(verdict_on(absent, {{1, 0}}, {{1, 0}}).is_good());
  CHECK_FALSE(
      verdict_on(absent, {{1, 0}}, {{1, limits_of(TL_FLOAT32).smallest_subnormal}}).is_good());
  const Case reached = case_of("softmax", {{0, infinity}}, {2});
  CHECK(verdict_on(reached, {{nan_value, nan_value}}, {{nan_value, nan_value}}).is_good());
  CHECK(verdict_on(reached, {{nan_value, nan_value}}, {{0, nan_value}}).nan_mismatches == 1);
}

TEST_CASE("masked softmax: a blocked entry is exactly +0") {
  const Case one = case_of("hard_masked_softmax_by_row", {{3, 5}, {1, 0}}, {1, 2});
  CHECK(verdict_on(one, {{1, 0}}, {{1, 0}}).is_good());
  CHECK_FALSE(verdict_on(one, {{1, 0}}, {{1, -0.0}}).is_good());
}

TEST_CASE("layer norm: out is judged by the normalized values of the same call") {
  Case one = case_of("layer_norm_fwd", {{1, -1}, {2, 2}, {0, 0}}, {1, 2});
  one.scalars = {0};
  const std::vector<Values> expected = {{2, -2}, {1, -1}, {1}};
  const double next = steps_above(1, 1);
  CHECK(verdict_on(one, expected, {{2 * next, -2}, {next, -1}, {1}}).is_good());
  CHECK_FALSE(verdict_on(one, expected, {{2, -2}, {next, -1}, {1}}).is_good());
  CHECK_FALSE(verdict_on(one, expected, {{2 * next, -2}, {1, -1}, {1}}).is_good());
  // One ulp, the reference's half, and 2^-45 or so.
  const double third = steps_above(1, 2);
  CHECK_FALSE(verdict_on(one, expected, {{2 * third, -2}, {third, -1}, {1}}).is_good());
  CHECK(verdict_on(one, expected, {{2, -2}, {1, -1}, {next}}).is_good());
  CHECK_FALSE(verdict_on(one, expected, {{2, -2}, {1, -1}, {third}}).is_good());
}

TEST_CASE("layer norm: only repeatability is asked where the offset leaves no digits") {
  Case one = case_of("layer_norm_fwd", {{1e30, 1e30}, {1, 1}, {0, 0}}, {1, 2});
  one.scalars = {1};
  CHECK(verdict_on(one, {{0, 0}, {0, 0}, {1}}, {{5, 5}, {5, 5}, {7}}).unchecked == 3);
}

TEST_CASE("the gradients of gamma and beta are sums over the rows") {
  Case one = case_of("layer_norm_bwd", {{1, 2}, {3, 4}, {1, 1}, {1}}, {2, 1});
  one.scalars = {1, 1};
  const std::vector<Values> expected = {{0, 0}, {11}, {3}};
  // min(n - 1, 8) = 1 times eps times 11, and half a step of 8 eps: one step.
  CHECK(verdict_on(one, expected, {{0, 0}, {steps_above(11, 1)}, {3}}).is_good());
  CHECK_FALSE(verdict_on(one, expected, {{0, 0}, {steps_above(11, 2)}, {3}}).is_good());
  CHECK(verdict_on(one, expected, {{0, 0}, {11}, {steps_above(3, 2)}}).is_good());
  CHECK_FALSE(verdict_on(one, expected, {{0, 0}, {11}, {steps_above(3, 3)}}).is_good());
}

TEST_CASE("the gradient of layer norm's input is judged by the magnitudes of its three terms") {
  // (8 + 8) eps (|dh colsScale| + sum|dh|) = 32 eps, and seven half steps of the reference's.
  Case one = case_of("layer_norm_bwd", {{1}, {0}, {1}, {1}}, {1, 1});
  one.scalars = {1, 1};
  CHECK(verdict_on(one, {{0}, {0}, {1}}, {{39 * eps}, {0}, {1}}).is_good());
  CHECK_FALSE(verdict_on(one, {{0}, {0}, {1}}, {{39.5 * eps}, {0}, {1}}).is_good());
  one.inputs[3] = from_values(TL_FLOAT32, {infinity});
  CHECK(verdict_on(one, {{0}, {0}, {1}}, {{1}, {0}, {1}}).unchecked == 1);
}

TEST_CASE("cross entropy is judged by its weighted distances, without the terms that it skips") {
  // (16 + 2 log2 2) eps |w| (log 2 + 1), and half a step.
  const Case one = case_of("cross_entropy", {{0, 0}, {1, 0}}, {1, 2});
  const double value = std::log(2.0);
  const double budget = 18 * eps * (value + 1);
  CHECK(accepts(one, value, value + budget));
  CHECK_FALSE(accepts(one, value, value + budget + eps));
  const Case skipped = case_of("cross_entropy", {{0, -infinity}, {1, 0}}, {1, 2});
  CHECK_FALSE(accepts(skipped, 0, 20 * eps));
  const Case reached = case_of("cross_entropy", {{0, -infinity}, {1, 1}}, {1, 2});
  CHECK(accepts(reached, infinity, nan_value));
}

TEST_CASE("cross entropy: a distance that overflows counts with both its ends") {
  const double largest = limits_of(TL_FLOAT32).largest;
  const Case one = case_of("cross_entropy", {{largest, -largest}, {0, 0.25}}, {1, 2});
  const double budget = 18 * eps * largest;  // |d| + |max| + |x| is 4 times the largest number
  CHECK(accepts(one, largest / 2, largest / 2 + budget));
  CHECK_FALSE(accepts(one, largest / 2, largest / 2 + 1.1 * budget));
}

TEST_CASE("distillation is judged by its probabilities, its gradient element by element") {
  Case one = case_of("distillation", {{0, 0}, {0, 0}}, {1, 2});
  const double value = std::log(2.0);
  const double budget = 18 * eps * (value + 1);
  CHECK(accepts(one, value, value + budget));
  CHECK_FALSE(accepts(one, value, value + budget + eps));
  one.number = 1;  // eps times (0.5 + 0.5)(6 + 2 log2 2), and two smallest subnormals
  CHECK(verdict_on(one, {{0, 0}}, {{8 * eps, -8 * eps}}).is_good());
  CHECK_FALSE(verdict_on(one, {{0, 0}}, {{8.1 * eps, 0}}).is_good());
}

TEST_CASE("a Fourier transform is judged by the norm of its error") {
  // 4 (log2 2 + 1) eps of the norm of {8, 0, -2, 0}: 66 eps. A step from 8 is 8 eps.
  const Case one = case_of("rfft1d_packed", {{3, 5}}, {1, 2});
  const Values expected = {8, 0, -2, 0};
  CHECK(verdict_on(one, {expected}, {{steps_above(8, 8), 0, -2, 0}}).is_good());
  CHECK_FALSE(verdict_on(one, {expected}, {{steps_above(8, 9), 0, -2, 0}}).is_good());
  CHECK(verdict_on(one, {expected}, {{8, 60 * eps, -2, 0}}).is_good());
  CHECK_FALSE(verdict_on(one, {expected}, {{8, 60 * eps, -2, 60 * eps}}).is_good());
  CHECK_FALSE(verdict_on(one, {expected}, {{8, nan_value, -2, 0}}).is_good());
  CHECK_FALSE(verdict_on(one, {expected}, {{infinity, 0, -2, 0}}).is_good());
}

TEST_CASE("Fourier transforms of a batch are judged one by one, those of NaN not at all") {
  const Case one = case_of("rfft1d_packed", {{1e6, 1e6, 3, 5, nan_value, 1}}, {3, 2});
  const Values expected = {2e6, 0, 0, 0, 8, 0, -2, 0, nan_value, 0, nan_value, 0};
  Values got = expected;
  got[8] = 1;
  const Verdict unchecked = verdict_on(one, {expected}, {got});
  CHECK(unchecked.is_good());
  CHECK(unchecked.unchecked == 4);
  got[4] = steps_above(8, 9);
  CHECK(verdict_on(one, {expected}, {got}).wrong == 4);
  CHECK(verdict_on(one, {expected}, {got}).worst->place.index == 4);
}

TEST_CASE("the inverse of a spectrum does not see what it ignores") {
  const Case one = case_of("irfft1d_packed", {{8, nan_value, -2, nan_value}}, {1, 2});
  CHECK(verdict_on(one, {{3, 5}}, {{3, 5}}).is_good());
  CHECK_FALSE(verdict_on(one, {{3, 5}}, {{3, 5.1}}).is_good());
  CHECK_FALSE(verdict_on(one, {{3, 5}}, {{nan_value, 5}}).is_good());
}

TEST_CASE("a scan may be the recurrence or near the exact value, whatever the baseline says") {
  // 1 + 3/4 eps, which the recurrence rounds to 1 + eps; 4 log2(2) eps around the exact value.
  const Case one = case_of("selective_scan_diag_fwd", {{1}, {1}, {1}, {0.75 * eps}}, {1, 1});
  CHECK(verdict_on(one, {{7}}, {{steps_above(1, 1)}}).is_good());
  CHECK(verdict_on(one, {{7}}, {{steps_above(1, 4)}}, {false, false}).is_good());
  CHECK_FALSE(verdict_on(one, {{7}}, {{steps_above(1, 5)}}, {false, false}).is_good());
  CHECK_FALSE(verdict_on(one, {{7}}, {{7}}).is_good());
}

TEST_CASE("where a coefficient of its chain exceeds 1 a scan is the recurrence") {
  const Case one = case_of("selective_scan_diag_fwd",
                           {{2, 1}, {1, 1}, {1, 1}, {0.375 * eps, 0.75 * eps}}, {1, 2});
  const double next = steps_above(1, 1);
  CHECK(verdict_on(one, {{0, 0}}, {{next, 1}}).is_good());
  CHECK_FALSE(verdict_on(one, {{0, 0}}, {{1, 1}}).is_good());
}

TEST_CASE("a nonfinite value decides from its step on, in its chain") {
  const Case one =
      case_of("selective_scan_diag_fwd", {{1}, {1}, {1, infinity}, {0.75 * eps}}, {2, 1});
  const double next = steps_above(1, 1);
  CHECK(verdict_on(one, {{0, 0}}, {{next, infinity}}).is_good());
  CHECK(verdict_on(one, {{0, 0}}, {{1, infinity}}).is_good());
  CHECK_FALSE(verdict_on(one, {{0, 0}}, {{1, nan_value}}).is_good());
}

TEST_CASE("where the recurrence overflows on its way, a scan may still be near the exact value") {
  // g[0] = 3/2 of the largest number, half of which dH0 is.
  const double largest = limits_of(TL_FLOAT32).largest;
  const Case one = case_of("selective_scan_diag_bwd",
                           {{0.5}, {1}, {0, 0}, {0}, {0, 0}, {largest, largest}}, {2, 1});
  const auto gradient = [&](double of_h0) {
    return std::vector<Values>{{nan_value}, {nan_value}, {infinity, largest}, {of_h0}};
  };
  const std::vector<Values> recurrence = gradient(infinity);
  CHECK(verdict_on(one, recurrence, recurrence).is_good());
  CHECK(verdict_on(one, recurrence, gradient(0.75 * largest)).is_good());
  CHECK_FALSE(verdict_on(one, recurrence, gradient(0.5 * largest)).is_good());
  CHECK_FALSE(verdict_on(one, recurrence, gradient(-infinity)).is_good());
  CHECK_FALSE(verdict_on(one, recurrence, gradient(nan_value)).is_good());
}

TEST_CASE(
    "gradients of constant coefficients add up in reverse time, to the bit if deterministic") {
  // g is {1, 2^24, 1}, x is 1: the fold from the last step on loses the first and the last one.
  const Case one = case_of("selective_scan_diag_bwd",
                           {{0}, {1}, {1, 1, 1}, {0}, {0, 0, 0}, {1, 0x1p24, 1}}, {3, 1});
  const std::vector<Values> recurrence = {{0}, {0x1p24}, {1, 0x1p24, 1}, {0}};
  const std::vector<Values> exact = {{0}, {0x1p24 + 2}, {1, 0x1p24, 1}, {0}};
  CHECK(verdict_on(one, recurrence, recurrence).is_good());
  CHECK(verdict_on(one, recurrence, exact).is_good());
  CHECK(verdict_on(one, recurrence, recurrence, {true, true}).is_good());
  CHECK_FALSE(verdict_on(one, recurrence, exact, {true, true}).is_good());
}
