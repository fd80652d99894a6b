// Convolutions by every way that the backend has: by bands, by packed products, by lines and by
// taps; cut into lines, strips and blocks of the depth. Operands are small integers, so that every
// sum is exact in any order.
#include "every_target.hpp"
#include "support/window_shapes.hpp"

#include <cmath>
#include <limits>

using namespace torchlean::test;

namespace {

struct Channels {
  uint64_t batch, in, out, groups;
};

struct Axis {
  int64_t in, kernel, stride = 1, before = 0, after = 0, dilation = 1;
};

ConvolutionShape shape_of(tl_convolution_op op, const Channels &channels,
                          const std::vector<Axis> &axes) {
  ConvolutionShape shape;
  shape.op = op;
  shape.params.batch = channels.batch;
  shape.params.in_channels = channels.in;
  shape.params.out_channels = channels.out;
  shape.params.groups = channels.groups;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Axis &axis = axes[i];
    shape.set_axis(3 - axes.size() + i, axis.in, axis.kernel, axis.stride, axis.before, axis.after,
                   axis.dilation);
  }
  return shape;
}

std::vector<ConvolutionShape> shapes() {
  constexpr Axis wide = {30, 3, 1, 1, 1};
  constexpr Axis halved = {29, 3, 2, 1, 0};
  constexpr Axis far = {40, 3, 1, 9, 9, 9};
  std::vector<ConvolutionShape> all;
  const auto add = [&](const Channels &channels, const std::vector<Axis> &axes) {
    for (const tl_convolution_op op : {TL_CONVOLUTION, TL_CONVOLUTION_TRANSPOSED})
      all.push_back(shape_of(op, channels, axes));
  };
  // A few target channels, by bands; with several blocks of the depth.
  add({2, 1, 5, 1}, {wide, wide});
  add({1, 60, 5, 1}, {{2, 3, 1, 1, 1}, wide});
  add({2, 8, 16, 4}, {halved, wide});
  add({1, 3, 11, 1}, {wide, {31, 5, 2, 2, 2}});
  add({1, 3, 5, 1}, {{12, 7, 2, 3, 3}, {17, 7, 1, 3, 3}});
  add({1, 4, 8, 1}, {far, far});
  add({1, 4, 8, 1}, {halved, {20, 1, 2}});
  add({1, 2, 4, 1}, {{3, 2, 1, 1, 0}, {5, 3, 2, 1, 1}, {20, 3, 1, 1, 1}});
  add({1, 2, 4, 1}, {{1, 1}, {2000, 5, 1, 2, 2}});
  add({1, 2, 4, 1}, {{1, 1}, {1, 3, 1, 40, 40}});
  add({1, 2, 4, 1}, {{50, 3, 2, 1, 1}, {1, 1, 3}});
  // Many, by products: short lines in several samples, lines of a block and more.
  add({3, 5, 70, 1}, {{7, 3, 1, 1, 1}, {7, 3, 1, 1, 1}});
  add({2, 14, 40, 2}, {{5, 3, 2, 1, 1}, {6, 2, 2, 1, 0}});
  add({2, 3, 100, 1}, {{1, 1}, {300, 1}});
  add({1, 2, 33, 1}, {{4, 3, 1, 1, 1}, {4, 2, 1, 1, 0}, {4, 3, 1, 2, 2, 2}});
  // Many with much padding, a target channel in each lane: in several blocks of source channels,
  // several panels, and several pieces of a line or of all samples.
  add({9, 8, 16, 1}, {{7, 3, 1, 1, 1}, {7, 3, 1, 1, 1}});
  add({1, 131, 62, 1}, {{3, 3, 1, 1, 1}, {4, 3, 1, 2, 0}});
  add({1, 32, 60, 2}, {{4, 3, 2, 1, 1}, {21, 5, 2, 2, 2}});
  add({2, 30, 44, 1}, {{3, 2, 2, 1, 0}, {4, 3, 1, 2, 2, 2}, {9, 4, 3, 3, 1}});
  add({1, 12, 15, 1}, {{1, 1}, {1, 3, 1, 1, 1}});
  add({1, 16, 48, 1}, {{2, 1}, {3, 1}});
  // One or two in each group, by lines.
  add({2, 3, 3, 3}, {wide, wide});
  add({1, 2, 4, 2}, {{40, 7, 2, 3, 3}, {33, 7, 2, 3, 3}});
  add({1, 2, 2, 2}, {far, {40, 3, 2, 3, 3, 3}});
  add({1, 2, 2, 2}, {{3, 3, 1, 1, 1}, {9, 3, 1, 1, 1}});
  add({1, 2, 2, 2}, {{20, 3, 2, 2, 2, 2}, {70, 3, 1, 1, 1}});
  add({1, 30, 1, 1}, {{3, 2, 1, 1, 1}, {9, 3, 1, 1, 1}, {5, 3, 3, 1, 1}});
  // The same of many groups, and of groups with some more channels: a group in each lane.
  add({2, 60, 100, 20}, {{5, 3, 1, 1, 1}, {6, 3, 2, 1, 1}});
  add({3, 48, 56, 8}, {{6, 3, 1, 1, 1}, {13, 5, 1, 2, 2}});
  add({2, 19, 19, 19}, {{7, 3, 1, 1, 1}, {7, 3, 1, 1, 1}});
  add({2, 34, 68, 34}, {{6, 2, 1, 0, 1}, {14, 7, 1, 5, 2}});
  add({3, 60, 20, 20}, {{5, 3, 2, 2, 0, 2}, {29, 5, 2, 1, 2}});
  add({1, 40, 40, 40}, {{3, 2, 2, 1, 0}, {4, 3, 1, 2, 2, 2}, {9, 3, 2, 1, 1}});
  return all;
}

// Names the convolution in a failure.
std::string text_of(const ConvolutionShape &shape) {
  const auto &p = shape.params;
  std::string text = shape.transposed() ? "transposed" : "ordinary";
  for (const uint64_t n : {p.batch, p.in_channels, p.out_channels, p.groups})
    text += " " + std::to_string(n);
  for (size_t i = 0; i < 3; ++i)
    text += ", " + std::to_string(p.in[i]) + " by " + std::to_string(p.kernel[i]);
  return text;
}

template <class T>
std::vector<T> forward(Backend &backend, const ConvolutionShape &shape, const std::vector<T> &x,
                       const std::vector<T> &w, const std::vector<T> &bias) {
  const Buffer<T> input(backend, x);
  const Buffer<T> kernel(backend, w);
  const Buffer<T> added(backend, bias);
  return result<T>(backend, shape.output_count(), [&](tl_storage **out) {
    return backend.table->convolution->forward(backend.instance, shape.op, input.operand(),
                                               kernel.operand(), added.operand(), &shape.params, 0,
                                               out);
  });
}

// The gradients of kernel, bias and input.
template <class T>
std::vector<std::vector<T>> backward(Backend &backend, const ConvolutionShape &shape,
                                     const std::vector<T> &x, const std::vector<T> &w,
                                     const std::vector<T> &g) {
  const Buffer<T> input(backend, x);
  const Buffer<T> kernel(backend, w);
  const Buffer<T> gradient(backend, g);
  return results<T>(backend, {shape.kernel_count(), shape.params.out_channels, shape.input_count()},
                    [&](tl_storage **out) {
                      return backend.table->convolution->backward(
                          backend.instance, shape.op, input.operand(), kernel.operand(),
                          gradient.operand(), &shape.params, 0, out);
                    });
}

}  // namespace

TEST_CASE_TEMPLATE("convolutions and their gradients are right by every way", T, float, double) {
  std::mt19937_64 random(1);
  const auto backends = every_target();
  for (const ConvolutionShape &shape : shapes()) {
    CAPTURE(text_of(shape));
    const auto x = small_integers<T>(random, shape.input_count());
    const auto w = small_integers<T>(random, shape.kernel_count());
    const auto g = small_integers<T>(random, shape.output_count());
    const auto bias = small_integers<T>(random, shape.params.out_channels);
    const uint64_t size = volume(shape.params.out);
    std::vector<T> y(shape.output_count());
    for (uint64_t i = 0; i < y.size(); ++i) y[i] = bias[i / size % bias.size()];
    std::vector<T> d_x(x.size());
    std::vector<T> d_w(w.size());
    shape.each_product([&](uint64_t i, uint64_t k, uint64_t o) {
      y[o] += x[i] * w[k];
      d_x[i] += g[o] * w[k];
      d_w[k] += g[o] * x[i];
    });
    for (const auto &backend : backends)
      for (const uint32_t threads : {1U, 3U}) {
        CAPTURE(threads);
        set_threads(*backend, threads);
        CHECK(forward(*backend, shape, x, w, bias) == y);
        const auto gradients = backward(*backend, shape, x, w, g);
        CHECK(gradients[0] == d_w);
        CHECK(gradients[2] == d_x);
      }
  }
}

TEST_CASE_TEMPLATE("convolutions have the same bits on one to four threads", T, float, double) {
  const auto backends = every_target();
  Backend &backend = *backends.back();
  std::mt19937_64 random(2);
  const auto fractions = [&](uint64_t count) {
    auto values = small_integers<T>(random, count);
    for (T &value : values) value /= 7;
    return values;
  };
  for (const ConvolutionShape &shape : shapes()) {
    CAPTURE(text_of(shape));
    const auto x = fractions(shape.input_count());
    const auto w = fractions(shape.kernel_count());
    const auto g = fractions(shape.output_count());
    const std::vector<T> bias(shape.params.out_channels, T(1) / 3);
    set_threads(backend, 1);
    const auto y = forward(backend, shape, x, w, bias);
    const auto gradients = backward(backend, shape, x, w, g);
    for (const uint32_t threads : {2U, 4U}) {
      set_threads(backend, threads);
      CHECK(forward(backend, shape, x, w, bias) == y);
      CHECK(backward(backend, shape, x, w, g) == gradients);
    }
  }
}

TEST_CASE_TEMPLATE("an infinite weight does not meet the padding", T, float, double) {
  std::mt19937_64 random(3);
  // The last one has more weights than results.
  for (const Channels &channels :
       {Channels{1, 2, 5, 1}, Channels{2, 2, 2, 2}, Channels{1, 20, 20, 20}, Channels{1, 16, 16, 1},
        Channels{1, 40, 30, 1}})
    for (const int64_t stride : {1, 2}) {
      const Axis axis = {5, 3, stride, 1, 1};
      const ConvolutionShape shape = shape_of(TL_CONVOLUTION, channels, {axis, axis});
      const std::vector<T> x(shape.input_count(), T(1));
      std::vector<T> w(shape.kernel_count(), T(1));
      w[0] = std::numeric_limits<T>::infinity();  // of the corner above and left
      const std::vector<T> bias(shape.params.out_channels, T(1));
      std::vector<T> y(shape.output_count(), T(1));
      shape.each_product([&](uint64_t i, uint64_t k, uint64_t o) { y[o] += x[i] * w[k]; });
      REQUIRE(std::isfinite(y[0]));
      for (const auto &backend : every_target()) CHECK(forward(*backend, shape, x, w, bias) == y);
    }
}
