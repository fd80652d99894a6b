// Sums and maxima of neighbouring elements, in an order that depends on their number alone: not on
// the width of vectors and not on threads.
//
// A block of up to 256 terms folds by halves: term i takes in term i + 128, then i + 64 ... i + 1,
// as deterministic mode prescribes it for totals. Blocks join in pairs, pairs in pairs of pairs
// (PairwiseSum), so that an error grows with the logarithm of the number of terms.
//
// Included once per target, like Highway's own headers.
#if defined(TORCHLEAN_CPU_FOLD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLEAN_CPU_FOLD_INL
#undef TORCHLEAN_CPU_FOLD_INL
#else
#define TORCHLEAN_CPU_FOLD_INL
#endif

#include "folds.hpp"
#include "words-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {

template <class D>
HWY_INLINE hn::Vec<D> join(Sum, D, hn::Vec<D> a, hn::Vec<D> b) {
  return hn::Add(a, b);
}

template <class D>
HWY_INLINE hn::Vec<D> join(Maximum, D, hn::Vec<D> a, hn::Vec<D> b) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Max(b, a);  // the same in one instruction: its second operand, unless b is larger
#else
  return hn::IfThenElse(hn::Gt(b, a), b, a);
#endif
}

// The lanes of v, folded by halves.
#if HWY_TARGET == HWY_SCALAR
template <class Op, class D>
HWY_INLINE hn::TFromD<D> fold_lanes(Op, D, hn::Vec<D> v) {
  return hn::GetLane(v);
}
#else
template <class Op, class D>
HWY_INLINE hn::TFromD<D> fold_lanes(Op op, D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(d) == 1) {
    return hn::GetLane(v);
  } else {
    const hn::Half<D> half;
    return fold_lanes(op, half, join(op, half, hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}
#endif

// Reads what comes next from memory, line by line: processors see where a loop of one load is going
// and read ahead of it, which they do not for the order in which blocks fold. No more than
// near_bytes are of use.
constexpr uint64_t near_bytes = 4096;

HWY_INLINE void bring_near(const void *from, uint64_t bytes) {
  const auto *const first = static_cast<const unsigned char *>(from);
  for (uint64_t i = 0; i < bytes; i += 64) asm volatile("" : : "r"(first[i]));
}

// Asks the second cache for the `bytes` that lie `distance` behind `from`, what is read now. For
// walks through more than the caches hold: processors look ahead, too, but not beyond a page of
// 4 KiB, and not far enough (sums of rows of 80 MB: 32 rather than 26 GB/s). In the caches it costs
// up to a fifth.
constexpr uint64_t ahead_bytes = 4096;

HWY_INLINE void ask_ahead(const void *from, uint64_t bytes, uint64_t distance = ahead_bytes) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(from) + distance;
#pragma GCC unroll 8
  for (uint64_t i = 0; i < bytes; i += 64)
    __builtin_prefetch(reinterpret_cast<const void *>(first + i), 0, 2);
}

// Where terms come from: at(d, i) is a vector of those from i on, at(i) one of them. Copied<T> of
// words-inl.h reads them from memory.

// Terms in memory that no cache holds. Half as far ahead as elsewhere: a block is read faster.
template <class T>
struct Far : Copied<T> {
  template <class D>
  HWY_INLINE hn::Vec<D> at(D d, uint64_t i) const {
    ask_ahead(this->from + i, hn::MaxLanes(d) * sizeof(T), ahead_bytes / 2);
    return Copied<T>::at(d, i);
  }
  using Copied<T>::at;
};

// Sums of `terms` elements of memory each, `step` apart. Processors look ahead of several walks
// side by side well enough: asked for more, they are a quarter slower.
template <class T>
struct StepSums {
  const T *from;
  uint64_t step;
  uint64_t terms;

  template <class D>
  HWY_INLINE hn::Vec<D> at(D d, uint64_t i) const {
    auto sum = hn::LoadU(d, from + i);
    for (uint64_t k = 1; k < terms; ++k) sum = hn::Add(sum, hn::LoadU(d, from + k * step + i));
    return sum;
  }
  HWY_INLINE T at(uint64_t i) const {
    T sum = from[i];
    for (uint64_t k = 1; k < terms; ++k) sum += from[k * step + i];
    return sum;
  }
};

// Sources that read memory.
template <class Source>
inline constexpr bool is_memory = false;
template <class T>
inline constexpr bool is_memory<Copied<T>> = true;
template <class T>
inline constexpr bool is_memory<Far<T>> = true;
template <class T>
inline constexpr bool is_memory<StepSums<T>> = true;

// Two sources side by side, so that what they have in common is read once.
template <class First, class Second>
struct Both {
  First first;
  Second second;

  template <class D>
  HWY_INLINE Two<hn::Vec<D>> at(D d, uint64_t i) const {
    return {first.at(d, i), second.at(d, i)};
  }
  HWY_INLINE auto at(uint64_t i) const { return Two{first.at(i), second.at(i)}; }
};
template <class First, class Second>
Both(First, Second) -> Both<First, Second>;

#if HWY_TARGET == HWY_SCALAR

// The sum of `size` terms, a power of two.
template <uint64_t size, class T, class Source>
auto sum_whole(const Source &source, uint64_t first) {
  decltype(source.at(first)) terms[size];
  for (uint64_t i = 0; i < size; ++i) terms[i] = source.at(first + i);
  for (uint64_t width = size / 2; width > 0; width /= 2)
    for (uint64_t i = 0; i < width; ++i) terms[i] = terms[i] + terms[i + width];
  return terms[0];
}

#else

template <class V>
HWY_INLINE V plus(V a, V b) {
  return hn::Add(a, b);
}

template <class V>
HWY_INLINE Two<V> plus(Two<V> a, Two<V> b) {
  return {hn::Add(a.first, b.first), hn::Add(a.second, b.second)};
}

template <class D>
HWY_INLINE hn::TFromD<D> sum_lanes(D d, hn::Vec<D> v) {
  return fold_lanes(Sum(), d, v);
}

template <class D>
HWY_INLINE Two<hn::TFromD<D>> sum_lanes(D d, Two<hn::Vec<D>> v) {
  return {fold_lanes(Sum(), d, v.first), fold_lanes(Sum(), d, v.second)};
}

// Vector i of the `vectors` vectors of terms from `first` on after folding them by halves down to
// `step`.
template <uint64_t step, uint64_t vectors, class D, class Source>
HWY_INLINE auto fold_vectors(D d, const Source &source, uint64_t first, uint64_t i) {
  if constexpr (step == vectors) {
    return source.at(d, first + i * hn::MaxLanes(d));
  } else {
    return plus(fold_vectors<2 * step, vectors>(d, source, first, i),
                fold_vectors<2 * step, vectors>(d, source, first, i + step));
  }
}

// Has v computed here, between what is pinned before and after it, and kept rather than computed
// again, where there are 32 registers to keep it in.
template <class V>
HWY_INLINE void pin(V &v) {
#if HWY_TARGET == HWY_AVX3
  asm volatile("" : "+v"(v.raw));
#elif HWY_ARCH_X86
  asm volatile("" : : "x"(v.raw));
#else
  asm volatile("" : : "m"(v));
#endif
}

// Of terms in memory, which processors read ahead of a loop only where it walks straight on: both
// halves are loaded from front to back. Of 10 million floats 2.5 times as fast as the order above.
template <uint64_t vectors, class D, class Source>
HWY_INLINE hn::Vec<D> fold_straight(D d, const Source &source, uint64_t first) {
  constexpr uint64_t lanes = hn::MaxLanes(d);
  constexpr uint64_t half = vectors / 2;
  hn::Vec<D> v[half];
#pragma GCC unroll 32
  for (uint64_t i = 0; i < half; ++i) {
    v[i] = source.at(d, first + i * lanes);
    pin(v[i]);
  }
#pragma GCC unroll 32
  for (uint64_t i = 0; i < half; ++i) {
    v[i] = plus(v[i], source.at(d, first + (half + i) * lanes));
    pin(v[i]);
  }
#pragma GCC unroll 8
  for (uint64_t width = half / 2; width > 0; width /= 2) {
#pragma GCC unroll 32
    for (uint64_t i = 0; i < width; ++i) v[i] = plus(v[i], v[i + width]);
  }
  return v[0];
}

// The sum of `size` terms, a power of two.
template <uint64_t size, class T, class Source>
HWY_INLINE auto sum_whole(const Source &source, uint64_t first) {
  const LineTag<T> d;
  constexpr uint64_t vectors = size / hn::MaxLanes(d);
  if constexpr (is_memory<Source> && vectors > 1) {
    return sum_lanes(d, fold_straight<vectors>(d, source, first));
  } else {
    return sum_lanes(d, fold_vectors<1, vectors>(d, source, first, 0));
  }
}

#endif

// The sum of terms `first` to first + count - 1, of which there are 1 to fold_block. Zeros fill
// them up to a power of two, which changes nothing.
template <class T, class Source>
T sum_part(const Source &source, uint64_t first, uint64_t count) {
  const LineTag<T> d;
  constexpr uint64_t lanes = hn::MaxLanes(d);
  HWY_ALIGN T terms[fold_block];
  uint64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::Store(source.at(d, first + i), d, terms + i);
  for (; i < count; ++i) terms[i] = source.at(first + i);
  uint64_t size = 16;
  while (size < count) size *= 2;
  for (; i < size && i % lanes != 0; ++i) terms[i] = 0;
  for (; i < size; i += lanes) hn::Store(hn::Zero(d), d, terms + i);
  const Copied<T> filled = {terms};
  switch (size) {
    case 16: return sum_whole<16, T>(filled, 0);
    case 32: return sum_whole<32, T>(filled, 0);
    case 64: return sum_whole<64, T>(filled, 0);
    case 128: return sum_whole<128, T>(filled, 0);
    default: return sum_whole<256, T>(filled, 0);
  }
}

template <class T, class First, class Second>
Two<T> sum_part(const Both<First, Second> &source, uint64_t first, uint64_t count) {
  return {sum_part<T>(source.first, first, count), sum_part<T>(source.second, first, count)};
}

template <class T, class Source>
HWY_INLINE auto sum_block(const Source &source, uint64_t first, uint64_t count) {
  return count == fold_block ? sum_whole<fold_block, T>(source, first)
                             : sum_part<T>(source, first, count);
}

// The sum of n terms, 0 of none.
template <class T, class Source>
HWY_INLINE auto pairwise_sum(const Source &source, uint64_t n) {
  PairwiseSum<decltype(source.at(n))> sum;
  for (uint64_t i = 0; i < n; i += fold_block)
    sum.add(sum_block<T>(source, i, n - i < fold_block ? n - i : fold_block));
  return sum.value();
}

// The largest of n terms. NaN is skipped; -Inf where there is nothing else.
template <bool is_far = false, class T>
T maximum_of(const T *x, uint64_t n) {
  const LineTag<T> d;
  constexpr uint64_t lanes = hn::MaxLanes(d);
  const Maximum op;
  const auto start = hn::Set(d, Maximum::start<T>());
  auto a = start;
  auto b = start;
  auto c = start;
  auto e = start;
  uint64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    if constexpr (is_far) ask_ahead(x + i, 4 * lanes * sizeof(T));
    a = join(op, d, a, hn::LoadU(d, x + i));
    b = join(op, d, b, hn::LoadU(d, x + i + lanes));
    c = join(op, d, c, hn::LoadU(d, x + i + 2 * lanes));
    e = join(op, d, e, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a = join(op, d, a, hn::LoadU(d, x + i));
  T result = fold_lanes(op, d, join(op, d, join(op, d, a, b), join(op, d, c, e)));
  for (; i < n; ++i) result = Maximum::join(result, x[i]);
  return result;
}

// What is asked for ahead while some rows of a matrix are read side by side: nothing ...
struct NothingAhead {
  HWY_INLINE void ask(uint64_t) {}
};

// ... or the rows from x on, `width` of each, from front to back.
template <class T>
class RowsAhead {
 public:
  HWY_INLINE RowsAhead(const T *x, uint64_t step, uint64_t width)
      : row_(x), step_(step), width_(step == width ? ~uint64_t{0} : width * sizeof(T)) {}

  // The next `bytes`.
  HWY_INLINE void ask(uint64_t bytes) {
    ask_ahead(row_, bytes, at_);
    at_ += bytes;
    if (at_ < width_) return;
    at_ = 0;
    row_ += step_;
  }

 private:
  const T *row_;
  uint64_t step_;
  uint64_t width_;  // in bytes; endless where rows are neighbours
  uint64_t at_ = 0;
};

// y[j] takes in x[i * step + j] for i = 0, 1 ... rows - 1, for each j < width.
template <uint64_t rows, class Op, class T, class Ahead = NothingAhead>
HWY_INLINE void take_in_rows(const T *x, uint64_t step, uint64_t width, T *y, Ahead ahead = {}) {
  each_vector<T>(width, [=, &ahead](auto d, auto lanes, uint64_t j) HWY_ATTR {
    ahead.ask(rows * hn::MaxLanes(d) * sizeof(T));
    auto v = lanes.load(d, y + j);
#pragma GCC unroll 8
    for (uint64_t i = 0; i < rows; ++i) v = join(Op(), d, v, lanes.load(d, x + i * step + j));
    lanes.store(v, d, y + j);
  });
}

// is_far: no cache holds x, and what is read next lies `ahead` elements behind it.
template <class Op, bool is_far = false, class T>
void columns_in_order(const T *x, uint64_t step, uint64_t rows, uint64_t width, T *y,
                      [[maybe_unused]] uint64_t ahead = 0) {
  const auto next = [=](uint64_t row) {
    if constexpr (is_far) {
      return RowsAhead<T>(x + row * step + ahead, step, width);
    } else {
      return NothingAhead();
    }
  };
  uint64_t i = 0;
  for (; i + 8 <= rows; i += 8) take_in_rows<8, Op>(x + i * step, step, width, y, next(i));
  if (i + 4 <= rows) take_in_rows<4, Op>(x + i * step, step, width, y, next(i)), i += 4;
  for (; i < rows; ++i) take_in_rows<1, Op>(x + i * step, step, width, y, next(i));
}

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TORCHLEAN_CPU_FOLD_INL
