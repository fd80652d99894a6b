// Layer norm and its gradient.
//
// A row is read once for each of its sums and once for the results, all but the first time from the
// caches. Mean and variance are those of double.
#include "folds.cuh"
#include "softmax.hpp"

namespace torchlean::cuda {

namespace {

// ---- Forward -----------------------------------------------------------------------------------

template <class T>
struct LayerNorm {
  uint64_t cols;
  const T *x, *gamma, *beta;
  double epsilon;
};

// What the results of one column depend on.
template <class T>
struct Item {
  T x, gamma, beta;
};

// Where the results of layer norm go.
template <class T>
struct Normalized {
  T *out, *normalized, *inv_std;
};

// The sum over a row of term(element).
template <class Threads, class T, class Term>
__device__ double sum_of_row(const T *row, uint64_t cols, Term term) {
  double sum = 0.0;
  for_own<Threads>(
      cols, [&](uint64_t k) { return row[k]; },
      [&](uint64_t, T x) { sum = add_rn(sum, term(static_cast<double>(x))); });
  return Threads::fold(sum, Add());
}

template <class Threads, class T>
__global__ void layer_norm_kernel(uint64_t rows, LayerNorm<T> norm, Normalized<T> to) {
  const uint64_t cols = norm.cols;
  const auto count = static_cast<double>(cols);
  for (uint64_t row = Threads::first_row(); row < rows; row += Threads::row_stride()) {
    const T *const x = norm.x + row * cols;
    const double mean =
        div_rn(sum_of_row<Threads>(x, cols, [](double value) { return value; }), count);
    const auto square = [=](double value) {
      const double difference = sub_rn(value, mean);
      return mul_rn(difference, difference);
    };
    const double variance = div_rn(sum_of_row<Threads>(x, cols, square), count);
    const double inverse = div_rn(1.0, sqrt_rn(add_rn(variance, norm.epsilon)));
    if (Threads::index() == 0) {
      to.inv_std[row] = convert<T>(inverse);
    }
    for_own<Threads>(
        cols,
        [&](uint64_t k) {
          return Item<T>{x[k], norm.gamma[k], norm.beta[k]};
        },
        [&](uint64_t k, const Item<T> &item) {
          const double difference = sub_rn(static_cast<double>(item.x), mean);
          const T normalized = convert<T>(mul_rn(difference, inverse));
          to.normalized[row * cols + k] = normalized;
          to.out[row * cols + k] = add_rn(mul_rn(normalized, item.gamma), item.beta);
        });
  }
}

void layer_norm(tl_instance *instance, const tl_operand *x, const tl_operand *gamma,
                const tl_operand *beta, uint64_t rows, uint64_t cols, double epsilon, tl_flags,
                tl_storage *out[3]) {
  constexpr const char *operation = "layer_norm_fwd";
  with_native(operation, x->dtype, [&]<class T>() {
    check_operand(operation, "x", *x, native_dtype<T>, product({rows, cols}));
    check_operand(operation, "gamma", *gamma, native_dtype<T>, cols);
    check_operand(operation, "beta", *beta, native_dtype<T>, cols);
    Result y(*instance, operation, x->count, sizeof(T));
    Result normalized(*instance, operation, x->count, sizeof(T));
    Result inv_std(*instance, operation, rows, sizeof(T));
    const LayerNorm<T> norm = {cols, elements<T>(*x), elements<T>(*gamma), elements<T>(*beta),
                               static_cast<T>(epsilon)};
    const Normalized<T> to = {y.elements<T>(), normalized.elements<T>(), inv_std.elements<T>()};
    with_row_threads(cols, [&]<class Threads>() {
      launch_rows<Threads>(*instance->stream, operation, rows, &layer_norm_kernel<Threads, T>, norm,
                           to);
    });
    out[0] = y.hand_over();
    out[1] = normalized.hand_over();
    out[2] = inv_std.hand_over();
  });
}

// ---- Backward: dX ------------------------------------------------------------------------------

template <class T>
struct LayerNormGradient {
  uint64_t cols;
  const T *d_out, *normalized, *inv_std, *gamma;
  T cols_scale;
  T inv_cols;
};

template <class T>
struct GradientItem {
  T dh, normalized;
};

// dX = (((dh colsScale - sum dh) - normalized sum(dh normalized)) invStd) invCols, dh = dOut gamma
template <class Threads, class T>
__global__ void dx_kernel(uint64_t rows, LayerNormGradient<T> norm, T *dx) {
  const uint64_t cols = norm.cols;
  for (uint64_t row = Threads::first_row(); row < rows; row += Threads::row_stride()) {
    const T *const d_out = norm.d_out + row * cols;
    const T *const normalized = norm.normalized + row * cols;
    const auto load = [&](uint64_t k) {
      return GradientItem<T>{mul_rn(d_out[k], norm.gamma[k]), normalized[k]};
    };
    Accumulator<T> of_dh;
    Accumulator<T> of_products;
    for_own<Threads>(cols, load, [&](uint64_t, const GradientItem<T> &item) {
      of_dh.add(item.dh);
      of_products.add(mul_rn(item.dh, item.normalized));
    });
    const T sum_dh = convert<T>(Threads::fold(of_dh.value(), Add()));
    const T sum_products = convert<T>(Threads::fold(of_products.value(), Add()));
    const T inv_std = norm.inv_std[row];
    for_own<Threads>(cols, load, [&](uint64_t k, const GradientItem<T> &item) {
      const T centred = sub_rn(sub_rn(mul_rn(item.dh, norm.cols_scale), sum_dh),
                               mul_rn(item.normalized, sum_products));
      dx[row * cols + k] = mul_rn(mul_rn(centred, inv_std), norm.inv_cols);
    });
  }
}

// ---- Backward: dGamma and dBeta ----------------------------------------------------------------

// A term, or a sum, of each.
struct ColumnSums {
  double gamma;
  double beta;
};

template <class T>
struct ColumnTerms {
  const T *d_out, *normalized;
  __device__ ColumnSums at(uint64_t place, uint64_t) const {
    return {static_cast<double>(mul_rn(d_out[place], normalized[place])),
            static_cast<double>(d_out[place])};
  }
};

template <class T>
struct ColumnSumsOf {
  using Value = ColumnSums;
  using OfValues = ColumnSumsOf<T>;
  Accumulator<T> gamma;
  Accumulator<T> beta;

  __device__ void add(const ColumnSums &terms) {
    gamma.add(terms.gamma);
    beta.add(terms.beta);
  }
  template <class Threads>
  __device__ ColumnSums of_all() const {
    return {Threads::fold(gamma.value(), Add()), Threads::fold(beta.value(), Add())};
  }
};

template <class T>
struct ToGradients {
  T *d_gamma, *d_beta;
  __device__ void put(uint64_t column, const ColumnSums &sums) const {
    d_gamma[column] = convert<T>(sums.gamma);
    d_beta[column] = convert<T>(sums.beta);
  }
};

void layer_norm_bwd(tl_instance *instance, const tl_operand *d_out, const tl_operand *normalized,
                    const tl_operand *inv_std, const tl_operand *gamma,
                    const tl_layer_norm_bwd_params *params, tl_flags, tl_storage *out[3]) {
  constexpr const char *operation = "layer_norm_bwd";
  with_native(operation, d_out->dtype, [&]<class T>() {
    check_struct_size(operation, params->struct_size, sizeof(tl_layer_norm_bwd_params));
    const uint64_t rows = params->rows;
    const uint64_t cols = params->cols;
    const uint64_t n = product({rows, cols});
    check_operand(operation, "d_out", *d_out, native_dtype<T>, n);
    check_operand(operation, "normalized", *normalized, native_dtype<T>, n);
    check_operand(operation, "inv_std", *inv_std, native_dtype<T>, rows);
    check_operand(operation, "gamma", *gamma, native_dtype<T>, cols);
    Result dx(*instance, operation, n, sizeof(T));
    Result d_gamma(*instance, operation, cols, sizeof(T));
    Result d_beta(*instance, operation, cols, sizeof(T));
    const LayerNormGradient<T> norm = {cols,
                                       elements<T>(*d_out),
                                       elements<T>(*normalized),
                                       elements<T>(*inv_std),
                                       elements<T>(*gamma),
                                       static_cast<T>(params->cols_scale),
                                       static_cast<T>(params->inv_cols)};
    with_row_threads(cols, [&]<class Threads>() {
      launch_rows<Threads>(*instance->stream, operation, rows, &dx_kernel<Threads, T>, norm,
                           dx.elements<T>());
    });
    fold_lines<ColumnSumsOf<T>>(*instance, operation, cols, rows, MiddleLines(rows, cols),
                                ColumnTerms<T>{norm.d_out, norm.normalized},
                                ToGradients<T>{d_gamma.elements<T>(), d_beta.elements<T>()});
    out[0] = dx.hand_over();
    out[1] = d_gamma.hand_over();
    out[2] = d_beta.hand_over();
  });
}

}  // namespace

const tl_normalization_table normalization_table = {
    .struct_size = sizeof(tl_normalization_table),
    .softmax = entry<softmax>,
    .masked_softmax = entry<masked_softmax>,
    .layer_norm = entry<layer_norm>,
    .layer_norm_bwd = entry<layer_norm_bwd>,
};

}  // namespace torchlean::cuda
