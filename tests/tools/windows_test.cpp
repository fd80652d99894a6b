// Windows in the comparison: what meets what, and the budgets of convolutions and pools.
#include <doctest/doctest.h>

#include <cmath>

#include "compare/judge.hpp"
#include "compare/windows.hpp"

using namespace torchlean::tools;

namespace {

constexpr double eps = 0x1p-23;

// One channel in, one out, along one axis.
WindowShape along_one_axis(std::uint64_t in, std::uint64_t kernel, std::uint64_t stride,
                           std::uint64_t padding) {
  WindowShape shape;
  shape.in_channels = shape.out_channels = 1;
  shape.in = {in};
  shape.kernel = {kernel};
  shape.stride = {stride};
  shape.before = {padding};
  return shape;
}

Case case_of(const char *operation, const WindowShape &shape,
             const std::vector<std::vector<double>> &inputs) {
  Case one;
  one.operation = operation;
  one.windows = shape;
  for (const auto &values : inputs) one.inputs.push_back(from_values(TL_FLOAT32, values));
  return one;
}

Verdict verdict_on(const Case &one, const std::vector<std::vector<double>> &expected,
                   const std::vector<std::vector<double>> &got) {
  const auto outcome = [](const std::vector<std::vector<double>> &outputs) {
    Outcome made;
    for (const auto &values : outputs) made.outputs.push_back(from_values(TL_FLOAT32, values));
    return made;
  };
  return judge(*find_operation(one.operation), one, outcome(expected), outcome(got), {true, false});
}

// Whether an error is accepted up to the budget of a backend, and no further.
void check_budget(const Case &one, double expected, double budget) {
  const auto accepts = [&](double error) {
    return verdict_on(one, {{expected}}, {{expected + error}}).is_good();
  };
  const double ulp = ulp_of(TL_FLOAT32, expected);
  REQUIRE(budget > 2 * ulp);
  // Errors are whole ulps; the reference has half of one.
  const double steps = std::floor(budget / ulp + 0.5);
  CHECK(accepts(steps * ulp));
  CHECK_FALSE(accepts((steps + 2) * ulp));
}

}  // namespace

TEST_CASE("meetings are those of every window, tap and position that fit") {
  WindowShape shape;
  shape.in = {7, 3};
  shape.kernel = {3, 2};
  shape.stride = {2, 1};
  shape.before = {2, 1};
  shape.after = {3, 0};
  shape.dilation = {2, 3};
  const WindowGeometry geometry(shape, WindowKind::convolution);
  // floor((7 + 2 + 3 - 2 * 2 - 1) / 2) + 1 and floor((3 + 1 - 3 * 1 - 1) / 1) + 1
  REQUIRE(geometry.length(0, WindowSide::window) == 4);
  REQUIRE(geometry.length(1, WindowSide::window) == 1);
  std::size_t expected = 0;
  for (std::uint64_t w = 0; w < 4; ++w) {
    for (std::uint64_t k = 0; k < 3 * 2; ++k) {
      for (std::uint64_t p = 0; p < 7 * 3; ++p) {
        const bool meets = w * 2 + k / 2 * 2 == p / 3 + 2 && k % 2 * 3 == p % 3 + 1;
        expected += meets ? 1 : 0;
        for (const WindowSide side : {WindowSide::window, WindowSide::tap, WindowSide::position}) {
          const std::uint64_t index = side == WindowSide::window ? w
                                      : side == WindowSide::tap  ? k
                                                                 : p;
          std::size_t found = 0;
          for (const Meeting &met : geometry.meetings(side, index)) {
            found += met[WindowSide::window] == w && met[WindowSide::tap] == k &&
                             met[WindowSide::position] == p
                         ? 1
                         : 0;
          }
          CHECK(found == (meets ? 1 : 0));
        }
      }
    }
  }
  CHECK(expected > 0);
}

TEST_CASE("lengths of windows, of transposed ones, and of pools whose padding is too large") {
  const auto length = [](const WindowShape &shape, WindowKind kind) {
    const WindowGeometry geometry(shape, kind);
    return geometry.count(geometry.out());
  };
  CHECK(length(along_one_axis(7, 3, 2, 1), WindowKind::convolution) == 4);
  CHECK(length(along_one_axis(2, 5, 1, 0), WindowKind::convolution) == 0);
  CHECK(length(along_one_axis(4, 3, 2, 1), WindowKind::transposed) == 7);
  CHECK(length(along_one_axis(1, 2, 1, 3), WindowKind::transposed) == 0);
  CHECK(length(along_one_axis(0, 3, 1, 0), WindowKind::transposed) == 2);
  CHECK(length(along_one_axis(5, 3, 1, 1), WindowKind::pool) == 5);
  CHECK(length(along_one_axis(5, 3, 1, 2), WindowKind::pool) == 0);
  CHECK(length(along_one_axis(0, 2, 1, 1), WindowKind::pool) == 0);
}

TEST_CASE("convolutions: 2 N eps times the magnitudes, the bias being one of the N") {
  // 100 * 3 - 99 * 3 + 5 = 8, of three terms whose magnitudes are 602.
  const Case one = case_of("conv_fwd", along_one_axis(2, 2, 1, 0), {{100, 99}, {3, -3}, {5}});
  check_budget(one, 8, 2 * 3 * eps * 602);
}

TEST_CASE("convolutions: padding adds no term, and what lies over it does not reach the result") {
  // The middle tap alone meets the input.
  const auto made = [](double over_padding) {
    return case_of("conv_fwd", along_one_axis(1, 3, 1, 1), {{64}, {over_padding, 2, 7}, {-127}});
  };
  check_budget(made(1), 1, 2 * 2 * eps * 255);
  for (const double value : {nan_value, infinity, 1e30}) {
    CHECK_FALSE(verdict_on(made(value), {{1}}, {{nan_value}}).is_good());
    check_budget(made(value), 1, 2 * 2 * eps * 255);
  }
}

TEST_CASE("convolutions: what a nonfinite factor reaches is not judged") {
  const Case one = case_of("conv_fwd", along_one_axis(2, 1, 1, 0), {{infinity, 1}, {2}, {1}});
  const Verdict verdict = verdict_on(one, {{infinity, 3}}, {{nan_value, 3}});
  CHECK(verdict.unchecked == 1);
  CHECK(verdict.is_good());
  CHECK_FALSE(verdict_on(one, {{infinity, 3}}, {{infinity, 4}}).is_good());
}

TEST_CASE("gradients of convolutions are judged by the products that meet in them") {
  // dKernel = {1 * 300 + 2 * -149} = 2, dBias = 151, dInput = {900, -447}
  const Case one = case_of("conv_bwd", along_one_axis(2, 1, 1, 0), {{1, 2}, {3}, {300, -149}});
  const auto accepts = [&](double kernel, double bias, double input) {
    return verdict_on(one, {{2}, {151}, {900, -447}}, {{kernel}, {bias}, {input, -447}}).is_good();
  };
  CHECK(accepts(2, 151, 900));
  CHECK(accepts(2 + 2 * 2 * eps * 598, 151, 900));
  CHECK_FALSE(accepts(2 + 2 * 2 * eps * 598 * 1.01, 151, 900));
  CHECK(accepts(2, 151 + 13 * 0x1p-16, 900));  // 2 * 2 eps * 449 is 14.03 of them
  CHECK_FALSE(accepts(2, 151 + 15 * 0x1p-16, 900));
  CHECK(accepts(2, 151, 900 + 3 * 0x1p-14));  // 2 eps * 900 is 3.5 of them
  CHECK_FALSE(accepts(2, 151, 900 + 5 * 0x1p-14));
}

TEST_CASE("average: 2 N eps times the magnitudes over the volume, padding counted in it alone") {
  // The window lies over one padded place and {1000, -999}; its volume is 3.
  const Case one = case_of("avgpool_fwd", along_one_axis(2, 3, 3, 1), {{1000, -999}});
  const double expected = to_value(TL_FLOAT32, to_bits(TL_FLOAT32, 1.0 / 3));
  check_budget(one, expected, 2 * 2 * eps * 1999 / 3);
}

TEST_CASE("max: one window won gives its gradient bit for bit, several a sum") {
  // Windows over {1, 2} and {2, 3, ...}: the last entry wins one, the middle one the other.
  const Case one = case_of("maxpool_bwd", along_one_axis(3, 2, 1, 0), {{1, 2, 3}, {7, 9}});
  CHECK(verdict_on(one, {{0, 7, 9}}, {{-0.0, 7, 9}}).is_good());
  CHECK_FALSE(verdict_on(one, {{0, 7, 9}}, {{0, std::nextafterf(7, 8), 9}}).is_good());
  // Both are won by the middle: one addition of 7 and -6.
  const Case both = case_of("maxpool_bwd", along_one_axis(3, 2, 1, 0), {{1, 5, 3}, {7, -6}});
  CHECK(verdict_on(both, {{0, 1, 0}}, {{0, 1 + 13 * eps, 0}}).is_good());
  CHECK_FALSE(verdict_on(both, {{0, 1, 0}}, {{0, 1 + 14 * eps, 0}}).is_good());
  // A NaN wins, but is no number: the gradients are finite and judged.
  const Case no_number =
      case_of("maxpool_bwd", along_one_axis(3, 2, 1, 0), {{1, nan_value, 3}, {7, 9}});
  CHECK_FALSE(verdict_on(no_number, {{0, 16, 0}}, {{0, 17, 0}}).is_good());
}

TEST_CASE("smooth maximum: its bound follows from pivot, beta and number of entries") {
  Case one = case_of("smooth_maxpool_fwd", along_one_axis(2, 2, 1, 0), {{3, -5}});
  one.scalars = {-0.5};
  // The pivot is the smallest, since beta is negative: -2 log(1 + exp(-4)) - 5
  const double expected =
      to_value(TL_FLOAT32, to_bits(TL_FLOAT32, -5 - 2 * std::log(1 + std::exp(-4.0))));
  check_budget(one, expected, eps * (2 * 5 + (8 + 2) * (1 + std::log(2.0)) / 0.5));
  one.inputs[0] = from_values(TL_FLOAT32, {infinity, 1});
  one.scalars = {1};
  CHECK(verdict_on(one, {{infinity}}, {{1}}).unchecked == 1);
}

TEST_CASE("smooth maximum: a gradient's bound is that of its weights, times the gradient") {
  Case one = case_of("smooth_maxpool_bwd", along_one_axis(2, 2, 1, 0), {{0, 3}, {1000}});
  one.scalars = {2};
  const double weight = 1 / (1 + std::exp(6.0));
  const std::vector<double> right = {1000 * weight, 1000 * (1 - weight)};
  const auto accepts = [&](double error) {
    return verdict_on(one, {right}, {{right[0] * (1 + error), right[1]}}).is_good();
  };
  CHECK(accepts((4 + 6 + 2 - 1) * eps));
  CHECK_FALSE(accepts((4 + 6 + 2 + 2) * eps));
}

TEST_CASE("a smaller convolution takes its gradient along") {
  const Operation &row = *find_operation("conv_bwd");
  Case one = case_of("conv_bwd", along_one_axis(4, 2, 1, 0), {{1, 2, 3, 4}, {5, 6}, {7, 8, 9}});
  const Extents extents = row.shape.extents(one);
  CHECK(extents.sizes.size() - extents.derived == 7);  // groups, channels, lists of one entry
  const Case shorter = without(one, row.shape, 3, 3, 1);
  CHECK(shorter.windows.in[0] == 3);
  CHECK(shorter.inputs[0].bits == from_values(TL_FLOAT32, {1, 2, 3}).bits);
  CHECK(shorter.inputs[2].bits == from_values(TL_FLOAT32, {7, 8}).bits);
  // A shorter kernel has more windows: the new gradient is 1.
  const Case wider = without(one, row.shape, 4, 0, 1);
  CHECK(wider.inputs[1].bits == from_values(TL_FLOAT32, {6}).bits);
  CHECK(wider.inputs[2].bits == from_values(TL_FLOAT32, {7, 8, 9, 1}).bits);
}
