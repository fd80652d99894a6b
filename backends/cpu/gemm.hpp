// The matrix product that products and convolutions are made of.
//
// Operands are panels of a few rows or columns, read in place where they lie in rows and packed
// otherwise; a micro-kernel (gemm_kernels.cpp) keeps one tile of the result in registers while it
// walks down a panel of either. Every element is added up in one order, which follows from the
// depth alone: blocks of `depth_block` products, each a chain of multiply-adds from +0, and then
// these sums from left to right. Neither the number of threads nor the place of an element among
// tiles is to be seen in its bits.
#pragma once

#include "blocks.hpp"
#include "threads.hpp"

#include <algorithm>
#include <array>

namespace torchlean::cpu {

// c[r, j] = start[r] + sum over k of a[r * a_row + k * a_step] * b[k * b_step + j]. No start means
// zeros; `add` adds to c instead.
template <class T>
struct Tile {
  int64_t depth;
  const T *a;
  int64_t a_row;
  int64_t a_step;
  const T *b;
  int64_t b_step;
  T *c;
  int64_t c_row;
  int64_t cols;
  const T *start;
  bool add;
  // What will be read soon and is asked for now, so many elements for each step of the depth.
  const T *ahead;
  int64_t ahead_step;
};

// Where row k of b begins, from b; and where results lie, from c, piece by piece: lanes from `lane`
// on of a vector. A vector's pieces end at ends[v]; what is in no piece is dropped.
struct Scattered {
  struct Piece {
    int64_t lane;
    int64_t count;
    int64_t to;
  };

  const int64_t *rows;
  const Piece *pieces;
  const Piece *ends[3];
};

// Magnitudes of an array's elements.
template <class T>
struct Survey {
  T largest = 0;
  T smallest = std::numeric_limits<T>::infinity();  // of those that are not zero
  bool finite = true;
  bool lost = false;  // one is zero or subnormal although its source is not zero
  bool tiny = false;  // one is zero or subnormal

  void join(const Survey &other) {
    largest = std::max(largest, other.largest);
    smallest = std::min(smallest, other.smallest);
    finite = finite && other.finite;
    lost = lost || other.lost;
    tiny = tiny || other.tiny;
  }
};

// What is compiled for each target.
template <class T>
struct GemmKernels {
  static constexpr int64_t most_rows = 8;
  static constexpr int64_t most_vectors = 3;

  int64_t lanes;
  int64_t rows;  // of the largest tile
  int64_t cols;

  // tile[rows - 1][vectors - 1]: cols of a tile fill its last vector at least partly, and b has
  // whole vectors.
  void (*tile[most_rows][most_vectors])(const Tile<T> &);

  // tall_rows by one vector, for narrow results: sums enough to wait for none.
  void (*tall_tile)(const Tile<T> &);
  int64_t tall_rows;  // a multiple of rows

  // The same with b_step, cols and the places of results from `where`.
  void (*scattered[most_rows][most_vectors])(const Tile<T> &, const Scattered &where);

  // to[k * width + i] = from[i * stride + k] for i < used; zeros where used <= i < width.
  void (*transpose)(const T *from, int64_t stride, int64_t used, int64_t depth, T *to,
                    int64_t width);

  // The same of from[k * stride + i]. More than `width` are panels one behind the other.
  void (*copy)(const T *from, int64_t stride, int64_t used, int64_t depth, T *to, int64_t width);

  // sums[r, j] = a[r] . b[j] of rows that lie `a_row` and `b_row` apart.
  void (*dot)(const T *a, int64_t a_row, int64_t rows, const T *b, int64_t b_row, int64_t cols,
              int64_t depth, T *sums, int64_t sums_row);

  // c[j] += sum over k of a[k] * b[k * b_row + j], in the order of k.
  void (*add_rows)(const T *a, const T *b, int64_t b_row, int64_t depth, T *c, int64_t cols);

  // y = x * factor, or just a look at x where there is no y.
  Survey<T> (*scale)(const T *x, T factor, int64_t count, T *y);
};

template <class T>
const GemmKernels<T> &gemm_kernels(Target target);

// A matrix at any strides.
template <class T>
struct Matrix {
  const T *data;
  int64_t row_stride;
  int64_t col_stride;

  const T *at(int64_t row, int64_t col) const { return data + row * row_stride + col * col_stride; }
};

// Rows [first, first + rows) of the left operand of a product. Where `panels` is not NULL, it is
// what pack_rows writes, of `panel_rows` in all, and `first` is a multiple of GemmKernels::rows.
template <class T>
struct Left {
  Matrix<T> matrix;
  const T *panels;
  int64_t panel_rows;
  int64_t first;
  int64_t rows;
};

// The right operand of a product, panel by panel.
template <class T>
class RightOperand {
 public:
  virtual ~RightOperand() = default;

  // Says which rows and columns the next calls are about.
  virtual void prepare(int64_t /*row*/, int64_t /*depth*/, int64_t /*col*/, int64_t /*cols*/) {}

  // Rows [row, row + depth) of columns [col, col + cols), cols <= width: to[k * width + j],
  // anything behind the last column. Up to a vector behind the last row may be written.
  virtual void pack(int64_t row, int64_t depth, int64_t col, int64_t cols, T *to,
                    int64_t width) = 0;

  // Where the elements lie that pack would copy, `step` being the distance of rows; NULL where they
  // do not lie in rows.
  virtual const T *in_place(int64_t /*row*/, int64_t /*col*/, int64_t & /*step*/) const {
    return nullptr;
  }

  // Where the operand of the next product begins, if one follows that lies densely.
  virtual const T *next() const { return nullptr; }
};

// How deep blocks of a sum of `depth` products are: all alike but the last.
template <class T>
int64_t depth_block(int64_t depth) {
  constexpr int64_t most = 2048 / sizeof(T);
  const int64_t blocks = std::max<int64_t>(1, blocks_in(depth, most));
  return std::max<int64_t>(1, blocks_in(depth, blocks));
}

// Columns whose packed block stays in a core's second-level cache.
inline constexpr int64_t most_group_cols = 288;

template <class T>
int64_t group_cols(const GemmKernels<T> &kernels) {
  return most_group_cols / kernels.cols * kernels.cols;
}

// Where columns may be cut into parts: behind each so many of them that fill the widest tile, but
// the last part has up to a vector more. Panels are the same wherever one cuts.
template <class T>
int64_t column_parts(const GemmKernels<T> &kernels, int64_t cols) {
  return blocks_in(std::max<int64_t>(1, cols - kernels.lanes), kernels.cols);
}

// The end where there is no such part.
template <class T>
int64_t begin_of_part(const GemmKernels<T> &kernels, int64_t part, int64_t cols) {
  return part >= column_parts(kernels, cols) ? cols : part * kernels.cols;
}

// How many of `cols` columns come before a cut behind `most`, a multiple of kernels.cols: all where
// what follows would not be a part.
template <class T>
int64_t cols_before_cut(const GemmKernels<T> &kernels, int64_t cols, int64_t most) {
  return cols <= most + kernels.lanes ? cols : most;
}

// Columns of the first of the panels for so many: the widest tile's, but rather two vectors and two
// than three and one, whose tiles would wait for their own sums.
template <class T>
int64_t panel_cols(const GemmKernels<T> &kernels, int64_t cols) {
  const bool is_one_too_many = cols > kernels.cols && cols <= kernels.cols + kernels.lanes;
  return std::min(cols, is_one_too_many ? 2 * kernels.lanes : kernels.cols);
}

// Elements of working memory that multiply_columns or a ColumnGroup needs.
template <class T>
int64_t columns_scratch(const GemmKernels<T> &kernels, int64_t depth, int64_t cols) {
  const int64_t most = group_cols(kernels) + kernels.lanes;
  const int64_t padded = round_up(std::min(cols, most), kernels.lanes);
  return depth_block<T>(depth) * (padded + kernels.rows) + kernels.lanes + 64 / sizeof(T);
}

// to[k * width + i] = the element of index i and depth k of an operand; zeros from `used` on.
template <class T>
void pack(const GemmKernels<T> &kernels, const T *from, int64_t index_stride, int64_t depth_stride,
          int64_t used, int64_t depth, T *to, int64_t width);

// The same of `count` indices in panels of `width`, one behind the other.
template <class T>
void pack_panels(const GemmKernels<T> &kernels, const T *from, int64_t index_stride,
                 int64_t depth_stride, int64_t count, int64_t depth, T *to, int64_t width);

// Calls body(row, high, k, deep, at) on several threads for the panels that `Left` needs of so many
// rows: of `high` rows from `row` on, the products from k to k + deep, which go to
// to[at + i * high + r].
template <class Body>
void each_row_panel(const tl_instance &instance, int64_t rows, int64_t most, int64_t depth,
                    int64_t block, const Body &body) {
  constexpr int64_t task_elements = 1 << 14;
  const int64_t blocks = blocks_in(depth, block);
  const int64_t panels = blocks_in(rows, most);
  const int64_t grain = std::max<int64_t>(1, task_elements / (most * block));
  parallel_for(instance, static_cast<uint64_t>(panels * blocks), static_cast<uint64_t>(grain),
               [&](uint64_t begin, uint64_t end) {
                 for (auto task = static_cast<int64_t>(begin); task < static_cast<int64_t>(end);
                      ++task) {
                   const int64_t row = task % panels * most;
                   const int64_t k = task / panels * block;
                   const int64_t deep = std::min(block, depth - k);
                   body(row, std::min(most, rows - row), k, deep, k * rows + row * deep);
                 }
               });
}

// The panels of rows [0, rows) of a: rows * depth elements.
template <class T>
void pack_rows(tl_instance &instance, const Matrix<T> &a, int64_t rows, int64_t depth, T *to);

// Columns of the right operand, ready for tiles: panels, packed or where they lie.
template <class T>
class ColumnGroup {
 public:
  ColumnGroup(const GemmKernels<T> &kernels, int64_t depth) : kernels_(kernels), depth_(depth) {}

  // The next panel, of columns whose rows lie `step` apart.
  void add(const T *data, int64_t step, int64_t cols);

  // Panels of columns [col, col + cols), rows from `row` on. They are packed where they do not lie
  // in rows; `scratch` (columns_scratch) has also place for a tile's rows.
  void take(RightOperand<T> &b, int64_t row, int64_t col, int64_t cols, T *scratch);

  // Rows times columns, on this thread. `c` is where the first column begins.
  void multiply(const Left<T> &left, T *c, int64_t c_row, const T *start, bool add) const;

 private:
  struct Panel {
    const T *data;
    int64_t step;
    int64_t cols;
    int64_t vectors;
  };

  const GemmKernels<T> &kernels_;
  const int64_t depth_;
  // A group's columns by the narrowest of largest tiles, and what follows a cut.
  std::array<Panel, most_group_cols / GemmKernels<T>::most_vectors + 1> panels_;
  int64_t count_ = 0;
  const T *next_ = nullptr;  // what is read after this product
  T *rows_ = nullptr;        // where rows are packed
};

// Columns [col, col + cols) of left * b, on this thread, group by group.
template <class T>
void multiply_columns(const GemmKernels<T> &kernels, const Left<T> &left, int64_t depth,
                      RightOperand<T> &b, int64_t col, int64_t cols, T *c, int64_t c_row,
                      const T *start, T *scratch);

// c = a * b for a batch of matrices; c is dense, and each operand begins `a_batch` or `b_batch`
// behind the one before.
template <class T>
struct Product {
  int64_t batch;
  int64_t m;
  int64_t n;
  int64_t p;
  Matrix<T> a;
  int64_t a_batch;
  Matrix<T> b;
  int64_t b_batch;
};

template <class T>
void multiply(tl_instance &instance, const Product<T> &product, T *c);

}  // namespace torchlean::cpu
