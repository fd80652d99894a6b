// The blocks of a matrix product, and which of them a thread computes.
#include "gemm.hpp"

#include "threads.hpp"

#include <atomic>

namespace torchlean::cpu {
namespace {

// Sizes that a task is worth.
constexpr int64_t task_products = int64_t{1} << 16;

// From here on threads gain from packing the right operand together.
constexpr int64_t shared_products = int64_t{1} << 21;

// From here on even a single thread gains from panels of all columns.
constexpr int64_t large_products = int64_t{1} << 26;

// Packed rows that stay in a core's second-level cache beside a group of columns.
constexpr int64_t most_band_rows = 512;

// Rows of a thread that repay a copy of the right operand of its own.
constexpr int64_t repaying_rows = 128;

// Do rows lie so close that reading them in place is as fast as reading a copy, two to a page?
template <class T>
bool lies_in_near_rows(const Matrix<T> &b) {
  return b.col_stride == 1 && b.row_stride * static_cast<int64_t>(sizeof(T)) <= 2048;
}

template <class T>
class StridedRight final : public RightOperand<T> {
 public:
  // The right operand of m rows; `next` is that of the following product, or NULL.
  StridedRight(const GemmKernels<T> &kernels, const Matrix<T> &b, int64_t m, const T *next)
      : kernels_(kernels),
        b_(b),
        next_(next),
        stays_in_place_(lies_in_near_rows(b) || (b.col_stride == 1 && m <= kernels.rows)) {}

  void pack(int64_t row, int64_t depth, int64_t col, int64_t cols, T *to, int64_t width) override {
    cpu::pack(kernels_, b_.at(row, col), b_.col_stride, b_.row_stride, cols, depth, to, width);
  }

  // What is read once is not copied before either.
  const T *in_place(int64_t row, int64_t col, int64_t &step) const override {
    if (!stays_in_place_) return nullptr;
    step = b_.row_stride;
    return b_.at(row, col);
  }

  const T *next() const override { return next_; }

 private:
  const GemmKernels<T> &kernels_;
  const Matrix<T> b_;
  const T *const next_;
  const bool stays_in_place_;
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
    else if (gains_from_own_copies())
      by_strips();
    else if (gains_from_shared_panels())
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
           (blocks >= 64 || (batch_ < threads && products() >= 4 * task_products));
  }

  // Threads for each product of the batch.
  int64_t threads_each() const {
    return blocks_in(instance_.threads.load(std::memory_order_relaxed), batch_);
  }

  int64_t products() const { return m_ * n_ * p_; }  // in each matrix

  bool is_worth_sharing() const { return threads_each() > 1 && products() >= 4 * task_products; }

  // Is all of the right operand packed at once, and little beside what is done with it?
  bool gains_from_own_copies() const {
    return is_worth_sharing() && !lies_in_near_rows(b_) && n_ == depth_block<T>(n_) &&
           p_ <= group_cols(kernels_) && m_ >= threads_each() * repaying_rows;
  }

  bool gains_from_shared_panels() const {
    const int64_t least = threads_each() > 1 ? shared_products : large_products;
    return m_ >= 64 && p_ >= 64 && n_ >= 64 && batch_ < 8 && !lies_in_near_rows(b_) &&
           products() >= least;
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
      for (int64_t i = begin; i < end; ++i) {
        const Matrix<T> left{a_of(s) + i * block * a_.col_stride, a_.row_stride, a_.col_stride};
        StridedRight<T> right(kernels_,
                              {b_of(s) + i * block * b_.row_stride, b_.row_stride, b_.col_stride},
                              m_, nullptr);
        multiply_columns<T>(kernels_, {left, nullptr, 0, 0, m_}, std::min(block, n_ - i * block),
                            right, 0, p_, sums.begin() + (s * pieces + i) * count, p_, nullptr,
                            scratch.begin());
      }
    });
    add_up(sums.begin(), pieces);
  }

  // Strips of rows by groups of columns are the tasks; packed columns of a group stay in the
  // second-level cache. Threads share out the rows where b needs no packing, else the columns. No
  // cut goes through a tile: which NaN of several a result gets can depend on its tile's size.
  void by_columns() {
    const int64_t parts = column_parts(kernels_, p_);
    int64_t groups = blocks_in(parts * kernels_.cols, group_cols(kernels_));
    int64_t strip = m_;
    if (is_worth_sharing()) {
      if (lies_in_near_rows(b_))
        strip = rows_of_strip();
      else
        groups = round_up(groups, threads_each());
    }
    const int64_t group = blocks_in(parts, groups);
    groups = blocks_in(parts, group);
    const int64_t strips = blocks_in(m_, strip);
    const int64_t work = std::min(strip, m_) * n_ * std::min(p_, group * kernels_.cols);
    each_piece(groups * strips, grain(work), [&](int64_t s, int64_t begin, int64_t end) {
      Result<T> scratch(instance_, static_cast<uint64_t>(columns_scratch(kernels_, n_, p_)));
      const T *const next = s + 1 < batch_ ? b_of(s + 1) : nullptr;
      StridedRight<T> right(kernels_, {b_of(s), b_.row_stride, b_.col_stride}, m_, next);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / groups * strip;  // each thread has columns of every group
        const int64_t part = i % groups * group;
        const int64_t col = begin_of_part(kernels_, part, p_);
        const int64_t cols = begin_of_part(kernels_, part + group, p_) - col;
        const Left<T> left{
            {a_of(s), a_.row_stride, a_.col_stride}, nullptr, 0, row, std::min(strip, m_ - row)};
        multiply_columns<T>(kernels_, left, n_, right, col, cols, c_of(s) + row * p_ + col, p_,
                            nullptr, scratch.begin());
      }
    });
  }

  // Few enough for threads to end together.
  int64_t rows_of_strip() const {
    const int64_t most = blocks_in(m_, threads_each());
    return round_up(std::min(most, blocks_in(8 * task_products, n_ * p_)), kernels_.tall_rows);
  }

  // Each thread packs the right operand for itself, which is less than fetching what another one
  // wrote, and takes strips of rows until none is left.
  void by_strips() {
    const int64_t strip = rows_of_strip();
    const int64_t strips = blocks_in(m_, strip);
    for (int64_t s = 0; s < batch_; ++s) {
      std::atomic<int64_t> taken{0};
      parallel_for(instance_, static_cast<uint64_t>(threads_each()), 1, [&](uint64_t, uint64_t) {
        int64_t i = taken.fetch_add(1, std::memory_order_relaxed);
        if (i >= strips) return;
        Result<T> scratch(instance_, static_cast<uint64_t>(columns_scratch(kernels_, n_, p_)));
        StridedRight<T> right(kernels_, {b_of(s), b_.row_stride, b_.col_stride}, m_, nullptr);
        ColumnGroup<T> group(kernels_, n_);
        group.take(right, 0, 0, p_, scratch.begin());
        for (; i < strips; i = taken.fetch_add(1, std::memory_order_relaxed)) {
          const int64_t row = i * strip;
          const Left<T> left{
              {a_of(s), a_.row_stride, a_.col_stride}, nullptr, 0, row, std::min(strip, m_ - row)};
          group.multiply(left, c_of(s) + row * p_, p_, nullptr, false);
        }
      });
    }
  }

  // The right operand is packed once, by all threads, a block of the depth at a time, and so is the
  // left one where it does not lie in rows.
  void by_shared_panels() {
    constexpr int64_t most_rows = 4096;
    const int64_t most_cols = 4096 / kernels_.cols * kernels_.cols;
    const int64_t block = depth_block<T>(n_);
    const int64_t rows = std::min(m_, most_rows);
    const int64_t cols = round_up(std::min(p_, most_cols + kernels_.lanes), kernels_.lanes);
    const bool packs_left = a_.col_stride != 1;
    Result<T> left(instance_, static_cast<uint64_t>(packs_left ? block * rows : 0));
    Result<T> right(instance_, static_cast<uint64_t>(block * cols));
    for (int64_t s = 0; s < batch_; ++s)
      for (int64_t col = 0, here = 0; col < p_; col += here) {
        here = cols_before_cut(kernels_, p_ - col, most_cols);
        for (int64_t row = 0; row < m_; row += most_rows)
          for (int64_t k = 0; k < n_; k += block) {
            const Block part{.rows = std::min(most_rows, m_ - row),
                             .depth = std::min(block, n_ - k),
                             .a = {a_of(s) + row * a_.row_stride + k * a_.col_stride, a_.row_stride,
                                   a_.col_stride},
                             .left = packs_left ? left.begin() : nullptr,
                             .b = {b_of(s) + k * b_.row_stride + col * b_.col_stride, b_.row_stride,
                                   b_.col_stride},
                             .cols = here,
                             .right = right.begin(),
                             .c = c_of(s) + row * p_ + col,
                             .adds = k > 0};
            pack_block(part);
            multiply_block(part);
          }
      }
  }

  // A block of a product: rows of a and columns of b, their packed panels (left is NULL where a is
  // read in place), and where results go.
  struct Block {
    int64_t rows;
    int64_t depth;
    Matrix<T> a;
    T *left;
    Matrix<T> b;
    int64_t cols;
    T *right;
    T *c;
    bool adds;  // to what is in c
  };

  // Columns of b, then rows of a; so many at a time that processors look ahead along a line.
  void pack_block(const Block &block) {
    const int64_t high = kernels_.rows;
    const int64_t parts = column_parts(kernels_, block.cols);
    const int64_t parts_together = block.b.col_stride == 1 ? 4 : 1;
    const int64_t right_tasks = blocks_in(parts, parts_together);
    const int64_t rows_together = 4 * kernels_.cols;
    const int64_t left_tasks = block.left == nullptr ? 0 : blocks_in(block.rows, rows_together);
    const int64_t tasks = right_tasks + left_tasks;
    // Columns and rows are mixed evenly: each thread packs its part of either.
    const auto right_before = [&](int64_t task) { return task * right_tasks / tasks; };
    parallel_for(instance_, static_cast<uint64_t>(tasks), 1, [&](uint64_t from, uint64_t to) {
      for (auto task = static_cast<int64_t>(from); task < static_cast<int64_t>(to); ++task) {
        const int64_t right_task = right_before(task);
        if (right_before(task + 1) > right_task) {
          const int64_t part = right_task * parts_together;
          pack_columns(block, begin_of_part(kernels_, part, block.cols),
                       begin_of_part(kernels_, part + parts_together, block.cols));
        } else {
          const int64_t i = (task - right_task) * rows_together;
          const int64_t count = std::min(rows_together, block.rows - i);
          const int64_t whole = count / high * high;
          pack_panels(kernels_, block.a.at(i, 0), block.a.row_stride, block.a.col_stride, whole,
                      block.depth, block.left + i * block.depth, high);
          pack_panels(kernels_, block.a.at(i + whole, 0), block.a.row_stride, block.a.col_stride,
                      count - whole, block.depth, block.left + (i + whole) * block.depth,
                      count - whole);
        }
      }
    });
  }

  // Neighbouring panels that are alike are packed together.
  void pack_columns(const Block &block, int64_t col, int64_t end) {
    for (int64_t count; col < end; col += count) {
      const int64_t width = panel_cols(kernels_, end - col);
      const int64_t alike = std::max<int64_t>(1, column_parts(kernels_, end - col) - 1) * width;
      count = width == kernels_.cols ? alike : end - col;
      pack_panels(kernels_, block.b.at(0, col), block.b.col_stride, block.b.row_stride, count,
                  block.depth, block.right + col * block.depth, round_up(width, kernels_.lanes));
    }
  }

  void multiply_block(const Block &block) {
    const int64_t parts = column_parts(kernels_, block.cols);
    // Groups alike, so that threads end together; at most 128 rows, but pieces enough.
    const int64_t groups = blocks_in(parts * kernels_.cols, group_cols(kernels_));
    const int64_t group = blocks_in(parts, groups);
    const int64_t tiles = blocks_in(block.rows, kernels_.rows);
    const int64_t threads = instance_.threads.load(std::memory_order_relaxed);
    const int64_t strip =
        std::clamp<int64_t>(tiles * groups / (32 * threads), 1, 128 / kernels_.rows) *
        kernels_.rows;
    const int64_t strips = blocks_in(block.rows, strip);
    // Packed rows go band by band: a thread multiplies those that it packed.
    const int64_t bands = block.left == nullptr ? 1 : blocks_in(strips * strip, most_band_rows);
    const int64_t band = blocks_in(strips, bands);
    parallel_for(
        instance_, static_cast<uint64_t>(groups * strips), 1, [&](uint64_t from, uint64_t to) {
          for (auto task = static_cast<int64_t>(from); task < static_cast<int64_t>(to); ++task) {
            const int64_t first = task / (groups * band) * band;
            const int64_t in_band = task - first * groups;
            const int64_t band_strips = std::min(band, strips - first);
            const int64_t row = (first + in_band % band_strips) * strip;
            const int64_t part = in_band / band_strips * group;
            const Left<T> left{block.a, block.left, block.rows, row,
                               std::min(strip, block.rows - row)};
            multiply_group(block, left, begin_of_part(kernels_, part, block.cols),
                           begin_of_part(kernels_, part + group, block.cols));
          }
        });
  }

  // Rows by packed columns [col, end).
  void multiply_group(const Block &block, const Left<T> &left, int64_t col, int64_t end) {
    T *const c = block.c + left.first * p_ + col;
    ColumnGroup<T> group(kernels_, block.depth);
    for (int64_t width = 0; col < end; col += width) {
      width = panel_cols(kernels_, end - col);
      group.add(block.right + col * block.depth, round_up(width, kernels_.lanes), width);
    }
    group.multiply(left, c, p_, nullptr, block.adds);
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
