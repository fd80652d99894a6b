// Losses over rows of scores: cross entropy, distillation and its gradient.
//
// The sums of each row's weights come first (softmax_row.cuh), then the terms of all rows, which
// are folded as one long line (folds.cuh).
#include "folds.cuh"
#include "softmax_row.cuh"

namespace torchlean::cuda {

namespace {

// ---- What the terms of a row are made with -----------------------------------------------------

// d_j = (max - x_j) + log sum exp(x_k - max), here around the pivot.
struct Distances {
  double pivot;
  double log_sum;

  // w d_j: nothing where w = 0, even if d_j is infinite; w max - w x_j + w log sum where d_j
  // overflows.
  __device__ double weighted(double w, double x) const {
    if (w == 0.0) {
      return 0.0;
    }
    const double depth = sub_rn(pivot, x);
    if (depth == elementary::infinity && absolute(x) < elementary::infinity) {
      return add_rn(sub_rn(mul_rn(w, pivot), mul_rn(w, x)), mul_rn(w, log_sum));
    }
    return mul_rn(w, add_rn(depth, log_sum));
  }
};

struct ToDistances {
  Distances *rows;
  template <class T>
  __device__ void put(uint64_t row, const RowSum<T> &sum) const {
    rows[row] = {static_cast<double>(sum.pivot), elementary::log(sum.sum)};
  }
};

// ---- Terms, element by element -----------------------------------------------------------------

// w_j d_j
template <class T>
struct CrossEntropy {
  Divisor cols;
  const T *logits, *weights;
  const Distances *rows;

  __device__ double at(uint64_t place, uint64_t) const {
    const Distances row = rows[cols.divide(place).quotient];
    return row.weighted(weights[place], logits[place]);
  }
};

// p_j d_j with p = softmax(teacher), in which a weight that the dtype does not have is 0.
template <class T>
struct Distillation {
  Divisor cols;
  const T *student, *teacher;
  const Distances *students;
  const SoftmaxLine<T> *teachers;

  __device__ double at(uint64_t place, uint64_t) const {
    const uint64_t row = cols.divide(place).quotient;
    return students[row].weighted(teachers[row].probability(teacher[place]), student[place]);
  }
};

// The sum over all rows, divided by their number.
template <class T>
struct ToMean {
  T *mean;
  double rows;
  __device__ void put(uint64_t, double sum) const { *mean = convert<T>(div_rn(sum, rows)); }
};

// (softmax(student) - softmax(teacher)) / rows
template <class T>
__global__ void gradient_kernel(uint64_t n, Divisor cols, const T *student, const T *teacher,
                                const SoftmaxLine<T> *students, const SoftmaxLine<T> *teachers,
                                T rows, T *gradient) {
  for (uint64_t i = first_element(); i < n; i += element_stride()) {
    const uint64_t row = cols.divide(i).quotient;
    const T q = students[row].probability(student[i]);
    const T p = teachers[row].probability(teacher[i]);
    gradient[i] = div_rn(sub_rn(q, p), rows);
  }
}

// ---- Entry -------------------------------------------------------------------------------------

// Two operands (rows, cols).
template <class T>
struct Call {
  tl_instance &instance;
  const char *operation;
  uint64_t rows;
  uint64_t cols;
  const T *prediction, *target;

  uint64_t count() const { return rows * cols; }

  // Into sink.put(row, RowSum) for each row of x.
  template <class Sink>
  void sum_rows(const T *x, const Sink &sink) const {
    fold_lines<RowWeights<T>>(instance, operation, rows, cols, MiddleLines(cols, 1), Elements<T>{x},
                              sink);
  }
  template <class Row>
  Result workspace() const {
    return Result(instance, operation, rows, sizeof(Row));
  }
  template <class Terms>
  void mean(const Terms &terms, T *out) const {
    fold_lines<SumOf<double>>(instance, operation, 1, count(), MiddleLines(count(), 1), terms,
                              ToMean<T>{out, static_cast<double>(rows)});
  }
};

template <class T>
void cross_entropy(const Call<T> &call, T *out) {
  const Result distances = call.template workspace<Distances>();
  Distances *const rows = distances.elements<Distances>();
  call.sum_rows(call.prediction, ToDistances{rows});
  call.mean(CrossEntropy<T>{Divisor(call.cols), call.prediction, call.target, rows}, out);
}

template <class T>
void distillation(const Call<T> &call, T *out) {
  const Result distances = call.template workspace<Distances>();
  const Result lines = call.template workspace<SoftmaxLine<T>>();
  Distances *const students = distances.elements<Distances>();
  SoftmaxLine<T> *const teachers = lines.elements<SoftmaxLine<T>>();
  call.sum_rows(call.prediction, ToDistances{students});
  call.sum_rows(call.target, ToSoftmaxLines<T>{teachers});
  call.mean(Distillation<T>{Divisor(call.cols), call.prediction, call.target, students, teachers},
            out);
}

template <class T>
void distillation_gradient(const Call<T> &call, T *out) {
  const Result of_student = call.template workspace<SoftmaxLine<T>>();
  const Result of_teacher = call.template workspace<SoftmaxLine<T>>();
  SoftmaxLine<T> *const students = of_student.elements<SoftmaxLine<T>>();
  SoftmaxLine<T> *const teachers = of_teacher.elements<SoftmaxLine<T>>();
  call.sum_rows(call.prediction, ToSoftmaxLines<T>{students});
  call.sum_rows(call.target, ToSoftmaxLines<T>{teachers});
  launch(*call.instance.stream, call.operation, call.count(), &gradient_kernel<T>,
         Divisor(call.cols), call.prediction, call.target, students, teachers,
         static_cast<T>(call.rows), out);
}

void loss(tl_instance *instance, tl_loss_op op, const tl_operand *prediction,
          const tl_operand *target, uint64_t rows, uint64_t cols, tl_flags, tl_storage **out) {
  if (op >= TL_LOSS_OP_COUNT) {
    refuse_enumerator("loss", op);
  }
  const char *operation = op == TL_LOSS_CROSS_ENTROPY ? "cross_entropy" : "distillation";
  with_native(operation, prediction->dtype, [&]<class T>() {
    const uint64_t n = product({rows, cols});
    check_operand(operation, "prediction", *prediction, native_dtype<T>, n);
    check_operand(operation, "target", *target, native_dtype<T>, n);
    Result result(*instance, operation, op == TL_LOSS_DISTILLATION_GRADIENT ? n : 1, sizeof(T));
    const Call<T> call = {*instance,           operation, rows, cols, elements<T>(*prediction),
                          elements<T>(*target)};
    switch (op) {
      case TL_LOSS_CROSS_ENTROPY: cross_entropy(call, result.elements<T>()); break;
      case TL_LOSS_DISTILLATION: distillation(call, result.elements<T>()); break;
      default: distillation_gradient(call, result.elements<T>());
    }
    *out = result.hand_over();
  });
}

}  // namespace

const tl_loss_table loss_table = {
    .struct_size = sizeof(tl_loss_table),
    .loss = entry<loss>,
};

}  // namespace torchlean::cuda
