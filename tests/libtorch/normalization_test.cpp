// Softmax and layer norm where ATen's sums and statistics are not good enough, and beside
// infinities and NaN. Expected values are the formulas in long double.
#include "../support/oracle.hpp"
#include "operations.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using torchlean::test::infinity;
using torchlean::test::quiet_nan;

namespace {

template <class T>
constexpr long double eps = std::numeric_limits<T>::epsilon();

template <class T>
bool all_same(const Values<T> &a, const Values<T> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same<T>);
}

// How many of the weights of one line leave the bound of section 7.
template <class T>
size_t wrong_weights(const Values<T> &x, const Values<T> &y) {
  const long double max = *std::max_element(x.begin(), x.end());
  long double sum = 0;
  for (const T v : x) sum += std::exp(v - max);
  size_t wrong = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const long double exact = std::exp(x[i] - max) / sum;
    const long double relative =
        (4 + (max - x[i]) + 2 * std::log2(static_cast<long double>(x.size()))) * eps<T>;
    // Two smallest subnormals for the result, four for a weight below the normal range.
    const long double slack = 6 * std::numeric_limits<T>::denorm_min();
    wrong += !(std::fabs(y[i] - exact) <= relative * exact + slack);
  }
  return wrong;
}

template <class T>
void check_softmax(const Values<T> &x, uint64_t outer, uint64_t n, uint64_t inner) {
  const auto y = Operations<T>::softmax({}, x, outer, n, inner);
  size_t wrong = 0;
  for (uint64_t o = 0; o < outer; ++o)
    for (uint64_t i = 0; i < inner; ++i) {
      Values<T> line, weights;
      for (uint64_t k = 0; k < n; ++k) {
        line.push_back(x[(o * n + k) * inner + i]);
        weights.push_back(y[(o * n + k) * inner + i]);
      }
      wrong += wrong_weights(line, weights);
    }
  CHECK(wrong == 0);
}

// The bound on a sum of section 4.
template <class T>
long double sum_bound(uint64_t n, long double magnitude) {
  return std::min(static_cast<long double>(n - 1),
                  8 * std::max(1.0L, std::log2(static_cast<long double>(n)))) *
         eps<T> * magnitude;
}

}  // namespace

TEST_CASE_TEMPLATE("softmax keeps its bound in long lines, whose float32 sum would drift", T, float,
                   double) {
  Values<T> x(100'000, T(-0.3));
  x[7] = 0;
  check_softmax<T>(x, 1, x.size(), 1);
  check_softmax<T>(x, 1, x.size() / 2, 2);
}

TEST_CASE_TEMPLATE("softmax runs along the middle axis of any shape", T, float, double) {
  for (const auto &[outer, n, inner] :
       {std::array<uint64_t, 3>{5, 33, 1}, {3, 7, 600}, {2, 65, 3}, {300, 1, 2}, {1, 17, 1}})
    check_softmax<T>(uniform_values<T>(outer * n * inner, n, T(-20), T(20)), outer, n, inner);
}

TEST_CASE_TEMPLATE("softmax has subnormal weights, and none below them", T, float, double) {
  const T deepest = sizeof(T) == 4 ? T(-103) : T(-745);
  Values<T> x = {0, -1, T(-1e30), -std::numeric_limits<T>::max()};
  for (int i = 0; i < 60; ++i) x.push_back(deepest + T(i) / 2);
  const auto y = Operations<T>::softmax({}, x, 1, x.size(), 1);
  CHECK(wrong_weights(x, y) == 0);
  CHECK(same(y[2], T(0)));
  CHECK(same(y[3], T(0)));
  CHECK(y[4] > 0);
  CHECK(y[4] < std::numeric_limits<T>::min());
}

TEST_CASE_TEMPLATE("-Inf beside a finite maximum is absent from softmax, all else nonfinite is NaN",
                   T, float, double) {
  for (const uint64_t inner : {1, 2}) {
    const auto line = [&](const Values<T> &x) {
      Values<T> spread;
      for (const T v : x) spread.insert(spread.end(), inner, v);
      return Operations<T>::softmax({}, spread, 1, x.size(), inner);
    };
    CHECK(line({-infinity<T>, 2, 2})[0] == 0);
    CHECK(line({-infinity<T>, 2, 2})[inner] == T(0.5));
    for (const T wrong : {infinity<T>, quiet_nan<T>})
      for (const T v : line({1, wrong, 2})) CHECK(std::isnan(v));
    for (const T v : line({-infinity<T>, -infinity<T>})) CHECK(std::isnan(v));
  }
}

TEST_CASE_TEMPLATE("masked softmax sees allowed entries only", T, float, double) {
  const T nan = quiet_nan<T>, inf = infinity<T>;
  const Values<T> scores = {nan, 1, 5, 1, inf};
  const auto masked = [&](const Values<T> &mask) {
    return Operations<T>::masked_softmax({}, scores, mask, 5);
  };
  CHECK(all_same(masked({0, 1, 0, nan, T(-0.0)}), {0, 0.5, 0, 0.5, 0}));
  CHECK(all_same(masked({0, 0, T(-0.0), 0, 0}), Values<T>(5, T(0))));
  CHECK(all_same(masked({0, 1, 0, 0, 1}), {0, nan, 0, 0, nan}));
  CHECK(all_same(masked({1, 1, 0, 0, 0}), {nan, nan, 0, 0, 0}));
  CHECK(all_same(Operations<T>::masked_softmax({}, {-inf, 1, -inf, 2}, {1, 1, 1, 0}, 2),
                 {0, 1, nan, 0}));

  const auto x = uniform_values<T>(500, 3, T(-30), T(30));
  Values<T> mask(x.size()), allowed, weights;
  for (size_t i = 0; i < x.size(); ++i) mask[i] = i % 3 == 0 ? T(0) : T(i);
  const auto y = Operations<T>::masked_softmax({}, x, mask, x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    if (i % 3 == 0) {
      CHECK(same(y[i], T(0)));
    } else {
      allowed.push_back(x[i]);
      weights.push_back(y[i]);
    }
  }
  CHECK(wrong_weights(allowed, weights) == 0);
}

TEST_CASE_TEMPLATE("layer norm keeps its digits beside a common offset", T, float, double) {
  constexpr long double w = 0x1p-52L;
  for (const size_t cols : {3, 40, 1009})
    for (const T offset : {T(0), T(-100), T(1e8)}) {
      auto x = uniform_values<T>(cols, cols, T(-100), T(100));
      for (T &v : x) v += offset;
      const auto gamma = uniform_values<T>(cols, 1, T(-2), T(2));
      const auto beta = uniform_values<T>(cols, 2, T(-2), T(2));
      const double epsilon = 0x1p-17;
      const auto [y, normalized, inv_std] = Operations<T>::layer_norm({}, x, gamma, beta, epsilon);
      const auto count = static_cast<long double>(cols);
      long double mean = 0, variance = 0, magnitude = 0;
      for (const T v : x) mean += v / count;
      for (const T v : x) variance += (v - mean) * (v - mean) / count;
      for (const T v : x) magnitude = std::max(magnitude, std::fabs(static_cast<long double>(v)));
      const long double exact = 1 / std::sqrt(variance + epsilon);
      const long double spread = 8 * count * w * (1 + magnitude * exact);
      CHECK(std::fabs(inv_std[0] - exact) <= exact * (eps<T> + spread));
      size_t wrong = 0;
      for (size_t i = 0; i < cols; ++i) {
        const long double value = (x[i] - mean) * exact;
        wrong += !(std::fabs(normalized[i] - value) <=
                   eps<T> * std::fabs(value) + spread * (1 + std::fabs(value)));
        const T scaled = normalized[i] * gamma[i];
        wrong += !same<T>(y[i], scaled + beta[i]);
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE("layer norm of equal values is the offset, of NaN and infinities NaN") {
  const float third = 1.0f / 3, nan = quiet_nan<float>;
  const auto y = Operations<float>::layer_norm(
      {}, {third, third, third, 1, 1, nan, 1, infinity<float>, 0}, {1, 2, 3}, {4, 5, 6}, 0.25);
  CHECK(all_same(y[0], {4, 5, 6, nan, nan, nan, nan, nan, nan}));
  CHECK(all_same(y[2], {2, nan, nan}));
}

TEST_CASE_TEMPLATE("the gradient of layer norm keeps its bounds in long rows and columns", T, float,
                   double) {
  for (const auto &[rows, cols] :
       {std::pair<size_t, size_t>{60'000, 1}, {1, 60'000}, {5, 13}, {1030, 40}, {2, 1100}}) {
    // One sign, so that roundings of one kind add up.
    const auto d_out = uniform_values<T>(rows * cols, 1, T(0.1), T(0.11));
    const auto normalized = uniform_values<T>(rows * cols, 2, T(0.7), T(0.71));
    const auto inv_std = uniform_values<T>(rows, 3, T(0.5), T(2));
    const auto gamma = uniform_values<T>(cols, 4, T(1), T(1.1));
    const T scale = static_cast<T>(cols), inverse = 1 / scale;
    const auto [dx, d_gamma, d_beta] =
        Operations<T>::layer_norm_bwd({}, d_out, normalized, inv_std, gamma,
                                      static_cast<double>(scale), static_cast<double>(inverse));
    const long double logarithm = std::max(1.0L, std::log2(static_cast<long double>(cols)));
    size_t wrong = 0;
    for (size_t r = 0; r < rows; ++r) {
      long double sum = 0, product = 0, magnitude = 0, product_magnitude = 0;
      const T *const row = &d_out[r * cols];
      const auto dh = [&](size_t c) { return static_cast<long double>(row[c]) * gamma[c]; };
      for (size_t c = 0; c < cols; ++c) {
        sum += dh(c);
        product += dh(c) * normalized[r * cols + c];
        magnitude += std::fabs(dh(c));
        product_magnitude += std::fabs(dh(c) * normalized[r * cols + c]);
      }
      for (size_t c = 0; c < cols; ++c) {
        const long double x = normalized[r * cols + c];
        const long double factor = static_cast<long double>(inv_std[r]) * inverse;
        const long double exact = ((dh(c) * scale - sum) - x * product) * factor;
        const long double bound = (8 + 8 * logarithm) * eps<T> *
                                  (std::fabs(dh(c) * scale) + magnitude + x * product_magnitude) *
                                  factor;
        wrong += !(std::fabs(dx[r * cols + c] - exact) <= bound);
      }
    }
    CHECK(wrong == 0);
    for (size_t c = 0; c < cols; ++c) {
      long double sum = 0, product = 0;
      for (size_t r = 0; r < rows; ++r) {
        sum += d_out[r * cols + c];
        const T term = d_out[r * cols + c] * normalized[r * cols + c];
        product += term;
      }
      wrong += !(std::fabs(d_beta[c] - sum) <= sum_bound<T>(rows, sum));
      wrong += !(std::fabs(d_gamma[c] - product) <= sum_bound<T>(rows, product));
    }
    CHECK(wrong == 0);
  }
}
