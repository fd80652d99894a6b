// Convolutions of cuda-emulated that fill tiles: several of them, cut off at their ends, in phases
// and in chunks. Operands are small integers, so that every sum is exact in any order.
#include "fake_host.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

struct Axis {
  int64_t in;
  int64_t kernel;
  int64_t stride = 1;
  int64_t padding = 0;
};

struct Shape {
  tl_convolution_op op;
  uint64_t batch;
  uint64_t in_channels;
  uint64_t out_channels;
  uint64_t groups;
  std::array<Axis, 2> axes;

  bool is_transposed() const { return op == TL_CONVOLUTION_TRANSPOSED; }
  // floor((in + 2 p - k) / s) + 1, and (in - 1) s + k - 2 p
  int64_t out(size_t axis) const {
    const auto &[in, kernel, stride, padding] = axes[axis];
    return is_transposed() ? (in - 1) * stride + kernel - 2 * padding
                           : (in + 2 * padding - kernel) / stride + 1;
  }
  uint64_t in_size() const { return static_cast<uint64_t>(axes[0].in * axes[1].in); }
  uint64_t out_size() const { return static_cast<uint64_t>(out(0) * out(1)); }
  uint64_t taps() const { return static_cast<uint64_t>(axes[0].kernel * axes[1].kernel); }
  uint64_t input_count() const { return batch * in_channels * in_size(); }
  uint64_t output_count() const { return batch * out_channels * out_size(); }
  uint64_t kernel_count() const { return in_channels * out_channels * taps(); }

  tl_convolution_params params() const {
    tl_convolution_params p{};
    p.struct_size = sizeof p;
    p.batch = batch;
    p.in_channels = in_channels;
    p.out_channels = out_channels;
    p.groups = groups;
    p.dense_kernel = 1;
    for (size_t a = 0; a < 3; ++a) {
      const Axis axis = a == 0 ? Axis{1, 1} : axes[a - 1];
      p.in[a] = axis.in;
      p.kernel[a] = axis.kernel;
      p.stride[a] = axis.stride;
      p.padding_before[a] = p.padding_after[a] = axis.padding;
      p.dilation[a] = 1;
      p.out[a] = a == 0 ? 1 : out(a - 1);
    }
    return p;
  }

  // Calls visit(input, kernel, output) for the flat indices of every three that belong together.
  template <class Visit>
  void each_product(Visit visit) const {
    for (uint64_t n = 0; n < batch; ++n)
      for (uint64_t o = 0; o < out_channels; ++o)
        for (uint64_t c = 0; c < in_channels; ++c) {
          if (o / (out_channels / groups) != c / (in_channels / groups)) continue;
          const uint64_t block = is_transposed() ? c * out_channels + o : o * in_channels + c;
          each_meeting([&](uint64_t in, uint64_t tap, uint64_t out) {
            visit((n * in_channels + c) * in_size() + in, block * taps() + tap,
                  (n * out_channels + o) * out_size() + out);
          });
        }
  }

 private:
  // Tap k of window w lies on position w s + k - p.
  template <class Visit>
  void each_meeting(Visit visit) const {
    const auto windows = [&](size_t a) { return is_transposed() ? axes[a].in : out(a); };
    const auto positions = [&](size_t a) { return is_transposed() ? out(a) : axes[a].in; };
    for (int64_t w0 = 0; w0 < windows(0); ++w0)
      for (int64_t w1 = 0; w1 < windows(1); ++w1)
        for (int64_t k0 = 0; k0 < axes[0].kernel; ++k0)
          for (int64_t k1 = 0; k1 < axes[1].kernel; ++k1) {
            const int64_t p0 = w0 * axes[0].stride + k0 - axes[0].padding;
            const int64_t p1 = w1 * axes[1].stride + k1 - axes[1].padding;
            if (p0 < 0 || p0 >= positions(0) || p1 < 0 || p1 >= positions(1)) continue;
            const auto window = static_cast<uint64_t>(w0 * windows(1) + w1);
            const auto position = static_cast<uint64_t>(p0 * positions(1) + p1);
            const auto tap = static_cast<uint64_t>(k0 * axes[1].kernel + k1);
            visit(is_transposed() ? window : position, tap, is_transposed() ? position : window);
          }
  }
};

template <class T>
std::vector<T> integers(uint64_t count, uint64_t seed) {
  std::vector<T> values(count);
  for (uint64_t i = 0; i < count; ++i) {
    values[i] = static_cast<T>(static_cast<int>((i * 7 + i / 5 + seed * 3) % 7) - 3);
  }
  return values;
}

template <class T>
struct Gradients {
  std::vector<T> kernel;
  std::vector<T> bias;
  std::vector<T> input;
};

template <class T>
std::vector<T> forward(const Session &session, const Shape &shape, const std::vector<T> &x,
                       const std::vector<T> &w, const std::vector<T> &b) {
  const Buffer input(session, x);
  const Buffer kernel(session, w);
  const Buffer bias(session, b);
  const tl_convolution_params params = shape.params();
  tl_storage *out = nullptr;
  const tl_status status =
      backend().convolution->forward(session.instance(), shape.op, input.operand(),
                                     kernel.operand(), bias.operand(), &params, 0, &out);
  INFO(fake_host::error());
  REQUIRE(status == TL_OK);
  return Buffer(session, out, shape.output_count(), dtype_of<T>, sizeof(T)).template values<T>();
}

template <class T>
Gradients<T> backward(const Session &session, const Shape &shape, const std::vector<T> &x,
                      const std::vector<T> &w, const std::vector<T> &g) {
  const Buffer input(session, x);
  const Buffer kernel(session, w);
  const Buffer gradient(session, g);
  const tl_convolution_params params = shape.params();
  tl_storage *out[3] = {};
  const tl_status status =
      backend().convolution->backward(session.instance(), shape.op, input.operand(),
                                      kernel.operand(), gradient.operand(), &params, 0, out);
  INFO(fake_host::error());
  REQUIRE(status == TL_OK);
  const auto values = [&](tl_storage *storage, uint64_t count) {
    return Buffer(session, storage, count, dtype_of<T>, sizeof(T)).template values<T>();
  };
  return {values(out[0], shape.kernel_count()), values(out[1], shape.out_channels),
          values(out[2], shape.input_count())};
}

template <class T>
void check_forward(const std::string &schedule, const Shape &shape) {
  const Session session(schedule);
  const auto x = integers<T>(shape.input_count(), 1);
  const auto w = integers<T>(shape.kernel_count(), 2);
  const auto b = integers<T>(shape.out_channels, 3);
  std::vector<T> expected(shape.output_count());
  for (uint64_t i = 0; i < expected.size(); ++i) {
    expected[i] = b[i / shape.out_size() % shape.out_channels];
  }
  shape.each_product([&](uint64_t in, uint64_t k, uint64_t out) { expected[out] += x[in] * w[k]; });
  CHECK(forward(session, shape, x, w, b) == expected);
}

template <class T>
void check_backward(const std::string &schedule, const Shape &shape) {
  const Session session(schedule);
  const auto x = integers<T>(shape.input_count(), 4);
  const auto w = integers<T>(shape.kernel_count(), 5);
  const auto g = integers<T>(shape.output_count(), 6);
  Gradients<T> expected{std::vector<T>(w.size()), std::vector<T>(shape.out_channels),
                        std::vector<T>(x.size())};
  shape.each_product([&](uint64_t in, uint64_t k, uint64_t out) {
    expected.kernel[k] += x[in] * g[out];
    expected.input[in] += w[k] * g[out];
  });
  for (uint64_t i = 0; i < g.size(); ++i) {
    expected.bias[i / shape.out_size() % shape.out_channels] += g[i];
  }
  const Gradients<T> found = backward(session, shape, x, w, g);
  CHECK(found.kernel == expected.kernel);
  CHECK(found.bias == expected.bias);
  CHECK(found.input == expected.input);
}

}  // namespace

TEST_CASE("a convolution of several tiles, whose terms several blocks share") {
  const Shape shape{TL_CONVOLUTION, 2, 30, 70, 1, {{{7, 3, 1, 1}, {5, 3, 1, 1}}}};
  check_forward<float>("", shape);
  check_forward<double>("3", shape);
}

TEST_CASE("a convolution with groups of more rows than are summed one by one") {
  const Shape shape{TL_CONVOLUTION, 2, 6, 15, 3, {{{5, 2, 2, 1}, {7, 3, 1, 0}}}};
  check_forward<float>("1", shape);
  check_forward<double>("", shape);
}

TEST_CASE("a convolution of the larger tiles that float has") {
  check_forward<float>("2", {TL_CONVOLUTION, 1, 3, 100, 1, {{{31, 2, 1, 0}, {33, 1, 1, 0}}}});
}

TEST_CASE("gradients of a convolution of several tiles") {
  const Shape shape{TL_CONVOLUTION, 1, 66, 9, 1, {{{11, 3, 2, 1}, {10, 2, 3, 0}}}};
  check_backward<float>("", shape);
  check_backward<double>("4", shape);
}

TEST_CASE("gradients of a convolution whose windows leave positions out") {
  check_backward<float>("5", {TL_CONVOLUTION, 1, 6, 5, 1, {{{13, 2, 5, 0}, {4, 1, 1, 0}}}});
}

TEST_CASE("the gradient of a kernel is summed over many windows") {
  check_backward<double>("6", {TL_CONVOLUTION, 1, 2, 3, 1, {{{40, 3, 1, 1}, {41, 3, 1, 1}}}});
}

TEST_CASE("a transposed convolution of several tiles, and its gradients") {
  const Shape shape{TL_CONVOLUTION_TRANSPOSED, 1, 10, 67, 1, {{{7, 4, 2, 1}, {5, 3, 3, 1}}}};
  check_forward<float>("7", shape);
  check_backward<double>("8", shape);
}

TEST_CASE("a transposed convolution's strides are larger than its kernel") {
  const Shape shape{TL_CONVOLUTION_TRANSPOSED, 1, 6, 5, 1, {{{3, 2, 4, 0}, {2, 1, 3, 0}}}};
  check_forward<double>("9", shape);
  check_backward<float>("10", shape);
}

TEST_CASE("a transposed convolution, some of whose phases have fewer tiles than others") {
  check_forward<double>("12", {TL_CONVOLUTION_TRANSPOSED, 1, 1, 650, 1, {{{1, 1}, {65, 1, 3}}}});
}

TEST_CASE("without input channels a convolution of several rows is its bias") {
  const Shape shape{TL_CONVOLUTION, 2, 0, 6, 1, {{{3, 2, 1, 0}, {4, 1, 1, 0}}}};
  const Session session;
  const tl_operand empty{nullptr, 0, TL_FLOAT32, 4};
  const auto b = integers<float>(6, 1);
  const Buffer bias(session, b);
  const tl_convolution_params params = shape.params();
  tl_storage *out = nullptr;
  REQUIRE(backend().convolution->forward(session.instance(), shape.op, &empty, &empty,
                                         bias.operand(), &params, 0, &out) == TL_OK);
  const auto y = Buffer(session, out, shape.output_count(), TL_FLOAT32, 4).values<float>();
  for (uint64_t i = 0; i < y.size(); ++i) {
    CHECK(y[i] == b[i / shape.out_size() % 6]);
  }
}

// A NaN or an infinity shows in what it is a factor of, and nowhere else.
TEST_CASE("what meets only padding contributes nothing, whatever it is") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const tl_convolution_op op : {TL_CONVOLUTION, TL_CONVOLUTION_TRANSPOSED}) {
    const Shape shape{op, 1, 7, 6, 1, {{{6, 3, 2, 1}, {5, 3, 1, 1}}}};
    const Session session("11");
    const auto x = integers<double>(shape.input_count(), 1);
    auto w = integers<double>(shape.kernel_count(), 2);
    auto g = integers<double>(shape.output_count(), 3);
    const std::vector<double> b(shape.out_channels);
    w[1] = nan;
    w[shape.kernel_count() - 3] = infinity;
    g[0] = infinity;
    g[shape.output_count() - 1] = nan;
    std::vector<bool> is_reached(shape.output_count());
    std::vector<bool> kernel_is_reached(w.size());
    std::vector<bool> input_is_reached(x.size());
    shape.each_product([&](uint64_t in, uint64_t k, uint64_t out) {
      const bool is_finite = std::isfinite(w[k]);
      if (!is_finite) is_reached[out] = true;
      if (!std::isfinite(g[out])) kernel_is_reached[k] = true;
      if (!is_finite || !std::isfinite(g[out])) input_is_reached[in] = true;
    });
    const auto check = [](const std::vector<double> &values, const std::vector<bool> &reached) {
      size_t reached_count = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        reached_count += reached[i] ? 1 : 0;
        if (!reached[i]) {
          INFO(i);
          REQUIRE(std::isfinite(values[i]));
        }
      }
      CHECK(reached_count > 0);
      CHECK(reached_count < values.size());
    };
    check(forward(session, shape, x, w, b), is_reached);
    const Gradients<double> found = backward(session, shape, x, w, g);
    check(found.kernel, kernel_is_reached);
    check(found.input, input_is_reached);
  }
}
