// Transposition of small blocks of words in vector registers.
//
// Included once per target, like Highway's own headers.
#if defined(TORCHLEAN_CPU_TRANSPOSE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLEAN_CPU_TRANSPOSE_INL
#undef TORCHLEAN_CPU_TRANSPOSE_INL
#else
#define TORCHLEAN_CPU_TRANSPOSE_INL
#endif

#include "vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {

// Words in a cache line: the side of a tile.
template <class W>
inline constexpr uint64_t line = 64 / sizeof(W);

#if HWY_TARGET != HWY_SCALAR

template <class W>
using Block = hn::CappedTag<W, 16 / sizeof(W)>;

// The blocks of 16 bytes at `from`, `from + step`, ... from the lowest up.
template <class W, class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const W *from, uint64_t step) {
  if constexpr (hn::MaxLanes(d) == hn::MaxLanes(Block<W>())) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    const uint64_t upper = hn::MaxLanes(half) / hn::MaxLanes(Block<W>()) * step;
    return hn::Combine(d, load_blocks(half, from + upper, step), load_blocks(half, from, step));
  }
}

template <bool stream, class D, class W>
HWY_INLINE void put(hn::Vec<D> v, D d, W *to) {
  if constexpr (stream) {
    hn::Stream(v, d, to);
  } else {
    hn::StoreU(v, d, to);
  }
}

// Vectors across rows: lane r of column k is from[r * step + k]. Blocks of 16 bytes are loaded to
// where it only remains to transpose within them.
template <class W, size_t = sizeof(W)>
struct Columns;

template <class W>
struct Columns<W, 4> {
  static constexpr uint64_t count = 4;
  using D = hn::CappedTag<W, 16>;
  hn::Vec<D> first, second, third, fourth;

  HWY_INLINE Columns(const W *from, uint64_t step) {
    const D d;
    const auto a = load_blocks(d, from, 4 * step);
    const auto b = load_blocks(d, from + step, 4 * step);
    const auto c = load_blocks(d, from + 2 * step, 4 * step);
    const auto e = load_blocks(d, from + 3 * step, 4 * step);
    const auto ac = hn::InterleaveLower(d, a, c);
    const auto be = hn::InterleaveLower(d, b, e);
    const auto ac_upper = hn::InterleaveUpper(d, a, c);
    const auto be_upper = hn::InterleaveUpper(d, b, e);
    first = hn::InterleaveLower(d, ac, be);
    second = hn::InterleaveUpper(d, ac, be);
    third = hn::InterleaveLower(d, ac_upper, be_upper);
    fourth = hn::InterleaveUpper(d, ac_upper, be_upper);
  }

  // Column k to `to + k * step`.
  template <bool stream>
  HWY_INLINE void store(W *to, uint64_t step) const {
    put<stream>(first, D(), to);
    put<stream>(second, D(), to + step);
    put<stream>(third, D(), to + 2 * step);
    put<stream>(fourth, D(), to + 3 * step);
  }

  // Joins the columns to `start`, one after the other.
  template <class Join>
  HWY_INLINE hn::Vec<D> joined_to(hn::Vec<D> start, Join join) const {
    return join(join(join(join(start, first), second), third), fourth);
  }
};

template <class W>
struct Columns<W, 8> {
  static constexpr uint64_t count = 2;
  using D = hn::CappedTag<W, 8>;
  hn::Vec<D> first, second;

  HWY_INLINE Columns(const W *from, uint64_t step) {
    const D d;
    const auto a = load_blocks(d, from, 2 * step);
    const auto b = load_blocks(d, from + step, 2 * step);
    first = hn::InterleaveLower(d, a, b);
    second = hn::InterleaveUpper(d, a, b);
  }

  template <bool stream>
  HWY_INLINE void store(W *to, uint64_t step) const {
    put<stream>(first, D(), to);
    put<stream>(second, D(), to + step);
  }

  template <class Join>
  HWY_INLINE hn::Vec<D> joined_to(hn::Vec<D> start, Join join) const {
    return join(join(start, first), second);
  }
};

// to[i * to_stride + j] = from[j * line + i] for i, j < line. stream: `to` and its rows lie at
// multiples of 64 bytes.
template <bool stream, class W>
HWY_INLINE void transpose_square(const W *from, W *to, uint64_t to_stride) {
  constexpr uint64_t lanes = hn::MaxLanes(typename Columns<W>::D());
  for (uint64_t i = 0; i < line<W>; i += Columns<W>::count)
    for (uint64_t j = 0; j < line<W>; j += lanes)
      Columns<W>(from + j * line<W> + i, line<W>)
          .template store<stream>(to + i * to_stride + j, to_stride);
}

// A tile of at most line x line words. stream: past the caches, to addresses that are multiples of
// 64. What is read is copied first: rows whole pages apart would drive each other out of the
// nearest cache.
template <class W>
class Square {
 public:
  HWY_INLINE Square(const W *from, uint64_t from_stride, uint64_t rows, uint64_t cols) {
    for (uint64_t j = 0; j < cols; ++j, from += from_stride)
      each_vector<W>(rows, [&](auto d, auto lanes, uint64_t i) HWY_ATTR {
        hn::StoreU(lanes.load(d, from + i), d, words_ + j * line<W> + i);
      });
  }

  template <bool stream>
  HWY_INLINE void transpose_to(W *to, uint64_t to_stride) const {
    transpose_square<stream>(words_, to, to_stride);
  }

 private:
  HWY_ALIGN W words_[line<W> * line<W>];
};

// What is left at an edge.
template <class W>
void transpose_part(const W *from, uint64_t from_stride, W *to, uint64_t to_stride, uint64_t rows,
                    uint64_t cols) {
  HWY_ALIGN W words[line<W> * line<W>];
  Square<W>(from, from_stride, rows, cols).template transpose_to<false>(words, line<W>);
  for (uint64_t i = 0; i < rows; ++i)
    each_vector<W>(cols, [&](auto d, auto lanes, uint64_t j) HWY_ATTR {
      lanes.store(hn::LoadU(d, words + i * line<W> + j), d, to + i * to_stride + j);
    });
}

// to[i * to_stride + j] = from[j * from_stride + i] for i < rows, j < cols, tile by tile: in the
// order of what is read, or past the caches, where lines that lie side by side have to be written
// one after the other (1.5 times as fast). stream: `to` and its rows lie at multiples of 64 bytes.
template <bool stream, class W>
void transpose_tiles(const W *from, uint64_t from_stride, W *to, uint64_t to_stride, uint64_t rows,
                     uint64_t cols) {
  constexpr uint64_t side = line<W>;
  const auto tile = [=](uint64_t i, uint64_t j) HWY_ATTR {
    const uint64_t height = rows - i < side ? rows - i : side;
    const uint64_t width = cols - j < side ? cols - j : side;
    const W *const corner = from + j * from_stride + i;
    W *const target = to + i * to_stride + j;
    if (height == side && width == side) {
      Square<W>(corner, from_stride, side, side).template transpose_to<stream>(target, to_stride);
    } else {
      transpose_part(corner, from_stride, target, to_stride, height, width);
    }
  };
  if constexpr (stream) {
    for (uint64_t i = 0; i < rows; i += side)
      for (uint64_t j = 0; j < cols; j += side) tile(i, j);
  } else {
    for (uint64_t j = 0; j < cols; j += side)
      for (uint64_t i = 0; i < rows; i += side) tile(i, j);
  }
}

#else

template <bool, class W>
HWY_INLINE void transpose_square(const W *from, W *to, uint64_t to_stride) {
  for (uint64_t i = 0; i < line<W>; ++i)
    for (uint64_t j = 0; j < line<W>; ++j) to[i * to_stride + j] = from[j * line<W> + i];
}

template <bool, class W>
void transpose_tiles(const W *from, uint64_t from_stride, W *to, uint64_t to_stride, uint64_t rows,
                     uint64_t cols) {
  for (uint64_t i = 0; i < rows; ++i)
    for (uint64_t j = 0; j < cols; ++j) to[i * to_stride + j] = from[j * from_stride + i];
}

#endif

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TORCHLEAN_CPU_TRANSPOSE_INL
