// The blocks of a matrix product, and which of them a thread computes.
#include "gemm.hpp"

#include "threads.hpp"

#include <array>

namespace torchlean::cpu {
namespace {

// Sizes that a task is worth.
constexpr int64_t task_products = int64_t{1} << 16;

// From here on packing for all threads costs less than packing the same rows for each group of
// columns; earlier (about 200 x 200 x 200) where the left operand does not lie in rows.
constexpr int64_t shared_products = int64_t{1} << 26;
constexpr int64_t shared_products_of_columns = int64_t{1} << 23;

int64_t round_up(int64_t value, int64_t step) { return blocks_in(value, step) * step; }

template <class T>
class StridedRight final : public RightOperand<T> {
 public:
  StridedRight(const GemmKernels<T> &kernels, const Matrix<T> &b, int64_t m)
      : kernels_(kernels),
        b_(b),
        lies_in_rows_(b.col_stride == 1 &&
                      (m <= kernels.rows || b.row_stride <= few_cols(kernels))) {}

  void pack(int64_t row, int64_t depth, int64_t col, int64_t cols, T *to, int64_t width) override {
    cpu::pack(kernels_, b_.at(row, col), b_.col_stride, b_.row_stride, cols, depth, to, width);
  }

  // What is read once is not copied before, nor what lies almost as a copy would.
  const T *in_place(int64_t row, int64_t col, int64_t &step) const override {
    if (!lies_in_rows_) return nullptr;
    step = b_.row_stride;
    return b_.at(row, col);
  }

 private:
  const GemmKernels<T> &kernels_;
  const Matrix<T> b_;
  const bool lies_in_rows_;
};

template <class T>
class Multiplication {
 public:
  Multiplication(tl_instance &instance, const Product<T> &product, T *c)
      : instance_(instance),
        kernels_(gemm_kernels<T>(instance.target)),
        batch_(product.batch),
        m_(product.m),
        n_(product.n),
        p_(product.p),
        a_(product.a),
        b_(product.b),
        a_batch_(product.a_batch),
        b_batch_(product.b_batch),
        c_(c),
        c_row_(product.p) {}

  void run() {
    // A single column is a row of the transposed product, and lies in memory as one.
    if (p_ == 1 && m_ > 1) {
      std::swap(m_, p_);
      std::swap(a_, b_);
      std::swap(a_batch_, b_batch_);
      std::swap(a_.row_stride, a_.col_stride);
      std::swap(b_.row_stride, b_.col_stride);
      c_row_ = p_;
    }
    const bool a_in_rows = a_.col_stride == 1 || n_ == 1;
    const bool b_in_cols = b_.row_stride == 1 || n_ == 1;
    if (a_in_rows && b_in_cols && std::min(m_, p_) <= 4 && n_ >= 4 * kernels_.lanes)
      by_dot_products();
    else if (is_small_and_deep())
      by_depth();
    else if (m_ == 1 && b_.col_stride == 1 && n_ > 1)
      by_rows();
    else if (m_ >= 64 && p_ >= 64 && n_ >= 64 && batch_ < 8 &&
             m_ * n_ >= (a_in_rows ? shared_products : shared_products_of_columns) / p_)
      by_shared_panels();
    else
      by_columns();
  }

 private:
  const T *a_of(int64_t s) const { return a_.data + s * a_batch_; }
  const T *b_of(int64_t s) const { return b_.data + s * b_batch_; }
  T *c_of(int64_t s) const { return c_ + s * m_ * p_; }

  // Small results have blocks of columns for few threads; blocks of a large depth are as good.
  bool is_small_and_deep() const {
    const int64_t blocks = n_ / depth_block<T>(n_);
    const int64_t threads = instance_.threads.load(std::memory_order_relaxed);
    return m_ * p_ <= 64 * 64 && blocks >= 2 &&
           (blocks >= 64 || (batch_ < threads && m_ * n_ * p_ >= 4 * task_products));
  }

  // Calls body(s, begin, end) for pieces of [0, count) of each matrix of the batch; `grain` pieces
  // are worth a task.
  template <class Body>
  void each_piece(int64_t count, int64_t grain, const Body &body) {
    const auto total = static_cast<uint64_t>(batch_ * count);
    parallel_for(instance_, total, static_cast<uint64_t>(grain), [&](uint64_t from, uint64_t to) {
      for (auto at = static_cast<int64_t>(from); at < static_cast<int64_t>(to);) {
        const int64_t s = at / count;
        const int64_t end = std::min(static_cast<int64_t>(to), (s + 1) * count);
        body(s, at - s * count, end - s * count);
        at = end;
      }
    });
  }

  // How many items of so many products each are worth a task.
  static int64_t grain(int64_t products) {
    return std::max<int64_t>(1, task_products / std::max<int64_t>(1, products));
  }

  // Rows of b lie along the depth, as rows of a do. Very long ones are cut.
  void by_dot_products() {
    constexpr int64_t piece = 1 << 15;
    const int64_t pieces = blocks_in(n_, piece);
    if (pieces == 1) {
      each_piece(p_, round_up(grain(m_ * n_), 4), [&](int64_t s, int64_t begin, int64_t end) {
        kernels_.dot(a_of(s), a_.row_stride, m_, b_of(s) + begin * b_.col_stride, b_.col_stride,
                     end - begin, n_, c_of(s) + begin, c_row_);
      });
      return;
    }
    const int64_t count = m_ * p_;
    Result<T> sums(instance_, static_cast<uint64_t>(batch_ * pieces * count));
    each_piece(pieces, 1, [&](int64_t s, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        kernels_.dot(a_of(s) + i * piece, a_.row_stride, m_, b_of(s) + i * piece, b_.col_stride, p_,
                     std::min(piece, n_ - i * piece), sums.begin() + (s * pieces + i) * count, p_);
    });
    add_up(sums.begin(), pieces);
  }

  // c = the sum of `pieces` matrices.
  void add_up(const T *parts, int64_t pieces) {
    const int64_t count = m_ * p_;
    for (int64_t s = 0; s < batch_; ++s)
      for (int64_t i = 0; i < count; ++i) {
        T sum = 0;
        for (int64_t k = 0; k < pieces; ++k) sum += parts[(s * pieces + k) * count + i];
        c_of(s)[i] = sum;
      }
  }

  // A row times a matrix: rows of b times the elements of a.
  void by_rows() {
    const int64_t step = a_.col_stride;
    Result<T> dense(instance_, step == 1 ? 0 : static_cast<uint64_t>(batch_ * n_));
    for (int64_t i = 0; step != 1 && i < batch_ * n_; ++i)
      dense[static_cast<uint64_t>(i)] = a_of(i / n_)[i % n_ * step];
    each_piece(p_, round_up(grain(n_), 64), [&](int64_t s, int64_t begin, int64_t end) {
      const T *const row = step == 1 ? a_of(s) : dense.begin() + s * n_;
      constexpr int64_t strip = 2048;  // columns whose sums stay in the first-level cache
      for (int64_t j = begin; j < end; j += strip) {
        const int64_t width = std::min(strip, end - j);
        T *const sums = c_of(s) + j;
        std::fill_n(sums, width, T(0));
        kernels_.add_rows(row, b_of(s) + j, b_.row_stride, n_, sums, width);
      }
    });
  }

  // Blocks of the depth are the tasks; their sums are added afterwards.
  void by_depth() {
    const int64_t block = depth_block<T>(n_);
    const int64_t pieces = blocks_in(n_, block);
    const int64_t count = m_ * p_;
    Result<T> sums(instance_, static_cast<uint64_t>(batch_ * pieces * count));
    each_piece(pieces, grain(m_ * block * p_), [&](int64_t s, int64_t begin, int64_t end) {
      Result<T> scratch(instance_, static_cast<uint64_t>(columns_scratch(kernels_, block, p_)));
      StridedRight<T> right(kernels_, {b_of(s), b_.row_stride, b_.col_stride}, m_);
      for (int64_t i = begin; i < end; ++i) {
        const Matrix<T> left{a_of(s) + i * block * a_.col_stride, a_.row_stride, a_.col_stride};
        Shifted shifted(right, i * block);
        multiply_columns<T>(kernels_, {left, nullptr, 0, 0, m_}, std::min(block, n_ - i * block),
                            shifted, 0, p_, sums.begin() + (s * pieces + i) * count, p_, nullptr,
                            scratch.begin());
      }
    });
    add_up(sums.begin(), pieces);
  }

  // Rows of b from some row on.
  class Shifted final : public RightOperand<T> {
   public:
    Shifted(RightOperand<T> &whole, int64_t first) : whole_(whole), first_(first) {}
    void pack(int64_t row, int64_t depth, int64_t col, int64_t cols, T *to,
              int64_t width) override {
      whole_.pack(first_ + row, depth, col, cols, to, width);
    }
    const T *in_place(int64_t row, int64_t col, int64_t &step) const override {
      return whole_.in_place(first_ + row, col, step);
    }

   private:
    RightOperand<T> &whole_;
    const int64_t first_;
  };

  // Strips of rows by groups of columns are the tasks; packed columns of a group stay in the
  // second-level cache. Each thread gets a part of the longer side, and packs the other operand
  // for itself: once, or up to four times where rows are many. No cut goes through a tile: which
  // NaN of several a result gets can depend on its tile's size.
  void by_columns() {
    const int64_t threads = instance_.threads.load(std::memory_order_relaxed);
    const int64_t parts = blocks_in(threads, batch_);
    const int64_t panels = blocks_in(p_, kernels_.cols);
    const bool is_shared = parts > 1 && m_ * n_ >= 4 * task_products / p_;
    int64_t groups = blocks_in(p_, group_cols(kernels_));
    int64_t strip = m_;
    if (is_shared && m_ >= p_) {
      constexpr int64_t usual = 256;
      const int64_t part = blocks_in(m_, parts);
      strip = round_up(std::max(blocks_in(part, 4), std::min(part, usual)), kernels_.rows);
    } else if (is_shared) {
      groups = round_up(groups, parts);
    }
    const int64_t group = blocks_in(panels, groups) * kernels_.cols;
    groups = blocks_in(p_, group);
    const int64_t strips = blocks_in(m_, strip);
    const int64_t work = std::min(strip, m_) * n_ * std::min(p_, group);
    each_piece(groups * strips, grain(work), [&](int64_t s, int64_t begin, int64_t end) {
      Result<T> scratch(instance_, static_cast<uint64_t>(columns_scratch(kernels_, n_, p_)));
      StridedRight<T> right(kernels_, {b_of(s), b_.row_stride, b_.col_stride}, m_);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / groups * strip;  // each thread has columns of every group
        const int64_t col = i % groups * group;
        const Left<T> left{
            {a_of(s), a_.row_stride, a_.col_stride}, nullptr, 0, row, std::min(strip, m_ - row)};
        multiply_columns<T>(kernels_, left, n_, right, col, std::min(group, p_ - col),
                            c_of(s) + row * p_ + col, p_, nullptr, scratch.begin());
      }
    });
  }

  // Both operands are packed once, by all threads, a block of the depth at a time.
  void by_shared_panels() {
    constexpr int64_t most_rows = 4096;
    const int64_t most_cols = 4096 / kernels_.cols * kernels_.cols;
    const int64_t block = depth_block<T>(n_);
    const int64_t rows = std::min(round_up(m_, kernels_.rows), most_rows);
    const int64_t cols = std::min(round_up(p_, kernels_.cols), most_cols);
    Result<T> left(instance_, static_cast<uint64_t>(block * rows));
    Result<T> right(instance_, static_cast<uint64_t>(block * cols));
    for (int64_t s = 0; s < batch_; ++s)
      for (int64_t col = 0; col < p_; col += most_cols)
        for (int64_t row = 0; row < m_; row += most_rows)
          for (int64_t k = 0; k < n_; k += block)
            multiply_shared(s, row, std::min(most_rows, m_ - row), col,
                            std::min(most_cols, p_ - col), k, std::min(block, n_ - k), left.begin(),
                            right.begin());
  }

  void multiply_shared(int64_t s, int64_t row, int64_t rows, int64_t col, int64_t cols, int64_t k,
                       int64_t depth, T *left, T *right) {
    const int64_t high = kernels_.rows;
    const int64_t wide = kernels_.cols;
    const Matrix<T> a{a_of(s), a_.row_stride, a_.col_stride};
    const Matrix<T> b{b_of(s), b_.row_stride, b_.col_stride};
    // Columns of b, then rows of a, so many at a time that processors look ahead along a line.
    const int64_t piece = 4 * wide;
    const int64_t right_pieces = blocks_in(cols, piece);
    const int64_t left_pieces = blocks_in(rows, piece);
    parallel_for(instance_, static_cast<uint64_t>(right_pieces + left_pieces), 1,
                 [&](uint64_t from, uint64_t to) {
                   for (auto task = static_cast<int64_t>(from); task < static_cast<int64_t>(to);
                        ++task) {
                     if (task < right_pieces) {
                       const int64_t j = task * piece;
                       pack_panels(kernels_, b.at(k, col + j), b.col_stride, b.row_stride,
                                   std::min(piece, cols - j), depth, right + j * depth, wide,
                                   kernels_.lanes);
                     } else {
                       const int64_t i = (task - right_pieces) * piece;
                       pack_panels(kernels_, a.at(row + i, k), a.row_stride, a.col_stride,
                                   std::min(piece, rows - i), depth, left + i * depth, high, 1);
                     }
                   }
                 });

    const int64_t left_panels = blocks_in(rows, high);
    const int64_t right_panels = blocks_in(cols, wide);
    const int64_t most = group_cols(kernels_) / wide;
    const int64_t groups = blocks_in(right_panels, most);
    const int64_t group = blocks_in(right_panels, groups);  // alike: threads end together
    // At most 128 rows, but pieces enough for threads to end together.
    const int64_t threads = instance_.threads.load(std::memory_order_relaxed);
    const int64_t strip = std::clamp<int64_t>(left_panels * groups / (8 * threads), 1, 128 / high);
    const int64_t strips = blocks_in(left_panels, strip);
    parallel_for(
        instance_, static_cast<uint64_t>(groups * strips), 1, [&](uint64_t from, uint64_t to) {
          for (auto task = static_cast<int64_t>(from); task < static_cast<int64_t>(to); ++task)
            multiply_strip(
                task % strips * strip, std::min(left_panels, (task % strips + 1) * strip), rows,
                task / strips * group, std::min(right_panels, (task / strips + 1) * group), cols,
                depth, left, right, c_of(s) + row * p_ + col, k > 0);
        });
  }

  // Panels [i, i_end) of a by panels [j, j_end) of b.
  void multiply_strip(int64_t i, int64_t i_end, int64_t rows, int64_t j, int64_t j_end,
                      int64_t cols, int64_t depth, const T *left, const T *right, T *c, bool add) {
    const int64_t high = kernels_.rows;
    const int64_t wide = kernels_.cols;
    std::array<Panel<T>, 240> panels;
    int64_t count = 0;
    const int64_t first = j * wide;
    for (; j < j_end; ++j) {
      const int64_t used = std::min(wide, cols - j * wide);
      const int64_t vectors = blocks_in(used, kernels_.lanes);
      panels[static_cast<size_t>(count++)] = {right + j * wide * depth, vectors * kernels_.lanes,
                                              used, vectors};
    }
    for (; i < i_end; ++i) {
      const int64_t used = std::min(high, rows - i * high);
      const Tile<T> tile{.depth = depth,
                         .a = left + i * high * depth,
                         .a_row = 1,
                         .a_step = used,
                         .b = nullptr,
                         .b_step = 0,
                         .c = c + i * high * p_ + first,
                         .c_row = p_,
                         .cols = 0,
                         .start = nullptr,
                         .add = add};
      multiply_panels(kernels_, tile, used, panels.data(), count);
    }
  }

  tl_instance &instance_;
  const GemmKernels<T> &kernels_;
  int64_t batch_;
  int64_t m_;
  int64_t n_;
  int64_t p_;
  Matrix<T> a_;
  Matrix<T> b_;
  int64_t a_batch_;
  int64_t b_batch_;
  T *c_;
  int64_t c_row_;
};

}  // namespace

template <class T>
void multiply(tl_instance &instance, const Product<T> &product, T *c) {
  Multiplication<T>(instance, product, c).run();
}

template void multiply(tl_instance &, const Product<float> &, float *);
template void multiply(tl_instance &, const Product<double> &, double *);

}  // namespace torchlean::cpu
