// Real Fourier transforms of any length (fourier_plan.hpp).
//
// A signal of even length is the complex signal of its pairs. Where that is short, as many rows as
// a vector has lanes are transposed and transformed side by side; where it is long, row by row.
#include "blocks.hpp"
#include "fourier_plan.hpp"
#include "threads.hpp"

namespace torchlean::cpu {
namespace {

template <class T>
class Rows {
 public:
  Rows(tl_instance &instance, const RealPlan<T> &plan)
      : instance_(instance),
        plan_(plan),
        kernels_(fourier_kernels<T>(instance.target)),
        matrices_(gemm_kernels<T>(instance.target)),
        width_(plan.rows),
        n_(plan.n),
        is_even_(plan.n % 2 == 0),
        half_(plan.n / 2),
        length_(is_even_ ? half_ : n_),
        signal_(instance, columns_of(n_)),
        spectrum_(instance, columns_of(2 * (half_ + 1))),
        one_(instance, length_ * width_, 0),
        other_(instance, length_ * width_, 1) {}

  // Up to plan.rows rows of n numbers to rows of n/2 + 1 pairs.
  void forward(const T *x, int64_t rows, T *bins) {
    const T *const columns = to_columns(x, n_, rows, signal_.begin());
    T *const spectrum = width_ == 1 ? bins : spectrum_.begin();
    if (is_even_) {
      const Planes<T> result = plan_.transform.run(instance_, {columns, columns + width_},
                                                   2 * width_, width_, half_, one(), other());
      kernels_.split(result, plan_.roots.planes(), half_, width_, spectrum);
    } else {
      T *const zeros = other().im;
      std::fill_n(zeros, n_ * width_, T(0));
      const Planes<T> result = plan_.transform.run(instance_, {columns, zeros}, width_, width_,
                                                   half_ + 1, one(), other());
      join(result, T(1), half_ + 1, spectrum);
      std::fill_n(spectrum + width_, width_, T(0));
    }
    to_rows(spectrum, 2 * (half_ + 1), rows, bins);
  }

  // The other way, times `factor`.
  void inverse(const T *bins, int64_t rows, T factor, T *x) {
    const T *const spectrum = to_columns(bins, 2 * (half_ + 1), rows, spectrum_.begin());
    T *const signal = width_ == 1 ? x : signal_.begin();
    const Planes<T> numbers = other();
    if (is_even_) {
      kernels_.unsplit(spectrum, plan_.roots.planes(), half_, width_, numbers);
      const Planes<T> result = plan_.transform
                                   .run(instance_, numbers.swapped(), width_, width_, half_,
                                        one().swapped(), numbers.swapped())
                                   .swapped();
      join(result, factor, half_, signal);
    } else {
      part(spectrum, half_ + 1, numbers);
      std::fill_n(numbers.im, width_, T(0));
      const Planes<T> result = plan_.transform.run_mirrored(instance_, numbers, width_, one());
      kernels_.scale_blocks(result.re, 0, factor, 1, n_ * width_, signal, 0);
    }
    to_rows(signal, n_, rows, x);
  }

 private:
  Planes<T> one() { return one_.planes(); }
  Planes<T> other() { return other_.planes(); }

  // Pairs of blocks of `width_` numbers, apart; and together again, times the factor.
  void part(const T *x, int64_t count, Planes<T> y) {
    if (width_ == 1) return kernels_.part(x, count, y);
    kernels_.scale_blocks(x, 2 * width_, T(1), count, width_, y.re, width_);
    kernels_.scale_blocks(x + width_, 2 * width_, T(1), count, width_, y.im, width_);
  }
  void join(Planes<const T> x, T factor, int64_t count, T *y) {
    if (width_ == 1) return kernels_.join(x, factor, count, y);
    kernels_.scale_blocks(x.re, width_, factor, count, width_, y, 2 * width_);
    kernels_.scale_blocks(x.im, width_, factor, count, width_, y + width_, 2 * width_);
  }

  // A single row needs none.
  uint64_t columns_of(int64_t length) const {
    return width_ == 1 ? 0 : static_cast<uint64_t>(length * width_);
  }

  // A row in each lane; zeros in lanes without one. A single row stays where it is.
  const T *to_columns(const T *x, int64_t length, int64_t rows, T *columns) {
    if (width_ == 1) return x;
    matrices_.transpose(x, length, rows, length, columns, width_);
    return columns;
  }

  void to_rows(const T *columns, int64_t length, int64_t rows, T *x) {
    if (width_ > 1) matrices_.transpose(columns, width_, length, rows, x, length);
  }

  tl_instance &instance_;
  const RealPlan<T> &plan_;
  const FourierKernels<T> &kernels_;
  const GemmKernels<T> &matrices_;
  const int64_t width_;
  const int64_t n_;
  const bool is_even_;
  const int64_t half_;
  const int64_t length_;
  Result<T> signal_;
  Result<T> spectrum_;
  WorkingPlanes<T> one_;
  WorkingPlanes<T> other_;
};

void transform(tl_instance &instance, tl_fourier_op op, const tl_operand *operand, uint64_t batch,
               uint64_t n, tl_flags, tl_storage **out) {
  if (op >= TL_FOURIER_OP_COUNT) throw unknown("op", op);
  expect_given("x", operand);
  if (n == 0) throw invalid("n is 0, expected at least 1");
  check_count(n);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    const uint64_t bins = 2 * (n / 2 + 1);
    const bool to_bins = op == TL_FOURIER_RFFT;
    const uint64_t in = to_bins ? n : bins;
    const uint64_t width = to_bins ? bins : n;
    expect_equal("x.count", x.size(), product({batch, in}));
    check_count(product({batch, width}));
    Result<T> y(instance, batch * width);
    if (!x.empty()) {
      const auto plan =
          real_plan<T>(instance, static_cast<int64_t>(n), static_cast<int64_t>(batch));
      const T factor = op == TL_FOURIER_IRFFT ? T(1) / static_cast<T>(n) : T(1);
      const auto lanes = static_cast<uint64_t>(plan->rows);
      const uint64_t blocks = blocks_in(batch, lanes);
      const uint64_t grain = std::max<uint64_t>(1, 2048 / (n * lanes));
      parallel_for(instance, blocks, grain, [&](uint64_t begin, uint64_t end) {
        Rows<T> rows(instance, *plan);
        for (uint64_t row = begin * lanes; row < std::min(batch, end * lanes); row += lanes) {
          const auto here = static_cast<int64_t>(std::min(lanes, batch - row));
          if (to_bins)
            rows.forward(x.data() + row * in, here, y.begin() + row * width);
          else
            rows.inverse(x.data() + row * in, here, factor, y.begin() + row * width);
        }
      });
    }
    hand_out(out, y);
  });
}

}  // namespace

const tl_fourier_table fourier_table = {
    .struct_size = sizeof(tl_fourier_table),
    .transform = entry<"transform", transform>,
};

}  // namespace torchlean::cpu
