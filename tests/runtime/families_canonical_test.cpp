// What a backend is given of indexing, normalization, losses, transforms, scans, convolutions and
// pools, and what the core answers itself. The backend `shapes` says in its error what it was
// asked.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

#include "fixture.hpp"
#include "windows_arguments.hpp"

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Owned full(std::uint64_t count, double value) {
  Owned owned;
  REQUIRE(tl_full(count, value, TL_FLOAT32, &owned.buffer) == TL_OK);
  return owned;
}

// The call reaches the backend as `text`.
template <class Function>
void asked(const Function &call, const std::string &text) {
  refused(call, text + " (backend shapes)", TL_UNSUPPORTED);
}

// The core makes `count` elements of `value`.
void check_buffer(const Owned &owned, std::uint64_t count, double value) {
  CHECK(tl_buffer_size(owned.buffer) == count);
  std::vector<double> values(count);
  REQUIRE(tl_download(owned.buffer, TL_FLOAT64, values.data(), count * sizeof(double)) == TL_OK);
  for (const double got : values) CHECK((got == value || (std::isnan(got) && std::isnan(value))));
}

template <class Function>
void answered(const Function &call, std::uint64_t count, double value) {
  Owned owned;
  REQUIRE(call(&owned.buffer) == TL_OK);
  check_buffer(owned, count, value);
}

}  // namespace

TEST_CASE("indexing: backends see rows, columns and indices, all there") {
  const Owned six = full(6, 2), two = zeros(2), none = zeros(0);
  const std::array<std::uint32_t, 2> indices = {1, 9};
  asked([&](auto out) { return tl_gather_rows(six.buffer, 2, 3, indices.data(), 2, 2, out); },
        "gather_rows: gather 2x3 k 2 last 9");
  asked(
      [&](auto out) {
        return tl_scatter_add(six.buffer, two.buffer, 6, indices.data(), 2, 2, out);
      },
      "scatter_add: scatter 6x1 k 2 last 9");
  asked(
      [&](auto out) {
        return tl_scatter_add_rows(six.buffer, two.buffer, 6, 1, indices.data(), 2, 2, out);
      },
      "scatter_add_rows: scatter 6x1 k 2 last 9");
  // Rows of an empty source are zeros; no update leaves a copy.
  answered([&](auto out) { return tl_gather_rows(none.buffer, 0, 3, indices.data(), 2, 2, out); },
           6, 0);
  answered([&](auto out) { return tl_gather_rows(six.buffer, 2, 3, nullptr, 0, 0, out); }, 0, 0);
  answered(
      [&](auto out) {
        return tl_scatter_add_rows(six.buffer, none.buffer, 2, 3, nullptr, 0, 0, out);
      },
      6, 2);
  answered(
      [&](auto out) {
        return tl_scatter_add(none.buffer, two.buffer, 0, indices.data(), 2, 2, out);
      },
      0, 0);
}

TEST_CASE("normalization: any axis is the middle one of three, scalars are rounded") {
  const Owned big = zeros(24), six = zeros(6), three = zeros(3), two = zeros(2), one = zeros(1),
              none = zeros(0);
  const Numbers dims = {2, 3, 4}, empty = {2, 0, 4};
  asked([&](auto out) { return tl_softmax(big.buffer, dims.data(), 3, 1, out); },
        "softmax: softmax 2x3x4");
  asked([&](auto out) { return tl_softmax(big.buffer, dims.data(), 3, 2, out); },
        "softmax: softmax 6x4x1");
  asked([&](auto out) { return tl_softmax(one.buffer, nullptr, 0, 0, out); },
        "softmax: softmax 1x1x1");
  answered([&](auto out) { return tl_softmax(none.buffer, empty.data(), 3, 0, out); }, 0, 0);
  answered(
      [&](auto out) { return tl_hard_masked_softmax_by_row(none.buffer, none.buffer, 3, 0, out); },
      0, 0);
  // 0.1 rounded to float32.
  asked(
      [&](auto out) {
        return tl_layer_norm_fwd(six.buffer, three.buffer, three.buffer, 2, 3, 0.1, out, out, out);
      },
      "layer_norm_fwd: layer norm 2x3 epsilon 0.10000000149011612");
  asked(
      [&](auto out) {
        return tl_layer_norm_bwd(six.buffer, six.buffer, two.buffer, three.buffer, 2, 3, 3.0, 0.1,
                                 out, out, out);
      },
      "layer_norm_bwd: layer norm 2x3 scale 3 inverse 0.10000000149011612");
}

TEST_CASE("losses: no rows are NaN, no columns 0, an empty gradient stays empty") {
  const Owned six = zeros(6), none = zeros(0);
  asked([&](auto out) { return tl_cross_entropy(six.buffer, six.buffer, 2, 3, out); },
        "cross_entropy: loss 0 2x3");
  asked([&](auto out) { return tl_distillation(six.buffer, six.buffer, 2, 3, 0, out); },
        "distillation: loss 1 2x3");
  asked([&](auto out) { return tl_distillation(six.buffer, six.buffer, 2, 3, 1, out); },
        "distillation: loss 2 2x3");
  const auto cross = [&](std::uint64_t rows, std::uint64_t cols) {
    return [&, rows, cols](tl_buffer **out) {
      return tl_cross_entropy(none.buffer, none.buffer, rows, cols, out);
    };
  };
  const auto distillation = [&](std::uint64_t rows, std::uint64_t cols, std::uint32_t gradient) {
    return [&, rows, cols, gradient](tl_buffer **out) {
      return tl_distillation(none.buffer, none.buffer, rows, cols, gradient, out);
    };
  };
  answered(cross(0, 3), 1, not_a_number);
  answered(cross(2, 0), 1, 0);
  answered(distillation(0, 3, 0), 1, not_a_number);
  answered(distillation(2, 0, 0), 1, 0);
  answered(distillation(0, 3, 1), 0, 0);
  answered(distillation(2, 0, 1), 0, 0);
}

TEST_CASE("transforms: n is the length of the real side") {
  const Owned ten = zeros(10), twelve = zeros(12), none = zeros(0);
  asked([&](auto out) { return tl_rfft1d_packed(ten.buffer, 2, 5, out); },
        "rfft1d_packed: fourier 0 batch 2 n 5");
  asked([&](auto out) { return tl_irfft1d_packed(twelve.buffer, 2, 5, out); },
        "irfft1d_packed: fourier 1 batch 2 n 5");
  asked([&](auto out) { return tl_irfft1d_packed_unnormalized(twelve.buffer, 2, 4, out); },
        "irfft1d_packed_unnormalized: fourier 2 batch 2 n 4");
  answered([&](auto out) { return tl_rfft1d_packed(none.buffer, 0, 5, out); }, 0, 0);
  answered([&](auto out) { return tl_irfft1d_packed(none.buffer, 0, 5, out); }, 0, 0);
}

TEST_CASE("scans: gradients of empty sequences are empty or zeros") {
  const Owned six = zeros(6), three = zeros(3), none = zeros(0);
  asked(
      [&](auto out) {
        return tl_selective_scan_diag_bwd(three.buffer, three.buffer, six.buffer, three.buffer,
                                          six.buffer, six.buffer, 2, 3, out, out, out, out);
      },
      "selective_scan_diag_bwd: scan 0 2x3 operands 3 3 6 3 6 6");
  asked(
      [&](auto out) {
        return tl_selective_scan_diag_var_bwd(six.buffer, six.buffer, six.buffer, three.buffer,
                                              six.buffer, six.buffer, 2, 3, out, out, out, out);
      },
      "selective_scan_diag_var_bwd: scan 1 2x3 operands 6 6 6 3 6 6");
  Owned da, db, dx, dh0;
  REQUIRE(tl_selective_scan_diag_bwd(three.buffer, three.buffer, none.buffer, three.buffer,
                                     none.buffer, none.buffer, 0, 3, &da.buffer, &db.buffer,
                                     &dx.buffer, &dh0.buffer) == TL_OK);
  check_buffer(da, 3, 0);
  check_buffer(db, 3, 0);
  check_buffer(dx, 0, 0);
  check_buffer(dh0, 3, 0);
  Owned var_da, var_db, var_dx, var_dh0;
  REQUIRE(tl_selective_scan_diag_var_bwd(none.buffer, none.buffer, none.buffer, three.buffer,
                                         none.buffer, none.buffer, 0, 3, &var_da.buffer,
                                         &var_db.buffer, &var_dx.buffer, &var_dh0.buffer) == TL_OK);
  check_buffer(var_da, 0, 0);
  check_buffer(var_dh0, 3, 0);
  answered(
      [&](auto out) {
        return tl_selective_scan_diag_fwd(none.buffer, none.buffer, none.buffer, none.buffer, 5, 0,
                                          out);
      },
      0, 0);
}

TEST_CASE("conv: leading axes fold into a batch, spatial lists are padded in front") {
  const Owned input = zeros(2 * 3 * 4 * 5 * 7), kernel = zeros(6 * 4 * 3 * 2), bias = zeros(6);
  // Heights (5 + 1 + 2 - 1*2 - 1) / 2 + 1 = 3, widths (7 + 0 + 0 - 3*1 - 1) / 1 + 1 = 4.
  asked(
      [&](auto out) {
        return conv(input.buffer, kernel.buffer, bias.buffer,
                    {.input_dims = {2, 3, 4, 5, 7},
                     .kernel_dims = {6, 4, 3, 2},
                     .strides = {2, 1},
                     .before = {1, 0},
                     .after = {2, 0},
                     .dilations = {1, 3},
                     .groups = 2},
                    out);
      },
      "conv: convolution 0 batch 6 channels 4>6 groups 2 in 1,5,7 kernel 1,3,2 stride 1,2,1 "
      "padding "
      "0,1,0:0,2,0 dilation 1,1,3 out 1,3,4");
  // Without a leading axis there is one sample: (5 - 1 - 1) / 1 + 1 = 4 ... with k = 2: 4.
  const Owned ten = zeros(10), twelve = zeros(12), three = zeros(3);
  asked([&](auto out) { return conv(ten.buffer, twelve.buffer, three.buffer, {}, out); },
        "conv: convolution 0 batch 1 channels 2>3 groups 1 in 1,1,5 kernel 1,1,2 stride 1,1,1 "
        "padding 0,0,0:0,0,0 dilation 1,1,1 out 1,1,4");
}

TEST_CASE("conv: empty results come from the core, the bias of an empty input from the backend") {
  const Owned ten = zeros(10), twelve = zeros(12), three = zeros(3), none = zeros(0);
  const std::uint64_t most = 0xFFFFFFFF;
  // A window of 1 + (2^32 - 1) * 1 places does not fit 5.
  answered(
      [&](auto out) {
        return conv(ten.buffer, twelve.buffer, three.buffer, {.dilations = {most}}, out);
      },
      0, 0);
  answered(
      [&](auto out) {
        return conv(none.buffer, twelve.buffer, three.buffer, {.input_dims = {0, 2, 5}}, out);
      },
      0, 0);
  // The batch alone would leave 64 bits.
  answered(
      [&](auto out) {
        return conv(none.buffer, twelve.buffer, three.buffer,
                    {.input_dims = {most, most, most, 2, 0}}, out);
      },
      0, 0);
  asked(
      [&](auto out) {
        return conv(none.buffer, twelve.buffer, three.buffer,
                    {.input_dims = {2, 0}, .before = {2}, .after = {1}}, out);
      },
      "conv: convolution 0 batch 1 channels 2>3 groups 1 in 1,1,0 kernel 1,1,2 stride 1,1,1 "
      "padding "
      "0,0,2:0,0,1 dilation 1,1,1 out 1,1,2");
}

TEST_CASE("one-sample convolutions: lengths of both kinds") {
  const Owned input = zeros(10), kernel = zeros(18), bias = zeros(3);
  // (5 + 2*1 - 3) / 2 + 1 = 3
  asked(
      [&](auto out) {
        return sample(tl_conv_fwd, input.buffer, kernel.buffer, bias.buffer,
                      {.in = {5}, .kernel = {3}, .stride = {2}, .padding = {1}}, 2, 3, out);
      },
      "conv_fwd: convolution 0 batch 1 channels 2>3 groups 1 in 1,1,5 kernel 1,1,3 stride 1,1,2 "
      "padding 0,0,1:0,0,1 dilation 1,1,1 out 1,1,3");
  // (5 - 1) * 2 + 3 - 2*1 = 9
  const Owned grad = zeros(27);
  asked(
      [&](auto out) {
        return sample(tl_convtranspose_bwd, input.buffer, kernel.buffer, grad.buffer,
                      {.in = {5}, .kernel = {3}, .stride = {2}, .padding = {1}}, 2, 3, out, out,
                      out);
      },
      "convtranspose_bwd: convolution 1 batch 1 channels 2>3 groups 1 in 1,1,5 kernel 1,1,3 stride "
      "1,1,2 padding 0,0,1:0,0,1 dilation 1,1,1 out 1,1,9");
  // (0 - 1) * 1 + 3 = 2 elements per channel without an input.
  const Owned none = zeros(0);
  asked(
      [&](auto out) {
        return sample(tl_convtranspose_fwd, none.buffer, kernel.buffer, bias.buffer,
                      {.in = {0}, .kernel = {3}, .stride = {1}, .padding = {0}}, 2, 3, out);
      },
      "convtranspose_fwd: convolution 1 batch 1 channels 2>3 groups 1 in 1,1,0 kernel 1,1,3 stride "
      "1,1,1 padding 0,0,0:0,0,0 dilation 1,1,1 out 1,1,2");
  // (5 - 1) * 1 + 3 - 2*4 = -1: empty.
  answered(
      [&](auto out) {
        return sample(tl_convtranspose_fwd, input.buffer, kernel.buffer, bias.buffer,
                      {.in = {5}, .kernel = {3}, .stride = {1}, .padding = {4}}, 2, 3, out);
      },
      0, 0);
}

TEST_CASE("convolution gradients: zeros for an empty output, no storage for empty results") {
  const Owned input = zeros(4), kernel = zeros(18), none = zeros(0), six = zeros(6);
  Owned dkernel, dbias, dinput;
  REQUIRE(sample(tl_conv_bwd, input.buffer, kernel.buffer, none.buffer,
                 {.in = {2}, .kernel = {3}, .stride = {1}, .padding = {0}}, 2, 3, &dkernel.buffer,
                 &dbias.buffer, &dinput.buffer) == TL_OK);
  check_buffer(dkernel, 18, 0);
  check_buffer(dbias, 3, 0);
  check_buffer(dinput, 4, 0);
  // No input channel: of the gradients only that of the bias has elements.
  Owned no_dkernel, only_dbias, no_dinput;
  REQUIRE(sample(tl_conv_bwd, none.buffer, none.buffer, six.buffer,
                 {.in = {4}, .kernel = {3}, .stride = {1}, .padding = {0}}, 0, 3,
                 &no_dkernel.buffer, &only_dbias.buffer, &no_dinput.buffer) == TL_OK);
  check_buffer(no_dkernel, 0, 0);
  check_buffer(only_dbias, 3, 7);
  check_buffer(no_dinput, 0, 0);
}

TEST_CASE("pools: lengths, empty axes, gradients of empty outputs") {
  const Owned input = zeros(20), none = zeros(0);
  // (5 + 2*1 - 3) / 2 + 1 = 3; (2 - 1) / 1 + 1 = 2
  const Windows windows = {.in = {5, 2}, .kernel = {3, 1}, .stride = {2, 1}, .padding = {1, 0}};
  asked([&](auto out) { return maxpool(input.buffer, windows, 2, out); },
        "maxpool_fwd: pool 0 channels 2 in 1,5,2 kernel 1,3,1 stride 1,2,1 padding 0,1,0 out 1,3,2 "
        "beta 0");
  asked(
      [&](auto out) { return smooth_maxpool(input.buffer, -0.1, windows, 2, out); },
      "smooth_maxpool_fwd: pool 2 channels 2 in 1,5,2 kernel 1,3,1 stride 1,2,1 padding 0,1,0 out "
      "1,3,2 beta -0.10000000149011612");
  const Owned grad = zeros(12);
  asked(
      [&](auto out) {
        return tl_avgpool_bwd(grad.buffer, list(windows.in), list(windows.kernel),
                              list(windows.stride), list(windows.padding), 2, out);
      },
      "avgpool_bwd: gradient alone 1 channels 2 in 1,5,2 kernel 1,3,1 stride 1,2,1 padding 0,1,0 "
      "out 1,3,2 beta 0");
  // Padding of more than half of the window, and no input: no places.
  const Windows padded = {.in = {5, 2}, .kernel = {3, 1}, .stride = {1, 1}, .padding = {2, 0}};
  answered([&](auto out) { return maxpool(input.buffer, padded, 2, out); }, 0, 0);
  answered(
      [&](auto out) {
        return maxpool(none.buffer, {.in = {0}, .kernel = {2}, .stride = {1}, .padding = {1}}, 2,
                       out);
      },
      0, 0);
  answered(
      [&](auto out) {
        return tl_maxpool_bwd(input.buffer, none.buffer, list(padded.in), list(padded.kernel),
                              list(padded.stride), list(padded.padding), 2, out);
      },
      20, 0);
  // Half of the window is allowed: (5 + 2*2 - 4) / 1 + 1 = 6.
  const Owned five = zeros(5);
  asked(
      [&](auto out) {
        return maxpool(five.buffer, {.in = {5}, .kernel = {4}, .stride = {1}, .padding = {2}}, 1,
                       out);
      },
      "maxpool_fwd: pool 0 channels 1 in 1,1,5 kernel 1,1,4 stride 1,1,1 padding 0,0,2 out 1,1,6 "
      "beta 0");
}
