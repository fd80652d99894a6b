// Pools against their definitions over the list of each window's entries.
#include "../support/window_shapes.hpp"
#include "fake_host.hpp"

#include <doctest/doctest.h>

#include <string>

using fake_host::backend;
using namespace torchlean::test;

namespace {

struct Pool : PoolShape {
  // A stride between windows that are not there: ATen does not take it.
  bool keep_from_aten() {
    for (size_t axis = 0; axis < 3; ++axis)
      if (params.out[axis] == 1) {
        params.stride[axis] = int64_t{1} << 31;
        return true;
      }
    return false;
  }

  template <class T>
  std::vector<T> forward(const Session &session, const std::vector<T> &input) const {
    const Buffer x(session, input);
    tl_storage *out = nullptr;
    require_ok(backend().pooling->forward(session.get(), op, x.operand(), &params, 0, &out));
    return Buffer(session, out, output_count(), dtype_of<T>, sizeof(T)).template values<T>();
  }

  template <class T>
  std::vector<T> backward(const Session &session, const std::vector<T> &input,
                          const std::vector<T> &gradient) const {
    const Buffer x(session, input), g(session, gradient);
    tl_storage *out = nullptr;
    require_ok(backend().pooling->backward(session.get(), op,
                                           op == TL_POOLING_AVERAGE ? nullptr : x.operand(),
                                           g.operand(), &params, 0, &out));
    return Buffer(session, out, input_count(), dtype_of<T>, sizeof(T)).template values<T>();
  }
};

Pool random_pool(std::mt19937_64 &random, tl_pooling_op op) {
  Pool pool;
  pool.op = op;
  pool.params.channels = static_cast<uint64_t>(pick(random, 1, 3));
  for (auto axis = static_cast<size_t>(pick(random, 0, 2)); axis < 3; ++axis) {
    const int64_t kernel = pick(random, 1, 5);
    pool.set_axis(axis, pick(random, 0, 7), kernel, pick(random, 1, 3),
                  pick(random, 0, kernel / 2 + (pick(random, 0, 9) == 0)));
  }
  if (pick(random, 0, 1) == 0) pool.keep_from_aten();
  return pool;
}

const auto row = [](auto... arguments) { return row_of_one_channel<Pool>(arguments...); };

// A smooth maximum from its definition; entries are so small that it needs no pivot.
template <class T>
struct ExactSmoothMaximum {
  T beta;
  T pivot;
  long double sum = 0;
  int n = 0;

  void add(T x) {
    sum += std::exp(static_cast<long double>(beta) * x);
    if (beta * x > beta * pivot) pivot = x;
    ++n;
  }
  long double weight(T x) const { return std::exp(static_cast<long double>(beta) * x) / sum; }
  long double value() const { return std::log(sum) / beta; }

  // Section 10's, of the value and, relative, of an entry's weight; both in units of eps.
  long double bound() const {
    return 2 * std::fabs(pivot) + (8 + 2 * std::log2(n)) * (1 + std::log(n)) / std::fabs(beta);
  }
  long double weight_bound(T x) const {
    return 4 + std::fabs(static_cast<long double>(beta) * (x - pivot)) + 2 * std::log2(n);
  }
};

// Section 4's for n terms, in units of eps.
long double sum_bound(int n) {
  return n < 2 ? 0 : std::min<long double>(n - 1, 8 * std::max<long double>(1, std::log2(n)));
}

template <class T>
void check_smooth(const Session &session, const Pool &pool, const std::vector<T> &x,
                  const std::vector<T> &g) {
  const auto y = pool.forward(session, x);
  const auto d_x = pool.backward(session, x, g);
  const auto windows = pool.entries();
  const long double eps = std::numeric_limits<T>::epsilon();
  std::vector<long double> sums(x.size()), magnitudes(x.size()), errors(x.size());
  std::vector<int> terms(x.size());
  size_t wrong = 0;
  for (size_t w = 0; w < windows.size(); ++w) {
    const uint64_t padding = volume(pool.params.kernel) - windows[w].size();
    ExactSmoothMaximum<T> maximum{static_cast<T>(pool.params.beta),
                                  padding > 0 ? T(0) : x[windows[w].front()]};
    for (uint64_t k = 0; k < padding; ++k) maximum.add(0);
    for (const uint64_t k : windows[w]) maximum.add(x[k]);
    wrong += !(std::fabs(y[w] - maximum.value()) <= eps * maximum.bound());
    for (const uint64_t k : windows[w]) {
      const long double share = maximum.weight(x[k]) * g[w];
      sums[k] += share;
      magnitudes[k] += std::fabs(share);
      errors[k] += eps * maximum.weight_bound(x[k]) * std::fabs(share);
      ++terms[k];
    }
  }
  for (size_t k = 0; k < x.size(); ++k)
    wrong +=
        !(std::fabs(d_x[k] - sums[k]) <=
          errors[k] + eps * sum_bound(terms[k]) * magnitudes[k] + std::numeric_limits<T>::min());
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE_TEMPLATE("maxima of every rank follow the rules for ties, NaN and padding", T, float,
                   double) {
  const Session session;
  std::mt19937_64 random(130);
  for (int i = 0; i < 300; ++i) {
    const Pool pool = random_pool(random, TL_POOLING_MAX);
    auto x = small_integers<T>(random, pool.input_count());
    const T specials[] = {
        T(0), T(-0.0), T(infinity<float>), T(-infinity<float>), T(quiet_nan<float>), T(2)};
    for (T &value : x)
      if (i % 2 == 1 && pick(random, 0, 1) == 1) value = specials[pick(random, 0, 5)];
    const auto g = small_integers<T>(random, pool.output_count());

    std::vector<T> y, d_x(x.size());
    for (const auto &entries : pool.entries()) {
      d_x[winner(x, entries)] += g[y.size()];
      y.push_back(x[winner(x, entries)]);
    }
    const auto got = pool.forward(session, x);
    REQUIRE(got.size() == y.size());
    for (size_t k = 0; k < y.size(); ++k) REQUIRE(same(got[k], y[k]));
    REQUIRE(pool.backward(session, x, g) == d_x);
  }
}

TEST_CASE_TEMPLATE("averages of every rank divide by the whole window", T, float, double) {
  const Session session;
  std::mt19937_64 random(131);
  for (int i = 0; i < 300; ++i) {
    const Pool pool = random_pool(random, TL_POOLING_AVERAGE);
    const auto x = uniform_values<T>(pool.input_count(), random(), -1, 1);
    const auto g = uniform_values<T>(pool.output_count(), random(), -1, 1);
    const auto window = static_cast<long double>(volume(pool.params.kernel));
    // value +- 2 N eps * magnitude / window, N = the terms of one result
    struct Sum {
      long double value = 0, magnitude = 0;
      int terms = 0;
      void add(T x) { value += x, magnitude += std::fabs(x), ++terms; }
    };
    std::vector<Sum> y(g.size()), d_x(x.size());
    const auto windows = pool.entries();
    for (size_t w = 0; w < windows.size(); ++w)
      for (const uint64_t k : windows[w]) y[w].add(x[k]), d_x[k].add(g[w]);
    const auto check = [&](const std::vector<T> &got, const std::vector<Sum> &sums) {
      REQUIRE(got.size() == sums.size());
      for (size_t k = 0; k < got.size(); ++k)
        REQUIRE(std::fabs(got[k] - sums[k].value / window) <=
                2 * sums[k].terms * std::numeric_limits<T>::epsilon() * sums[k].magnitude / window);
    };
    check(pool.forward(session, x), y);
    check(pool.backward(session, x, g), d_x);
  }
}

TEST_CASE_TEMPLATE("smooth maxima of every rank and their gradients keep their bounds", T, float,
                   double) {
  std::mt19937_64 random(132);
  for (const bool deterministic : {false, true}) {
    const Session session(deterministic);
    for (int i = 0; i < 60; ++i)
      for (const double beta : {1.0, -1.0, 0.01, 7.3, -12.0}) {
        Pool pool = random_pool(random, TL_POOLING_SMOOTH_MAX);
        pool.params.beta = beta;
        check_smooth(session, pool, uniform_values<T>(pool.input_count(), random(), -4, 4),
                     uniform_values<T>(pool.output_count(), random(), -1, 1));
      }
  }
}

// One, many terms that are rounded up to eps when they are added to it, and one again: added from
// either end in the dtype, they would be far off.
TEST_CASE_TEMPLATE("sums over many entries and windows keep their bounds", T, float, double) {
  const Session session;
  constexpr int64_t n = 1000;
  const T small = T(0.6) * std::numeric_limits<T>::epsilon();

  const Pool smooth = row(TL_POOLING_SMOOTH_MAX, n, n, 1, 0, 1);
  std::vector<T> x(n, std::log(small));
  x.front() = x.back() = 0;
  check_smooth(session, smooth, x, {T(1)});

  // All windows have their maximum in the middle.
  const Pool maximum = row(TL_POOLING_MAX, 2 * n - 1, n, 1, 0);
  std::vector<T> peak(2 * n - 1), g(n, small);
  peak[n - 1] = g.front() = g.back() = 1;
  const long double exact = 2 + static_cast<long double>(small) * (n - 2);
  const T sum = maximum.backward(session, peak, g)[n - 1];
  CHECK(std::fabs(sum - exact) <= sum_bound(n) * std::numeric_limits<T>::epsilon() * exact);
}

TEST_CASE("smooth maxima far from zero neither overflow nor lose their pivot") {
  const Session session;
  const auto smooth = [&](double beta, const std::vector<float> &x) {
    return row(TL_POOLING_SMOOTH_MAX, static_cast<int64_t>(x.size()),
               static_cast<int64_t>(x.size()), 1, 0, beta)
        .forward(session, x)[0];
  };
  CHECK(smooth(1, {1e30f, 1, 2}) == 1e30f);
  CHECK(smooth(-1, {-1e30f, 1, 2}) == -1e30f);
  CHECK(smooth(1, {3e38f, -3e38f}) == 3e38f);
  CHECK(smooth(1e30, {2, 1}) == 2);
  CHECK(smooth(1, {-1000, -1000}) == doctest::Approx(-1000 + std::log(2.0)).epsilon(1e-7));
  CHECK(smooth(1e-30, {1, 1}) == doctest::Approx(std::log(2.0) / 1e-30).epsilon(1e-6));
  CHECK(smooth(1, {-infinity<float>, -infinity<float>}) == -infinity<float>);
  CHECK(smooth(1, {1, infinity<float>}) == infinity<float>);
  CHECK(std::isnan(smooth(1, {quiet_nan<float>, 1})));
}

TEST_CASE("axes of padding over half a window or without input are empty") {
  const Session session;
  for (const tl_pooling_op op : {TL_POOLING_MAX, TL_POOLING_AVERAGE, TL_POOLING_SMOOTH_MAX}) {
    const Pool padded = row(op, 4, 3, 1, 2, 1);
    CHECK(padded.forward<float>(session, {1, 2, 3, 4}).empty());
    CHECK(padded.backward<float>(session, {1, 2, 3, 4}, {}) == std::vector<float>(4));
    const Pool none = row(op, 0, 3, 1, 1, 1);
    CHECK(none.forward<float>(session, {}).empty());
    CHECK(none.backward<float>(session, {}, {}).empty());
  }
}

TEST_CASE("windows far larger than the input cost no more than the input") {
  const Session session;
  constexpr int64_t extent = 4294967294;  // 2^32 - 2
  const auto huge = [&](tl_pooling_op op) {
    Pool pool = row(op, 1, extent, 1, extent / 2, 1);
    pool.set_axis(1, 1, extent, 1, extent / 2);
    return pool.forward<float>(session, {5});
  };
  constexpr auto taps = static_cast<double>(extent);
  CHECK(huge(TL_POOLING_MAX) == std::vector<float>(4, 5));
  CHECK(huge(TL_POOLING_AVERAGE) == std::vector<float>(4, static_cast<float>(5 / taps / taps)));
  for (const float value : huge(TL_POOLING_SMOOTH_MAX))
    CHECK(value == doctest::Approx(2 * std::log(taps)).epsilon(1e-6));
}

TEST_CASE_TEMPLATE("deterministic pools have the same bits at any thread count", T, float, double) {
  std::mt19937_64 random(133);
  for (const tl_pooling_op op : {TL_POOLING_MAX, TL_POOLING_AVERAGE, TL_POOLING_SMOOTH_MAX}) {
    Pool pool;
    pool.op = op;
    pool.params.channels = 7;
    pool.params.beta = 1.5;
    pool.set_axis(1, 83, 3, 2, 1);
    pool.set_axis(2, 85, 3, 1, 1);
    const auto x = uniform_values<T>(pool.input_count(), random(), -1, 1);
    const auto g = uniform_values<T>(pool.output_count(), random(), -1, 1);
    const Session alone(true, 1);
    for (const uint32_t threads : {2U, 3U}) {
      const Session session(true, threads);
      CHECK(same_bits(pool.forward(session, x), pool.forward(alone, x)));
      CHECK(same_bits(pool.backward(session, x, g), pool.backward(alone, x, g)));
    }
  }
}

TEST_CASE(
    "T6: a pool's sizes and operands that contradict each other, and useless betas, are refused") {
  const Session session;
  const Buffer four(session, std::vector<float>{1, 2, 3, 4});
  const Buffer three(session, std::vector<float>{1, 2, 3});
  const Buffer wide(session, std::vector<double>{1, 2, 3});
  tl_storage *out = nullptr;
  const auto refused = [&](const std::string &text, auto spoil) {
    for (const tl_pooling_op op : {TL_POOLING_MAX, TL_POOLING_AVERAGE, TL_POOLING_SMOOTH_MAX}) {
      Pool pool = row(op, 4, 2, 1, 0, 1);
      spoil(pool.params);
      CHECK(backend().pooling->forward(session.get(), op, four.operand(), &pool.params, 0, &out) ==
            TL_INVALID_ARGUMENT);
      CHECK(fake_host::error().find(text) != std::string::npos);
    }
  };
  refused("params.out[2] is 4, expected 3", [](auto &p) { p.out[2] = 4; });
  refused("params.out[2] is 5, expected 0", [](auto &p) { p.out[2] = 5, p.padding[2] = 2; });
  refused("params.kernel[0] is 0", [](auto &p) { p.kernel[0] = 0; });
  refused("params.stride[0] is 0", [](auto &p) { p.stride[0] = 0; });
  refused("params.padding[0] is -1", [](auto &p) { p.padding[0] = -1; });
  refused("params.in[0] is -1", [](auto &p) { p.in[0] = -1, p.out[0] = 0; });
  refused("64 bits", [](auto &p) { p.padding[2] = std::numeric_limits<int64_t>::max(); });
  for (const double beta : {0.0, HUGE_VAL, std::nan(""), 1e-300}) {
    const Pool pool = row(TL_POOLING_SMOOTH_MAX, 4, 2, 1, 0, beta);
    CHECK(backend().pooling->forward(session.get(), pool.op, four.operand(), &pool.params, 0,
                                     &out) == TL_INVALID_ARGUMENT);
    CHECK(fake_host::error().find("params.beta is") != std::string::npos);
  }
  const Pool pool = row(TL_POOLING_MAX, 4, 2, 1, 0);
  const auto backward = [&](tl_pooling_op op, const tl_operand *x, const Buffer &g) {
    return backend().pooling->backward(session.get(), op, x, g.operand(), &pool.params, 0, &out);
  };
  CHECK(backward(9, four.operand(), three) == TL_UNSUPPORTED);
  CHECK(backward(pool.op, three.operand(), three) == TL_INVALID_ARGUMENT);
  CHECK(backward(pool.op, four.operand(), four) == TL_INVALID_ARGUMENT);
  CHECK(backward(pool.op, four.operand(), wide) == TL_INVALID_ARGUMENT);
  CHECK(backward(pool.op, nullptr, three) == TL_INVALID_ARGUMENT);
  CHECK(out == nullptr);
}
