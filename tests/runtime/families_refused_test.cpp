// Wrong arguments of indexing, normalization, losses, transforms, scans, convolutions and pools are
// refused by the core, by name, and lose nothing; a family that a backend lacks is unsupported.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

#include "fixture.hpp"
#include "windows_arguments.hpp"

namespace {

constexpr std::uint64_t past_32_bits = std::uint64_t{1} << 32U;
constexpr std::array<std::uint32_t, 2> two = {0, 7};

}  // namespace

TEST_CASE("index lists have k entries and as many values") {
  const Owned six = zeros(6), four = zeros(4), doubles = zeros(6, TL_FLOAT64);
  refused([&](auto out) { return tl_gather_rows(six.buffer, 2, 3, two.data(), 2, 3, out); },
          "gather_rows: indices has 2 entries, expected k = 3");
  refused([&](auto out) { return tl_gather_rows(six.buffer, 2, 3, nullptr, 2, 2, out); },
          "gather_rows: indices is NULL, expected 2 entries");
  refused([&](auto out) { return tl_gather_rows(six.buffer, 2, 2, two.data(), 2, 2, out); },
          "gather_rows: mat has 6 elements, expected rows * cols = 4");
  refused(
      [&](auto out) { return tl_scatter_add(six.buffer, four.buffer, 6, two.data(), 2, 2, out); },
      "scatter_add: values has 4 elements, expected k = 2");
  refused(
      [&](auto out) { return tl_scatter_add(six.buffer, four.buffer, 5, two.data(), 2, 4, out); },
      "scatter_add: x has 6 elements, expected n = 5");
  refused(
      [&](auto out) {
        return tl_scatter_add_rows(six.buffer, four.buffer, 2, 3, two.data(), 2, 2, out);
      },
      "scatter_add_rows: values has 4 elements, expected k * cols = 6");
  refused(
      [&](auto out) {
        return tl_scatter_add_rows(six.buffer, doubles.buffer, 2, 3, two.data(), 2, 2, out);
      },
      "scatter_add_rows: values is float64, expected float32 as the first operand");
}

TEST_CASE("softmax has an axis in range and masks of the scores' size") {
  const Owned six = zeros(6), four = zeros(4);
  const Numbers dims = {2, 3};
  refused([&](auto out) { return tl_softmax(six.buffer, dims.data(), 2, 2, out); },
          "softmax: axis is 2, expected less than the rank 2");
  refused([&](auto out) { return tl_softmax(four.buffer, dims.data(), 2, 0, out); },
          "softmax: x has 4 elements, expected the product of dims = 6");
  refused([&](auto out) { return tl_softmax(six.buffer, nullptr, 2, 0, out); },
          "softmax: dims is NULL, expected 2 entries");
  refused(
      [&](auto out) { return tl_hard_masked_softmax_by_row(six.buffer, four.buffer, 2, 3, out); },
      "hard_masked_softmax_by_row: mask has 4 elements, expected rows * cols = 6");
}

TEST_CASE("layer norm has rows, columns, and parameters of one column each") {
  const Owned six = zeros(6), three = zeros(3), two_values = zeros(2), none = zeros(0);
  const auto forward = [&](const Owned &x, const Owned &gamma, const Owned &beta,
                           std::uint64_t rows, std::uint64_t cols) {
    return [&, rows, cols](tl_buffer **out) {
      return tl_layer_norm_fwd(x.buffer, gamma.buffer, beta.buffer, rows, cols, 1e-5, out, out,
                               out);
    };
  };
  refused(forward(none, three, three, 0, 3), "layer_norm_fwd: rows is 0, expected at least 1");
  refused(forward(none, none, none, 2, 0), "layer_norm_fwd: cols is 0, expected at least 1");
  refused(forward(six, two_values, three, 2, 3),
          "layer_norm_fwd: gamma has 2 elements, expected cols = 3");
  refused(forward(six, three, two_values, 2, 3),
          "layer_norm_fwd: beta has 2 elements, expected cols = 3");
  const auto backward = [&](const Owned &normalized, const Owned &inv_std, const Owned &gamma,
                            std::uint64_t rows) {
    return [&, rows](tl_buffer **out) {
      return tl_layer_norm_bwd(six.buffer, normalized.buffer, inv_std.buffer, gamma.buffer, rows, 3,
                               3.0, 1.0 / 3.0, out, out, out);
    };
  };
  refused(backward(six, two_values, three, 0), "layer_norm_bwd: rows is 0, expected at least 1");
  refused(backward(three, two_values, three, 2),
          "layer_norm_bwd: normalized has 3 elements, expected rows * cols = 6");
  refused(backward(six, three, three, 2),
          "layer_norm_bwd: invStd has 3 elements, expected rows = 2");
  refused(backward(six, two_values, two_values, 2),
          "layer_norm_bwd: gamma has 2 elements, expected cols = 3");
}

TEST_CASE("losses have operands of one shape and a flag of 0 or 1") {
  const Owned six = zeros(6), four = zeros(4);
  refused([&](auto out) { return tl_cross_entropy(six.buffer, four.buffer, 2, 3, out); },
          "cross_entropy: weights has 4 elements, expected rows * cols = 6");
  refused([&](auto out) { return tl_distillation(four.buffer, six.buffer, 2, 3, 0, out); },
          "distillation: student has 4 elements, expected rows * cols = 6");
  refused([&](auto out) { return tl_distillation(six.buffer, six.buffer, 2, 3, 2, out); },
          "distillation: gradient is 2, expected 0 or 1");
}

TEST_CASE("transforms have n > 0 and the packed length of the other side") {
  const Owned six = zeros(6), none = zeros(0);
  refused([&](auto out) { return tl_rfft1d_packed(none.buffer, 2, 0, out); },
          "rfft1d_packed: n is 0, expected at least 1");
  refused([&](auto out) { return tl_rfft1d_packed(six.buffer, 2, 4, out); },
          "rfft1d_packed: x has 6 elements, expected batch * n = 8");
  refused([&](auto out) { return tl_irfft1d_packed(six.buffer, 1, 3, out); },
          "irfft1d_packed: spec has 6 elements, expected batch * (n / 2 + 1) * 2 = 4");
  refused([&](auto out) { return tl_irfft1d_packed_unnormalized(none.buffer, 0, 0, out); },
          "irfft1d_packed_unnormalized: n is 0, expected at least 1");
}

TEST_CASE("scans have sequences, states and coefficients of their lengths") {
  const Owned six = zeros(6), three = zeros(3), two_values = zeros(2);
  const auto forward = [&](const Owned &a, const Owned &b, const Owned &x, const Owned &h0) {
    return [&](tl_buffer **out) {
      return tl_selective_scan_diag_fwd(a.buffer, b.buffer, x.buffer, h0.buffer, 2, 3, out);
    };
  };
  refused(forward(six, three, six, three),
          "selective_scan_diag_fwd: a has 6 elements, expected state = 3");
  refused(forward(three, two_values, six, three),
          "selective_scan_diag_fwd: b has 2 elements, expected state = 3");
  refused(forward(three, three, three, three),
          "selective_scan_diag_fwd: x has 3 elements, expected seqLen * state = 6");
  refused(forward(three, three, six, two_values),
          "selective_scan_diag_fwd: h0 has 2 elements, expected state = 3");
  refused(
      [&](auto out) {
        return tl_selective_scan_diag_var_fwd(six.buffer, three.buffer, six.buffer, three.buffer, 2,
                                              3, out);
      },
      "selective_scan_diag_var_fwd: b has 3 elements, expected seqLen * state = 6");
  refused(
      [&](auto out) {
        return tl_selective_scan_diag_bwd(three.buffer, three.buffer, six.buffer, three.buffer,
                                          three.buffer, six.buffer, 2, 3, out, out, out, out);
      },
      "selective_scan_diag_bwd: out has 3 elements, expected seqLen * state = 6");
  refused(
      [&](auto out) {
        return tl_selective_scan_diag_var_bwd(six.buffer, six.buffer, six.buffer, three.buffer,
                                              six.buffer, three.buffer, 2, 3, out, out, out, out);
      },
      "selective_scan_diag_var_bwd: dY has 3 elements, expected seqLen * state = 6");
}

TEST_CASE("conv checks every list") {
  const Owned input = zeros(10), kernel = zeros(12), bias = zeros(3), two_values = zeros(2);
  const auto check = [&](const ConvLists &lists, const char *text) {
    refused([&](auto out) { return conv(input.buffer, kernel.buffer, bias.buffer, lists, out); },
            text);
  };
  check({.kernel_dims = {3}}, "conv: kernelDims has 1 entries, expected outC, inC and 1 to 3 axes");
  check({.kernel_dims = {3, 2}}, "conv: kernelDims has 0 spatial axes, expected 1 to 3");
  check({.kernel_dims = {3, 2, 1, 1, 1, 1}},
        "conv: kernelDims has 4 spatial axes, expected 1 to 3");
  check({.input_dims = {5}}, "conv: inputDims has 1 entries, expected inC and 1 spatial axes");
  check({.kernel_dims = {3, 4, 1}}, "conv: kernelDims[1] is 4, expected inC = 2 as inputDims has");
  check({.kernel_dims = {3, 2, 0}}, "conv: kernelDims[2] is 0, expected at least 1");
  check({.strides = {0}}, "conv: strides[0] is 0, expected at least 1");
  check({.strides = {1, 1}}, "conv: strides has 2 entries, expected one per spatial axis, 1");
  check({.before = {}}, "conv: paddingBefore has 0 entries, expected one per spatial axis, 1");
  check({.after = {past_32_bits}},
        "conv: paddingAfter[0] is 4294967296, expected at most 4294967295");
  check({.dilations = {0}}, "conv: dilations[0] is 0, expected at least 1");
  check({.groups = 0}, "conv: groups is 0, expected at least 1");
  check({.groups = 2}, "conv: groups is 2, expected a divisor of inC = 2 and outC = 3");
  check({.input_dims = {2, 6}},
        "conv: input has 10 elements, expected the product of inputDims = 12");
  check({.kernel_dims = {3, 2, 3}},
        "conv: kernel has 12 elements, expected the product of kernelDims = 18");
  refused([&](auto out) { return conv(input.buffer, kernel.buffer, two_values.buffer, {}, out); },
          "conv: bias has 2 elements, expected outC = 3");
  refused(
      [&](auto out) { return tl_conv(input.buffer, kernel.buffer, bias.buffer, nullptr, 1, out); },
      "conv: lists is NULL or its struct_size is below 104");
}

TEST_CASE("one-sample convolutions check every list") {
  const Owned input = zeros(10), kernel = zeros(12), bias = zeros(3);
  const auto check = [&](const Windows &windows, const char *text) {
    refused(
        [&](auto out) {
          return sample(tl_conv_fwd, input.buffer, kernel.buffer, bias.buffer, windows, 2, 3, out);
        },
        text);
  };
  check({.in = {}}, "conv_fwd: inSpatial has 0 spatial axes, expected 1 to 3");
  check({.in = {5, 1, 1, 1}}, "conv_fwd: inSpatial has 4 spatial axes, expected 1 to 3");
  check({.kernel = {0}}, "conv_fwd: kernelSpatial[0] is 0, expected at least 1");
  check({.kernel = {2, 1}},
        "conv_fwd: kernelSpatial has 2 entries, expected one per spatial axis, 1");
  check({.stride = {0}}, "conv_fwd: stride[0] is 0, expected at least 1");
  check({.padding = {1, 1}}, "conv_fwd: padding has 2 entries, expected one per spatial axis, 1");
  check({.in = {6}},
        "conv_fwd: input has 10 elements, expected inC * the product of inSpatial = 12");
  check(
      {.kernel = {3}},
      "conv_fwd: kernel has 12 elements, expected inC * outC * the product of kernelSpatial = 18");
  refused(
      [&](auto out) {
        return sample(tl_convtranspose_fwd, input.buffer, kernel.buffer, input.buffer, {}, 2, 3,
                      out);
      },
      "convtranspose_fwd: bias has 10 elements, expected outC = 3");
  refused(
      [&](auto out) {
        return sample(tl_conv_bwd, input.buffer, kernel.buffer, bias.buffer, {}, 2, 3, out, out,
                      out);
      },
      "conv_bwd: grad has 3 elements, expected outC * the product of the output lengths = 12");
  // Transposed: (5 - 1) * 1 + 2 = 6 long.
  refused(
      [&](auto out) {
        return sample(tl_convtranspose_bwd, input.buffer, kernel.buffer, bias.buffer, {}, 2, 3, out,
                      out, out);
      },
      "convtranspose_bwd: grad has 3 elements, expected outC * the product of the output lengths = "
      "18");
}

TEST_CASE("output lengths beyond the limits are refused, overflow included") {
  const Owned none = zeros(0), bias = zeros(3), one = zeros(1);
  // One input element, padded to 2^32 places.
  refused(
      [&](auto out) {
        return sample(tl_conv_fwd, one.buffer, one.buffer, one.buffer,
                      {.in = {1}, .kernel = {1}, .padding = {past_32_bits / 2}}, 1, 1, out);
      },
      "conv_fwd: the result would have 4294967297 elements, at most 4294967295 are possible");
  // No channel: no element of the input exists, but the lengths do.
  const std::uint64_t most = past_32_bits - 1;
  refused(
      [&](auto out) {
        return sample(tl_convtranspose_fwd, none.buffer, none.buffer, bias.buffer,
                      {.in = {most}, .kernel = {1}, .stride = {most}}, 0, 3, out);
      },
      "convtranspose_fwd: an output length does not fit 63 bits: inSpatial has 4294967295, stride "
      "4294967295");
  refused(
      [&](auto out) {
        return sample(tl_conv_fwd, none.buffer, none.buffer, bias.buffer,
                      {.in = {most, most, most},
                       .kernel = {1, 1, 1},
                       .stride = {1, 1, 1},
                       .padding = {0, 0, 0}},
                      0, 3, out);
      },
      "conv_fwd: the product of outC and the output lengths does not fit 64 bits");
}

TEST_CASE("pools check every list and beta after rounding") {
  const Owned input = zeros(10), four = zeros(4);
  const auto check = [&](const Windows &windows, const char *text) {
    refused([&](auto out) { return maxpool(input.buffer, windows, 2, out); }, text);
  };
  check({.in = {}}, "maxpool_fwd: inSpatial has 0 spatial axes, expected 1 to 3");
  check({.kernel = {0}}, "maxpool_fwd: kernel[0] is 0, expected at least 1");
  check({.stride = {0}}, "maxpool_fwd: stride[0] is 0, expected at least 1");
  check({.padding = {}}, "maxpool_fwd: padding has 0 entries, expected one per spatial axis, 1");
  check({.in = {4}},
        "maxpool_fwd: input has 10 elements, expected channels * the product of inSpatial = 8");
  const std::uint64_t most = past_32_bits - 1;
  check({.in = {5, 1, 1}, .kernel = {most, most, most}, .stride = {1, 1, 1}, .padding = {0, 0, 0}},
        "maxpool_fwd: the product of kernel does not fit 64 bits");
  refused(
      [&](auto out) {
        return tl_maxpool_bwd(input.buffer, four.buffer, list({5}), list({2}), list({1}), list({0}),
                              2, out);
      },
      "maxpool_bwd: grad has 4 elements, expected channels * the product of the output lengths = "
      "8");
  refused(
      [&](auto out) {
        return tl_avgpool_bwd(four.buffer, list({5}), list({2}), list({1}), list({0}), 2, out);
      },
      "avgpool_bwd: grad has 4 elements, expected channels * the product of the output lengths = "
      "8");
  refused([&](auto out) { return smooth_maxpool(input.buffer, 1e-50, {}, 2, out); },
          "smooth_maxpool_fwd: beta is 1e-50, 0 in the operands' dtype, expected a finite number "
          "other than 0");
  refused([&](auto out) { return smooth_maxpool(input.buffer, 1e39, {}, 2, out); },
          "smooth_maxpool_fwd: beta is 1e+39, inf in the operands' dtype, expected a finite number "
          "other than 0");
  for (const double bad : {0.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    tl_buffer *out = nullptr;
    CHECK(smooth_maxpool(input.buffer, bad, {}, 2, &out) == TL_INVALID_ARGUMENT);
  }
}

TEST_CASE("encoded and missing operands are refused") {
  const tl_format e4m3 = {4, 3, 7, TL_ENCODING_FINITE_MAX_NAN};
  Owned encoded;
  REQUIRE(tl_upload_encoded("", 0, &e4m3, 1, &encoded.buffer) == TL_OK);
  refused([&](auto out) { return tl_rfft1d_packed(encoded.buffer, 0, 4, out); },
          "rfft1d_packed: x is encoded, expected float32 or float64");
  refused([&](auto out) { return maxpool(nullptr, {}, 2, out); }, "maxpool_fwd: input is NULL");
}

TEST_CASE("a backend without the family answers unsupported") {
  tl_backend *nothing = nullptr;
  REQUIRE(tl_backend_open(NOTHING, "", &nothing) == TL_OK);
  tl_backend *const former = tl_set_thread_backend(nothing);
  const auto lacks = [](const auto &call, const char *operation) {
    refused(call,
            std::string(operation) +
                ": the backend nothing does not have this operation for float32; `torchlean ops` "
                "shows which backends do",
            TL_UNSUPPORTED);
  };
  {
    const Owned ten = zeros(10), eight = zeros(8), two_values = zeros(2), one = zeros(1);
    lacks([&](auto out) { return tl_gather_rows(ten.buffer, 2, 5, two.data(), 2, 2, out); },
          "gather_rows");
    lacks(
        [&](auto out) {
          return tl_scatter_add(ten.buffer, two_values.buffer, 10, two.data(), 2, 2, out);
        },
        "scatter_add");
    lacks([&](auto out) { return tl_softmax(one.buffer, nullptr, 0, 0, out); }, "softmax");
    lacks([&](auto out) { return tl_cross_entropy(ten.buffer, ten.buffer, 2, 5, out); },
          "cross_entropy");
    lacks([&](auto out) { return tl_rfft1d_packed(ten.buffer, 2, 5, out); }, "rfft1d_packed");
    lacks(
        [&](auto out) {
          return tl_selective_scan_diag_fwd(two_values.buffer, two_values.buffer, ten.buffer,
                                            two_values.buffer, 5, 2, out);
        },
        "selective_scan_diag_fwd");
    lacks(
        [&](auto out) {
          return sample(tl_conv_fwd, ten.buffer, eight.buffer, two_values.buffer, {}, 2, 2, out);
        },
        "conv_fwd");
    lacks([&](auto out) { return maxpool(ten.buffer, {}, 2, out); }, "maxpool_fwd");
  }
  tl_set_thread_backend(former);
  tl_backend_close(nothing);
}
