// A matrix product whose bits do not depend on the number of threads.
#include "gemm.hpp"

#include "kernels.hpp"
#include "libtorch.hpp"

namespace torchlean::libtorch {
namespace {

// A tile of the result lives in registers; a strip of rows is one task.
constexpr int64_t tile_rows = 4;
constexpr int64_t tile_cols = 16;
constexpr int64_t strip_rows = 64;
constexpr int64_t depth = 256;

// sums[r][c] = left fold over k of a[k][r] * b[k][c], from packed operands.
template <class T>
TL_LOOP void multiply_tile(T *sums, const T *a, const T *b, int64_t n) {
  T tile[tile_rows * tile_cols] = {};
  for (int64_t k = 0; k < n; ++k) {
#pragma GCC unroll 4
    for (int64_t r = 0; r < tile_rows; ++r) {
#pragma GCC unroll 16
      for (int64_t c = 0; c < tile_cols; ++c)
        tile[r * tile_cols + c] += a[k * tile_rows + r] * b[k * tile_cols + c];
    }
  }
  std::copy_n(tile, tile_rows * tile_cols, sums);
}

// A matrix at any strides.
template <class T>
struct Matrix {
  T *data;
  int64_t row_stride;
  int64_t col_stride;

  T &operator()(int64_t row, int64_t col) const {
    return data[row * row_stride + col * col_stride];
  }
};

// packed[k][i] = source(i, k) for a panel of `width` rows, of which `used` are there; the rest is
// zero.
template <class T>
void pack(T *packed, int64_t width, Matrix<const T> source, int64_t used, int64_t n) {
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < width; ++i) packed[k * width + i] = i < used ? source(i, k) : T(0);
}

// Rows [begin, end) of the product.
template <class T>
void multiply_strip(Matrix<T> out, Matrix<const T> a, Matrix<const T> b, int64_t begin, int64_t end,
                    int64_t n, int64_t p) {
  thread_local T a_panels[strip_rows * depth];
  thread_local T b_panel[tile_cols * depth];
  for (int64_t k = 0; k < n; k += depth) {
    const int64_t length = std::min(depth, n - k);
    for (int64_t row = begin; row < end; row += tile_rows)
      pack(a_panels + (row - begin) * depth, tile_rows, {&a(row, k), a.row_stride, a.col_stride},
           std::min(tile_rows, end - row), length);
    for (int64_t col = 0; col < p; col += tile_cols) {
      const int64_t cols = std::min(tile_cols, p - col);
      pack(b_panel, tile_cols, {&b(k, col), b.col_stride, b.row_stride}, cols, length);
      for (int64_t row = begin; row < end; row += tile_rows) {
        T tile[tile_rows * tile_cols];
        multiply_tile(tile, a_panels + (row - begin) * depth, b_panel, length);
        for (int64_t r = 0; r < std::min(tile_rows, end - row); ++r)
          for (int64_t c = 0; c < cols; ++c) {
            T &sum = out(row + r, col + c);
            sum = k == 0 ? tile[r * tile_cols + c] : sum + tile[r * tile_cols + c];
          }
      }
    }
  }
}

template <class T>
void multiply(const at::Tensor &out, const at::Tensor &a, const at::Tensor &b) {
  const int64_t batch = out.size(0), m = out.size(1), n = a.size(2), p = out.size(2);
  T *const to = out.mutable_data_ptr<T>();
  const T *const from_a = a.const_data_ptr<T>();
  const T *const from_b = b.const_data_ptr<T>();
  const int64_t strips = (m + strip_rows - 1) / strip_rows;
  each_task(batch * strips, std::min(m, strip_rows) * n * p, [&](int64_t task) {
    const int64_t i = task / strips;
    const int64_t begin = task % strips * strip_rows;
    multiply_strip<T>({to + i * m * p, p, 1}, {from_a + i * a.stride(0), a.stride(1), a.stride(2)},
                      {from_b + i * b.stride(0), b.stride(1), b.stride(2)}, begin,
                      std::min(m, begin + strip_rows), n, p);
  });
}

}  // namespace

at::Tensor product_in_fixed_order(const at::Tensor &a, const at::Tensor &b) {
  TORCH_CHECK(
      a.size(0) == b.size(0) && a.size(2) == b.size(1) && a.scalar_type() == b.scalar_type(),
      "a product of ", a.sizes(), " and ", b.sizes());
  at::Tensor out = empty(a.size(0) * a.size(1) * b.size(2), a.scalar_type())
                       .view({a.size(0), a.size(1), b.size(2)});
  if (a.size(2) == 0) return out.zero_();
  if (a.scalar_type() == at::kFloat) {
    multiply<float>(out, a, b);
  } else {
    multiply<double>(out, a, b);
  }
  return out;
}

}  // namespace torchlean::libtorch
