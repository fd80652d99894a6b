// Pools against their definitions over the list of each window's entries.
#include "fixture.hpp"
#include "support/number.hpp"
#include "support/window_shapes.hpp"

using namespace torchlean::test;

namespace {

struct Pool : PoolShape {
  template <class T>
  std::vector<T> forward(Backend &backend, const std::vector<T> &input) const {
    const Buffer<T> x(backend, input);
    return result<T>(backend, output_count(), [&](tl_storage **out) {
      return backend.table->pooling->forward(backend.instance, op, x.operand(), &params, 0, out);
    });
  }

  template <class T>
  std::vector<T> backward(Backend &backend, const std::vector<T> &input,
                          const std::vector<T> &gradient) const {
    const Buffer<T> x(backend, input), g(backend, gradient);
    return result<T>(backend, input_count(), [&](tl_storage **out) {
      return backend.table->pooling->backward(backend.instance, op,
                                              op == TL_POOLING_AVERAGE ? nullptr : x.operand(),
                                              g.operand(), &params, 0, out);
    });
  }

  template <class T>
  tl_status status(Backend &backend) const {
    const Buffer<T> x(backend, std::vector<T>(input_count()));
    tl_storage *out = nullptr;
    const tl_status status =
        backend.table->pooling->forward(backend.instance, op, x.operand(), &params, 0, &out);
    if (out != nullptr) backend.table->memory->release(backend.instance, out);
    return status;
  }
};

Pool random_pool(std::mt19937_64 &random, tl_pooling_op op) {
  Pool pool;
  pool.op = op;
  pool.params.channels = pick(random, 0, 3);
  for (auto axis = static_cast<size_t>(pick(random, 0, 2)); axis < 3; ++axis) {
    const int64_t kernel = pick(random, 1, 5);
    pool.set_axis(axis, pick(random, 0, 7), kernel, pick(random, 1, 3),
                  pick(random, 0, kernel / 2 + (pick(random, 0, 9) == 0)));
  }
  return pool;
}

const auto pool_row = [](auto... arguments) { return row_of_one_channel<Pool>(arguments...); };

// A smooth maximum from its definition, without a pivot.
template <class T>
struct ExactSmoothMaximum {
  T beta;
  T pivot;
  Number sum = 0;
  int64_t n = 0;

  void add(T x) {
    sum += exp(Number(beta) * x);
    if (beta * x > beta * pivot) pivot = x;
    ++n;
  }
  Number weight(T x) const { return exp(Number(beta) * x) / sum; }
  Number value() const { return log(sum) / beta; }
  // eps (2 |x*| + (8 + 2 log2 N) (1 + ln N) / |beta|)
  Number bound() const {
    return Number(std::numeric_limits<T>::epsilon()) *
           (Number(2) * abs(Number(pivot)) +
            (Number(8) + 2 * std::log2(n)) * (Number(1) + log(n)) / abs(Number(beta)));
  }
};

}  // namespace

TEST_CASE_TEMPLATE("maxima of every rank follow the rules for ties, NaN and padding", T, float,
                   double) {
  Backend backend;
  std::mt19937_64 random(110);
  for (int i = 0; i < samples(300); ++i) {
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
    const auto got = pool.forward(backend, x);
    for (size_t k = 0; k < y.size(); ++k) REQUIRE(same(got[k], y[k]));
    REQUIRE(pool.backward(backend, x, g) == d_x);
  }
}

TEST_CASE_TEMPLATE("averages of every rank divide by the whole window", T, float, double) {
  Backend backend;
  std::mt19937_64 random(111);
  for (int i = 0; i < samples(300); ++i) {
    const Pool pool = random_pool(random, TL_POOLING_AVERAGE);
    const auto x = small_integers<T>(random, pool.input_count());
    const auto g = small_integers<T>(random, pool.output_count());
    const auto divisor = static_cast<T>(volume(pool.params.kernel));

    std::vector<T> y, d_x(x.size());
    for (const auto &entries : pool.entries()) {
      T sum = 0;
      for (const uint64_t k : entries) {
        sum += x[k];
        d_x[k] += g[y.size()];
      }
      y.push_back(sum / divisor);
    }
    for (T &value : d_x) value /= divisor;
    REQUIRE(pool.forward(backend, x) == y);
    REQUIRE(pool.backward(backend, x, g) == d_x);
  }
}

TEST_CASE_TEMPLATE("smooth maxima of every rank and their gradients keep far below their bounds", T,
                   float, double) {
  Backend backend;
  std::mt19937_64 random(112);
  std::normal_distribution<double> normal;
  constexpr double eps = std::numeric_limits<T>::epsilon();
  for (int i = 0; i < samples(60); ++i)
    for (const double beta : {1.0, -1.0, 0.01, 7.3, -12.0}) {
      Pool pool = random_pool(random, TL_POOLING_SMOOTH_MAX);
      pool.params.beta = beta;
      std::vector<T> x(pool.input_count()), g(pool.output_count());
      for (T &value : x) value = static_cast<T>((i % 3 == 0 ? 0.1 : 3) * normal(random));
      for (T &value : g) value = static_cast<T>(normal(random));

      const auto y = pool.forward(backend, x);
      const auto d_x = pool.backward(backend, x, g);
      const auto windows = pool.entries();
      std::vector<Number> gradients(x.size(), 0), magnitudes(x.size(), 0);
      for (size_t w = 0; w < windows.size(); ++w) {
        const uint64_t padding = volume(pool.params.kernel) - windows[w].size();
        ExactSmoothMaximum<T> maximum{static_cast<T>(beta),
                                      padding > 0 ? T(0) : x[windows[w].front()]};
        for (uint64_t k = 0; k < padding; ++k) maximum.add(0);
        for (const uint64_t k : windows[w]) maximum.add(x[k]);
        const Number value = maximum.value(), error = abs(Number(y[w]) - value);
        REQUIRE(error <= maximum.bound());
        REQUIRE(error <= Number(0.501) * ulp<T>(value) + maximum.bound() / 512);
        for (const uint64_t k : windows[w]) {
          gradients[k] += maximum.weight(x[k]) * g[w];
          magnitudes[k] += abs(maximum.weight(x[k]) * g[w]);
        }
      }
      // A weight of relative error eps / 2 is far below its bound of 4 eps.
      for (size_t k = 0; k < x.size(); ++k)
        REQUIRE(abs(Number(d_x[k]) - gradients[k]) <=
                Number(0.501) * ulp<T>(gradients[k]) + Number(0.51 * eps) * magnitudes[k]);
    }
}

TEST_CASE("overlapping windows add their gradients exactly") {
  Backend backend;
  CHECK(pool_row(TL_POOLING_MAX, 5, 3, 1, 0)
            .backward<float>(backend, {1, 2, 9, 2, 1}, {1e30f, 1, -1e30f}) ==
        std::vector<float>{0, 0, 1, 0, 0});
  CHECK(pool_row(TL_POOLING_AVERAGE, 5, 3, 1, 0)
            .backward<float>(backend, {}, {3e30f, 3, -3e30f})[2] == 1);
  CHECK(pool_row(TL_POOLING_SMOOTH_MAX, 5, 3, 1, 0, -0.5)
            .backward<double>(backend, {0, 0, 0, 0, 0}, {3e30, 3, -3e30})[2] == 1);
}

TEST_CASE("smooth maxima far from zero neither overflow nor lose their pivot") {
  Backend backend;
  const auto smooth = [&](double beta, const std::vector<float> &x) {
    return pool_row(TL_POOLING_SMOOTH_MAX, static_cast<int64_t>(x.size()),
                    static_cast<int64_t>(x.size()), 1, 0, beta)
        .forward(backend, x)[0];
  };
  CHECK(smooth(1, {1e30f, 1, 2}) == 1e30f);
  CHECK(smooth(-1, {-1e30f, 1, 2}) == -1e30f);
  CHECK(smooth(1, {3e38f, -3e38f}) == 3e38f);
  CHECK(smooth(1e30, {2, 1}) == 2);
  CHECK(smooth(1, {1000, 1000}) == 1000 + static_cast<float>(std::log(2.0)));
  CHECK(smooth(1e-30, {1, 1}) == static_cast<float>(std::log(2.0) / 1e-30f));
}

TEST_CASE("smooth maxima of nonfinite entries are what the formula tends to") {
  Backend backend;
  const auto smooth = [&](double beta, const std::vector<float> &x) {
    return pool_row(TL_POOLING_SMOOTH_MAX, 3, 3, 1, 0, beta).forward(backend, x)[0];
  };
  CHECK(std::isnan(smooth(1, {1, quiet_nan<float>, infinity<float>})));
  CHECK(smooth(1, {1, infinity<float>, infinity<float>}) == infinity<float>);
  CHECK(smooth(1, {-infinity<float>, 5, -infinity<float>}) == 5);
  CHECK(smooth(1, {-infinity<float>, -infinity<float>, -infinity<float>}) == -infinity<float>);
  CHECK(smooth(-1, {1, -infinity<float>, infinity<float>}) == -infinity<float>);
  const auto d_x = pool_row(TL_POOLING_SMOOTH_MAX, 4, 2, 2, 0, 1)
                       .backward<float>(backend, {-infinity<float>, 5, 3, 3}, {7, 8});
  CHECK(d_x == std::vector<float>{0, 7, 4, 4});
}

TEST_CASE("windows far larger than the input cost no more than the input") {
  Backend backend;
  constexpr int64_t extent = 4294967294;  // 2^32 - 2
  const auto huge = [&](tl_pooling_op op) {
    Pool pool = pool_row(op, 1, extent, 1, extent / 2, 1);
    pool.set_axis(1, 1, extent, 1, extent / 2);
    return pool.forward<float>(backend, {5});
  };
  constexpr auto taps = static_cast<double>(extent);
  CHECK(huge(TL_POOLING_MAX) == std::vector<float>(4, 5));
  CHECK(huge(TL_POOLING_AVERAGE) == std::vector<float>(4, static_cast<float>(5 / taps / taps)));
  CHECK(huge(TL_POOLING_SMOOTH_MAX) ==
        std::vector<float>(4, static_cast<float>(2 * std::log(taps))));
}

TEST_CASE("T6: a pool's sizes that contradict each other, and useless betas, are refused") {
  Backend backend;
  const auto refused = [&](const char *text, auto spoil) {
    for (const tl_pooling_op op : {TL_POOLING_MAX, TL_POOLING_AVERAGE, TL_POOLING_SMOOTH_MAX}) {
      Pool pool = pool_row(op, 4, 2, 1, 0, 1);
      spoil(pool.params);
      CHECK(pool.status<float>(backend) == TL_INVALID_ARGUMENT);
      CHECK(error_text.find(text) != std::string::npos);
    }
  };
  refused("params.out[2] is 4", [](auto &p) { p.out[2] = 4; });
  refused("params.out[2] is 5", [](auto &p) { p.out[2] = 5, p.padding[2] = 2; });
  refused("params.kernel[0] is 0", [](auto &p) { p.kernel[0] = 0; });
  refused("params.stride[0] is 0", [](auto &p) { p.stride[0] = 0; });
  refused("params.padding[0] is -1", [](auto &p) { p.padding[0] = -1; });
  refused("params.in[0] is -1", [](auto &p) { p.in[0] = -1, p.in[1] = 0; });
  refused("64 bits", [](auto &p) { p.padding[2] = std::numeric_limits<int64_t>::max(); });

  for (const double beta : {0.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 1e-300}) {
    const Pool pool = pool_row(TL_POOLING_SMOOTH_MAX, 4, 2, 1, 0, beta);
    CHECK(pool.status<float>(backend) == TL_INVALID_ARGUMENT);
    CHECK(error_text.find("params.beta is") != std::string::npos);
    CHECK(pool.status<double>(backend) == (beta == 1e-300 ? TL_OK : TL_INVALID_ARGUMENT));
  }
}

TEST_CASE("T6: operands that do not fit a pool's sizes are refused by name") {
  Backend backend;
  const Buffer<float> three(backend, {1, 2, 3}), four(backend, {1, 2, 3, 4});
  const Pool pool = pool_row(TL_POOLING_MAX, 4, 2, 1, 0);
  const tl_pooling_table &table = *backend.table->pooling;
  tl_storage *out = nullptr;
  const auto refused = [&](const char *text, tl_status status) {
    CHECK(status == TL_INVALID_ARGUMENT);
    CHECK(error_text.find(text) != std::string::npos);
    CHECK(out == nullptr);
  };
  const auto backward = [&](const tl_operand *x, const tl_operand *g) {
    return table.backward(backend.instance, pool.op, x, g, &pool.params, 0, &out);
  };
  refused("input.count is 3, expected 4",
          table.forward(backend.instance, pool.op, three.operand(), &pool.params, 0, &out));
  refused("gradient.count is 4, expected 3", backward(four.operand(), four.operand()));
  refused("input.count is 3, expected 4", backward(three.operand(), three.operand()));
  refused("input is NULL", backward(nullptr, three.operand()));
}
