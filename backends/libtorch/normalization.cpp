// Softmax and layer norm.
//
// ATen adds float32 in float32 and gives another layer norm, so these are loops of our own, a row
// or a strip of columns at a time.
#include "composed.hpp"
#include "softmax_row.hpp"

namespace torchlean::libtorch {
namespace {

// ---- Softmax ------------------------------------------------------------------------------------

// y may be x. Returns the sum of the weights.
template <class T>
double softmax_line(T *y, const T *x, int64_t n) {
  const auto row = softmax_row(x, n, [=](int64_t i, T weight) { y[i] = weight; });
  const T factor = static_cast<T>(1 / row.sum);
  detail::each_in_range(0, n, [=](int64_t i) { y[i] *= factor; });
  return row.sum;
}

constexpr int64_t strip = 256;

// `width` lines side by side.
template <class T>
void softmax_strip(T *y, const T *x, int64_t n, int64_t stride, int64_t width) {
  T maxima[strip];
  T factors[strip];
  Sum sums[strip];
  std::fill_n(maxima, width, -std::numeric_limits<T>::infinity());
  for (int64_t k = 0; k < n; ++k) raise_to(maxima, x + k * stride, width);
  add_columns<strip>(sums, 0, n, width, [=, max = &maxima[0]](int64_t k, int64_t j) {
    const T weight = exponential(x[k * stride + j] - max[j]);
    y[k * stride + j] = weight;
    return weight;
  });
  for (int64_t j = 0; j < width; ++j) factors[j] = static_cast<T>(1 / sums[j].value());
  for (int64_t k = 0; k < n; ++k)
    detail::each_in_range(0, width, [line = y + k * stride, factor = &factors[0]](int64_t j) {
      line[j] *= factor[j];
    });
}

template <class T>
at::Tensor softmax_of(const at::Tensor &x) {
  const int64_t outer = x.size(0), n = x.size(1), inner = x.size(2);
  at::Tensor result = empty(x.numel(), scalar_type<T>);
  T *const y = result.mutable_data_ptr<T>();
  const T *const from = x.const_data_ptr<T>();
  if (inner == 1) {
    each_task(outer, n, [=](int64_t o) { softmax_line(y + o * n, from + o * n, n); });
  } else {
    each_strip(outer, n, inner, strip, [=](int64_t o, int64_t begin, int64_t width) {
      const int64_t first = o * n * inner + begin;
      softmax_strip(y + first, from + first, n, inner, width);
    });
  }
  return result;
}

void softmax(tl_instance &instance, const tl_operand *operand, uint64_t outer, uint64_t n,
             uint64_t inner, tl_flags, tl_storage **out) {
  extent("outer * n", outer * n);
  const at::Tensor x = shaped("x", native_tensor("x", operand),
                              {extent("outer", outer), extent("n", n), extent("inner", inner)});
  if (instance.composed) return hand_out(out, composed::softmax(x));
  with_native(operand->dtype, [&]<class T>(T) { hand_out(out, softmax_of<T>(x)); });
}

// Blocked scores count as -Inf, which is absent, or all there is.
template <class T>
at::Tensor masked_softmax_of(const at::Tensor &scores, const at::Tensor &mask) {
  const int64_t rows = scores.size(0), cols = scores.size(1);
  at::Tensor result = empty(scores.numel(), scalar_type<T>);
  T *const y = result.mutable_data_ptr<T>();
  const T *const x = scores.const_data_ptr<T>();
  const T *const allowed = mask.const_data_ptr<T>();
  each_task(rows, cols, [=](int64_t row) {
    T *const line = y + row * cols;
    const T *const from = x + row * cols;
    const T *const counts = allowed + row * cols;
    detail::each_in_range(0, cols, [=](int64_t i) {
      line[i] = choose(counts[i] != 0, from[i], -std::numeric_limits<T>::infinity());
    });
    const double sum = softmax_line(line, line, cols);
    // NaN has reached the blocked ones, too.
    if (std::isnan(sum))
      for (int64_t i = 0; i < cols; ++i) line[i] = counts[i] != 0 ? line[i] : T(0);
  });
  return result;
}

void masked_softmax(tl_instance &instance, const tl_operand *given, const tl_operand *allowed,
                    uint64_t rows, uint64_t cols, tl_flags, tl_storage **out) {
  expect_given("scores", given);
  const std::array<int64_t, 2> shape = {extent("rows", rows), extent("cols", cols)};
  const at::Tensor scores = native_as("scores", given, given->dtype, shape);
  const at::Tensor mask = native_as("mask", allowed, given->dtype, shape);
  if (instance.composed) return hand_out(out, composed::masked_softmax(scores, mask));
  with_native(given->dtype, [&]<class T>(T) { hand_out(out, masked_softmax_of<T>(scores, mask)); });
}

// ---- Layer norm ---------------------------------------------------------------------------------

std::array<int64_t, 2> matrix_of(uint64_t rows, uint64_t cols) {
  if (rows == 0 || cols == 0)
    throw invalid("rows and cols are " + std::to_string(rows) + " and " + std::to_string(cols) +
                  ", expected at least 1");
  return {extent("rows", rows), extent("cols", cols)};
}

template <class T>
T normalize_row(T *y, T *normalized, const T *x, const T *gamma, const T *beta, int64_t cols,
                double epsilon) {
  const auto count = static_cast<double>(cols);
  const double mean = sum_of(cols, [=](int64_t c) { return static_cast<double>(x[c]); }) / count;
  const double variance = sum_of(cols,
                                 [=](int64_t c) {
                                   const double difference = x[c] - mean;
                                   return difference * difference;
                                 }) /
                          count;
  const double inv_std = 1 / std::sqrt(variance + epsilon);
  detail::each_in_range(0, cols, [=](int64_t c) {
    const T value = static_cast<T>((x[c] - mean) * inv_std);
    normalized[c] = value;
    y[c] = value * gamma[c] + beta[c];
  });
  return static_cast<T>(inv_std);
}

template <class T>
std::array<at::Tensor, 3> layer_norm_of(const at::Tensor &x, const at::Tensor &gamma,
                                        const at::Tensor &beta, double epsilon) {
  const int64_t rows = x.size(0), cols = x.size(1);
  std::array<at::Tensor, 3> results = {empty(x.numel(), scalar_type<T>),
                                       empty(x.numel(), scalar_type<T>),
                                       empty(rows, scalar_type<T>)};
  T *const y = results[0].mutable_data_ptr<T>();
  T *const normalized = results[1].mutable_data_ptr<T>();
  T *const inv_std = results[2].mutable_data_ptr<T>();
  const T *const from = x.const_data_ptr<T>();
  const T *const factor = gamma.const_data_ptr<T>();
  const T *const offset = beta.const_data_ptr<T>();
  each_task(rows, cols, [=](int64_t row) {
    const int64_t first = row * cols;
    inv_std[row] =
        normalize_row(y + first, normalized + first, from + first, factor, offset, cols, epsilon);
  });
  return results;
}

void layer_norm(tl_instance &instance, const tl_operand *operand, const tl_operand *factor,
                const tl_operand *offset, uint64_t rows, uint64_t cols, double epsilon, tl_flags,
                tl_storage **out) {
  expect_given("x", operand);
  const auto shape = matrix_of(rows, cols);
  const at::Tensor x = native_as("x", operand, operand->dtype, shape);
  const at::Tensor gamma = native_as("gamma", factor, operand->dtype, shape[1]);
  const at::Tensor beta = native_as("beta", offset, operand->dtype, shape[1]);
  if (instance.composed) return hand_out(out, composed::layer_norm(x, gamma, beta, epsilon));
  with_native(operand->dtype, [&]<class T>(T) {
    hand_out(out, layer_norm_of<T>(x, gamma, beta, static_cast<T>(epsilon)));
  });
}

// The operands of the gradient, and its formula, each step of which is rounded.
template <class T>
struct LayerNormBwd {
  const T *d_out, *normalized, *inv_std, *gamma;
  int64_t rows, cols;
  T cols_scale, inv_cols;

  void row(T *dx, int64_t r) const {
    const T *const g = d_out + r * cols;
    const T *const x = normalized + r * cols;
    const T *const factor = gamma;
    const T sum_dh = static_cast<T>(sum_of(cols, [=](int64_t c) { return g[c] * factor[c]; }));
    const T sum_dh_x =
        static_cast<T>(sum_of(cols, [=](int64_t c) { return (g[c] * factor[c]) * x[c]; }));
    detail::each_in_range(
        0, cols, [=, scale = cols_scale, inverse = inv_cols, deviation = inv_std[r]](int64_t c) {
          const T dh = g[c] * factor[c];
          dx[c] = (((dh * scale - sum_dh) - x[c] * sum_dh_x) * deviation) * inverse;
        });
  }

  at::Tensor d_gamma() const {
    return sum_columns<T>(rows, cols, [g = d_out, x = normalized, n = cols](int64_t r, int64_t c) {
      return g[r * n + c] * x[r * n + c];
    });
  }

  at::Tensor d_beta() const {
    return sum_columns<T>(rows, cols,
                          [g = d_out, n = cols](int64_t r, int64_t c) { return g[r * n + c]; });
  }
};

void layer_norm_bwd(tl_instance &instance, const tl_operand *gradient, const tl_operand *output,
                    const tl_operand *deviation, const tl_operand *factor,
                    const tl_layer_norm_bwd_params *params, tl_flags, tl_storage **out) {
  const tl_layer_norm_bwd_params &known = known_part("params", params);
  expect_given("d_out", gradient);
  const tl_dtype dtype = gradient->dtype;
  const auto shape = matrix_of(known.rows, known.cols);
  const at::Tensor d_out = native_as("d_out", gradient, dtype, shape);
  const at::Tensor normalized = native_as("normalized", output, dtype, shape);
  const at::Tensor inv_std = native_as("inv_std", deviation, dtype, shape[0]);
  const at::Tensor gamma = native_as("gamma", factor, dtype, shape[1]);
  if (instance.composed)
    return hand_out(out, composed::layer_norm_bwd(d_out, normalized, inv_std, gamma,
                                                  known.cols_scale, known.inv_cols));
  with_native(dtype, [&]<class T>(T) {
    const LayerNormBwd<T> bwd = {d_out.const_data_ptr<T>(),
                                 normalized.const_data_ptr<T>(),
                                 inv_std.const_data_ptr<T>(),
                                 gamma.const_data_ptr<T>(),
                                 shape[0],
                                 shape[1],
                                 static_cast<T>(known.cols_scale),
                                 static_cast<T>(known.inv_cols)};
    const at::Tensor d_x = empty(d_out.numel(), scalar_type<T>);
    T *const dx = d_x.mutable_data_ptr<T>();
    each_task(bwd.rows, bwd.cols, [&](int64_t r) { bwd.row(dx + r * bwd.cols, r); });
    hand_out(out, std::array{d_x, bwd.d_gamma(), bwd.d_beta()});
  });
}

}  // namespace

const tl_normalization_table normalization_table = {
    .struct_size = sizeof(tl_normalization_table),
    .softmax = entry<"softmax", softmax>,
    .masked_softmax = entry<"masked_softmax", masked_softmax>,
    .layer_norm = entry<"layer_norm", layer_norm>,
    .layer_norm_bwd = entry<"layer_norm_bwd", layer_norm_bwd>,
};

}  // namespace torchlean::libtorch
