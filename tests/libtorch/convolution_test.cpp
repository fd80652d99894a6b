// Convolutions within their bound of the sum over all pairs of windows and positions.
#include "../support/window_shapes.hpp"
#include "fake_host.hpp"

#include <doctest/doctest.h>

#include <string>

using fake_host::backend;
using namespace torchlean::test;

namespace {

struct Convolution : ConvolutionShape {
  template <class T>
  std::vector<T> forward(const Session &session, const std::vector<T> &input,
                         const std::vector<T> &kernel, const std::vector<T> &bias) const {
    const Buffer x(session, input), w(session, kernel), b(session, bias);
    tl_storage *out = nullptr;
    require_ok(backend().convolution->forward(session.get(), op, x.operand(), w.operand(),
                                              b.operand(), &params, 0, &out));
    return Buffer(session, out, output_count(), dtype_of<T>, sizeof(T)).template values<T>();
  }

  // dKernel, dBias, dInput
  template <class T>
  std::vector<std::vector<T>> backward(const Session &session, const std::vector<T> &input,
                                       const std::vector<T> &kernel,
                                       const std::vector<T> &gradient) const {
    const Buffer x(session, input), w(session, kernel), g(session, gradient);
    tl_storage *out[3] = {};
    require_ok(backend().convolution->backward(session.get(), op, x.operand(), w.operand(),
                                               g.operand(), &params, 0, out));
    const uint64_t counts[3] = {kernel_count(), params.out_channels, input_count()};
    std::vector<std::vector<T>> results;
    for (size_t i = 0; i < 3; ++i)
      results.push_back(
          Buffer(session, out[i], counts[i], dtype_of<T>, sizeof(T)).template values<T>());
    return results;
  }
};

Convolution random_convolution(std::mt19937_64 &random, tl_convolution_op op) {
  Convolution c;
  c.op = op;
  c.params.batch = static_cast<uint64_t>(pick(random, 1, 3));
  c.params.groups = static_cast<uint64_t>(pick(random, 1, 3));
  c.params.in_channels = c.params.groups * static_cast<uint64_t>(pick(random, 1, 2));
  c.params.out_channels = c.params.groups * static_cast<uint64_t>(pick(random, 1, 2));
  for (auto axis = static_cast<size_t>(pick(random, 0, 2)); axis < 3; ++axis)
    c.set_axis(axis, pick(random, 0, 7), pick(random, 1, 4), pick(random, 1, 3), pick(random, 0, 3),
               pick(random, 0, 3), pick(random, 1, 3));
  return c;
}

// Exact sums, and the bound of section 10 around them.
class Sums {
 public:
  explicit Sums(size_t n) : sum_(n), magnitude_(n), terms_(n) {}

  void add(size_t i, long double term) {
    sum_[i] += term;
    magnitude_[i] += std::fabs(term);
    ++terms_[i];
  }

  // How many values are out of bounds; those that something nonfinite reaches are not.
  template <class T>
  size_t missed_by(const std::vector<T> &values) const {
    size_t missed = values.size() != sum_.size();
    for (size_t i = 0; i < values.size() && i < sum_.size(); ++i) {
      const long double eps = std::numeric_limits<T>::epsilon();
      if (std::isfinite(sum_[i]))
        missed += !(std::fabs(values[i] - sum_[i]) <= 2 * terms_[i] * eps * magnitude_[i]);
    }
    return missed;
  }

 private:
  std::vector<long double> sum_, magnitude_;
  std::vector<uint64_t> terms_;
};

template <class T>
struct Values {
  std::vector<T> x, w, bias, g;
};

template <class T>
Values<T> random_values(std::mt19937_64 &random, const Convolution &c) {
  return {uniform_values<T>(c.input_count(), random(), -1, 1),
          uniform_values<T>(c.kernel_count(), random(), -1, 1),
          uniform_values<T>(c.params.out_channels, random(), -1, 1),
          uniform_values<T>(c.output_count(), random(), -1, 1)};
}

// Forward and all gradients. Long doubles have 11 bits more than the finest dtype.
template <class T>
void check_bounds(const Session &session, const Convolution &c, const Values<T> &values) {
  const std::vector<T> &x = values.x, &w = values.w, &bias = values.bias, &g = values.g;
  Sums y(g.size()), d_w(w.size()), d_bias(bias.size()), d_x(x.size());
  for (size_t i = 0; i < g.size(); ++i) {
    const size_t channel = i / volume(c.params.out) % c.params.out_channels;
    y.add(i, bias[channel]);
    d_bias.add(channel, g[i]);
  }
  c.each_product([&](uint64_t i, uint64_t k, uint64_t o) {
    const auto product = [](T a, T b) { return static_cast<long double>(a) * b; };
    y.add(o, product(x[i], w[k]));
    d_w.add(k, product(x[i], g[o]));
    d_x.add(i, product(w[k], g[o]));
  });
  CHECK(y.missed_by(c.forward(session, x, w, bias)) == 0);
  const auto gradients = c.backward(session, x, w, g);
  CHECK(d_w.missed_by(gradients[0]) == 0);
  CHECK(d_bias.missed_by(gradients[1]) == 0);
  CHECK(d_x.missed_by(gradients[2]) == 0);
}

// Channels of usual sizes, which LibTorch computes with other kernels than small ones.
Convolution usual_convolution(tl_convolution_op op, int64_t kernel, int64_t stride,
                              uint64_t groups) {
  Convolution c;
  c.op = op;
  c.params.in_channels = 16;
  c.params.out_channels = 32;
  c.params.groups = groups;
  for (const size_t axis : {1, 2}) c.set_axis(axis, 10, kernel, stride, kernel / 2, kernel / 2, 1);
  return c;
}

}  // namespace

TEST_CASE_TEMPLATE("convolutions of every rank and shape keep their bound", T, float, double) {
  std::mt19937_64 random(120);
  for (const bool deterministic : {false, true}) {
    const Session session(deterministic);
    for (int i = 0; i < 80; ++i) {
      const Convolution c =
          random_convolution(random, i % 2 == 0 ? TL_CONVOLUTION : TL_CONVOLUTION_TRANSPOSED);
      CAPTURE(i);
      check_bounds(session, c, random_values<T>(random, c));
    }
  }
}

TEST_CASE_TEMPLATE("convolutions of usual sizes keep their bound, beside large entries too", T,
                   float, double) {
  std::mt19937_64 random(121);
  for (const bool deterministic : {false, true}) {
    const Session session(deterministic);
    for (const tl_convolution_op op : {TL_CONVOLUTION, TL_CONVOLUTION_TRANSPOSED})
      for (const auto &[kernel, stride, groups] :
           {std::array<int64_t, 3>{3, 1, 1}, {1, 1, 1}, {5, 2, 4}, {3, 1, 16}}) {
        const Convolution c = usual_convolution(op, kernel, stride, static_cast<uint64_t>(groups));
        auto values = random_values<T>(random, c);
        check_bounds(session, c, values);
        // Algorithms that mix neighbours (Winograd, Fourier) fail here.
        for (size_t i = 5; i < values.x.size(); i += 97) values.x[i] *= T(1e6);
        check_bounds(session, c, values);
      }
  }
}

TEST_CASE_TEMPLATE("NaN and infinities reach only what they are multiplied with", T, float,
                   double) {
  std::mt19937_64 random(122);
  const T nonfinite[] = {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()};
  const auto spoil = [&](std::vector<T> &values) {
    if (!values.empty()) values[random() % values.size()] = nonfinite[random() % 2];
  };
  for (const bool deterministic : {false, true}) {
    const Session session(deterministic);
    for (int i = 0; i < 40; ++i) {
      const tl_convolution_op op = i % 2 == 0 ? TL_CONVOLUTION : TL_CONVOLUTION_TRANSPOSED;
      const Convolution c = i < 4 ? usual_convolution(op, 3, 1, 2) : random_convolution(random, op);
      for (const int which : {0, 1, 2}) {
        auto values = random_values<T>(random, c);
        spoil(which == 0 ? values.x : which == 1 ? values.w : values.g);
        check_bounds(session, c, values);
      }
    }
  }
}

TEST_CASE("whatever the kernel holds over the padding contributes nothing") {
  for (const bool deterministic : {false, true}) {
    const Session session(deterministic);
    Convolution c;
    c.set_axis(2, 2, 3, 1, 1, 1, 1);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const auto y = c.forward<float>(session, {1, 2}, {nan, 10, 100}, {0.5F});
    CHECK(y[0] == 210.5F);
    CHECK(std::isnan(y[1]));
  }
}

TEST_CASE("windows may lie in the padding altogether, and far away from each other") {
  for (const bool deterministic : {false, true}) {
    const Session session(deterministic);
    constexpr int64_t far = int64_t{1} << 31;
    Convolution c;
    c.set_axis(0, 1, 1, far, far, far, 1);    // windows at -far, 0, far
    c.set_axis(2, 2, 2, far, far, far, far);  // taps at -far and 0, 0 and far, far and 2 * far
    CHECK(c.forward<float>(session, {1, 2}, {3, 4}, {5}) == std::vector<float>{5, 5, 9, 8, 5, 5});
  }
}

TEST_CASE("without an input the result is the bias, and gradients are zeros") {
  const Session session;
  Convolution c;
  c.params.in_channels = 0;
  c.params.out_channels = 2;
  c.set_axis(2, 3, 2, 1, 0, 0, 1);
  CHECK(c.forward<double>(session, {}, {}, {3, 4}) == std::vector<double>{3, 3, 4, 4});
  CHECK(c.backward<double>(session, {}, {}, {1, 2, 3, 4}) ==
        std::vector<std::vector<double>>{{}, {3, 7}, {}});
  Convolution padded;
  padded.set_axis(2, 0, 2, 1, 1, 1, 1);
  CHECK(padded.forward<float>(session, {}, {1, 2}, {3}) == std::vector<float>{3});
  CHECK(padded.backward<float>(session, {}, {1, 2}, {5}) ==
        std::vector<std::vector<float>>{{0, 0}, {5}, {}});
}

TEST_CASE_TEMPLATE("deterministic convolutions have the same bits at any thread count", T, float,
                   double) {
  std::mt19937_64 random(123);
  for (const tl_convolution_op op : {TL_CONVOLUTION, TL_CONVOLUTION_TRANSPOSED}) {
    const Convolution c = usual_convolution(op, 3, 1, 1);
    const auto [x, w, bias, g] = random_values<T>(random, c);
    std::vector<std::vector<T>> first;
    for (const uint32_t threads : {1U, 2U, 3U}) {
      const Session session(true, threads);
      auto results = c.backward(session, x, w, g);
      results.push_back(c.forward(session, x, w, bias));
      if (first.empty()) first = results;
      for (size_t i = 0; i < results.size(); ++i) CHECK(same_bits(results[i], first[i]));
    }
  }
}

TEST_CASE("T6: a convolution's sizes and operands that contradict each other are refused") {
  const Session session;
  const Buffer three(session, std::vector<float>{1, 2, 3});
  const Buffer two(session, std::vector<float>{1, 2});
  const Buffer one(session, std::vector<float>{1});
  const Buffer wide(session, std::vector<double>{1, 2});
  tl_storage *out[3] = {};
  const auto status = [&](auto spoil, const Buffer &x, const Buffer &w, const Buffer &b) {
    Convolution c;
    c.set_axis(2, 3, 2, 1, 0, 0, 1);
    spoil(c);
    return backend().convolution->forward(session.get(), c.op, x.operand(), w.operand(),
                                          b.operand(), &c.params, 0, out);
  };
  const auto refused = [&](const std::string &text, auto spoil) {
    CHECK(status(spoil, three, two, one) == TL_INVALID_ARGUMENT);
    CHECK(fake_host::error().find(text) != std::string::npos);
  };
  refused("params.out[2] is 3, expected 2", [](auto &c) { c.params.out[2] = 3; });
  refused("params.kernel[1] is 0", [](auto &c) { c.params.kernel[1] = 0; });
  refused("params.stride[0] is 0", [](auto &c) { c.params.stride[0] = 0; });
  refused("params.dilation[0] is -1", [](auto &c) { c.params.dilation[0] = -1; });
  refused("params.padding_before[2] is -1", [](auto &c) { c.params.padding_before[2] = -1; });
  refused("params.in[1] is -1", [](auto &c) { c.params.in[1] = -1; });
  refused("params.groups is 0", [](auto &c) { c.params.groups = 0; });
  refused("params.groups is 2", [](auto &c) { c.params.groups = 2; });
  refused("params.dense_kernel is 0", [](auto &c) { c.params.dense_kernel = 0; });
  refused("leaves 64 bits", [](auto &c) { c.params.padding_after[2] = INT64_MAX; });
  refused("input has more than 2^32 - 1 elements", [](auto &c) { c.params.batch = UINT32_MAX; });
  refused("params.batch is 4294967296", [](auto &c) { c.params.batch = uint64_t{1} << 32; });
  refused("struct_size", [](auto &c) { c.params.struct_size = 8; });
  const auto nothing = [](auto &) {};
  CHECK(status([](auto &c) { c.op = 7; }, three, two, one) == TL_UNSUPPORTED);
  CHECK(status(nothing, two, two, one) == TL_INVALID_ARGUMENT);
  CHECK(status(nothing, three, three, one) == TL_INVALID_ARGUMENT);
  CHECK(status(nothing, three, two, two) == TL_INVALID_ARGUMENT);
  CHECK(status(nothing, three, wide, one) == TL_INVALID_ARGUMENT);
  CHECK(fake_host::error().find("kernel.dtype is 1, expected 0") != std::string::npos);
  CHECK(out[0] == nullptr);
}
