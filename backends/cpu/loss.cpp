// Losses over rows of scores: cross entropy, distillation and its gradient.
//
// Each row is read two or three times while it is in the caches. What a row contributes hangs on
// the row alone, and rows are summed in chunks that their number decides: the threads change no
// bit.
#include "threads.hpp"

#include <cmath>

#define HWY_TARGET_INCLUDE "loss.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {

// A sum in every lane: a block of plain additions, then what each block adds is added to a total
// whose rounding errors are kept (Knuth), so that long rows lose no more than short ones.
template <class T>
class LaneSums {
 public:
  // Written out, since the one that compilers make is for no target.
  HWY_INLINE LaneSums()
      : block_(hn::Zero(Lanes<T>())), total_(hn::Zero(Lanes<T>())), lost_(hn::Zero(Lanes<T>())) {}

  HWY_INLINE void add(Vec<T> x) {
    block_ = hn::Add(block_, x);
    if (++in_block_ == block_length) end_block();
  }

  HWY_INLINE double value() {
    end_block();
    const Lanes<T> d;
    HWY_ALIGN T total[hn::MaxLanes(d)];
    HWY_ALIGN T lost[hn::MaxLanes(d)];
    hn::Store(total_, d, total);
    hn::Store(lost_, d, lost);
    double sum = 0;
    double rest = 0;
    for (size_t i = 0; i < hn::Lanes(d); ++i) {
      sum += static_cast<double>(total[i]);
      rest += static_cast<double>(lost[i]);
    }
    return std::isfinite(sum) ? sum + rest : sum;  // past infinity the rest is NaN
  }

 private:
  static constexpr int block_length = 32;

  HWY_INLINE void end_block() {
    const Vec<T> sum = hn::Add(total_, block_);
    const Vec<T> added = hn::Sub(sum, total_);
    const Vec<T> error = hn::Add(hn::Sub(total_, hn::Sub(sum, added)), hn::Sub(block_, added));
    total_ = sum;
    lost_ = hn::Add(lost_, error);
    block_ = hn::Zero(Lanes<T>());
    in_block_ = 0;
  }

  Vec<T> block_;
  Vec<T> total_;
  Vec<T> lost_;
  int in_block_ = 0;
};

// Elements of a row from j on, `left` of them or a whole vector; `beyond` behind its end.
template <class T>
HWY_INLINE Vec<T> load_or(const T *row, uint64_t j, uint64_t left, T beyond) {
  const Lanes<T> d;
  if (left >= hn::Lanes(d)) return hn::LoadU(d, row + j);
  return hn::IfThenElse(hn::FirstN(d, left), load_first(d, row + j, left), hn::Set(d, beyond));
}

template <class T>
constexpr T absent = -std::numeric_limits<T>::infinity();  // a score that weighs nothing

// The largest element; anything where one is NaN.
template <class T>
T largest(const T *row, uint64_t cols) {
  const Lanes<T> d;
  Vec<T> highest = hn::Set(d, absent<T>);
  for (uint64_t j = 0; j < cols; j += hn::Lanes(d)) {
    const Vec<T> x = load_or(row, j, cols - j, absent<T>);
    highest = hn::IfThenElse(hn::Gt(x, highest), x, highest);
  }
  return hn::GetLane(hn::MaxOfLanes(d, highest));
}

// exp(x - max), and its sum over the row: NaN where an element is NaN or +infinity, or all are
// -infinity.
template <class T>
struct RowWeights {
  RowWeights(const T *row_of_scores, uint64_t cols)
      : row(row_of_scores), max(largest(row_of_scores, cols)) {}

  HWY_INLINE Vec<T> of(Vec<T> x) const {
    const Lanes<T> d;
    return exp_of(d, hn::Sub(x, hn::Set(d, max)));
  }

  // (max - x) / 2, which does not overflow.
  HWY_INLINE Vec<T> half_distance(Vec<T> x) const {
    const Lanes<T> d;
    const Vec<T> half = hn::Set(d, T(0.5));
    return hn::Sub(hn::Mul(hn::Set(d, max), half), hn::Mul(x, half));
  }

  const T *row;
  T max;
};

// weight * 2 * half_distance; nothing where the weight is 0, even if the distance is infinite.
template <class T>
HWY_INLINE Vec<T> weighted(Vec<T> weight, Vec<T> half_distance) {
  const Lanes<T> d;
  const Vec<T> product = hn::Mul(weight, half_distance);
  return hn::IfThenZeroElse(hn::Eq(weight, hn::Zero(d)), hn::Add(product, product));
}

// sum w_j ((max - x_j) + log sum_k exp(x_k - max))
template <class T>
double cross_entropy(const T *logits, const T *weights, uint64_t cols) {
  const Lanes<T> d;
  const RowWeights<T> q(logits, cols);
  LaneSums<T> exponentials;
  LaneSums<T> distances;
  LaneSums<T> all_weights;
  for (uint64_t j = 0; j < cols; j += hn::Lanes(d)) {
    const Vec<T> x = load_or(logits, j, cols - j, absent<T>);
    const Vec<T> w = load_or(weights, j, cols - j, T(0));
    exponentials.add(q.of(x));
    distances.add(weighted<T>(w, q.half_distance(x)));
    all_weights.add(w);
  }
  const double sum_of_weights = all_weights.value();
  const double sum = distances.value();
  if (sum_of_weights == 0) return sum;
  return sum + sum_of_weights * std::log(exponentials.value());
}

// sum p_j ((max - s_j) + log sum_k exp(s_k - max)) with p = softmax(teacher). The weights add up to
// 1. Where a distance is infinite, it counts only if p_j, in the dtype, is not 0: then `exact`.
template <bool exact, class T>
double distillation(const T *student, const T *teacher, uint64_t cols, double sum_of_teacher = 1) {
  const Lanes<T> d;
  const RowWeights<T> q(student, cols);
  const RowWeights<T> p(teacher, cols);
  const Vec<T> divisor = hn::Set(d, static_cast<T>(sum_of_teacher));
  LaneSums<T> of_student;
  LaneSums<T> of_teacher;
  LaneSums<T> distances;
  for (uint64_t j = 0; j < cols; j += hn::Lanes(d)) {
    const Vec<T> s = load_or(student, j, cols - j, absent<T>);
    const Vec<T> t = load_or(teacher, j, cols - j, absent<T>);
    const Vec<T> weight = exact ? hn::Div(p.of(t), divisor) : p.of(t);
    of_student.add(q.of(s));
    of_teacher.add(weight);
    distances.add(weighted<T>(weight, q.half_distance(s)));
  }
  const double total = of_teacher.value();
  const double result = distances.value() / total + std::log(of_student.value());
  if constexpr (!exact)
    if (std::isinf(result)) return distillation<true>(student, teacher, cols, total);
  return result;
}

// (softmax(student) - softmax(teacher)) / rows
template <class T>
void distillation_gradient(const T *student, const T *teacher, uint64_t cols, T rows, T *gradient) {
  const Lanes<T> d;
  const RowWeights<T> q(student, cols);
  const RowWeights<T> p(teacher, cols);
  LaneSums<T> of_student;
  LaneSums<T> of_teacher;
  for (uint64_t j = 0; j < cols; j += hn::Lanes(d)) {
    of_student.add(q.of(load_or(student, j, cols - j, absent<T>)));
    of_teacher.add(p.of(load_or(teacher, j, cols - j, absent<T>)));
  }
  const Vec<T> student_factor = hn::Set(d, static_cast<T>(1 / of_student.value()));
  const Vec<T> teacher_factor = hn::Set(d, static_cast<T>(1 / of_teacher.value()));
  for (uint64_t j = 0; j < cols; j += hn::Lanes(d)) {
    const uint64_t left = cols - j;
    const Vec<T> s = hn::Mul(q.of(load_or(student, j, left, absent<T>)), student_factor);
    const Vec<T> t = hn::Mul(p.of(load_or(teacher, j, left, absent<T>)), teacher_factor);
    const Vec<T> y = hn::Div(hn::Sub(s, t), hn::Set(d, rows));
    if (left >= hn::Lanes(d)) {
      hn::StoreU(y, d, gradient + j);
    } else {
      store_first(y, d, gradient + j, left);
    }
  }
}

// The row's loss.
template <class T>
double row_loss(tl_loss_op op, const T *prediction, const T *target, uint64_t cols) {
  return op == TL_LOSS_CROSS_ENTROPY ? cross_entropy(prediction, target, cols)
                                     : distillation<false>(prediction, target, cols);
}

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlean::cpu {
namespace {

// A sum of few or many doubles that loses no more than its last rounding or two (Neumaier).
class CompensatedSum {
 public:
  void add(double x) {
    const double sum = sum_ + x;
    lost_ += std::fabs(sum_) >= std::fabs(x) ? (sum_ - sum) + x : (x - sum) + sum_;
    sum_ = sum;
  }
  double value() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

// Rows that are computed together: as many as their length alone makes worth a thread's while.
uint64_t rows_of_chunk(uint64_t cols) {
  constexpr uint64_t elements = 4096;
  return std::max<uint64_t>(1, elements / cols);
}

template <class T>
T mean_loss(tl_instance &instance, tl_loss_op op, const T *prediction, const T *target,
            uint64_t rows, uint64_t cols) {
  const uint64_t chunk = rows_of_chunk(cols);
  const uint64_t chunks = (rows - 1) / chunk + 1;
  const auto row_loss = &TORCHLEAN_CPU_CHOOSE(instance.target, row_loss<T>);
  Result<double> sums(instance, chunks);
  parallel_for(instance, chunks, 1, [&](uint64_t begin, uint64_t end) {
    for (uint64_t k = begin; k < end; ++k) {
      CompensatedSum sum;
      for (uint64_t i = k * chunk; i < std::min(rows, (k + 1) * chunk); ++i)
        sum.add(row_loss(op, prediction + i * cols, target + i * cols, cols));
      sums[k] = sum.value();
    }
  });
  CompensatedSum sum;
  for (const double part : sums) sum.add(part);
  const auto mean = static_cast<T>(sum.value() / static_cast<double>(rows));
  // Which NaN a sum of several keeps is the compiler's choice, and not the same everywhere.
  return std::isnan(mean) ? std::numeric_limits<T>::quiet_NaN() : mean;
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
      const auto loop = &TORCHLEAN_CPU_CHOOSE(instance.target, distillation_gradient<T>);
      const auto count = static_cast<T>(rows);
      if (!prediction.empty())
        parallel_for(instance, rows, rows_of_chunk(cols), [&](uint64_t begin, uint64_t end) {
          for (uint64_t i = begin * cols; i < end * cols; i += cols)
            loop(prediction.data() + i, target.data() + i, cols, count, gradient.begin() + i);
        });
      return hand_out(out, gradient);
    }
    Result<T> y(instance, 1);
    y[0] = rows == 0   ? std::numeric_limits<T>::quiet_NaN()
           : cols == 0 ? T(0)
                       : mean_loss(instance, op, prediction.data(), target.data(), rows, cols);
    hand_out(out, y);
  });
}

}  // namespace

const tl_loss_table loss_table = {
    .struct_size = sizeof(tl_loss_table),
    .loss = entry<"loss", loss>,
};

}  // namespace torchlean::cpu

#endif  // HWY_ONCE
