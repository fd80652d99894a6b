// Convolutions, ordinary and transposed, whose every element is an exact sum, rounded once.
//
// An ordinary convolution's windows are its results, which lie on the input; a transposed one's are
// its input, which lies on the results. Nothing else tells them apart.
#include "exact_sum.hpp"
#include "windows.hpp"

namespace torchlean::reference {
namespace {

// ---- Sizes, and where elements lie --------------------------------------------------------------

WindowAxis checked_axis(tl_convolution_op op, const tl_convolution_params &params, size_t axis) {
  expect_at_least("in", axis, params.in[axis], 0);
  expect_at_least("kernel", axis, params.kernel[axis], 1);
  expect_at_least("stride", axis, params.stride[axis], 1);
  expect_at_least("padding_before", axis, params.padding_before[axis], 0);
  expect_at_least("padding_after", axis, params.padding_after[axis], 0);
  expect_at_least("dilation", axis, params.dilation[axis], 1);
  const bool transposed = op == TL_CONVOLUTION_TRANSPOSED;
  const WindowAxis result = (transposed ? positions_under : windows_in)(
      params.in[axis], params.kernel[axis], params.stride[axis], params.dilation[axis],
      params.padding_before[axis], params.padding_after[axis]);
  expect_length(axis, params.out[axis], result.size[transposed ? Side::position : Side::window]);
  return result;
}

struct Geometry {
  Geometry(tl_convolution_op op, const tl_convolution_params *given)
      : params(known_convolution(op, given)),
        transposed(op == TL_CONVOLUTION_TRANSPOSED),
        in(transposed ? Side::window : Side::position),
        out(transposed ? Side::position : Side::window),
        windows({checked_axis(op, params, 0), checked_axis(op, params, 1),
                 checked_axis(op, params, 2)}),
        in_size(windows.count(in)),
        out_size(windows.count(out)),
        taps(windows.count(Side::tap)) {}

  uint64_t input_count() const { return product({params.batch, params.in_channels, in_size}); }
  uint64_t output_count() const { return product({params.batch, params.out_channels, out_size}); }
  uint64_t kernel_count() const { return product({params.out_channels, params.in_channels, taps}); }

  // Flat indices; n is a sample, o an output channel, c an input channel.
  uint64_t input(uint64_t n, uint64_t c, uint64_t i) const {
    return (n * params.in_channels + c) * in_size + i;
  }
  uint64_t output(uint64_t n, uint64_t o, uint64_t i) const {
    return (n * params.out_channels + o) * out_size + i;
  }
  uint64_t kernel(uint64_t o, uint64_t c, uint64_t tap) const {
    const uint64_t block = transposed ? c * params.out_channels + o : o * params.in_channels + c;
    return block * taps + tap;
  }

  bool same_group(uint64_t o, uint64_t c) const {
    return o / (params.out_channels / params.groups) == c / (params.in_channels / params.groups);
  }

  const tl_convolution_params params;
  const bool transposed;
  const Side in;
  const Side out;
  const Windows windows;
  const uint64_t in_size;
  const uint64_t out_size;
  const uint64_t taps;
};

// ---- Sums over everything that meets one element ------------------------------------------------

// y[n, o, i] = bias[o] + sum of x * w over what lies on output position i
template <class T>
void convolve(const Geometry &at, const T *x, const T *w, const T *bias, T *y) {
  ExactSum sum;
  for (uint64_t n = 0; n < at.params.batch; ++n)
    for (uint64_t o = 0; o < at.params.out_channels; ++o)
      for (uint64_t i = 0; i < at.out_size; ++i) {
        sum.add(bias[o]);
        at.windows.each(at.out, i, [&](const BySide<uint64_t> &met) {
          for (uint64_t c = 0; c < at.params.in_channels; ++c)
            if (at.same_group(o, c))
              sum.add_product(x[at.input(n, c, met[at.in])], w[at.kernel(o, c, met[Side::tap])]);
        });
        y[at.output(n, o, i)] = sum.take<T>();
      }
}

// d_w[o, c, tap] = sum of x * g over all samples
template <class T>
void kernel_gradient(const Geometry &at, const T *x, const T *g, T *d_w) {
  std::fill_n(d_w, at.kernel_count(), T(0));  // channels of two groups keep it
  ExactSum sum;
  for (uint64_t o = 0; o < at.params.out_channels; ++o)
    for (uint64_t c = 0; c < at.params.in_channels; ++c) {
      if (!at.same_group(o, c)) continue;
      for (uint64_t tap = 0; tap < at.taps; ++tap) {
        at.windows.each(Side::tap, tap, [&](const BySide<uint64_t> &met) {
          for (uint64_t n = 0; n < at.params.batch; ++n)
            sum.add_product(x[at.input(n, c, met[at.in])], g[at.output(n, o, met[at.out])]);
        });
        d_w[at.kernel(o, c, tap)] = sum.take<T>();
      }
    }
}

// d_bias[o] = sum of g
template <class T>
void bias_gradient(const Geometry &at, const T *g, T *d_bias) {
  ExactSum sum;
  for (uint64_t o = 0; o < at.params.out_channels; ++o) {
    for (uint64_t n = 0; n < at.params.batch; ++n)
      for (uint64_t i = 0; i < at.out_size; ++i) sum.add(g[at.output(n, o, i)]);
    d_bias[o] = sum.take<T>();
  }
}

// d_x[n, c, i] = sum of w * g over what lies on input position i
template <class T>
void input_gradient(const Geometry &at, const T *w, const T *g, T *d_x) {
  ExactSum sum;
  for (uint64_t n = 0; n < at.params.batch; ++n)
    for (uint64_t c = 0; c < at.params.in_channels; ++c)
      for (uint64_t i = 0; i < at.in_size; ++i) {
        at.windows.each(at.in, i, [&](const BySide<uint64_t> &met) {
          for (uint64_t o = 0; o < at.params.out_channels; ++o)
            if (at.same_group(o, c))
              sum.add_product(w[at.kernel(o, c, met[Side::tap])], g[at.output(n, o, met[at.out])]);
        });
        d_x[at.input(n, c, i)] = sum.take<T>();
      }
}

// ---- Entries ------------------------------------------------------------------------------------

void forward(tl_instance &instance, tl_convolution_op op, const tl_operand *input,
             const tl_operand *kernel, const tl_operand *bias, const tl_convolution_params *params,
             tl_flags, tl_storage **out) {
  const Geometry at(op, params);
  expect_given("input", input);
  with_native(input->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("input", input);
    const auto w = values_of<T>("kernel", kernel);
    const auto b = values_of<T>("bias", bias);
    expect_equal("input.count", x.size(), at.input_count());
    expect_equal("kernel.count", w.size(), at.kernel_count());
    expect_equal("bias.count", b.size(), at.params.out_channels);
    check_count(at.output_count());
    Result<T> y(instance, at.output_count());
    convolve(at, x.data(), w.data(), b.data(), y.begin());
    hand_out(out, y);
  });
}

void backward(tl_instance &instance, tl_convolution_op op, const tl_operand *input,
              const tl_operand *kernel, const tl_operand *gradient,
              const tl_convolution_params *params, tl_flags, tl_storage **out) {
  const Geometry at(op, params);
  expect_given("input", input);
  with_native(input->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("input", input);
    const auto w = values_of<T>("kernel", kernel);
    const auto g = values_of<T>("gradient", gradient);
    expect_equal("input.count", x.size(), at.input_count());
    expect_equal("kernel.count", w.size(), at.kernel_count());
    expect_equal("gradient.count", g.size(), at.output_count());
    check_count(at.params.out_channels);
    Result<T> d_w(instance, w.size());
    Result<T> d_bias(instance, at.params.out_channels);
    Result<T> d_x(instance, x.size());
    kernel_gradient(at, x.data(), g.data(), d_w.begin());
    bias_gradient(at, g.data(), d_bias.begin());
    input_gradient(at, w.data(), g.data(), d_x.begin());
    hand_out(out, d_w, d_bias, d_x);
  });
}

}  // namespace

const tl_convolution_table convolution_table = {
    .struct_size = sizeof(tl_convolution_table),
    .forward = entry<"convolution forward", forward>,
    .backward = entry<"convolution backward", backward>,
};

}  // namespace torchlean::reference
