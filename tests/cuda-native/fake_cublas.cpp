// Stands in for cuBLAS: products by their definition, on host memory. fake_cublas_state says what
// was asked; its `answer` is what the next product returns.
#include "fake_libraries.hpp"

#pragma GCC visibility push(default)
#include <cublas_v2.h>
#pragma GCC visibility pop

namespace {

FakeCublas state;

template <class T>
cublasStatus_t product(cublasOperation_t transpose_a, cublasOperation_t transpose_b, int64_t m,
                       int64_t n, int64_t k, const T *alpha, const T *a, int64_t lda,
                       long long stride_a, const T *b, int64_t ldb, long long stride_b,
                       const T *beta, T *c, int64_t ldc, long long stride_c, int64_t batch) {
  const bool is_a_transposed = transpose_a == CUBLAS_OP_T;
  const bool is_b_transposed = transpose_b == CUBLAS_OP_T;
  // What cuBLAS calls an invalid value.
  if (lda < (is_a_transposed ? k : m) || ldb < (is_b_transposed ? n : k) || ldc < m)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (state.answer != 0) {
    const auto status = static_cast<cublasStatus_t>(state.answer);
    state.answer = 0;
    return status;
  }
  for (int64_t s = 0; s < batch; ++s)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        T sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += a[s * stride_a + (is_a_transposed ? i * lda + l : l * lda + i)] *
                 b[s * stride_b + (is_b_transposed ? l * ldb + j : j * ldb + l)];
        T &to = c[s * stride_c + j * ldc + i];
        to = *alpha * sum + (*beta == 0 ? 0 : *beta * to);
      }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

#pragma GCC visibility push(default)
// The headers name parameters otherwise.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

FakeCublas *fake_cublas_state() { return &state; }

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) {
  ++state.handles;
  *handle = reinterpret_cast<cublasHandle_t>(&state);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t) {
  --state.handles;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t stream) {
  state.stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t mode) {
  state.is_tf32 = mode == CUBLAS_TF32_TENSOR_OP_MATH;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSgemmStridedBatched_64(cublasHandle_t, cublasOperation_t ta,
                                            cublasOperation_t tb, int64_t m, int64_t n, int64_t k,
                                            const float *alpha, const float *a, int64_t lda,
                                            long long stride_a, const float *b, int64_t ldb,
                                            long long stride_b, const float *beta, float *c,
                                            int64_t ldc, long long stride_c, int64_t batch) {
  return product(ta, tb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c,
                 batch);
}
cublasStatus_t cublasDgemmStridedBatched_64(cublasHandle_t, cublasOperation_t ta,
                                            cublasOperation_t tb, int64_t m, int64_t n, int64_t k,
                                            const double *alpha, const double *a, int64_t lda,
                                            long long stride_a, const double *b, int64_t ldb,
                                            long long stride_b, const double *beta, double *c,
                                            int64_t ldc, long long stride_c, int64_t batch) {
  return product(ta, tb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c,
                 batch);
}
const char *cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_ALLOC_FAILED ? "the resource allocation failed" : "some status";
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
#pragma GCC visibility pop
