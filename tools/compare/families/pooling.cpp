// Rows of the family pooling.
#include "compare/bounds/windows.hpp"
#include "compare/operations.hpp"
#include "compare/windows.hpp"
#include "compare/wrong.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace torchlean::tools {
namespace {

using Make = Array (*)(Random &, tl_dtype, std::uint64_t);

// ---- Contents ----------------------------------------------------------------------------------

Array negative_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  Array array = ordinary_values(random, dtype, count);
  for (std::uint64_t &word : array.bits) word |= limits_of(dtype).sign_bit;
  return array;
}

// Half of the largest number and below: differences stay finite, sums of three do not.
Array large_values(Random &random, tl_dtype dtype, std::uint64_t count) {
  Array array = ordinary_values(random, dtype, count);
  const double unit = limits_of(dtype).largest / 64;  // ordinary magnitudes are below 32
  for (std::uint64_t i = 0; i < count; ++i) {
    array.bits[i] = to_bits(dtype, unit * array.value(i));
  }
  return array;
}

struct Kind {
  const char *name;
  Make make;
};
constexpr Kind kinds[] = {{"ordinary", ordinary_values}, {"tied", tied_values},
                          {"negative", negative_values}, {"tiny", tiny_values},
                          {"large", large_values},       {"sprinkled", sprinkled_values}};
constexpr Kind wide = {"wide", wide_values};
constexpr Kind cancelling = {"cancelling", cancelling_values};

// ---- Shapes ------------------------------------------------------------------------------------

// Channels, then input, kernel, stride and padding.
WindowShape pool(std::uint64_t channels, std::vector<std::uint64_t> in,
                 std::vector<std::uint64_t> kernel, std::vector<std::uint64_t> stride,
                 std::vector<std::uint64_t> padding) {
  return {
      {}, channels, 0, 1, std::move(in), std::move(kernel), std::move(stride), std::move(padding),
      {}, {}};
}

const std::vector<WindowShape> shapes = {
    pool(1, {1}, {1}, {1}, {0}),
    pool(3, {7}, {3}, {1}, {1}),
    pool(2, {5, 7}, {3, 2}, {1, 1}, {0, 0}),
    pool(2, {6, 5}, {2, 3}, {2, 2}, {1, 1}),
    pool(2, {4, 5, 3}, {2, 3, 2}, {1, 2, 1}, {1, 1, 0}),
    pool(3, {31}, {7}, {3}, {3}),
    pool(2, {11, 9}, {5, 5}, {1, 1}, {2, 2}),  // 25 windows over a position
    pool(2, {9}, {2}, {4}, {0}),               // positions that no window meets
    pool(4, {8, 8}, {8, 8}, {1, 1}, {0, 0}),
    pool(1, {3}, {1000}, {1}, {499}),  // a window far larger than the input
    pool(2, {5}, {3}, {1}, {2}),       // padding beyond half of the window: an empty axis
    pool(2, {0}, {2}, {1}, {1}),
    pool(0, {4}, {2}, {1}, {0}),
    pool(2, {2}, {5}, {1}, {0})};
const WindowShape large_shape = pool(8, {32, 32}, {3, 3}, {2, 2}, {1, 1});

// ---- Cases -------------------------------------------------------------------------------------

// Which operands a row takes.
enum class Operands { input, gradient, both };

template <Operands operands>
void fill(Case &one, Random &random, const WindowShape &shape, const Kind &kind) {
  const WindowGeometry geometry(shape, WindowKind::pool);
  const auto add = [&](WindowSide side, Make make) {
    one.inputs.push_back(make(random, one.dtype, shape.in_channels * geometry.count(side)));
  };
  one.windows = shape;
  if (operands != Operands::gradient) add(geometry.in(), kind.make);
  // Gradients of their own: what overflows or is not a number is seen in the input.
  if (operands == Operands::gradient) add(geometry.out(), kind.make);
  if (operands == Operands::both) add(geometry.out(), ordinary_values);
}

template <Operands operands>
void add_cases(const Generator &generator, const Kind &more,
               const std::vector<double> &scalars = {}) {
  const auto add = [&](const WindowShape &shape, const Kind &kind) {
    std::string label = window_text(shape);
    for (const double scalar : scalars) label += fmt::format(":b{}", scalar);
    generator.add(kind.name, label, [&](Case &one, Random &random) {
      fill<operands>(one, random, shape, kind);
      one.scalars = scalars;
    });
  };
  for (const WindowShape &shape : shapes) {
    for (const Kind &kind : kinds) add(shape, kind);
    add(shape, more);
  }
  if (generator.size() >= Size::standard) {
    add(large_shape, kinds[0]);
    add(large_shape, kinds[1]);
  }
}

void maxpool_cases(const Generator &generator) { add_cases<Operands::input>(generator, wide); }
void maxpool_bwd_cases(const Generator &generator) {
  add_cases<Operands::both>(generator, wide);
  // Gradients that are not finite reach the winners only.
  generator.add("special-gradient", window_text(shapes[2]), [](Case &one, Random &random) {
    fill<Operands::both>(one, random, shapes[2], kinds[1]);
    one.inputs[1] = sprinkled_values(random, one.dtype, one.inputs[1].size());
  });
  generator.add("cancelling-gradient", window_text(shapes[6]), [](Case &one, Random &random) {
    fill<Operands::both>(one, random, shapes[6], kinds[1]);
    one.inputs[1] = cancelling_values(random, one.dtype, one.inputs[1].size());
  });
}
void avgpool_cases(const Generator &generator) {
  add_cases<Operands::input>(generator, cancelling);
}
void avgpool_bwd_cases(const Generator &generator) {
  add_cases<Operands::gradient>(generator, cancelling);
}

template <Operands operands>
void smooth_cases(const Generator &generator) {
  for (const double beta : {1.0, -1.0, 0.1, 30.0, -1000.0, 1e-30, -1e30}) {
    add_cases<operands>(generator, cancelling, {beta});
  }
}

// ---- Calls -------------------------------------------------------------------------------------

template <Buffer (*call)(const Buffer &, const Windows &, std::uint64_t)>
Results run_one(const Case &c, const Inputs &in) {
  return results(call(in.at(0), windows_of(c.windows), c.windows.in_channels));
}

// ---- Wrong arguments ---------------------------------------------------------------------------

template <Operands operands>
void right(Case &one, Random &random) {
  fill<operands>(one, random, pool(2, {5}, {3}, {1}, {1}), kinds[0]);
  one.scalars = {1.5};
}

template <Operands operands>
void wrong_pool(const Generator &generator) {
  wrong_operands(generator, right<operands>);
  refuse_windows(generator, right<operands>);
  generator.refuse("kernel-volume-that-overflows", [](Case &one, Random &random) {
    right<operands>(one, random);
    one.windows.in = {5, 1, 1};
    one.windows.kernel = {too_many - 1, too_many - 1, too_many - 1};
    one.windows.stride = {1, 1, 1};
    one.windows.before = {0, 0, 0};
  });
}

template <Operands operands>
void wrong_smooth(const Generator &generator) {
  wrong_pool<operands>(generator);
  for (const double beta : {0.0, -0.0, infinity, -infinity, nan_value, 1e-60, 1e60}) {
    // In float64 these are numbers like others.
    if (std::fabs(beta) > 0 && std::isfinite(beta) && generator.dtype() == TL_FLOAT64) continue;
    generator.refuse(fmt::format("beta-of-{}", beta), [&](Case &one, Random &random) {
      right<operands>(one, random);
      one.scalars = {beta};
    });
  }
}

}  // namespace

std::vector<Operation> pooling_operations() {
  return {
      {.name = "maxpool_fwd",
       .rule = Rule::exact,
       .budget = "the same bits",
       .cases = maxpool_cases,
       .wrong = wrong_pool<Operands::input>,
       .call = run_one<maxpool_fwd>,
       .terms = pool_terms,
       .shape = pool_shape},
      {.name = "maxpool_bwd",
       .rule = Rule::bounded,
       .budget = "a sum of as many terms as windows that the entry wins; one: the same bits",
       .cases = maxpool_bwd_cases,
       .wrong = wrong_pool<Operands::both>,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(
                 maxpool_bwd(in.at(0), in.at(1), windows_of(c.windows), c.windows.in_channels));
           },
       .standard = maxpool_bwd_standard,
       .terms = pool_bwd_terms,
       .shape = pool_bwd_shape},
      {.name = "avgpool_fwd",
       .rule = Rule::bounded,
       .budget = "2 N eps sum|x| / window volume, N entries in the window",
       .cases = avgpool_cases,
       .wrong = wrong_pool<Operands::input>,
       .call = run_one<avgpool_fwd>,
       .standard = avgpool_standard,
       .terms = pool_terms,
       .shape = pool_shape},
      {.name = "avgpool_bwd",
       .rule = Rule::bounded,
       .budget = "2 N eps sum|g| / window volume, N windows over the entry",
       .cases = avgpool_bwd_cases,
       .wrong = wrong_pool<Operands::gradient>,
       .call = run_one<avgpool_bwd>,
       .standard = avgpool_bwd_standard,
       .terms = pool_bwd_terms,
       .shape = avgpool_bwd_shape},
      {.name = "smooth_maxpool_fwd",
       .rule = Rule::bounded,
       .budget = "eps (2 |x*| + (8 + 2 log2 N) (1 + ln N) / |beta|), x* the pivot of N entries",
       .cases = smooth_cases<Operands::input>,
       .wrong = wrong_smooth<Operands::input>,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(smooth_maxpool_fwd(in.at(0), c.scalars.at(0), windows_of(c.windows),
                                               c.windows.in_channels));
           },
       .standard = smooth_maxpool_standard,
       .terms = pool_terms,
       .shape = pool_shape},
      {.name = "smooth_maxpool_bwd",
       .rule = Rule::bounded,
       .budget = "each weight relative (4 + |beta (x - x*)| + 2 log2 N) eps, then as a sum",
       .cases = smooth_cases<Operands::both>,
       .wrong = wrong_smooth<Operands::both>,
       .call =
           [](const Case &c, const Inputs &in) {
             return results(smooth_maxpool_bwd(in.at(0), in.at(1), c.scalars.at(0),
                                               windows_of(c.windows), c.windows.in_channels));
           },
       .standard = smooth_maxpool_bwd_standard,
       .terms = pool_bwd_terms,
       .shape = pool_bwd_shape},
  };
}

}  // namespace torchlean::tools
