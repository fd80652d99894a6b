// Matrix products around the edges of tiles and blocks, and pools with a channel in each lane.
#include "every_target.hpp"

#include <cmath>
#include <limits>
#include <random>

using namespace torchlean::test;

namespace {

template <class T>
std::vector<T> uniform(uint64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> x(count);
  for (T &value : x) value = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
  return x;
}

template <class T>
std::vector<T> multiply(Backend &backend, const tl_bmm_params &shape, const std::vector<T> &a,
                        const std::vector<T> &b) {
  const Buffer<T> x(backend, a);
  const Buffer<T> y(backend, b);
  return result<T>(backend, shape.batch * shape.m * shape.p, [&](tl_storage **out) {
    return backend.table->matmul->bmm(backend.instance, x.operand(), y.operand(), &shape, 0, out);
  });
}

// |error| <= 2 n eps * sum |a||b|, in rows 0, step, 2 step ... everywhere, in others here and
// there.
template <class T>
bool products_are_right(const tl_bmm_params &shape, const std::vector<T> &a,
                        const std::vector<T> &b, const std::vector<T> &c, uint64_t step) {
  const auto [size, batch, m, n, p, transpose_a, transpose_b] = shape;
  for (uint64_t i = 0; i < m; ++i)
    for (uint64_t j = 0; j < p; j += i % step == 0 ? 1 : 137) {
      long double sum = 0;
      long double magnitude = 0;
      for (uint64_t k = 0; k < n; ++k) {
        const long double term = static_cast<long double>(a[transpose_a ? k * m + i : i * n + k]) *
                                 b[transpose_b ? j * n + k : k * p + j];
        sum += term;
        magnitude += std::fabs(term);
      }
      const long double bound =
          2 * static_cast<long double>(n) * std::numeric_limits<T>::epsilon() * magnitude;
      if (!(std::fabs(c[i * p + j] - sum) <= bound)) {
        MESSAGE("row ", i, ", column ", j, ": ", c[i * p + j], " for ", static_cast<double>(sum));
        return false;
      }
    }
  return true;
}

template <class T>
std::vector<T> pool(Backend &backend, tl_pooling_op op, const tl_pooling_params &params,
                    const std::vector<T> &x, const std::vector<T> &g) {
  const Buffer<T> input(backend, x);
  const uint64_t in = params.channels * static_cast<uint64_t>(params.in[1] * params.in[2]);
  const uint64_t out_count = params.channels * static_cast<uint64_t>(params.out[1] * params.out[2]);
  const auto &table = *backend.table->pooling;
  if (g.empty())
    return result<T>(backend, out_count, [&](tl_storage **out) {
      return table.forward(backend.instance, op, input.operand(), &params, 0, out);
    });
  const Buffer<T> gradient(backend, g);
  return result<T>(backend, in, [&](tl_storage **out) {
    return table.backward(backend.instance, op,
                          op == TL_POOLING_AVERAGE ? nullptr : input.operand(), gradient.operand(),
                          &params, 0, out);
  });
}

}  // namespace

TEST_CASE_TEMPLATE("products are right on every edge of tiles and blocks", T, float, double) {
  struct Shape {
    uint64_t m, n, p;
  };
  // Tiles have 4 or 8 rows and up to 48 columns, groups 288 columns, blocks 512 or 256 products.
  // The last is packed as a whole.
  constexpr Shape shapes[] = {
      {1, 1, 1},    {1, 33, 2},    {2, 7, 1},    {3, 64, 5},   {4, 70, 3},     {5, 257, 9},
      {7, 8, 15},   {8, 513, 16},  {9, 31, 17},  {12, 5, 47},  {17, 9, 48},    {16, 3, 49},
      {9, 260, 97}, {10, 12, 241}, {5, 20, 300}, {70, 64, 72}, {205, 261, 413}};
  for (const auto &backend : every_target())
    for (const Shape &sides : shapes)
      for (const uint32_t ways : {0U, 1U, 2U, 3U}) {
        CAPTURE(sides.m);
        CAPTURE(sides.n);
        CAPTURE(sides.p);
        CAPTURE(ways);
        const tl_bmm_params shape = {sizeof shape, 1,        sides.m,  sides.n,
                                     sides.p,      ways & 1, ways >> 1};
        const auto a = uniform<T>(sides.m * sides.n, 1);
        const auto b = uniform<T>(sides.n * sides.p, 2);
        CHECK(products_are_right(shape, a, b, multiply(*backend, shape, a, b),
                                 sides.m > 100 ? 20 : 1));
      }
}

// Each way in which threads share a product: both operands packed together, in one band or three,
// or the right one; each with a copy of its own; nothing packed, by strips of rows; by columns;
// along the depth.
TEST_CASE_TEMPLATE("large and deep products have the same bits on one to four threads", T, float,
                   double) {
  constexpr tl_bmm_params shapes[] = {{sizeof(tl_bmm_params), 1, 409, 400, 413, 0, 1},
                                      {sizeof(tl_bmm_params), 1, 150, 300, 170, 1, 1},
                                      {sizeof(tl_bmm_params), 1, 1100, 70, 330, 1, 1},
                                      {sizeof(tl_bmm_params), 1, 70, 300, 700, 0, 0},
                                      {sizeof(tl_bmm_params), 1, 520, 130, 200, 0, 1},
                                      {sizeof(tl_bmm_params), 1, 517, 60, 275, 1, 1},
                                      {sizeof(tl_bmm_params), 1, 130, 100, 120, 1, 0},
                                      {sizeof(tl_bmm_params), 1, 40, 60, 600, 0, 0},
                                      {sizeof(tl_bmm_params), 1, 5, 33000, 9, 1, 0},
                                      {sizeof(tl_bmm_params), 1, 16, 4096, 16, 0, 0},
                                      {sizeof(tl_bmm_params), 1, 2, 70001, 3, 0, 1},
                                      {sizeof(tl_bmm_params), 1, 1, 90, 5000, 0, 0},
                                      {sizeof(tl_bmm_params), 3, 70, 90, 100, 0, 0}};
  const auto backends = every_target();
  Backend &backend = *backends.back();
  for (const tl_bmm_params &shape : shapes) {
    CAPTURE(shape.n);
    const auto a = uniform<T>(shape.batch * shape.m * shape.n, 3);
    const auto b = uniform<T>(shape.batch * shape.n * shape.p, 4);
    set_threads(backend, 1);
    const auto expected = multiply(backend, shape, a, b);
    CHECK(products_are_right(shape, a, b, expected, shape.m > 100 ? 100 : 1));
    for (const uint32_t threads : {2U, 3U, 4U}) {
      set_threads(backend, threads);
      CHECK(multiply(backend, shape, a, b) == expected);
    }
  }
}

TEST_CASE_TEMPLATE("a matrix has the same bits alone and in a batch", T, float, double) {
  constexpr uint64_t batch = 9;
  tl_bmm_params shape = {sizeof shape, batch, 33, 130, 70, 0, 1};
  const auto a = uniform<T>(batch * shape.m * shape.n, 5);
  const auto b = uniform<T>(batch * shape.n * shape.p, 6);
  for (const auto &backend : every_target()) {
    set_threads(*backend, 3);
    shape.batch = batch;
    const auto all = multiply(*backend, shape, a, b);
    shape.batch = 1;
    const auto part = [](const std::vector<T> &x, uint64_t s, uint64_t size) {
      const auto first = x.begin() + static_cast<std::ptrdiff_t>(s * size);
      return std::vector<T>(first, first + static_cast<std::ptrdiff_t>(size));
    };
    for (const uint64_t s : {uint64_t{0}, batch - 1})
      CHECK(multiply(*backend, shape, part(a, s, shape.m * shape.n),
                     part(b, s, shape.n * shape.p)) == part(all, s, shape.m * shape.p));
  }
}

// 19 channels with lines of three windows are pooled across channels, a single one along its lines.
TEST_CASE_TEMPLATE("channels pooled together are those pooled one by one", T, float, double) {
  constexpr uint64_t channels = 19;
  tl_pooling_params params = {sizeof params, channels,  {1, 5, 6}, {1, 3, 3},
                              {1, 2, 2},     {0, 1, 1}, {1, 3, 3}, 2.0};
  constexpr uint64_t in = 30;
  constexpr uint64_t out = 9;
  auto x = uniform<T>(channels * in, 7);
  x[3] = x[in + 4] = std::numeric_limits<T>::quiet_NaN();
  const auto g = uniform<T>(channels * out, 8);
  for (const auto &backend : every_target())
    for (const tl_pooling_op op : {TL_POOLING_MAX, TL_POOLING_AVERAGE, TL_POOLING_SMOOTH_MAX})
      for (const bool backward : {false, true}) {
        CAPTURE(op);
        CAPTURE(backward);
        params.channels = channels;
        const auto all = pool(*backend, op, params, x, backward ? g : std::vector<T>());
        params.channels = 1;
        const uint64_t size = backward ? in : out;
        bool agree = true;
        for (uint64_t c = 0; c < channels; ++c) {
          const auto *const values = x.data() + c * in;
          const auto *const gradient = g.data() + c * out;
          const auto one =
              pool(*backend, op, params, std::vector<T>(values, values + in),
                   backward ? std::vector<T>(gradient, gradient + out) : std::vector<T>());
          for (uint64_t i = 0; i < size; ++i) {
            const T got = all[c * size + i];
            // A maximum is exact; sums of nine terms below 1 may be added in another order.
            const T allowed = op == TL_POOLING_MAX ? 0 : 64 * std::numeric_limits<T>::epsilon();
            agree = agree &&
                    (std::isnan(one[i]) ? std::isnan(got) : std::fabs(one[i] - got) <= allowed);
          }
        }
        CHECK(agree);
      }
}

// Windows that lie apart, one partly in the padding, and entries that no window has.
TEST_CASE_TEMPLATE("an average's gradient is shared out to the entries of its window", T, float,
                   double) {
  constexpr uint64_t channels = 3;
  const tl_pooling_params params = {sizeof params, channels,  {1, 5, 40}, {1, 2, 17},
                                    {1, 2, 18},    {0, 0, 1}, {1, 2, 2},  0.0};
  const auto g = uniform<T>(channels * 4, 9);
  std::vector<T> expected(channels * 200);
  for (uint64_t c = 0; c < channels; ++c)
    for (uint64_t row = 0; row < 4; ++row)
      for (uint64_t col = 0; col < 34; ++col)
        if (col != 16)
          expected[c * 200 + row * 40 + col] = g[c * 4 + row / 2 * 2 + (col > 16 ? 1 : 0)] / 34;
  for (const auto &backend : every_target())
    CHECK(pool(*backend, TL_POOLING_AVERAGE, params, expected, g) == expected);
}
