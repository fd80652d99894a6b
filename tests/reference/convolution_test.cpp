// Convolutions against the sum over all pairs of windows and positions.
#include "fixture.hpp"
#include "support/oracle.hpp"
#include "support/window_shapes.hpp"

using namespace torchlean::test;

namespace {

struct Convolution : ConvolutionShape {
  template <class T>
  std::vector<T> forward(Backend &backend, const std::vector<T> &input,
                         const std::vector<T> &kernel, const std::vector<T> &bias) const {
    const Buffer<T> x(backend, input), w(backend, kernel), b(backend, bias);
    return result<T>(backend, output_count(), [&](tl_storage **out) {
      return backend.table->convolution->forward(backend.instance, op, x.operand(), w.operand(),
                                                 b.operand(), &params, 0, out);
    });
  }

  // dKernel, dBias, dInput
  template <class T>
  std::vector<std::vector<T>> backward(Backend &backend, const std::vector<T> &input,
                                       const std::vector<T> &kernel,
                                       const std::vector<T> &gradient) const {
    const Buffer<T> x(backend, input), w(backend, kernel), g(backend, gradient);
    return results<T>(
        backend, {kernel_count(), params.out_channels, input_count()}, [&](tl_storage **out) {
          return backend.table->convolution->backward(backend.instance, op, x.operand(),
                                                      w.operand(), g.operand(), &params, 0, out);
        });
  }

  tl_status refused(Backend &backend) const {
    const Buffer<float> x(backend, std::vector<float>(input_count())),
        w(backend, std::vector<float>(kernel_count())),
        b(backend, std::vector<float>(params.out_channels));
    tl_storage *out = nullptr;
    const tl_status status = backend.table->convolution->forward(
        backend.instance, op, x.operand(), w.operand(), b.operand(), &params, 0, &out);
    CHECK(out == nullptr);
    return status;
  }
};

Convolution random_convolution(std::mt19937_64 &random, tl_convolution_op op) {
  Convolution c;
  c.op = op;
  c.params.batch = pick(random, 0, 3);
  c.params.groups = pick(random, 1, 3);
  c.params.in_channels = c.params.groups * pick(random, 0, 2);
  c.params.out_channels = c.params.groups * pick(random, 0, 2);
  for (auto axis = static_cast<size_t>(pick(random, 0, 2)); axis < 3; ++axis)
    c.set_axis(axis, pick(random, 0, 7), pick(random, 1, 4), pick(random, 1, 3), pick(random, 0, 3),
               pick(random, 0, 3), pick(random, 1, 3));
  return c;
}

template <class T>
void check_random_convolution(Backend &backend, std::mt19937_64 &random, tl_convolution_op op) {
  const Convolution c = random_convolution(random, op);
  const auto x = small_integers<T>(random, c.input_count());
  const auto w = small_integers<T>(random, c.kernel_count());
  const auto bias = small_integers<T>(random, c.params.out_channels);
  const auto g = small_integers<T>(random, c.output_count());

  std::vector<T> y(c.output_count()), d_w(w.size()), d_bias(bias.size()), d_x(x.size());
  for (uint64_t i = 0; i < y.size(); ++i) {
    const uint64_t channel = i / volume(c.params.out) % c.params.out_channels;
    y[i] = bias[channel];
    d_bias[channel] += g[i];
  }
  c.each_product([&](uint64_t i, uint64_t k, uint64_t o) {
    y[o] += x[i] * w[k];
    d_w[k] += x[i] * g[o];
    d_x[i] += w[k] * g[o];
  });
  REQUIRE(c.forward(backend, x, w, bias) == y);
  const auto gradients = c.backward(backend, x, w, g);
  REQUIRE(gradients[0] == d_w);
  REQUIRE(gradients[1] == d_bias);
  REQUIRE(gradients[2] == d_x);
}

// One row of samples, one channel.
Convolution row(tl_convolution_op op, int64_t in, int64_t kernel, int64_t stride, int64_t before,
                int64_t after, int64_t dilation = 1) {
  Convolution c;
  c.op = op;
  c.set_axis(2, in, kernel, stride, before, after, dilation);
  return c;
}

}  // namespace

TEST_CASE_TEMPLATE("convolutions of every rank, group, stride, padding and dilation are their sums",
                   T, float, double) {
  Backend backend;
  std::mt19937_64 random(100);
  for (int i = 0; i < samples(300); ++i)
    for (const tl_convolution_op op : {TL_CONVOLUTION, TL_CONVOLUTION_TRANSPOSED})
      check_random_convolution<T>(backend, random, op);
}

TEST_CASE("a sum of products and bias is rounded once") {
  Backend backend;
  const Convolution c = row(TL_CONVOLUTION, 3, 3, 1, 0, 0);
  CHECK(c.forward<float>(backend, {1e30f, 1, -1e30f}, {1e30f, 1, 1e30f}, {0x1p-24f}) ==
        std::vector<float>{1});
  CHECK(c.forward<float>(backend, {1e30f, 1, 1}, {1, 1, 0x1p-30f}, {-1e30f}) ==
        std::vector<float>{1});
  CHECK(c.forward<double>(backend, {1e300, 1, -1e300}, {1e300, 1, 1e300}, {0x1p-53}) ==
        std::vector<double>{1});
  const auto gradients = row(TL_CONVOLUTION, 3, 1, 1, 0, 0)
                             .backward<float>(backend, {1e30f, 1, -1e30f}, {1}, {1e30f, 1, 1e30f});
  CHECK(gradients[0] == std::vector<float>{1});
  CHECK(gradients[1] == std::vector<float>{2e30f});
}

TEST_CASE("T6: sizes that contradict each other are refused, with the size in the text") {
  Backend backend;
  const auto refused = [&](const char *text, auto spoil) {
    for (const tl_convolution_op op : {TL_CONVOLUTION, TL_CONVOLUTION_TRANSPOSED}) {
      Convolution c = row(op, 4, 2, 1, 0, 0);
      spoil(c.params);
      CHECK(c.refused(backend) == TL_INVALID_ARGUMENT);
      CHECK(error_text.find(text) != std::string::npos);
    }
  };
  constexpr int64_t largest = std::numeric_limits<int64_t>::max();
  refused("params.out[2] is 7", [](auto &p) { p.out[2] = 7; });
  refused("params.out[0] is 0", [](auto &p) { p.out[0] = 0; });
  refused("params.stride[1] is 0", [](auto &p) { p.stride[1] = 0; });
  refused("params.dilation[1] is 0", [](auto &p) { p.dilation[1] = 0; });
  refused("params.padding_before[1] is -1", [](auto &p) { p.padding_before[1] = -1; });
  refused("params.padding_after[1] is -1", [](auto &p) { p.padding_after[1] = -1; });
  refused("params.groups is 0", [](auto &p) { p.groups = 0; });
  refused("params.groups is 2", [](auto &p) { p.groups = 2; });
  refused("params.dense_kernel is 0", [](auto &p) { p.dense_kernel = 0; });
  refused("params.in[0] is -1", [](auto &p) { p.in[0] = -1, p.in[1] = 0; });
  refused("params.kernel[2] is 0", [](auto &p) { p.kernel[2] = 0; });
  Convolution far = row(TL_CONVOLUTION, 4, 2, 1, 0, 0);
  far.params.padding_before[2] = far.params.padding_after[2] = largest;
  CHECK(far.refused(backend) == TL_INVALID_ARGUMENT);
  far = row(TL_CONVOLUTION_TRANSPOSED, 4, 2, 1, 0, 0);
  far.params.stride[2] = largest;
  CHECK(far.refused(backend) == TL_INVALID_ARGUMENT);
}

TEST_CASE("T6: operands that do not fit a convolution's sizes are refused by name") {
  Backend backend;
  const Buffer<float> one(backend, {1}), two(backend, {1, 2}), four(backend, {1, 2, 3, 4});
  const Convolution c = row(TL_CONVOLUTION, 4, 2, 1, 0, 0);
  const auto refused = [&](const char *text, const Buffer<float> &x, const Buffer<float> &w,
                           const Buffer<float> &bias, const Buffer<float> &gradient) {
    tl_storage *out[3] = {};
    const tl_convolution_table &table = *backend.table->convolution;
    tl_status status = table.forward(backend.instance, c.op, x.operand(), w.operand(),
                                     bias.operand(), &c.params, 0, out);
    if (status == TL_OK) {
      backend.table->memory->release(backend.instance, out[0]);
      out[0] = nullptr;
      status = table.backward(backend.instance, c.op, x.operand(), w.operand(), gradient.operand(),
                              &c.params, 0, out);
    }
    CHECK(status == TL_INVALID_ARGUMENT);
    CHECK(error_text.find(text) != std::string::npos);
    for (const tl_storage *storage : out) CHECK(storage == nullptr);
  };
  refused("input.count is 2, expected 4", two, two, one, one);
  refused("kernel.count is 4, expected 2", four, four, one, one);
  refused("bias.count is 2, expected 1", four, two, two, one);
  refused("gradient.count is 2, expected 3", four, two, one, two);
}
