// Softmax and layer norm against their formulas in 400 digits.
#include "fixture.hpp"
#include "support/number.hpp"

using namespace torchlean::test;

namespace {

template <class T>
std::vector<T> softmax(const std::vector<T> &x, uint64_t outer, uint64_t n, uint64_t inner) {
  Backend backend;
  const Buffer<T> operand(backend, x);
  return result<T>(backend, x.size(), [&](tl_storage **out) {
    return backend.table->normalization->softmax(backend.instance, operand.operand(), outer, n,
                                                 inner, 0, out);
  });
}

template <class T>
std::vector<T> masked_softmax(const std::vector<T> &scores, const std::vector<T> &mask,
                              uint64_t cols) {
  Backend backend;
  const Buffer<T> x(backend, scores);
  const Buffer<T> allowed(backend, mask);
  return result<T>(backend, scores.size(), [&](tl_storage **out) {
    return backend.table->normalization->masked_softmax(
        backend.instance, x.operand(), allowed.operand(), scores.size() / cols, cols, 0, out);
  });
}

// out, normalized, invStd
template <class T>
std::vector<std::vector<T>> layer_norm(const std::vector<T> &x, const std::vector<T> &gamma,
                                       const std::vector<T> &beta, double epsilon) {
  Backend backend;
  const Buffer<T> operand(backend, x);
  const Buffer<T> factor(backend, gamma);
  const Buffer<T> offset(backend, beta);
  const uint64_t rows = x.size() / gamma.size();
  return results<T>(backend, {x.size(), x.size(), rows}, [&](tl_storage **out) {
    return backend.table->normalization->layer_norm(backend.instance, operand.operand(),
                                                    factor.operand(), offset.operand(), rows,
                                                    gamma.size(), epsilon, 0, out);
  });
}

template <class T>
Number sum_of_exponentials(const std::vector<T> &x) {
  Number sum(0);
  for (const T value : x) sum += exp(Number(value));
  return sum;
}

}  // namespace

TEST_CASE_TEMPLATE("softmax is exp(x) over the sum of all, but for the last rounding", T, float,
                   double) {
  for (const size_t n : {1, 2, 3, 31, 257, 1009})
    for (const double spread : {0.01, 1.0, 10.0}) {
      const auto x = normal_values<T>(n, 3, spread);
      const auto y = softmax(x, 1, n, 1);
      const Number sum = sum_of_exponentials(x);
      for (size_t i = 0; i < n; ++i) CHECK(error_in_ulp(y[i], exp(Number(x[i])) / sum) < 0.52);
    }
}

TEST_CASE_TEMPLATE("softmax of a wide spread has subnormal and vanishing weights", T, float,
                   double) {
  const double depth = sizeof(T) == 4 ? 95 : 730;
  const std::vector<T> x = {1, static_cast<T>(1 - depth), static_cast<T>(1 - depth / 3), T(-1e30)};
  const auto y = softmax(x, 1, 4, 1);
  const Number sum = sum_of_exponentials(x);
  for (size_t i = 0; i < 3; ++i)
    CHECK(error_in_ulp(y[i], exp(Number(x[i])) / sum) < (sizeof(T) == 4 ? 0.51 : 0.7));
  CHECK(same(y[3], T(0)));
}

TEST_CASE_TEMPLATE("softmax neither overflows nor needs small scores", T, float, double) {
  constexpr T largest = std::numeric_limits<T>::max();
  CHECK(softmax<T>({largest, -largest, largest}, 1, 3, 1) == std::vector<T>{0.5, 0, 0.5});
  CHECK(softmax<T>({-largest, -largest}, 1, 2, 1) == std::vector<T>{0.5, 0.5});
}

TEST_CASE_TEMPLATE("in softmax -Inf beside a finite maximum is absent, all else nonfinite is NaN",
                   T, float, double) {
  CHECK(all_same(softmax<T>({-infinity<T>, 2, 2}, 1, 3, 1), {0, 0.5, 0.5}));
  for (const T wrong : {infinity<T>, -infinity<T>, quiet_nan<T>}) {
    CHECK(all_same(softmax<T>({wrong}, 1, 1, 1), {quiet_nan<T>}));
    CHECK(all_same(softmax<T>({wrong, wrong}, 1, 2, 1), {quiet_nan<T>, quiet_nan<T>}));
  }
  for (const T wrong : {infinity<T>, quiet_nan<T>}) {
    CHECK(all_same(softmax<T>({1, wrong}, 1, 2, 1), {quiet_nan<T>, quiet_nan<T>}));
    CHECK(all_same(softmax<T>({wrong, 1}, 1, 2, 1), {quiet_nan<T>, quiet_nan<T>}));
  }
}

TEST_CASE_TEMPLATE("masked softmax sees allowed entries only", T, float, double) {
  const T nan = quiet_nan<T>;
  const std::vector<T> scores = {nan, 1, 5, 1, infinity<T>};
  CHECK(all_same(masked_softmax<T>(scores, {0, 1, 0, nan, -0.0}, 5), {0, 0.5, 0, 0.5, 0}));
  CHECK(all_same(masked_softmax<T>(scores, {0, 0, -0.0, 0, 0}, 5), std::vector<T>(5, T(0))));
  CHECK(all_same(masked_softmax<T>(scores, {0, 1, 0, 0, 1}, 5), {0, nan, 0, 0, nan}));
  CHECK(all_same(masked_softmax<T>(scores, {1, 1, 0, 0, 0}, 5), {nan, nan, 0, 0, 0}));
  CHECK(all_same(masked_softmax<T>({-infinity<T>, 1, -infinity<T>, 2}, {1, 1, 1, 0}, 2),
                 {0, 1, nan, 0}));

  const auto x = normal_values<T>(2 * 50, 0, 5);
  std::vector<T> mask(x.size());
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = i % 3 == 0 ? T(0) : T(i);
  const auto y = masked_softmax(x, mask, 50);
  for (size_t row = 0; row < 2; ++row) {
    std::vector<T> allowed;
    for (size_t i = 50 * row; i < 50 * (row + 1); ++i)
      if (i % 3 != 0) allowed.push_back(x[i]);
    const Number sum = sum_of_exponentials(allowed);
    for (size_t i = 50 * row; i < 50 * (row + 1); ++i)
      if (i % 3 == 0)
        CHECK(same(y[i], T(0)));
      else
        CHECK(error_in_ulp(y[i], exp(Number(x[i])) / sum) < 0.52);
  }
}

TEST_CASE_TEMPLATE("layer norm keeps its digits beside a common offset", T, float, double) {
  for (const size_t cols : {2, 3, 64, 1009})
    for (const double offset : {0.0, 1.0, 1e4, 1e8}) {
      const double epsilon = 0x1p-17;
      const auto x = normal_values<T>(cols, offset, sizeof(T) == 4 ? 1 + offset * 1e-6 : 1);
      const auto y = layer_norm(x, std::vector<T>(cols, T(1)), std::vector<T>(cols, T(0)), epsilon);
      Number mean(0), variance(0);
      for (const T value : x) mean += Number(value) / cols;
      for (const T value : x) variance += (value - mean) * (value - mean) / cols;
      const Number inv_std = 1 / sqrt(variance + epsilon);
      CHECK(error_in_ulp(y[2][0], inv_std) < 0.51);
      // Near the mean no ulp of the result counts, but a small part of eps.
      const Number slack = Number(std::numeric_limits<T>::epsilon()) / 512;
      for (size_t i = 0; i < cols; ++i) {
        const Number exact = (x[i] - mean) * inv_std;
        CHECK(abs(y[1][i] - exact) <= ulp<T>(exact) / 2 + slack);
      }
      CHECK(all_same(y[0], y[1]));
    }
}

TEST_CASE("layer norm of equal values is the offset, of NaN and infinities NaN") {
  const float third = 1.0f / 3;
  const auto y =
      layer_norm<float>({third, third, third, 1, 1, quiet_nan<float>, 1, infinity<float>, 0},
                        {1, 2, 3}, {4, 5, 6}, 0.25);
  const float nan = quiet_nan<float>;
  CHECK(all_same(y[0], {4, 5, 6, nan, nan, nan, nan, nan, nan}));
  CHECK(all_same(y[2], {2, nan, nan}));
}

TEST_CASE("layer norm of the largest values does not overflow on the way") {
  const double largest = std::numeric_limits<double>::max();
  const auto y = layer_norm<double>({largest, -largest}, {1, 1}, {0, 0}, 0);
  CHECK(y[1] == std::vector<double>{1, -1});
  CHECK(error_in_ulp(y[2][0], 1 / Number(largest)) <= 0.5);
}

TEST_CASE_TEMPLATE("the gradient of layer norm rounds each step and each sum once", T, float,
                   double) {
  Backend backend;
  const size_t rows = 5, cols = 13;
  const auto d_out = normal_values<T>(rows * cols, 0, 1),
             normalized = normal_values<T>(rows * cols, 0, 1, 2);
  const auto inv_std = normal_values<T>(rows, 1, 0.1), gamma = normal_values<T>(cols, 1, 1);
  const Buffer<T> a(backend, d_out), b(backend, normalized), s(backend, inv_std), g(backend, gamma);
  const double inv_cols = 1.0 / cols;
  const tl_layer_norm_bwd_params params = {sizeof params, rows, cols, cols, inv_cols};
  const auto y = results<T>(backend, {rows * cols, cols, cols}, [&](tl_storage **out) {
    return backend.table->normalization->layer_norm_bwd(backend.instance, a.operand(), b.operand(),
                                                        s.operand(), g.operand(), &params, 0, out);
  });
  for (size_t r = 0; r < rows; ++r) {
    Number sum_dh(0), sum_dh_normalized(0);
    for (size_t c = 0; c < cols; ++c) {
      const T dh = d_out[r * cols + c] * gamma[c];
      const T term = dh * normalized[r * cols + c];
      sum_dh += dh;
      sum_dh_normalized += term;
    }
    const T first = sum_dh.rounded<T>(), second = sum_dh_normalized.rounded<T>();
    for (size_t c = 0; c < cols; ++c) {
      const size_t i = r * cols + c;
      T step = d_out[i] * gamma[c];
      step *= static_cast<T>(cols);
      step -= first;
      const T last = normalized[i] * second;
      step -= last;
      step *= inv_std[r];
      step *= static_cast<T>(inv_cols);
      CHECK(y[0][i] == step);
    }
  }
  for (size_t c = 0; c < cols; ++c) {
    Number d_gamma(0), d_beta(0);
    for (size_t i = c; i < rows * cols; i += cols) {
      const T term = d_out[i] * normalized[i];
      d_gamma += term;
      d_beta += d_out[i];
    }
    CHECK(y[1][c] == d_gamma.rounded<T>());
    CHECK(y[2][c] == d_beta.rounded<T>());
  }
}
