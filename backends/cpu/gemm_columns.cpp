// Columns of a product: the packing of panels and the walk over tiles.
#include "gemm.hpp"

#include <array>

namespace torchlean::cpu {
namespace {

template <class T>
T *aligned(T *pointer) {
  return reinterpret_cast<T *>((reinterpret_cast<uintptr_t>(pointer) + 63) & ~uintptr_t{63});
}

// Would so many rows that lie `stride` apart share few sets of a first-level cache?
template <class T>
bool collide(int64_t stride) {
  return stride * static_cast<int64_t>(sizeof(T)) % 1024 == 0;
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
                 int64_t depth_stride, int64_t count, int64_t depth, T *to, int64_t width,
                 int64_t step) {
  const int64_t together = depth_stride == 1 ? width : std::max(width, count / width * width);
  for (int64_t i = 0; i < count; i += together) {
    const int64_t used = std::min(together, count - i);
    pack(kernels, from + i * index_stride, index_stride, depth_stride, used, depth, to + i * depth,
         std::min(width, blocks_in(used, step) * step));
  }
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
void multiply_panels(const GemmKernels<T> &kernels, Tile<T> tile, int64_t rows,
                     const Panel<T> *panels, int64_t count) {
  T *c = tile.c;
  for (int64_t j = 0; j < count; ++j) {
    tile.b = panels[j].data;
    tile.b_step = panels[j].step;
    tile.c = c;
    tile.cols = panels[j].cols;
    kernels.tile[rows - 1][panels[j].vectors - 1](tile);
    c += panels[j].cols;
  }
}

template <class T>
void multiply_columns(const GemmKernels<T> &kernels, const Left<T> &left, int64_t depth,
                      RightOperand<T> &b, int64_t col, int64_t cols, T *c, int64_t c_row,
                      const T *start, T *scratch) {
  const Matrix<T> &a = left.matrix;
  const int64_t rows = left.rows;
  const int64_t block = depth_block<T>(depth);
  T *const packed = aligned(scratch);
  std::array<Panel<T>, 240> panels;
  const int64_t group = group_cols(kernels);
  for (int64_t first = 0; first < cols; first += group) {
    const int64_t here = std::min(group, cols - first);
    // Few columns do not repay what packing rows costs; one panel of them reads rows just once.
    const int64_t repaying = collide<T>(a.row_stride) ? kernels.cols : few_cols(kernels);
    const bool packs_rows =
        a.col_stride != 1 ? rows > kernels.rows && here > 2 * kernels.cols : here > repaying;
    int64_t k = 0;
    do {
      const int64_t deep = std::min(block, depth - k);
      T *to = packed;
      int64_t count = 0;
      b.prepare(k, deep, col + first, here);
      for (int64_t j = 0; j < here; j += kernels.cols) {
        const int64_t width = std::min(kernels.cols, here - j);
        const int64_t vectors = blocks_in(width, kernels.lanes);
        Panel<T> &panel = panels[static_cast<size_t>(count++)];
        panel = {to, vectors * kernels.lanes, width, vectors};
        const T *const there =
            width == vectors * kernels.lanes ? b.in_place(k, col + first + j, panel.step) : nullptr;
        if (there != nullptr) {
          panel.data = there;
          continue;
        }
        b.pack(k, deep, col + first + j, width, to, panel.step);
        to += deep * panel.step;
      }
      for (int64_t i = 0; i < rows; i += kernels.rows) {
        const int64_t high = std::min(kernels.rows, rows - i);
        Tile<T> tile{.depth = deep,
                     .a = a.at(left.first + i, k),
                     .a_row = a.row_stride,
                     .a_step = a.col_stride,
                     .b = nullptr,
                     .b_step = 0,
                     .c = c + i * c_row + first,
                     .c_row = c_row,
                     .cols = 0,
                     .start = start == nullptr ? nullptr : start + i,
                     .add = k > 0};
        if (left.panels != nullptr) {
          tile.a = left.panels + k * left.panel_rows + (left.first + i) * deep;
          tile.a_row = 1;
          tile.a_step = high;
        } else if (packs_rows) {
          pack(kernels, tile.a, a.row_stride, a.col_stride, high, deep, to, high);
          tile.a = to;
          tile.a_row = 1;
          tile.a_step = high;
        }
        multiply_panels(kernels, tile, high, panels.data(), count);
      }
      k += block;
    } while (k < depth);
  }
}

template void pack(const GemmKernels<float> &, const float *, int64_t, int64_t, int64_t, int64_t,
                   float *, int64_t);
template void pack(const GemmKernels<double> &, const double *, int64_t, int64_t, int64_t, int64_t,
                   double *, int64_t);
template void pack_panels(const GemmKernels<float> &, const float *, int64_t, int64_t, int64_t,
                          int64_t, float *, int64_t, int64_t);
template void pack_rows(tl_instance &, const Matrix<float> &, int64_t, int64_t, float *);
template void pack_panels(const GemmKernels<double> &, const double *, int64_t, int64_t, int64_t,
                          int64_t, double *, int64_t, int64_t);
template void pack_rows(tl_instance &, const Matrix<double> &, int64_t, int64_t, double *);
template void multiply_columns(const GemmKernels<float> &, const Left<float> &, int64_t,
                               RightOperand<float> &, int64_t, int64_t, float *, int64_t,
                               const float *, float *);
template void multiply_columns(const GemmKernels<double> &, const Left<double> &, int64_t,
                               RightOperand<double> &, int64_t, int64_t, double *, int64_t,
                               const double *, double *);
template void multiply_panels(const GemmKernels<float> &, Tile<float>, int64_t,
                              const Panel<float> *, int64_t);
template void multiply_panels(const GemmKernels<double> &, Tile<double>, int64_t,
                              const Panel<double> *, int64_t);

}  // namespace torchlean::cpu
