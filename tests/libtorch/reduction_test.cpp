// Reductions: sums within their bounds or in their prescribed order, maxima and masks exactly.
#include "fake_host.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <utility>

using fake_host::backend;

namespace {

template <class T>
std::vector<T> reduce(const Session &session, tl_reduce_op op, const std::vector<T> &x,
                      uint64_t outer, uint64_t n, uint64_t inner) {
  const Buffer operand(session, x);
  tl_storage *out = nullptr;
  require_ok(
      backend().reduction->reduce(session.get(), op, operand.operand(), outer, n, inner, 0, &out));
  CHECK(same_bits(operand.values<T>(), x));
  return Buffer(session, out, outer * inner, dtype_of<T>, sizeof(T)).template values<T>();
}

template <class T>
std::vector<T> row_mask(const Session &session, tl_row_mask_op op, const std::vector<T> &x,
                        uint64_t rows, uint64_t cols, uint64_t k = 0) {
  const Buffer operand(session, x);
  tl_storage *out = nullptr;
  require_ok(
      backend().reduction->row_mask(session.get(), op, operand.operand(), rows, cols, k, 0, &out));
  return Buffer(session, out, x.size(), dtype_of<T>, sizeof(T)).template values<T>();
}

template <class T>
std::vector<T> sum_to_shape(const Session &session, const std::vector<T> &x,
                            const std::vector<std::pair<uint64_t, uint64_t>> &axes,
                            uint64_t out_count) {
  tl_broadcast_params params{};
  params.struct_size = sizeof params;
  params.rank = static_cast<uint32_t>(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    params.dims[i] = axes[i].first;
    params.strides[i] = axes[i].second;
  }
  const Buffer operand(session, x);
  tl_storage *out = nullptr;
  require_ok(backend().reduction->sum_to_shape(session.get(), operand.operand(), &params, out_count,
                                               0, &out));
  return Buffer(session, out, out_count, dtype_of<T>, sizeof(T)).template values<T>();
}

// The bound of section 4 for n terms whose magnitudes add up to `magnitude`.
template <class T>
long double sum_bound(uint64_t n, long double magnitude) {
  if (n < 2) return 0;
  const long double logarithm = 8 * std::max(1.0L, std::log2(static_cast<long double>(n)));
  return std::min(static_cast<long double>(n - 1), logarithm) * std::numeric_limits<T>::epsilon() *
         magnitude;
}

template <class T>
std::vector<T> hard_to_sum(size_t n, int kind) {
  if (kind == 0) return std::vector<T>(n, T(0.1));
  auto x = uniform_values<T>(n, 5, -1, 1);
  if (kind == 1)
    for (size_t i = 0; i < n; ++i) x[i] = i % 3 == 0 ? x[i] * T(1e6) : x[i];
  return x;
}

template <class T>
void check_sums(const Session &session) {
  for (const uint64_t n : {1, 2, 3, 7, 127, 128, 129, 1000, 65'537, 1'000'003})
    for (const int kind : {0, 1, 2}) {
      const auto x = hard_to_sum<T>(n, kind);
      long double sum = 0, magnitude = 0;
      for (const T v : x) {
        sum += v;
        magnitude += std::fabs(v);
      }
      const T total = reduce(session, TL_REDUCE_TOTAL_SUM, x, 1, n, 1)[0];
      CHECK(std::fabs(total - sum) <= sum_bound<T>(n, magnitude));
      const T mean = reduce(session, TL_REDUCE_TOTAL_MEAN, x, 1, n, 1)[0];
      CHECK(mean == total * (1 / static_cast<T>(n)));
    }
  for (const auto &[outer, n, inner] : {std::array<uint64_t, 3>{1, 200'000, 3},
                                        {3, 10'007, 1},
                                        {2, 5'000, 65},
                                        {1000, 1, 7},
                                        {70'001, 2, 1},
                                        {1, 3, 70'000},
                                        {1, 100'000, 1}}) {
    const auto x = hard_to_sum<T>(outer * n * inner, 0);
    const auto y = reduce(session, TL_REDUCE_SUM, x, outer, n, inner);
    size_t wrong = 0;
    for (const T sum : y) {
      const long double exact = static_cast<long double>(T(0.1)) * n;
      wrong += std::fabs(sum - exact) > sum_bound<T>(n, exact);
    }
    CHECK(wrong == 0);
  }
}

// ---- Deterministic orders, written as the specification has them --------------------------------

template <class T>
T total_in_order(std::vector<T> x) {
  do {
    const size_t blocks = std::min<size_t>((x.size() + 255) / 256, 65535);
    const size_t lanes = blocks * 256;
    std::vector<T> lane(lanes, T(0));
    for (size_t l = 0; l < lanes; ++l)
      for (size_t i = l; i < x.size(); i += lanes) lane[l] = lane[l] + x[i];
    std::vector<T> results;
    for (size_t block = 0; block < blocks; ++block) {
      T *const lanes_of_block = lane.data() + block * 256;
      for (size_t w = 128; w >= 1; w /= 2)
        for (size_t i = 0; i < w; ++i)
          lanes_of_block[i] = lanes_of_block[i] + lanes_of_block[i + w];
      results.push_back(lanes_of_block[0]);
    }
    x = results;
  } while (x.size() > 1);
  return x[0];
}

template <class T>
void check_orders(uint32_t threads) {
  const Session session(true, threads);
  for (const uint64_t n : {1, 2, 255, 256, 257, 65'537, 1'000'003, 17'000'000}) {
    if (n > 2'000'000 && sizeof(T) == 8) continue;
    const auto x = hard_to_sum<T>(n, 1);
    const T expected = total_in_order(x);
    CHECK(same(reduce(session, TL_REDUCE_TOTAL_SUM, x, 1, n, 1)[0], expected));
    CHECK(same(reduce(session, TL_REDUCE_TOTAL_MEAN, x, 1, n, 1)[0],
               expected * (T(1) / static_cast<T>(n))));
  }
  CHECK(same(reduce(session, TL_REDUCE_TOTAL_SUM, std::vector<T>{T(-0.0)}, 1, 1, 1)[0], T(0)));
  for (const auto &[outer, n, inner] :
       {std::array<uint64_t, 3>{3, 1001, 1}, {2, 57, 3001}, {1, 5, 4}, {40'000, 3, 1}, {5, 1, 9}}) {
    const auto x = hard_to_sum<T>(outer * n * inner, 1);
    const auto y = reduce(session, TL_REDUCE_SUM, x, outer, n, inner);
    size_t wrong = 0;
    for (size_t o = 0; o < outer; ++o)
      for (size_t i = 0; i < inner; ++i) {
        T sum = 0;
        for (size_t k = 0; k < n; ++k) sum = sum + x[(o * n + k) * inner + i];
        wrong += !same(y[o * inner + i], sum);
      }
    CHECK(wrong == 0);
  }
}

// Every element in row-major order to the sum that it belongs to.
template <class T, class Sum>
std::vector<Sum> scattered(const std::vector<T> &x,
                           const std::vector<std::pair<uint64_t, uint64_t>> &axes,
                           uint64_t out_count, bool magnitudes = false) {
  std::vector<Sum> sums(out_count, Sum(0));
  for (size_t i = 0; i < x.size(); ++i) {
    size_t rest = i, target = 0;
    for (size_t axis = axes.size(); axis-- > 0;) {
      target += rest % axes[axis].first * axes[axis].second;
      rest /= axes[axis].first;
    }
    sums[target] = sums[target] + (magnitudes ? std::fabs(Sum(x[i])) : Sum(x[i]));
  }
  return sums;
}

template <class T>
void check_sum_to_shape() {
  using Axes = std::vector<std::pair<uint64_t, uint64_t>>;
  const std::vector<std::pair<Axes, uint64_t>> cases = {
      {{{7, 0}}, 1},
      {{{7, 1}}, 7},
      {{}, 1},
      {{{4, 0}, {5, 1}}, 5},
      {{{4, 1}, {5, 0}}, 4},
      {{{3, 5}, {4, 0}, {5, 1}}, 15},
      {{{3, 1}, {4, 0}, {5, 3}}, 15},
      {{{5, 1}, {4, 5}}, 20},
      {{{2, 0}, {3, 4}, {2, 0}, {4, 1}, {3, 0}}, 12},
      {{{2, 1}, {3, 8}, {1, 0}, {4, 2}, {3, 0}, {1, 1}}, 24},
      {{{300, 0}, {17, 1}, {200, 0}}, 17},
      {{{2, 0}, {2, 1}, {2, 0}, {2, 2}, {2, 0}, {2, 4}, {2, 0}, {2, 8}, {2, 0}, {2, 16}}, 32},
  };
  for (const auto &[axes, out_count] : cases) {
    size_t count = 1;
    for (const auto &axis : axes) count *= axis.first;
    const auto x = hard_to_sum<T>(count, 1);
    const Session ordered(true);
    CHECK(
        same_bits(sum_to_shape(ordered, x, axes, out_count), scattered<T, T>(x, axes, out_count)));
    const Session free(false);
    const auto y = sum_to_shape(free, x, axes, out_count);
    const auto exact = scattered<T, long double>(x, axes, out_count);
    const auto magnitude = scattered<T, long double>(x, axes, out_count, true);
    size_t wrong = 0;
    for (size_t i = 0; i < out_count; ++i)
      wrong += std::fabs(y[i] - exact[i]) > sum_bound<T>(count / out_count, magnitude[i]);
    CHECK(wrong == 0);
  }
  const Session session;
  CHECK(same_bits(sum_to_shape(session, std::vector<T>{}, {{0, 0}, {3, 1}}, 3), std::vector<T>(3)));
  // Long axes on both sides of a kept one.
  const std::vector<T> x(2'000 * 2 * 500, T(0.1));
  const auto y = sum_to_shape(session, x, {{2'000, 0}, {2, 1}, {500, 0}}, 2);
  const long double exact = static_cast<long double>(T(0.1)) * 1'000'000;
  CHECK(std::fabs(y[0] - exact) <= sum_bound<T>(1'000'000, exact));
}

// ---- Maxima and masks ---------------------------------------------------------------------------

// Few different values, so that ties, NaN and infinities meet in every row.
template <class T>
std::vector<T> ties(size_t n, uint64_t seed) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T choices[] = {T(1), T(-1), T(0), T(-0.0), nan, -inf, T(2), T(2), inf};
  std::mt19937_64 random(seed);
  std::vector<T> x(n);
  for (size_t i = 0; i < n; ++i) {
    const size_t kinds = 1 + (i / 64) % 9;  // some stretches without NaN, some of few values
    x[i] = choices[random() % kinds];
  }
  return x;
}

template <class T>
void check_max(const Session &session) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (const auto &[outer, n, inner] :
       {std::array<uint64_t, 3>{5, 200, 1}, {1, 13, 40}, {70'000, 3, 1}, {2, 1, 3}, {1, 9, 2500}}) {
    const auto x = ties<T>(outer * n * inner, n);
    const auto y = reduce(session, TL_REDUCE_MAX, x, outer, n, inner);
    size_t wrong = 0;
    for (size_t o = 0; o < outer; ++o)
      for (size_t i = 0; i < inner; ++i) {
        T highest = -inf;
        for (size_t k = 0; k < n; ++k) {
          const T v = x[(o * n + k) * inner + i];
          if (!std::isnan(v) && v >= highest) highest = v;
        }
        const T got = y[o * inner + i];
        wrong += !(same(got, highest) || (got == 0 && highest == 0));
      }
    CHECK(wrong == 0);
  }
  CHECK(reduce(session, TL_REDUCE_MAX, std::vector<T>{nan, nan}, 1, 2, 1)[0] == -inf);
  CHECK(same_bits(reduce(session, TL_REDUCE_MAX, std::vector<T>{}, 1, 0, 3), std::vector<T>(3)));
  CHECK(same_bits(reduce(session, TL_REDUCE_SUM, std::vector<T>{}, 3, 0, 1), std::vector<T>(3)));
  CHECK(same(reduce(session, TL_REDUCE_TOTAL_SUM, std::vector<T>{}, 1, 0, 1)[0], T(0)));
  CHECK(std::isnan(reduce(session, TL_REDUCE_TOTAL_MEAN, std::vector<T>{}, 1, 0, 1)[0]));
}

template <class T>
void check_masks(const Session &session) {
  for (const auto &[rows, cols] : {std::pair<size_t, size_t>{40, 64}, {700, 5}, {9, 1}, {3, 300}}) {
    const auto x = ties<T>(rows * cols, cols);
    const auto first = row_mask(session, TL_ROW_MASK_FIRST_MAX, x, rows, cols);
    size_t wrong = 0;
    for (size_t row = 0; row < rows; ++row) {
      size_t winner = cols;
      for (size_t i = 0; i < cols; ++i) {
        const T v = x[row * cols + i];
        if (!std::isnan(v) && (winner == cols || v > x[row * cols + winner])) winner = i;
      }
      for (size_t i = 0; i < cols; ++i)
        wrong += !same(first[row * cols + i], i == winner ? T(1) : T(0));
    }
    CHECK(wrong == 0);
    for (const uint64_t k : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{cols / 2},
                             uint64_t{cols}, uint64_t{UINT32_MAX}}) {
      const auto best = row_mask(session, TL_ROW_MASK_TOP_K, x, rows, cols, k);
      size_t wrong_best = 0;
      for (size_t row = 0; row < rows; ++row)
        for (size_t i = 0; i < cols; ++i) {
          const T mine = x[row * cols + i];
          uint64_t beaten_by = 0;
          for (size_t j = 0; j < cols; ++j) {
            const T other = x[row * cols + j];
            beaten_by += other > mine || (!(mine > other) && j < i);
          }
          wrong_best += !same(best[row * cols + i], beaten_by < k ? T(1) : T(0));
        }
      CHECK(wrong_best == 0);
    }
  }
}

}  // namespace

TEST_CASE("sums and means stay within their bounds") {
  const Session session;
  check_sums<float>(session);
  check_sums<double>(session);
}

TEST_CASE("deterministic sums follow the specified order at any thread count") {
  for (const uint32_t threads : {1u, 2u, 3u}) {
    check_orders<float>(threads);
    check_orders<double>(threads);
  }
}

TEST_CASE("sums to a shape follow strides, in order or within the bound") {
  check_sum_to_shape<float>();
  check_sum_to_shape<double>();
}

TEST_CASE("maxima and masks follow the rules for NaN and ties") {
  for (const bool deterministic : {false, true}) {
    const Session session(deterministic);
    check_max<float>(session);
    check_max<double>(session);
    check_masks<float>(session);
    check_masks<double>(session);
  }
}

TEST_CASE("reductions whose shape does not fit are refused") {
  const Session session;
  const Buffer x(session, std::vector<float>{1, 2, 3});
  tl_storage *out = nullptr;
  const auto &table = *backend().reduction;
  CHECK(table.reduce(session.get(), TL_REDUCE_SUM, x.operand(), 2, 2, 1, 0, &out) ==
        TL_INVALID_ARGUMENT);
  CHECK(table.reduce(session.get(), TL_REDUCE_TOTAL_SUM, x.operand(), 3, 1, 1, 0, &out) ==
        TL_INVALID_ARGUMENT);
  CHECK(table.reduce(session.get(), TL_REDUCE_SUM, x.operand(), UINT64_MAX, 3, 1, 0, &out) ==
        TL_INVALID_ARGUMENT);
  CHECK(table.reduce(session.get(), 77, x.operand(), 1, 3, 1, 0, &out) == TL_UNSUPPORTED);
  CHECK(table.row_mask(session.get(), 77, x.operand(), 1, 3, 1, 0, &out) == TL_UNSUPPORTED);
  tl_broadcast_params params{};
  params.struct_size = sizeof params;
  params.rank = 1;
  params.dims[0] = 3;
  params.strides[0] = 2;  // would reach element 4 of 3
  CHECK(table.sum_to_shape(session.get(), x.operand(), &params, 3, 0, &out) == TL_INVALID_ARGUMENT);
  params.rank = TL_MAX_RANK + 1;
  CHECK(table.sum_to_shape(session.get(), x.operand(), &params, 3, 0, &out) != TL_OK);
  CHECK(out == nullptr);
}
