// Convolutions as matrix products: the kernel times the source (convolution/image.hpp), group by
// group.
#include "blocks.hpp"
#include "convolution/image.hpp"
#include "convolution/kernel_rows.hpp"

namespace torchlean::cpu {
namespace {

template <class T>
class PackedProducts {
 public:
  PackedProducts(const Correlation<T> &at, const Phases &phase)
      : at_(at),
        phase_(phase),
        kernels_(gemm_kernels<T>(at.instance.target)),
        rows_(at.targets.count),
        places_(phase[0]->count * phase[1]->count * phase[2]->count),
        cols_(at.batch * places_),
        group_(group_cols(kernels_)),
        blocks_(blocks_in(cols_, group_)),
        kernel_(at, phase, blocks_ > 1) {}

  void run() {
    const int64_t width = std::min(group_, cols_);
    const int64_t depth = kernel_.depth();
    const int64_t strip = rows_of_a_task(width);
    const int64_t strips = blocks_in(rows_, strip);
    each_task(at_.instance, at_.groups * blocks_ * strips, strip * depth * width,
              [&](int64_t begin, int64_t end) {
                ImageRight<T> right(convolution_kernels<T>(at_.instance.target), phase_,
                                    depth_block<T>(depth), width);
                Result<T> band(at_.instance, static_cast<uint64_t>(right.scratch_size()));
                Result<T> scratch(at_.instance,
                                  static_cast<uint64_t>(columns_scratch(kernels_, depth, width)));
                Result<T> dense(at_.instance, static_cast<uint64_t>(strip * width));
                for (int64_t task = begin; task < end; ++task) {
                  const int64_t g = task / strips / blocks_;
                  const int64_t row = task % strips * strip;
                  const int64_t col = task / strips % blocks_ * group_;
                  right.look_at(at_.source_of(g),
                                at_.groups * at_.sources.count * at_.source_size(), band.begin());
                  multiply(kernel_.rows(g, row, std::min(strip, rows_ - row)), right, g, col,
                           std::min(group_, cols_ - col), dense.begin(), scratch.begin());
                }
              });
  }

 private:
  // All, but where there are too few blocks of columns for the threads.
  int64_t rows_of_a_task(int64_t cols) const {
    const int64_t blocks = at_.groups * blocks_;
    const int64_t threads = at_.instance.threads.load(std::memory_order_relaxed);
    if (threads == 1 || blocks >= 2 * threads) return rows_;
    const int64_t wanted = blocks_in(2 * threads, blocks);
    const int64_t least = std::max(
        4 * kernels_.rows, (int64_t{1} << 16) / std::max<int64_t>(1, kernel_.depth() * cols));
    const int64_t strip = std::max(least, blocks_in(rows_, wanted));
    return std::min(rows_, round_up(strip, kernels_.tall_rows));
  }

  void multiply(const Left<T> &left, ImageRight<T> &right, int64_t g, int64_t col, int64_t cols,
                T *dense, T *scratch) const {
    const T *const begins = at_.start == nullptr ? nullptr : at_.start + g * rows_ + left.first;
    const int64_t sample = col / places_;
    const bool in_order = std::all_of(phase_.begin(), phase_.end(),
                                      [](const Phase *axis) { return axis->step == 1; });
    if (in_order && (col + cols - 1) / places_ == sample) {
      T *const to =
          at_.target + ((sample * at_.groups + g) * rows_ + left.first) * places_ + col % places_;
      multiply_columns<T>(kernels_, left, kernel_.depth(), right, col, cols, to, places_, begins,
                          scratch);
    } else {
      multiply_columns<T>(kernels_, left, kernel_.depth(), right, col, cols, dense, cols, begins,
                          scratch);
      scatter(g * rows_ + left.first, left.rows, col, cols, dense);
    }
  }

  // Columns of channels [first, first + count) go where they belong.
  void scatter(int64_t first, int64_t count, int64_t col, int64_t cols, const T *dense) const {
    const auto [planes, lines, places] = phase_;
    for (int64_t j = 0; j < cols;) {
      const int64_t third = (col + j) % places->count;
      const int64_t line = (col + j) / places->count;
      const int64_t length = std::min(cols - j, places->count - third);
      const int64_t sample = line / lines->count / planes->count;
      for (int64_t r = 0; r < count; ++r)
        at_.put(phase_, sample * at_.groups * rows_ + first + r,
                line / lines->count % planes->count, line % lines->count, third,
                dense + r * cols + j, length);
      j += length;
    }
  }

  const Correlation<T> &at_;
  const Phases &phase_;
  const GemmKernels<T> &kernels_;
  const int64_t rows_;
  const int64_t places_;
  const int64_t cols_;
  const int64_t group_;
  const int64_t blocks_;
  KernelRows<T> kernel_;
};

}  // namespace

template <class T>
void correlate_by_products(const Correlation<T> &at, const Phases &phase) {
  PackedProducts<T>(at, phase).run();
}

template void correlate_by_products(const Correlation<float> &, const Phases &);
template void correlate_by_products(const Correlation<double> &, const Phases &);

}  // namespace torchlean::cpu
