// Softmax over any axis, and of rows under a mask.
//
// A long axis goes in blocks: the maximum of each block, its exponentials below that maximum and
// their sum, then the maximum of all and what the blocks add up to, then each block's factor. All
// blocks are cut by sizes alone.
#include "softmax.hpp"
#include "blocks.hpp"
#include "map.hpp"
#include "reduction.hpp"
#include "threads.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softmax.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "elementary-inl.h"
#include "fold-inl.h"

#ifndef TORCHLEAN_CPU_SOFTMAX_ONCE
#define TORCHLEAN_CPU_SOFTMAX_ONCE
namespace torchlean::cpu {
namespace {

// Rows of up to this many elements wait near the processor for their sum to be known.
template <class T>
constexpr uint64_t near_row = 16384 / sizeof(T);

// Rows of a block where the axis is not the last, and columns that are worked on side by side.
constexpr uint64_t block_rows = 32;
template <class T>
constexpr uint64_t strip = 4096 / sizeof(T);

// Rows of a block that is all of an axis, at most, and its bytes, about.
constexpr uint64_t whole_rows = 128;
constexpr uint64_t whole_bytes = 65536;

// A block of a matrix, whose columns are worked on, or of a single row: the first element, and how
// far the next row is.
template <class T>
struct Block {
  const T *x;
  uint64_t step;
  uint64_t rows;
  uint64_t width;
  bool is_row;
};

// Of each column, or of one row: the maximum, later what makes results of the exponentials, and
// their sum.
template <class T>
struct Weights {
  T *maximum;
  T *sum;
};

template <class T>
struct SoftmaxKernels {
  // Softmax of rows; mask, where there is one, blocks those where it is 0.
  void (*rows)(const T *x, const T *mask, uint64_t rows, uint64_t cols, T *y, bool stream);
  // Softmax over the columns of a whole block, in place of y.
  void (*whole)(const Block<T> &block, T *y);
  // Maximum and sum of one block: of its row, or of each column. y = exp(x - maximum)
  void (*block)(const Block<T> &block, Weights<T> weights, T *y);
  // What `blocks` of those, `step` apart, come to: each one's maximum becomes its factor.
  void (*all_blocks)(Weights<T> weights, uint64_t blocks, uint64_t step, uint64_t width);
  // y *= factors
  void (*scale)(const Block<T> &block, const T *factors, T *y);
};

}  // namespace
}  // namespace torchlean::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {
namespace {

// x, or -Inf where the mask blocks it.
template <class T>
struct Scores {
  const T *x;
  const T *mask;

  template <class D, class L>
  HWY_INLINE hn::Mask<D> is_allowed(D d, L lanes, uint64_t i) const {
    return hn::Not(hn::Eq(lanes.load(d, mask + i), hn::Zero(d)));  // true of NaN
  }
};

template <class T>
T maximum_allowed(const Scores<T> &scores, uint64_t n) {
  const LineTag<T> d;
  auto maximum = hn::Set(d, Maximum::start<T>());
  each_vector<T>(n, [&](auto tag, auto lanes, uint64_t i) HWY_ATTR {
    const auto x = hn::IfThenElse(scores.is_allowed(tag, lanes, i), lanes.load(tag, scores.x + i),
                                  hn::Set(tag, Maximum::start<T>()));
    maximum = join(Maximum(), tag, maximum, x);
  });
  return fold_lanes(Maximum(), d, maximum);
}

// e[i] = exp(x[i] - maximum), +0 where blocked; their sum.
template <bool is_masked, class T>
T exponentials(const Scores<T> &scores, uint64_t n, T maximum, T *e) {
  PairwiseSum<T> sum;
  for (uint64_t first = 0; first < n; first += fold_block) {
    const uint64_t count = n - first < fold_block ? n - first : fold_block;
    each_vector<T>(count, [=](auto d, auto lanes, uint64_t i) HWY_ATTR {
      const uint64_t at = first + i;
      auto v = exp_of(d, hn::Sub(lanes.load(d, scores.x + at), hn::Set(d, maximum)));
      if constexpr (is_masked) v = hn::IfThenElseZero(scores.is_allowed(d, lanes, at), v);
      lanes.store(v, d, e + at);
    });
    const T part = sum_block<T>(Copied<T>{e}, first, count);
    if (count == n) return part;
    sum.add(part);
  }
  return sum.value();
}

template <class T>
struct Scaled {
  const T *from;
  T factor;
  template <class D>
  HWY_INLINE hn::Vec<D> at(D d, uint64_t i) const {
    return hn::Mul(hn::LoadU(d, from + i), hn::Set(d, factor));
  }
  HWY_INLINE T at(uint64_t i) const { return from[i] * factor; }
};

template <class T>
void rows(const T *x, const T *mask, uint64_t rows, uint64_t cols, T *y, bool stream) {
  HWY_ALIGN T near[near_row<T>];
  for (uint64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    T *const e = cols <= near_row<T> ? near : y;
    if (mask == nullptr) {
      const T sum = exponentials<false>(Scores<T>{x, nullptr}, cols, maximum_of(x, cols), e);
      write_words(y, cols, stream && e == near, Scaled<T>{e, 1 / sum});
      continue;
    }
    const Scores<T> scores = {x, mask};
    mask += cols;
    const T inverse = 1 / exponentials<true>(scores, cols, maximum_allowed(scores, cols), e);
    each_vector<T>(cols, [=](auto d, auto lanes, uint64_t i) HWY_ATTR {
      const auto p = hn::Mul(lanes.load(d, e + i), hn::Set(d, inverse));
      lanes.store(hn::IfThenElseZero(scores.is_allowed(d, lanes, i), p), d, y + i);
    });
  }
  if (stream) hwy::FlushStream();
}

// What to subtract from scores of that maximum: 0 where there is none but -Inf, whose exponentials
// then are 0.
template <class D>
HWY_INLINE hn::Vec<D> finite_pivot(D d, hn::Vec<D> maximum) {
  const auto none = hn::Set(d, Maximum::start<hn::TFromD<D>>());
  return hn::IfThenZeroElse(hn::Eq(maximum, none), maximum);
}

// The maxima of some columns.
template <class T>
void column_maxima(const Block<T> &block, T *maxima) {
  for (uint64_t j = 0; j < block.width; ++j) maxima[j] = Maximum::start<T>();
  columns_in_order<Maximum>(block.x, block.step, block.rows, block.width, maxima);
}

// y[i, j] = exp(x[i, j] - pivot[j]), sums[j] = their sum, eight rows at a time. The next row's
// results are asked for while a row's are computed.
template <class T>
void column_sums(const Block<T> &block, const T *pivots, T *sums, T *y) {
  constexpr uint64_t group = 8;
  HWY_ALIGN T part[strip<T>];
  for (uint64_t i = 0; i < block.rows; ++i) {
    const T *const x = block.x + i * block.step;
    T *const exponentials = y + i * block.step;
    const bool is_first = i % group == 0;
    each_vector<T>(block.width, [&](auto d, auto lanes, uint64_t j) HWY_ATTR {
      const auto e = exp_of(d, hn::Sub(lanes.load(d, x + j), lanes.load(d, pivots + j)));
      lanes.store(e, d, exponentials + j);
      __builtin_prefetch(exponentials + block.step + j, 1);
      lanes.store(is_first ? e : hn::Add(lanes.load(d, part + j), e), d, part + j);
    });
    if (i % group != group - 1 && i != block.rows - 1) continue;
    each_vector<T>(block.width, [&](auto d, auto lanes, uint64_t j) HWY_ATTR {
      const auto added = lanes.load(d, part + j);
      lanes.store(i < group ? added : hn::Add(lanes.load(d, sums + j), added), d, sums + j);
    });
  }
}

template <class T>
void scale(const Block<T> &block, const T *factors, T *y) {
  for (uint64_t i = 0; i < block.rows; ++i, y += block.step)
    each_vector<T>(block.width, [=](auto d, auto lanes, uint64_t j) HWY_ATTR {
      const auto factor = block.is_row ? hn::Set(d, *factors) : lanes.load(d, factors + j);
      __builtin_prefetch(y + block.step + j, 1);
      lanes.store(hn::Mul(lanes.load(d, y + j), factor), d, y + j);
    });
}

template <class T>
void whole(const Block<T> &block, T *y) {
  HWY_ALIGN T maxima[strip<T>];
  HWY_ALIGN T sums[strip<T>];
  column_maxima(block, maxima);
  column_sums(block, maxima, sums, y);
  each_vector<T>(block.width, [&](auto d, auto lanes, uint64_t j) HWY_ATTR {
    lanes.store(hn::Div(hn::Set(d, T(1)), lanes.load(d, sums + j)), d, sums + j);
  });
  scale(block, sums, y);
}

template <class T>
void block_of_row(const T *x, uint64_t n, Weights<T> weights, T *y) {
  const T maximum = maximum_of(x, n);
  const T pivot = maximum == Maximum::start<T>() ? T(0) : maximum;
  *weights.maximum = maximum;
  *weights.sum = exponentials<false>(Scores<T>{x, nullptr}, n, pivot, y);
}

template <class T>
void block_of_columns(const Block<T> &block, Weights<T> weights, T *y) {
  HWY_ALIGN T pivots[strip<T>];
  column_maxima(block, weights.maximum);
  each_vector<T>(block.width, [&](auto d, auto lanes, uint64_t j) HWY_ATTR {
    lanes.store(finite_pivot(d, lanes.load(d, weights.maximum + j)), d, pivots + j);
  });
  column_sums<T>(block, pivots, weights.sum, y);
}

template <class T>
void block(const Block<T> &block, Weights<T> weights, T *y) {
  if (block.is_row) return block_of_row(block.x, block.width, weights, y);
  block_of_columns(block, weights, y);
}

template <class T>
void all_blocks(Weights<T> weights, uint64_t blocks, uint64_t step, uint64_t width) {
  each_vector<T>(width, [=](auto d, auto lanes, uint64_t j) HWY_ATTR {
    T *const maxima = weights.maximum + j;
    T *const sums = weights.sum + j;
    auto maximum = hn::Set(d, Maximum::start<T>());
    for (uint64_t b = 0; b < blocks; ++b)
      maximum = join(Maximum(), d, maximum, lanes.load(d, maxima + b * step));
    for (uint64_t b = 0; b < blocks; ++b) {
      const auto sum = lanes.load(d, sums + b * step);
      const auto pivot = finite_pivot(d, lanes.load(d, maxima + b * step));
      // A block of nothing but -Inf has no weight, whatever its pivot.
      const auto weight =
          hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(d)), exp_of(d, hn::Sub(pivot, maximum)));
      lanes.store(weight, d, maxima + b * step);
      lanes.store(hn::Mul(sum, weight), d, sums + b * step);
    }
    for (uint64_t apart = 1; apart < blocks; apart *= 2)
      for (uint64_t b = 0; b + apart < blocks; b += 2 * apart)
        lanes.store(
            hn::Add(lanes.load(d, sums + b * step), lanes.load(d, sums + (b + apart) * step)), d,
            sums + b * step);
    const auto inverse = hn::Div(hn::Set(d, T(1)), lanes.load(d, sums));
    for (uint64_t b = 0; b < blocks; ++b)
      lanes.store(hn::Mul(lanes.load(d, maxima + b * step), inverse), d, maxima + b * step);
  });
}

}  // namespace

template <class T>
constexpr SoftmaxKernels<T> softmax_kernels = {rows<T>, whole<T>, block<T>, all_blocks<T>,
                                               scale<T>};

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torchlean::cpu {
namespace {

// Elements that make a piece of work.
constexpr uint64_t piece = 8192;

// Neighbouring elements of a row that make a block of a long one.
constexpr uint64_t row_block = 16384;

template <class T>
const SoftmaxKernels<T> &kernels_for(const tl_instance &instance) {
  return TORCHLEAN_CPU_CHOOSE(instance.target, softmax_kernels<T>);
}

// How softmax over the middle axis is cut: blocks along it, strips of columns.
template <class T>
class Cut {
 public:
  explicit Cut(MiddleAxis shape)
      : shape_(shape),
        height_(shape.inner == 1        ? row_block
                : shape.n <= whole_rows ? whole_rows
                                        : block_rows),
        width_(std::min(shape.inner, width_of_strips(shape.n))),
        blocks_(blocks_in(shape.n, height_)),
        strips_(blocks_in(shape.inner, width_)) {}

  uint64_t blocks() const { return blocks_; }
  uint64_t strips() const { return strips_; }
  uint64_t partials() const { return shape_.outer * blocks_ * shape_.inner; }

  // body(offset in x, block, weights) for each block, shared out among threads.
  template <class Body>
  void each_block(const tl_instance &instance, const T *x, Weights<T> weights,
                  const Body &body) const {
    const uint64_t grain = blocks_in(piece, std::min(height_, shape_.n) * width_);
    parallel_for(
        instance, shape_.outer * blocks_ * strips_, grain, [&](uint64_t begin, uint64_t end) {
          for (uint64_t i = begin; i < end; ++i) {
            const uint64_t column = i % strips_ * width_;
            const uint64_t b = i / strips_ % blocks_;
            const uint64_t outer = i / strips_ / blocks_;
            const uint64_t count = std::min(height_, shape_.n - b * height_);
            const uint64_t offset = (outer * shape_.n + b * height_) * shape_.inner + column;
            const uint64_t columns = std::min(width_, shape_.inner - column);
            const uint64_t place = (outer * blocks_ + b) * shape_.inner + column;
            const Block<T> block = shape_.inner == 1
                                       ? Block<T>{x + offset, 0, 1, count, true}
                                       : Block<T>{x + offset, shape_.inner, count, columns, false};
            body(offset, block, Weights<T>{weights.maximum + place, weights.sum + place});
          }
        });
  }

  // body(weights of the first block, columns) for each strip of columns.
  template <class Body>
  void each_strip(const tl_instance &instance, Weights<T> weights, const Body &body) const {
    parallel_for(instance, shape_.outer * strips_, blocks_in(piece, blocks_ * width_),
                 [&](uint64_t begin, uint64_t end) {
                   for (uint64_t i = begin; i < end; ++i) {
                     const uint64_t column = i % strips_ * width_;
                     const uint64_t place = i / strips_ * blocks_ * shape_.inner + column;
                     body(Weights<T>{weights.maximum + place, weights.sum + place},
                          std::min(width_, shape_.inner - column));
                   }
                 });
  }

 private:
  static uint64_t width_of_strips(uint64_t n) {
    constexpr uint64_t line = 64 / sizeof(T);
    if (n > whole_rows) return strip<T>;
    return std::clamp(whole_bytes / sizeof(T) / n / line * line, 4 * line, strip<T>);
  }

  MiddleAxis shape_;
  uint64_t height_;
  uint64_t width_;
  uint64_t blocks_;
  uint64_t strips_;
};

template <class T>
void softmax_rows(const tl_instance &instance, const T *x, const T *mask, uint64_t rows,
                  uint64_t cols, T *y) {
  const auto &kernels = kernels_for<T>(instance);
  const bool stream = exceeds_caches(rows * cols * sizeof(T));
  parallel_for(instance, rows, blocks_in(piece, cols), [&](uint64_t begin, uint64_t end) {
    const uint64_t first = begin * cols;
    kernels.rows(x + first, mask == nullptr ? nullptr : mask + first, end - begin, cols, y + first,
                 stream);
  });
}

template <class T>
void softmax_middle(tl_instance &instance, MiddleAxis shape, const T *x, T *y) {
  const Cut<T> cut(shape);
  if (shape.inner == 1 && cut.blocks() <= 2)
    return softmax_rows<T>(instance, x, nullptr, shape.outer, shape.n, y);
  const auto &kernels = kernels_for<T>(instance);
  if (cut.blocks() == 1) {
    return cut.each_block(instance, x, {}, [&](uint64_t offset, const Block<T> &block, Weights<T>) {
      kernels.whole(block, y + offset);
    });
  }
  Result<T> maxima(instance, cut.partials());
  Result<T> sums(instance, cut.partials());
  const Weights<T> weights = {maxima.begin(), sums.begin()};
  cut.each_block(instance, x, weights,
                 [&](uint64_t offset, const Block<T> &block, Weights<T> of_block) {
                   kernels.block(block, of_block, y + offset);
                 });
  cut.each_strip(instance, weights, [&](Weights<T> of_strip, uint64_t width) {
    kernels.all_blocks(of_strip, cut.blocks(), shape.inner, width);
  });
  cut.each_block(instance, x, weights,
                 [&](uint64_t offset, const Block<T> &block, Weights<T> of_block) {
                   kernels.scale(block, of_block.maximum, y + offset);
                 });
}

}  // namespace

void softmax(tl_instance &instance, const tl_operand *operand, uint64_t outer, uint64_t n,
             uint64_t inner, tl_flags, tl_storage **out) {
  expect_given("x", operand);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    expect_equal("x.count", x.size(), product({outer, n, inner}));
    Result<T> y(instance, x.size());
    if (!x.empty()) softmax_middle<T>(instance, {outer, n, inner}, x.data(), y.begin());
    hand_out(out, y);
  });
}

void masked_softmax(tl_instance &instance, const tl_operand *given, const tl_operand *allowed,
                    uint64_t rows, uint64_t cols, tl_flags, tl_storage **out) {
  expect_given("scores", given);
  with_native(given->dtype, [&]<class T>(T) {
    const auto scores = values_of<T>("scores", given);
    const auto mask = values_of<T>("mask", allowed);
    expect_equal("scores.count", scores.size(), product({rows, cols}));
    expect_equal("mask.count", mask.size(), scores.size());
    Result<T> y(instance, scores.size());
    if (!scores.empty())
      softmax_rows<T>(instance, scores.data(), mask.data(), rows, cols, y.begin());
    hand_out(out, y);
  });
}

}  // namespace torchlean::cpu
#endif  // HWY_ONCE
