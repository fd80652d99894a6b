// Pools of cuda-emulated whose windows are large enough to be shared by a warp or a block.
#include "fake_host.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

constexpr uint64_t channels = 3;

// One window over a square of that many entries along its sides, in each channel.
tl_pooling_params one_window(int64_t side, double beta = 0) {
  tl_pooling_params p{};
  p.struct_size = sizeof p;
  p.channels = channels;
  for (size_t a = 0; a < 3; ++a) {
    p.in[a] = p.kernel[a] = a == 0 ? 1 : side;
    p.stride[a] = p.out[a] = 1;
  }
  p.beta = beta;
  return p;
}

template <class T>
std::vector<T> pooled(const std::string &schedule, tl_pooling_op op, const std::vector<T> &x,
                      const tl_pooling_params &params) {
  const Session session(schedule);
  const Buffer input(session, x);
  tl_storage *out = nullptr;
  const tl_status status =
      backend().pooling->forward(session.instance(), op, input.operand(), &params, 0, &out);
  INFO(fake_host::error());
  REQUIRE(status == TL_OK);
  return Buffer(session, out, channels, dtype_of<T>, sizeof(T)).template values<T>();
}

template <class T>
std::vector<T> gradient(const std::string &schedule, tl_pooling_op op, const std::vector<T> &x,
                        const std::vector<T> &g, const tl_pooling_params &params) {
  const Session session(schedule);
  const Buffer input(session, x);
  const Buffer given(session, g);
  tl_storage *out = nullptr;
  const tl_status status = backend().pooling->backward(session.instance(), op, input.operand(),
                                                       given.operand(), &params, 0, &out);
  INFO(fake_host::error());
  REQUIRE(status == TL_OK);
  return Buffer(session, out, x.size(), dtype_of<T>, sizeof(T)).template values<T>();
}

}  // namespace

// 121 entries are a warp's, 4761 a block's.
TEST_CASE("of entries that tie in a shared window the first wins, of NaN the last") {
  for (const int64_t side : {11, 69}) {
    const auto size = static_cast<uint64_t>(side * side);
    std::vector<float> x(channels * size, -1.0F);
    x[40] = -0.0F;  // the first of the zeros
    x[41] = 0.0F;
    x[size - 1] = 0.0F;
    x[size + 7] = std::numeric_limits<float>::quiet_NaN();
    x[size + 90] = std::numeric_limits<float>::quiet_NaN();
    x[size + 91] = 5.0F;
    for (uint64_t i = 0; i < size; ++i) x[2 * size + i] = -std::numeric_limits<float>::infinity();
    std::vector<float> expected(x.size());
    expected[40] = 2.0F;
    expected[size + 90] = 3.0F;
    expected[2 * size] = 4.0F;
    for (const char *schedule : {"", "1", "2"}) {
      const auto y = pooled(schedule, TL_POOLING_MAX, x, one_window(side));
      CHECK((y[0] == 0 && std::signbit(y[0])));
      CHECK(std::isnan(y[1]));
      CHECK(y[2] == -std::numeric_limits<float>::infinity());
      CHECK(gradient(schedule, TL_POOLING_MAX, x, {2, 3, 4}, one_window(side)) == expected);
    }
  }
}

TEST_CASE("a shared window's average is its sum divided by its volume") {
  for (const int64_t side : {11, 69}) {
    const auto size = static_cast<uint64_t>(side * side);
    std::vector<double> x(channels * size);
    std::vector<double> expected(channels);
    for (uint64_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<double>(i % 17);  // sums are exact
      expected[i / size] += x[i];
    }
    for (double &value : expected) value /= static_cast<double>(size);
    CHECK(pooled("3", TL_POOLING_AVERAGE, x, one_window(side)) == expected);
  }
}

// Of n equal entries: x + log(n) / beta, and g / n to each.
TEST_CASE("a shared window's smooth maximum and its gradient") {
  for (const int64_t side : {11, 69}) {
    const auto size = static_cast<uint64_t>(side * side);
    const auto n = static_cast<double>(size);
    const std::vector<double> x(channels * size, 3.0);
    for (const double beta : {2.0, -0.5}) {
      const auto params = one_window(side, beta);
      for (const double value : pooled("4", TL_POOLING_SMOOTH_MAX, x, params)) {
        CHECK(std::abs(value - (3.0 + std::log(n) / beta)) < 1e-14);
      }
      for (const double share : gradient("5", TL_POOLING_SMOOTH_MAX, x, {n, n, n}, params)) {
        CHECK(std::abs(share - 1.0) < 1e-14);
      }
    }
  }
}
