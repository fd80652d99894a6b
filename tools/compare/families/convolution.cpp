// Rows of the family convolution.
#include "compare/bounds/windows.hpp"
#include "compare/operations.hpp"
#include "compare/windows.hpp"
#include "compare/wrong.hpp"

#include <fmt/format.h>

#include <utility>

namespace torchlean::tools {
namespace {

using Make = Array (*)(Random &, tl_dtype, std::uint64_t);

// What fills the three operands: input, kernel, and bias or gradient.
struct Kind {
  const char *name;
  Make input;
  Make kernel;
  Make third;
};
constexpr Kind kinds[] = {{"ordinary", ordinary_values, ordinary_values, ordinary_values},
                          {"cancelling", cancelling_values, ordinary_values, cancelling_values},
                          {"tiny", tiny_values, ordinary_values, tiny_values},
                          {"sprinkled", sprinkled_values, sprinkled_values, sprinkled_values}};

// ---- Shapes ------------------------------------------------------------------------------------

// Leading axes, channels, groups, then input, kernel, stride, padding before and after, dilation.
const std::vector<WindowShape> batched_shapes = {
    {{}, 1, 1, 1, {1}, {1}, {1}, {0}, {0}, {1}},
    {{2}, 3, 5, 1, {7}, {3}, {1}, {1}, {1}, {1}},
    {{}, 2, 3, 1, {5, 7}, {3, 2}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
    {{2, 3}, 4, 6, 2, {5, 6}, {3, 3}, {2, 1}, {1, 2}, {0, 1}, {1, 2}},
    {{2}, 4, 4, 4, {9}, {3}, {1}, {1}, {1}, {1}},
    {{}, 2, 2, 1, {4, 5, 3}, {2, 3, 1}, {1, 2, 1}, {1, 0, 0}, {0, 1, 0}, {1, 1, 1}},
    {{1}, 2, 4, 2, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {1, 0, 1}, {2, 1, 1}},
    {{}, 3, 2, 1, {31}, {7}, {3}, {2}, {5}, {2}},
    {{}, 16, 3, 1, {13}, {9}, {1}, {4}, {4}, {1}},
    // Padding larger than the input: windows that lie in it altogether, taps that meet nothing.
    {{}, 1, 2, 1, {2}, {3}, {1}, {4}, {5}, {1}},
    {{}, 1, 2, 1, {1, 1}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {{2}, 4, 2, 2, {3}, {3}, {5}, {2}, {0}, {3}},
    // Empty results; empty inputs, whose results are the bias.
    {{2}, 2, 3, 1, {2}, {5}, {1}, {0}, {0}, {1}},
    {{0}, 2, 3, 1, {4}, {2}, {1}, {0}, {0}, {1}},
    {{}, 2, 0, 1, {4}, {2}, {1}, {0}, {0}, {1}},
    {{2}, 3, 2, 1, {0}, {2}, {1}, {1}, {1}, {1}},
    {{}, 0, 2, 1, {3, 2}, {2, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}};

// Of one sample: channels, then input, kernel, stride and padding.
WindowShape sample(std::uint64_t in_channels, std::uint64_t out_channels,
                   std::vector<std::uint64_t> in, std::vector<std::uint64_t> kernel,
                   std::vector<std::uint64_t> stride, std::vector<std::uint64_t> padding) {
  return {{},
          in_channels,
          out_channels,
          1,
          std::move(in),
          std::move(kernel),
          std::move(stride),
          std::move(padding),
          {},
          {}};
}

const std::vector<WindowShape> sample_shapes = {
    sample(1, 1, {1}, {1}, {1}, {0}),
    sample(3, 5, {7}, {3}, {1}, {1}),
    sample(2, 3, {5, 7}, {3, 2}, {1, 1}, {0, 0}),
    sample(3, 2, {6, 5}, {3, 3}, {2, 1}, {1, 2}),
    sample(2, 2, {4, 3, 5}, {2, 3, 1}, {1, 2, 1}, {1, 1, 0}),
    sample(2, 3, {3, 3, 3}, {2, 2, 2}, {2, 1, 3}, {0, 1, 1}),
    sample(3, 2, {31}, {7}, {3}, {5}),
    sample(11, 3, {13}, {9}, {1}, {4}),
    sample(2, 3, {9}, {2}, {4}, {0}),  // positions that no window meets
    sample(1, 2, {2}, {3}, {1}, {4}),  // padding larger than the input
    sample(1, 2, {1, 1}, {3, 3}, {1, 1}, {1, 1}),
    sample(2, 3, {2}, {5}, {1}, {0}),  // no window; transposed, there are
    sample(2, 3, {1}, {2}, {1}, {3}),  // transposed, all of the result is cropped
    sample(2, 0, {4}, {2}, {1}, {0}),
    sample(3, 2, {0}, {2}, {1}, {1}),
    sample(3, 2, {0}, {3}, {1}, {0}),
    sample(0, 2, {3, 2}, {2, 1}, {1, 1}, {0, 0})};

// Larger ones, for the standard size and beyond.
const WindowShape large_batched_shape = {{4},    8,      8,      1,      {16, 16},
                                         {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
const WindowShape large_sample_shape = sample(8, 8, {16, 16}, {3, 3}, {1, 1}, {1, 1});

// ---- Cases -------------------------------------------------------------------------------------

// Fills whatever no element of the result is computed from with NaN and infinity.
void poison(Case &one, TermsOf terms, const std::vector<std::uint64_t> &results) {
  std::vector<std::vector<bool>> used;
  for (const Array &input : one.inputs) used.emplace_back(input.size());
  for (std::size_t k = 0; k < results.size(); ++k) {
    for (std::uint64_t i = 0; i < results[k]; ++i) {
      for (const auto &[input, index] : terms(one, {k, i, 0})) used[input][index] = true;
    }
  }
  const Limits &limits = limits_of(one.dtype);
  for (std::size_t k = 0; k < used.size(); ++k) {
    for (std::uint64_t i = 0; i < used[k].size(); ++i) {
      if (!used[k][i]) one.inputs[k].bits[i] = limits.infinity_bits | i % 2;
    }
  }
}

template <bool is_transposed, bool is_backward>
void fill(Case &one, Random &random, const WindowShape &shape, const Kind &kind) {
  const ConvolutionGeometry at(shape, is_transposed);
  const std::uint64_t results = at.batch * at.out_channels * at.out_count;
  one.windows = shape;
  one.inputs = {kind.input(random, one.dtype, at.batch * at.in_channels * at.in_count),
                kind.kernel(random, one.dtype, at.in_channels * at.out_channels * at.taps),
                kind.third(random, one.dtype, is_backward ? results : at.out_channels)};
}

template <bool is_transposed, bool is_backward, TermsOf terms>
void add_cases(const Generator &generator, const std::vector<WindowShape> &shapes,
               const WindowShape &large) {
  std::vector<WindowShape> all = shapes;
  if (generator.size() >= Size::standard) all.push_back(large);
  for (const WindowShape &shape : all) {
    for (const Kind &kind : kinds) {
      generator.add(kind.name, window_text(shape), [&](Case &one, Random &random) {
        fill<is_transposed, is_backward>(one, random, shape, kind);
      });
    }
    // A tap in the padding, a block between two groups, a position beside all windows.
    generator.add("poisoned", window_text(shape), [&](Case &one, Random &random) {
      fill<is_transposed, is_backward>(one, random, shape, kinds[0]);
      const ConvolutionGeometry at(shape, is_transposed);
      const std::uint64_t results = at.batch * at.out_channels * at.out_count;
      poison(one, terms,
             is_backward ? std::vector{one.inputs[1].size(), at.out_channels, one.inputs[0].size()}
                         : std::vector{results});
    });
  }
}

void conv_cases(const Generator &generator) {
  add_cases<false, false, conv_terms>(generator, batched_shapes, large_batched_shape);
}
void conv_fwd_cases(const Generator &generator) {
  add_cases<false, false, conv_terms>(generator, sample_shapes, large_sample_shape);
}
void conv_bwd_cases(const Generator &generator) {
  add_cases<false, true, conv_bwd_terms>(generator, sample_shapes, large_sample_shape);
}
void convtranspose_fwd_cases(const Generator &generator) {
  add_cases<true, false, convtranspose_terms>(generator, sample_shapes, large_sample_shape);
}
void convtranspose_bwd_cases(const Generator &generator) {
  add_cases<true, true, convtranspose_bwd_terms>(generator, sample_shapes, large_sample_shape);
}

// ---- Calls -------------------------------------------------------------------------------------

ConvolutionLists lists_of(const WindowShape &shape) {
  ConvolutionLists lists = {shape.leading, {shape.out_channels, shape.in_channels},
                            shape.stride,  shape.before,
                            shape.after,   shape.dilation};
  lists.input_dims.push_back(shape.in_channels);
  lists.input_dims.insert(lists.input_dims.end(), shape.in.begin(), shape.in.end());
  lists.kernel_dims.insert(lists.kernel_dims.end(), shape.kernel.begin(), shape.kernel.end());
  return lists;
}

Results run_conv(const Case &c, const Inputs &in) {
  return results(conv(in.at(0), in.at(1), in.at(2), lists_of(c.windows), c.windows.groups));
}

template <Buffer (*call)(const Buffer &, const Buffer &, const Buffer &, const Windows &, Channels)>
Results run_sample(const Case &c, const Inputs &in) {
  return results(call(in.at(0), in.at(1), in.at(2), windows_of(c.windows),
                      {c.windows.in_channels, c.windows.out_channels}));
}

template <ConvolutionGradients (*call)(const Buffer &, const Buffer &, const Buffer &,
                                       const Windows &, Channels)>
Results run_gradients(const Case &c, const Inputs &in) {
  ConvolutionGradients gradients = call(in.at(0), in.at(1), in.at(2), windows_of(c.windows),
                                        {c.windows.in_channels, c.windows.out_channels});
  return results(std::move(gradients.kernel), std::move(gradients.bias),
                 std::move(gradients.input));
}

// ---- Wrong arguments ---------------------------------------------------------------------------

const WindowShape right_batched = {{2}, 2, 4, 2, {5}, {3}, {1}, {1}, {0}, {1}};
const WindowShape right_sample = sample(2, 3, {5}, {3}, {1}, {1});

template <bool is_transposed, bool is_backward>
void wrong_windows(const Generator &generator, const WindowShape &right) {
  const auto make = [&](Case &one, Random &random) {
    fill<is_transposed, is_backward>(one, random, right, kinds[0]);
  };
  wrong_operands(generator, make);
  refuse_windows(generator, make);
}

void wrong_conv(const Generator &generator) {
  wrong_windows<false, false>(generator, right_batched);
  const auto make = [](Case &one, Random &random) {
    fill<false, false>(one, random, right_batched, kinds[0]);
  };
  const auto refuse = [&](const char *label, void (*spoil)(Case &)) {
    generator.refuse(label, [&](Case &one, Random &random) {
      make(one, random);
      spoil(one);
    });
  };
  refuse("no-group", [](Case &one) { one.windows.groups = 0; });
  refuse("groups-that-do-not-divide", [](Case &one) { one.windows.groups = 3; });
  refuse("dilation-of-0", [](Case &one) { one.windows.dilation = {0}; });
  refuse("dilations-missing", [](Case &one) { one.windows.dilation = {}; });
  refuse("padding-after-missing", [](Case &one) { one.windows.after = {}; });
  refuse("leading-axes-that-overflow", [](Case &one) {
    one.windows.leading = {too_many - 1, too_many - 1, too_many - 1};
  });
  refuse("too-large-result",
         [](Case &one) { one.windows.before = one.windows.after = {too_many - 1}; });
  refuse("other-channels-in-the-kernel", [](Case &one) {
    one.wrong_call = [](const Case &c, const Inputs &in) {
      ConvolutionLists lists = lists_of(c.windows);
      std::swap(lists.kernel_dims[0], lists.kernel_dims[1]);
      conv(in.at(0), in.at(1), in.at(2), lists, c.windows.groups);
    };
  });
  refuse("lists-of-NULL", [](Case &one) {
    one.wrong_call = [](const Case &, const Inputs &in) {
      tl_buffer *out = nullptr;
      check(tl_conv(in.at(0).get(), in.at(1).get(), in.at(2).get(), nullptr, 2, &out));
    };
  });
}

template <bool is_transposed, bool is_backward>
void wrong_sample(const Generator &generator) {
  wrong_windows<is_transposed, is_backward>(generator, right_sample);
}

template <bool is_backward>
constexpr const char *budget =
    is_backward ? "2 N eps sum|products|, N products meet in an element of a gradient"
                : "2 N eps sum|products|, N terms meet in an element, the bias included";

}  // namespace

std::vector<Operation> convolution_operations() {
  return {
      {.name = "conv",
       .rule = Rule::bounded,
       .budget = budget<false>,
       .cases = conv_cases,
       .wrong = wrong_conv,
       .call = run_conv,
       .standard = conv_standard,
       .terms = conv_terms,
       .shape = conv_shape},
      {.name = "conv_fwd",
       .rule = Rule::bounded,
       .budget = budget<false>,
       .cases = conv_fwd_cases,
       .wrong = wrong_sample<false, false>,
       .call = run_sample<conv_fwd>,
       .standard = conv_standard,
       .terms = conv_terms,
       .shape = conv_shape},
      {.name = "conv_bwd",
       .rule = Rule::bounded,
       .budget = budget<true>,
       .cases = conv_bwd_cases,
       .wrong = wrong_sample<false, true>,
       .call = run_gradients<conv_bwd>,
       .standard = conv_bwd_standard,
       .terms = conv_bwd_terms,
       .shape = conv_bwd_shape},
      {.name = "convtranspose_fwd",
       .rule = Rule::bounded,
       .budget = budget<false>,
       .cases = convtranspose_fwd_cases,
       .wrong = wrong_sample<true, false>,
       .call = run_sample<convtranspose_fwd>,
       .standard = convtranspose_standard,
       .terms = convtranspose_terms,
       .shape = convtranspose_shape},
      {.name = "convtranspose_bwd",
       .rule = Rule::bounded,
       .budget = budget<true>,
       .cases = convtranspose_bwd_cases,
       .wrong = wrong_sample<true, true>,
       .call = run_gradients<convtranspose_bwd>,
       .standard = convtranspose_bwd_standard,
       .terms = convtranspose_bwd_terms,
       .shape = convtranspose_bwd_shape},
  };
}

}  // namespace torchlean::tools
