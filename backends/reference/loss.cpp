// Losses over rows of scores: cross entropy, distillation and its gradient.
#include "reference.hpp"
#include "softmax_row.hpp"

namespace torchlean::reference {
namespace {

// The loss of one row. In the wider type no distance d overflows, so that w*d is a term's value
// even where d itself leaves the dtype.

template <class T>
Wide<T> cross_entropy(std::span<const T> logits, std::span<const T> weights) {
  const SoftmaxRow<T> q(logits);
  CompensatedSum<Wide<T>> sum;
  for (uint64_t j = 0; j < logits.size(); ++j)
    if (weights[j] != 0) sum.add(weights[j] * q.distance(logits[j]));
  return sum.value();
}

template <class T>
Wide<T> distillation(std::span<const T> student, std::span<const T> teacher) {
  const SoftmaxRow<T> q(student);
  const SoftmaxRow<T> p(teacher);
  CompensatedSum<Wide<T>> sum;
  for (uint64_t j = 0; j < student.size(); ++j) {
    const Wide<T> distance = q.distance(student[j]);
    Wide<T> weight = p.probability(teacher[j]);
    // Whether an infinite distance counts must not hang on a weight that the dtype does not have.
    if (!std::isfinite(distance)) weight = static_cast<T>(weight);
    if (weight != 0) sum.add(weight * distance);
  }
  return sum.value();
}

template <class T>
void distillation_gradient(std::span<const T> student, std::span<const T> teacher, uint64_t rows,
                           T *gradient) {
  const SoftmaxRow<T> q(student);
  const SoftmaxRow<T> p(teacher);
  for (uint64_t j = 0; j < student.size(); ++j)
    gradient[j] = static_cast<T>((q.probability(student[j]) - p.probability(teacher[j])) /
                                 static_cast<Wide<T>>(rows));
}

// Calls visit(prediction row, target row, their first element's index) for each row.
template <class T, class Visit>
void for_each_row(std::span<const T> prediction, std::span<const T> target, uint64_t cols,
                  Visit visit) {
  for (uint64_t i = 0; i < prediction.size(); i += cols)
    visit(prediction.subspan(i, cols), target.subspan(i, cols), i);
}

void loss(tl_instance &instance, tl_loss_op op, const tl_operand *first, const tl_operand *second,
          uint64_t rows, uint64_t cols, tl_flags, tl_storage **out) {
  if (op >= TL_LOSS_OP_COUNT) throw unknown("op", op);
  expect_given("prediction", first);
  with_native(first->dtype, [&]<class T>(T) {
    const auto prediction = values_of<T>("prediction", first);
    const auto target = values_of<T>("target", second);
    expect_equal("prediction.count", prediction.size(), product({rows, cols}));
    expect_equal("target.count", target.size(), prediction.size());
    if (op == TL_LOSS_DISTILLATION_GRADIENT) {
      Result<T> gradient(instance, prediction.size());
      for_each_row(prediction, target, cols, [&](auto student, auto teacher, uint64_t start) {
        distillation_gradient(student, teacher, rows, gradient.begin() + start);
      });
      return hand_out(out, gradient);
    }
    CompensatedSum<Wide<T>> sum;
    for_each_row(prediction, target, cols, [&](auto row, auto target_row, uint64_t) {
      sum.add(op == TL_LOSS_CROSS_ENTROPY ? cross_entropy(row, target_row)
                                          : distillation(row, target_row));
    });
    Result<T> y(instance, 1);
    y[0] = static_cast<T>(sum.value() / static_cast<Wide<T>>(rows));  // no rows: NaN
    hand_out(out, y);
  });
}

}  // namespace

const tl_loss_table loss_table = {
    .struct_size = sizeof(tl_loss_table),
    .loss = entry<"loss", loss>,
};

}  // namespace torchlean::reference
