// Cross entropy, distillation and its gradient against their formulas in 400 digits.
#include "fixture.hpp"
#include "support/number.hpp"

using namespace torchlean::test;

namespace {

template <class T>
std::vector<T> loss(tl_loss_op op, const std::vector<T> &prediction, const std::vector<T> &target,
                    uint64_t rows, uint64_t cols) {
  Backend backend;
  const Buffer<T> x(backend, prediction);
  const Buffer<T> y(backend, target);
  const uint64_t count = op == TL_LOSS_DISTILLATION_GRADIENT ? prediction.size() : 1;
  return result<T>(backend, count, [&](tl_storage **out) {
    return backend.table->loss->loss(backend.instance, op, x.operand(), y.operand(), rows, cols, 0,
                                     out);
  });
}

// Of one row.
template <class T>
T cross_entropy(const std::vector<T> &logits, const std::vector<T> &weights) {
  return loss(TL_LOSS_CROSS_ENTROPY, logits, weights, 1, logits.size())[0];
}

template <class T>
T distillation(const std::vector<T> &student, const std::vector<T> &teacher) {
  return loss(TL_LOSS_DISTILLATION, student, teacher, 1, student.size())[0];
}

// softmax(x) and d of one row of x, as they are written.
struct Row {
  template <class T>
  explicit Row(const T *x, size_t cols) {
    Number sum(0);
    for (size_t j = 0; j < cols; ++j) sum += exp(Number(x[j]));
    for (size_t j = 0; j < cols; ++j) {
      probability.push_back(exp(Number(x[j])) / sum);
      distance.push_back(log(sum) - x[j]);
    }
  }
  std::vector<Number> probability, distance;
};

template <class T>
constexpr T largest = std::numeric_limits<T>::max();

}  // namespace

TEST_CASE_TEMPLATE("both losses are the formula, but for the last rounding", T, float, double) {
  for (const auto &[rows, cols] : {std::pair<size_t, size_t>{1, 1}, {1, 2}, {7, 3}, {5, 101}})
    for (const double spread : {0.1, 1.0, 20.0}) {
      const auto x = normal_values<T>(rows * cols, 0, spread, 1),
                 t = normal_values<T>(rows * cols, 0, spread, 2);
      const auto gradient = loss(TL_LOSS_DISTILLATION_GRADIENT, x, t, rows, cols);
      Number entropy(0), terms(0), distilled(0);
      for (size_t r = 0; r < rows; ++r) {
        const Row student(&x[r * cols], cols), teacher(&t[r * cols], cols);
        for (size_t j = 0; j < cols; ++j) {
          const size_t i = r * cols + j;
          entropy += t[i] * student.distance[j] / rows;
          terms += abs(t[i] * student.distance[j]) / rows;
          distilled += teacher.probability[j] * student.distance[j] / rows;
          const Number q = student.probability[j] / rows, p = teacher.probability[j] / rows;
          CHECK(abs(gradient[i] - (q - p)) <= ulp<T>(q - p) / 2 + ulp<T>(q + p) / 32);
        }
      }
      const T y = loss(TL_LOSS_CROSS_ENTROPY, x, t, rows, cols)[0];
      CHECK(abs(y - entropy) <= ulp<T>(entropy) / 2 + ulp<T>(terms) / 64);
      CHECK(error_in_ulp(loss(TL_LOSS_DISTILLATION, x, t, rows, cols)[0], distilled) < 0.52);
    }
}

TEST_CASE_TEMPLATE("no probability is rounded on the way", T, float, double) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const auto x = normal_values<T>(3, 0, 1, 2 * seed), t = normal_values<T>(3, 0, 1, 2 * seed + 1);
    const Row student(x.data(), 3), teacher(t.data(), 3);
    Number sum(0);
    for (size_t j = 0; j < 3; ++j) sum += teacher.probability[j] * student.distance[j];
    CHECK(error_in_ulp(distillation(x, t), sum) < 0.51);
  }
}

TEST_CASE_TEMPLATE("a loss next to nothing keeps its digits", T, float, double) {
  const std::vector<T> logits = {0, -50};
  CHECK(error_in_ulp(cross_entropy<T>(logits, {1, 0}), log(Number(1) + exp(Number(-50)))) < 0.52);
}

TEST_CASE_TEMPLATE("a weight of 0 hides an infinite distance, any other does not", T, float,
                   double) {
  const std::vector<T> logits = {0, -infinity<T>, 0};
  const Number log2 = log(Number(2));
  CHECK(error_in_ulp(cross_entropy<T>(logits, {1, 0, 0}), log2) < 0.51);
  CHECK(error_in_ulp(cross_entropy<T>(logits, {0.5, -0.0, 0.5}), log2) < 0.51);
  CHECK(cross_entropy<T>(logits, {1, 1, 0}) == infinity<T>);
  CHECK(cross_entropy<T>(logits, {1, -1, 0}) == -infinity<T>);
  CHECK(error_in_ulp(distillation<T>(logits, {3, -infinity<T>, 3}), log2) < 0.51);
  CHECK(error_in_ulp(distillation<T>(logits, {3, -largest<T>, 3}), log2) < 0.51);
  CHECK(error_in_ulp(distillation<T>(logits, {3, T(-800), 3}), log2) < 0.51);
  CHECK(distillation<T>(logits, {3, 3, 3}) == infinity<T>);
}

TEST_CASE_TEMPLATE("a distance that overflows counts as w max - w x", T, float, double) {
  const T big = largest<T>;
  CHECK(cross_entropy<T>({big, -big}, {0, T(0.25)}) == big / 2);
  CHECK(cross_entropy<T>({big, -big}, {0, 1}) == infinity<T>);
  CHECK(cross_entropy<T>({big, -big}, {0, 0}) == 0);
  CHECK(distillation<T>({big, -big, big, big}, {1, 1, 1, 1}) == big / 2);
}

TEST_CASE_TEMPLATE("NaN, +Inf and nothing but -Inf make a loss NaN", T, float, double) {
  const T nan = quiet_nan<T>;
  for (const std::vector<T> &row : {std::vector<T>{1, nan},
                                    {nan, 1},
                                    {infinity<T>, 1},
                                    {1, infinity<T>},
                                    {-infinity<T>, -infinity<T>}}) {
    CHECK(std::isnan(cross_entropy<T>(row, {1, 1})));
    CHECK(std::isnan(distillation<T>(row, {1, 1})));
    CHECK(std::isnan(distillation<T>({1, 1}, row)));
    CHECK(same(cross_entropy<T>(row, {0, 0}), T(0)));
    CHECK(all_same(loss<T>(TL_LOSS_DISTILLATION_GRADIENT, row, {1, 1}, 1, 2), {nan, nan}));
    CHECK(all_same(loss<T>(TL_LOSS_DISTILLATION_GRADIENT, {1, 1}, row, 1, 2), {nan, nan}));
  }
  CHECK(std::isnan(cross_entropy<T>({1, 1}, {1, nan})));
  CHECK(all_same(loss<T>(TL_LOSS_DISTILLATION_GRADIENT, {-infinity<T>, 1}, {1, -infinity<T>}, 1, 2),
                 {-1, 1}));
}

TEST_CASE_TEMPLATE("equal students and teachers have a gradient of nothing", T, float, double) {
  const auto x = normal_values<T>(5 * 7, 0, 4);
  CHECK(loss(TL_LOSS_DISTILLATION_GRADIENT, x, x, 5, 7) == std::vector<T>(35, T(0)));
}
