// Columns of a product: the packing of panels and the walk over tiles.
#include "gemm.hpp"

namespace torchlean::cpu {
namespace {

template <class T>
T *aligned(T *pointer) {
  return reinterpret_cast<T *>((reinterpret_cast<uintptr_t>(pointer) + 63) & ~uintptr_t{63});
}

}  // namespace

template <class T>
void pack(const GemmKernels<T> &kernels, const T *from, int64_t index_stride, int64_t depth_stride,
          int64_t used, int64_t depth, T *to, int64_t width) {
  if (depth_stride == 1)
    kernels.transpose(from, index_stride, used, depth, to, width);
  else
    kernels.copy(from, depth_stride, used, depth, to, width);
}

template <class T>
void pack_panels(const GemmKernels<T> &kernels, const T *from, int64_t index_stride,
                 int64_t depth_stride, int64_t count, int64_t depth, T *to, int64_t width) {
  const int64_t together = depth_stride == 1 ? width : count;
  for (int64_t i = 0; i < count; i += together)
    pack(kernels, from + i * index_stride, index_stride, depth_stride,
         std::min(together, count - i), depth, to + i * depth, width);
}

template <class T>
void pack_rows(tl_instance &instance, const Matrix<T> &a, int64_t rows, int64_t depth, T *to) {
  const GemmKernels<T> &kernels = gemm_kernels<T>(instance.target);
  each_row_panel(instance, rows, kernels.rows, depth, depth_block<T>(depth),
                 [&](int64_t row, int64_t high, int64_t k, int64_t deep, int64_t at) {
                   pack(kernels, a.at(row, k), a.row_stride, a.col_stride, high, deep, to + at,
                        high);
                 });
}

template <class T>
void ColumnGroup<T>::add(const T *data, int64_t step, int64_t cols) {
  panels_[static_cast<size_t>(count_++)] = {data, step, cols, blocks_in(cols, kernels_.lanes)};
}

template <class T>
void ColumnGroup<T>::take(RightOperand<T> &b, int64_t row, int64_t col, int64_t cols, T *scratch) {
  T *to = aligned(scratch);
  b.prepare(row, depth_, col, cols);
  for (int64_t j = 0, width = 0; j < cols; j += width) {
    width = panel_cols(kernels_, cols - j);
    int64_t step = round_up(width, kernels_.lanes);
    const T *const there = width == step ? b.in_place(row, col + j, step) : nullptr;
    if (there != nullptr) {
      add(there, step, width);
    } else {
      b.pack(row, depth_, col + j, width, to, step);
      add(to, step, width);
      to += depth_ * step;
    }
  }
  next_ = b.next();
  if (cols > 2 * kernels_.cols) rows_ = to;
}

template <class T>
void ColumnGroup<T>::multiply(const Left<T> &left, T *c, int64_t c_row, const T *start,
                              bool add) const {
  const Matrix<T> &a = left.matrix;
  // Rows are read where they lie, and so is what lies almost as a packed tile would.
  const bool packs_rows =
      left.panels == nullptr && a.col_stride > kernels_.rows && rows_ != nullptr;
  const bool is_dense = left.panels != nullptr || (a.col_stride == 1 && a.row_stride == depth_);
  const bool is_packed = packs_rows || left.panels != nullptr;
  const T *next = next_;
  Tile<T> tile{.depth = depth_,
               .a = nullptr,
               .a_row = is_packed ? 1 : a.row_stride,
               .a_step = a.col_stride,
               .b = nullptr,
               .b_step = 0,
               .c = nullptr,
               .c_row = c_row,
               .cols = 0,
               .start = start,
               .add = add,
               .ahead = nullptr,
               .ahead_step = 0};
  // So many rows that lie far apart would drive each other out of the first-level cache.
  const bool may_be_tall = count_ == 1 && panels_[0].vectors == 1 && is_dense && !is_packed;
  for (int64_t i = 0, high = 0; i < left.rows; i += high, c += high * c_row) {
    const bool is_tall = may_be_tall && kernels_.tall_rows <= left.rows - i;
    high = is_tall ? kernels_.tall_rows : std::min(kernels_.rows, left.rows - i);
    if (packs_rows)
      pack(kernels_, a.at(left.first + i, 0), a.row_stride, a.col_stride, high, depth_, rows_,
           high);
    if (is_packed) tile.a_step = high;
    tile.a = packs_rows               ? rows_
             : left.panels != nullptr ? left.panels + (left.first + i) * depth_
                                      : a.at(left.first + i, 0);
    tile.c = c;
    if (start != nullptr) tile.start = start + i;
    const T *const next_rows = is_dense ? tile.a + high * depth_ : nullptr;
    // Asked for beside the last panel: the next tile's rows; beside those before it: a part of the
    // next right operand.
    for (int64_t j = 0; j < count_; ++j) {
      const Panel &panel = panels_[static_cast<size_t>(j)];
      const bool is_last = j + 1 == count_;
      tile.b = panel.data;
      tile.b_step = panel.step;
      tile.cols = panel.cols;
      tile.ahead = is_last ? next_rows : next;
      tile.ahead_step = tile.ahead == nullptr ? 0 : high;
      (is_tall ? kernels_.tall_tile : kernels_.tile[high - 1][panel.vectors - 1])(tile);
      tile.c += panel.cols;
      if (!is_last && next != nullptr) next += high * depth_;
    }
  }
}

template <class T>
void multiply_columns(const GemmKernels<T> &kernels, const Left<T> &left, int64_t depth,
                      RightOperand<T> &b, int64_t col, int64_t cols, T *c, int64_t c_row,
                      const T *start, T *scratch) {
  const Matrix<T> &a = left.matrix;
  const int64_t block = depth_block<T>(depth);
  const int64_t most = group_cols(kernels);
  for (int64_t first = 0, here = 0; first < cols; first += here) {
    here = cols_before_cut(kernels, cols - first, most);
    int64_t k = 0;
    do {
      const T *const panels = left.panels == nullptr ? nullptr : left.panels + k * left.panel_rows;
      ColumnGroup<T> group(kernels, std::min(block, depth - k));
      group.take(b, k, col + first, here, scratch);
      group.multiply({{a.at(0, k), a.row_stride, a.col_stride},
                      panels,
                      left.panel_rows,
                      left.first,
                      left.rows},
                     c + first, c_row, start, k > 0);
      k += block;
    } while (k < depth);
  }
}

template void pack(const GemmKernels<float> &, const float *, int64_t, int64_t, int64_t, int64_t,
                   float *, int64_t);
template void pack(const GemmKernels<double> &, const double *, int64_t, int64_t, int64_t, int64_t,
                   double *, int64_t);
template void pack_panels(const GemmKernels<float> &, const float *, int64_t, int64_t, int64_t,
                          int64_t, float *, int64_t);
template void pack_rows(tl_instance &, const Matrix<float> &, int64_t, int64_t, float *);
template void pack_panels(const GemmKernels<double> &, const double *, int64_t, int64_t, int64_t,
                          int64_t, double *, int64_t);
template void pack_rows(tl_instance &, const Matrix<double> &, int64_t, int64_t, double *);
template void multiply_columns(const GemmKernels<float> &, const Left<float> &, int64_t,
                               RightOperand<float> &, int64_t, int64_t, float *, int64_t,
                               const float *, float *);
template void multiply_columns(const GemmKernels<double> &, const Left<double> &, int64_t,
                               RightOperand<double> &, int64_t, int64_t, double *, int64_t,
                               const double *, double *);
template class ColumnGroup<float>;
template class ColumnGroup<double>;

}  // namespace torchlean::cpu
