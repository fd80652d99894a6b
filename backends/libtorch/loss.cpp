// Losses over rows of scores: cross entropy, distillation and its gradient.
//
// With d = (max - x) + log of the sum of exp(x - max). Everything is computed in double, so that of
// float32 no d overflows.
#include "composed.hpp"
#include "softmax_row.hpp"

namespace torchlean::libtorch {
namespace {

// The products of d with weights, in one row.
struct Distance {
  double max;
  double log_sum;

  template <class T>
  explicit Distance(const SoftmaxRow<T> &row) : max(row.max), log_sum(std::log(row.sum)) {}

  // Where d overflows although x is finite the product need not. A NaN weighs, too.
  [[gnu::always_inline]] double weighted(double weight, double x) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double d = (max - x) + log_sum;
    const double apart = (weight * max - weight * x) + weight * log_sum;
    const bool overflows = (d == infinity) & (x > -infinity);
    return choose(weight != 0, choose(overflows, apart, weight * d), 0.0);
  }
};

template <class T>
double cross_entropy(const T *logits, const T *weights, int64_t cols) {
  const Distance distance(softmax_row(logits, cols));
  return sum_of(cols, [=](int64_t j) { return distance.weighted(weights[j], logits[j]); });
}

template <class T>
double distillation(const T *student, const T *teacher, int64_t cols) {
  const Distance distance(softmax_row(student, cols));
  const auto p = softmax_row(teacher, cols);
  const double factor = 1 / p.sum;
  return sum_of(cols, [=, max = p.max](int64_t j) {
    const double weight = exponential(teacher[j] - max) * factor;
    // Whether an infinite distance counts must not hang on a weight that the dtype does not have.
    const bool infinite = student[j] < -std::numeric_limits<T>::max();
    const double counts = choose(infinite, static_cast<double>(static_cast<T>(weight)), weight);
    return distance.weighted(counts, student[j]);
  });
}

template <class T>
void distillation_gradient(T *gradient, const T *student, const T *teacher, int64_t cols,
                           int64_t rows) {
  const auto q = softmax_row(student, cols);
  const auto p = softmax_row(teacher, cols);
  detail::each_in_range(0, cols,
                        [=, q_max = q.max, q_factor = 1 / q.sum, p_max = p.max,
                         p_factor = 1 / p.sum, count = static_cast<double>(rows)](int64_t j) {
                          gradient[j] =
                              static_cast<T>((exponential(student[j] - q_max) * q_factor -
                                              exponential(teacher[j] - p_max) * p_factor) /
                                             count);
                        });
}

// The mean over the rows of value(first element of a row).
template <class T, class Value>
at::Tensor mean_of_rows(int64_t rows, int64_t cols, Value value) {
  const at::Tensor values = empty(rows, at::kDouble);
  double *const row_value = values.mutable_data_ptr<double>();
  each_task(rows, cols, [=](int64_t row) { row_value[row] = value(row * cols); });
  at::Tensor mean = empty(1, scalar_type<T>);
  *mean.mutable_data_ptr<T>() = static_cast<T>(
      sum_of(rows, [=](int64_t row) { return row_value[row]; }) / static_cast<double>(rows));
  return mean;
}

template <class T>
at::Tensor loss_of(tl_loss_op op, const at::Tensor &prediction, const at::Tensor &target) {
  const int64_t rows = prediction.size(0), cols = prediction.size(1);
  const T *const x = prediction.const_data_ptr<T>();
  const T *const t = target.const_data_ptr<T>();
  switch (op) {
    case TL_LOSS_CROSS_ENTROPY:
      return mean_of_rows<T>(rows, cols,
                             [=](int64_t i) { return cross_entropy(x + i, t + i, cols); });
    case TL_LOSS_DISTILLATION:
      return mean_of_rows<T>(rows, cols,
                             [=](int64_t i) { return distillation(x + i, t + i, cols); });
    case TL_LOSS_DISTILLATION_GRADIENT: {
      at::Tensor gradient = empty(prediction.numel(), scalar_type<T>);
      T *const y = gradient.mutable_data_ptr<T>();
      each_task(rows, cols, [=](int64_t row) {
        const int64_t i = row * cols;
        distillation_gradient(y + i, x + i, t + i, cols, rows);
      });
      return gradient;
    }
    default: throw unknown("op", op);
  }
}

void loss(tl_instance &instance, tl_loss_op op, const tl_operand *first, const tl_operand *second,
          uint64_t rows, uint64_t cols, tl_flags, tl_storage **out) {
  if (op >= TL_LOSS_OP_COUNT) throw unknown("op", op);
  expect_given("prediction", first);
  const std::array<int64_t, 2> shape = {extent("rows", rows), extent("cols", cols)};
  const at::Tensor prediction = native_as("prediction", first, first->dtype, shape);
  const at::Tensor target = native_as("target", second, first->dtype, shape);
  if (instance.composed) return hand_out(out, composed::loss(op, prediction, target));
  with_native(first->dtype, [&]<class T>(T) { hand_out(out, loss_of<T>(op, prediction, target)); });
}

}  // namespace

const tl_loss_table loss_table = {
    .struct_size = sizeof(tl_loss_table),
    .loss = entry<"loss", loss>,
};

}  // namespace torchlean::libtorch
