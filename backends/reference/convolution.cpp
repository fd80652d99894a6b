// Convolutions, ordinary and transposed, whose every element is an exact sum, rounded once.
//
// An ordinary convolution's windows are its results, which lie on the input; a transposed one's are
// its input, which lies on the results. Nothing else tells them apart.
#include "exact_sum.hpp"
#include "reference.hpp"

#include <torchlean/backend_windows.hpp>

namespace torchlean::reference {
namespace {

// ---- Sums over everything that meets one element ------------------------------------------------

// y[n, o, i] = bias[o] + sum of x * w over what lies on output position i
template <class T>
void convolve(const ConvolutionGeometry &at, const T *x, const T *w, const T *bias, T *y) {
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
void kernel_gradient(const ConvolutionGeometry &at, const T *x, const T *g, T *d_w) {
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
void bias_gradient(const ConvolutionGeometry &at, const T *g, T *d_bias) {
  ExactSum sum;
  for (uint64_t o = 0; o < at.params.out_channels; ++o) {
    for (uint64_t n = 0; n < at.params.batch; ++n)
      for (uint64_t i = 0; i < at.out_size; ++i) sum.add(g[at.output(n, o, i)]);
    d_bias[o] = sum.take<T>();
  }
}

// d_x[n, c, i] = sum of w * g over what lies on input position i
template <class T>
void input_gradient(const ConvolutionGeometry &at, const T *w, const T *g, T *d_x) {
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

void convolution_forward(tl_instance &instance, tl_convolution_op op, const tl_operand *input,
                         const tl_operand *kernel, const tl_operand *bias,
                         const tl_convolution_params *params, tl_flags, tl_storage **out) {
  const ConvolutionGeometry at(op, params);
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

void convolution_backward(tl_instance &instance, tl_convolution_op op, const tl_operand *input,
                          const tl_operand *kernel, const tl_operand *gradient,
                          const tl_convolution_params *params, tl_flags, tl_storage **out) {
  const ConvolutionGeometry at(op, params);
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
    .forward = entry<"convolution forward", convolution_forward>,
    .backward = entry<"convolution backward", convolution_backward>,
};

}  // namespace torchlean::reference
