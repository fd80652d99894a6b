// Losses: long rows, skipped terms, distances that are infinite or overflow. Expected values are
// the formulas in long double.
#include "../support/oracle.hpp"
#include "operations.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using torchlean::test::infinity;

namespace {

template <class T>
constexpr T largest = std::numeric_limits<T>::max();

// Of one row.
template <class T>
T cross_entropy(const Values<T> &logits, const Values<T> &weights) {
  return Operations<T>::loss({}, TL_LOSS_CROSS_ENTROPY, logits, weights, logits.size())[0];
}

template <class T>
T distillation(const Values<T> &student, const Values<T> &teacher) {
  return Operations<T>::loss({}, TL_LOSS_DISTILLATION, student, teacher, student.size())[0];
}

// max - x and log of the sum of exp(x - max), and what follows from them.
struct Row {
  template <class T>
  Row(const T *x, size_t cols) {
    const long double max = *std::max_element(x, x + cols);
    long double sum = 0;
    for (size_t j = 0; j < cols; ++j) sum += std::exp(x[j] - max);
    for (size_t j = 0; j < cols; ++j) {
      below.push_back(max - x[j]);
      distance.push_back((max - x[j]) + std::log(sum));
      weight.push_back(std::exp(x[j] - max) / sum);
    }
  }
  std::vector<long double> below, distance, weight;
};

template <class T>
void check_losses(const Values<T> &x, const Values<T> &t, size_t cols) {
  const size_t rows = x.size() / cols;
  const long double eps = std::numeric_limits<T>::epsilon();
  const long double all = 2 * std::log2(static_cast<long double>(x.size()));
  const long double row_terms = 2 * std::log2(static_cast<long double>(cols));
  const auto gradient = Operations<T>::loss({}, TL_LOSS_DISTILLATION_GRADIENT, x, t, cols);
  long double entropy = 0, entropy_bound = 0, distilled = 0, distilled_bound = 0;
  size_t wrong = 0;
  for (size_t r = 0; r < rows; ++r) {
    const Row student(&x[r * cols], cols), teacher(&t[r * cols], cols);
    for (size_t j = 0; j < cols; ++j) {
      const long double d = student.distance[j], p = teacher.weight[j], q = student.weight[j];
      const T w = t[r * cols + j];
      entropy += w * d / rows;
      entropy_bound += (16 + all) * eps * std::fabs(w) * (d + 1) / rows;
      distilled += p * d / rows;
      distilled_bound += eps * p * (16 + teacher.below[j] + all) * (d + 1) / rows;
      const long double bound =
          eps * (q * (6 + student.below[j] + row_terms) + p * (6 + teacher.below[j] + row_terms)) /
          rows;
      wrong += !(std::fabs(gradient[r * cols + j] - (q - p) / rows) <=
                 bound + 10 * std::numeric_limits<T>::denorm_min());
    }
  }
  CHECK(wrong == 0);
  const T y = Operations<T>::loss({}, TL_LOSS_CROSS_ENTROPY, x, t, cols)[0];
  CHECK(std::fabs(y - entropy) <= entropy_bound);
  const T z = Operations<T>::loss({}, TL_LOSS_DISTILLATION, x, t, cols)[0];
  CHECK(std::fabs(z - distilled) <= distilled_bound);
}

}  // namespace

TEST_CASE_TEMPLATE("losses keep their bounds, in long rows and many", T, float, double) {
  for (const auto &[rows, cols] : {std::pair<size_t, size_t>{1, 1}, {7, 3}, {9000, 5}, {3, 401}})
    check_losses<T>(uniform_values<T>(rows * cols, 1, T(-20), T(20)),
                    uniform_values<T>(rows * cols, 2, T(-20), T(20)), cols);
  Values<T> x(60'000, T(-0.3));
  x[5] = 0;
  check_losses<T>(x, Values<T>(x.size(), T(0.7)), x.size());
}

TEST_CASE_TEMPLATE("a weight of 0 hides an infinite distance, any other does not", T, float,
                   double) {
  const auto is_log = [](T y, int of) {
    return std::fabs(y - std::log(static_cast<long double>(of))) <=
           2 * std::numeric_limits<T>::epsilon();
  };
  const Values<T> logits = {0, -infinity<T>, 0};
  CHECK(is_log(cross_entropy<T>(logits, {1, 0, 0}), 2));
  CHECK(is_log(cross_entropy<T>(logits, {0.5, T(-0.0), 0.5}), 2));
  CHECK(cross_entropy<T>(logits, {1, 1, 0}) == infinity<T>);
  CHECK(cross_entropy<T>(logits, {1, -1, 0}) == -infinity<T>);
  CHECK(is_log(distillation<T>(logits, {3, -infinity<T>, 3}), 2));
  CHECK(is_log(distillation<T>(logits, {3, -largest<T>, 3}), 2));
  CHECK(is_log(distillation<T>(logits, {3, T(-800), 3}), 2));
  CHECK(distillation<T>(logits, {3, 3, 3}) == infinity<T>);
  // The weight of the last is a third of the smallest subnormal: none of the dtype.
  const T nearly_absent = sizeof(T) == sizeof(float) ? T(-103.5) : T(-745);
  CHECK(is_log(distillation<T>({0, 0, 0, -infinity<T>}, {0, 0, 0, nearly_absent}), 3));
}

TEST_CASE_TEMPLATE("a distance that overflows counts as w max - w x", T, float, double) {
  const T big = largest<T>;
  CHECK(cross_entropy<T>({big, -big}, {0, T(0.25)}) == big / 2);
  CHECK(cross_entropy<T>({big, -big}, {0, 1}) == infinity<T>);
  CHECK(cross_entropy<T>({big, -big}, {0, 0}) == 0);
  CHECK(distillation<T>({big, -big, big, big}, {1, 1, 1, 1}) == big / 2);
}

TEST_CASE_TEMPLATE("NaN, +Inf and nothing but -Inf make a loss NaN", T, float, double) {
  const T nan = std::numeric_limits<T>::quiet_NaN(), inf = infinity<T>;
  for (const Values<T> &row : {Values<T>{1, nan}, {nan, 1}, {inf, 1}, {1, inf}, {-inf, -inf}}) {
    CHECK(std::isnan(cross_entropy<T>(row, {1, 1})));
    CHECK(std::isnan(distillation<T>(row, {1, 1})));
    CHECK(std::isnan(distillation<T>({1, 1}, row)));
    CHECK(same(cross_entropy<T>(row, {0, 0}), T(0)));
    for (const bool first : {false, true}) {
      const auto gradient =
          Operations<T>::loss({}, TL_LOSS_DISTILLATION_GRADIENT, first ? row : Values<T>{1, 1},
                              first ? Values<T>{1, 1} : row, 2);
      for (const T g : gradient) CHECK(std::isnan(g));
    }
  }
  CHECK(std::isnan(cross_entropy<T>({1, 1}, {1, nan})));
  CHECK(Operations<T>::loss({}, TL_LOSS_DISTILLATION_GRADIENT, {-inf, 1}, {1, -inf}, 2) ==
        Values<T>{-1, 1});
}

TEST_CASE_TEMPLATE("equal students and teachers have a gradient of nothing", T, float, double) {
  const auto x = uniform_values<T>(5 * 70, 4, T(-4), T(4));
  CHECK(Operations<T>::loss({}, TL_LOSS_DISTILLATION_GRADIENT, x, x, 70) ==
        Values<T>(x.size(), T(0)));
}
