// The loops of the matrix product that have vectors in them.
#include "gemm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gemm_kernels.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "tile-inl.h"
#include "transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {
namespace {

// sum[r][v] = the sums of a tile; row(k) is where row k of b begins. Says early that results will
// be written from `to` on.
template <class T, int rows, int vectors, class Row>
HWY_INLINE void multiply(const Tile<T> &tile, const T *to, const Row &row,
                         Vec<T> (&sum)[rows][vectors]) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    const T *const result = to + r * tile.c_row;
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) {
      __builtin_prefetch(result + v * lanes, 1);
      sum[r][v] = hn::Zero(d);
    }
    __builtin_prefetch(result + vectors * lanes - 1, 1);
  }
  TileRows<T, rows> left(tile.a, tile.a_row);
  const int64_t a_step = tile.a_step;
  const int64_t depth = tile.depth;
  const T *ahead = tile.ahead;
  const int64_t ahead_step = tile.ahead_step;
  const auto step = [&](int64_t k) HWY_ATTR {
    if constexpr (rows >= tile_rows) __builtin_prefetch(ahead);
    if constexpr (rows * sizeof(T) > 64) __builtin_prefetch(ahead + 64 / sizeof(T));
    ahead += ahead_step;
    add_products(left, row(k), sum);
    left.advance(a_step);
  };
  int64_t k = 0;
  // Two at a time: a fifteenth less to do, which counts where programs share a core. With 16
  // registers or small tiles (which have more addresses than sums) it costs more than it saves.
  if constexpr (HWY_TARGET == HWY_AVX3 && vectors == tile_vectors)
    for (; k + 2 <= depth; k += 2) {
      step(k);
      step(k + 1);
    }
  for (; k < depth; ++k) step(k);
}

template <class T, int rows, int vectors>
void multiply_tile(const Tile<T> &tile) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  Vec<T> sum[rows][vectors];
  const T *b = tile.b;
  const int64_t b_step = tile.b_step;
  const auto next_row = [&](int64_t) HWY_ATTR {
    const T *const row = b;
    b += b_step;
    return row;
  };
  multiply(tile, tile.c, next_row, sum);
  const int64_t in_last = tile.cols - (vectors - 1) * lanes;
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    T *const c = tile.c + r * tile.c_row;
    const Vec<T> start = tile.start == nullptr ? hn::Zero(d) : hn::Set(d, tile.start[r]);
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) {
      T *const to = c + v * lanes;
      if (v + 1 < vectors || in_last == lanes) {
        const Vec<T> before = tile.add ? hn::LoadU(d, to) : start;
        hn::StoreU(hn::Add(before, sum[r][v]), d, to);
      } else {
        const Vec<T> before = tile.add ? load_first(d, to, in_last) : start;
        store_first(hn::Add(before, sum[r][v]), d, to, in_last);
      }
    }
  }
}

// The same of a right operand whose rows lie anywhere, with results that lie in pieces.
template <class T, int rows, int vectors>
void multiply_scattered(const Tile<T> &tile, const Scattered &where) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  Vec<T> sum[rows][vectors];
  const T *const b = tile.b;
  const int64_t *const b_rows = where.rows;
  const auto row = [&](int64_t k) HWY_ATTR { return b + b_rows[k]; };
  multiply(tile, tile.c + where.pieces->to, row, sum);
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    T *const c = tile.c + r * tile.c_row;
    const Vec<T> start = tile.start == nullptr ? hn::Zero(d) : hn::Set(d, tile.start[r]);
    const Scattered::Piece *piece = where.pieces;
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v)
      for (; piece != where.ends[v]; ++piece) {
        T *const to = c + piece->to;
        if (piece->count == lanes) {
          const Vec<T> before = tile.add ? hn::LoadU(d, to) : start;
          hn::StoreU(hn::Add(before, sum[r][v]), d, to);
        } else {
          const Vec<T> before = tile.add ? load_some(d, to, piece->lane, piece->count) : start;
          store_some(hn::Add(before, sum[r][v]), d, to, piece->lane, piece->count);
        }
      }
  }
}

#if HWY_TARGET != HWY_SCALAR
template <class T>
constexpr int64_t band_rows = hn::MaxLanes(typename Columns<T>::D());

// A line of the cache of as many rows as a vector has lanes. It is copied first: rows whole pages
// apart would drive each other out of the first-level cache.
template <class T>
HWY_INLINE void transpose_band(const T *from, int64_t stride, T *to, int64_t width) {
  const LineTag<T> d;
  HWY_ALIGN T words[band_rows<T> * line<T>];
#pragma GCC unroll 16
  for (int64_t i = 0; i < band_rows<T>; ++i)
    for (uint64_t k = 0; k < line<T>; k += hn::MaxLanes(d))
      hn::Store(hn::LoadU(d, from + i * stride + k), d, words + i * line<T> + k);
  for (uint64_t k = 0; k < line<T>; k += Columns<T>::count)
    Columns<T>(words + k, line<T>).template store<false>(to + k * width, width);
}

// A square of words, 16 bytes a side.
template <class T>
HWY_INLINE void transpose_words(const T *rows, int64_t stride, T *out, int64_t width) {
  constexpr int64_t side = 16 / sizeof(T);
  const hn::FixedTag<T, side> d;
  const auto r0 = hn::LoadU(d, rows);
  const auto r1 = hn::LoadU(d, rows + stride);
  if constexpr (side == 2) {
    hn::StoreU(hn::InterleaveLower(d, r0, r1), d, out);
    hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, out + width);
  } else {
    const auto r2 = hn::LoadU(d, rows + 2 * stride);
    const auto r3 = hn::LoadU(d, rows + 3 * stride);
    const auto even_low = hn::InterleaveLower(d, r0, r2);
    const auto odd_low = hn::InterleaveLower(d, r1, r3);
    const auto even_high = hn::InterleaveUpper(d, r0, r2);
    const auto odd_high = hn::InterleaveUpper(d, r1, r3);
    hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, out);
    hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, out + width);
    hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, out + 2 * width);
    hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, out + 3 * width);
  }
}
#endif

// By tiles of a cache line a side, in each of which the lines that lie farther apart are visited
// one after the other: many at once would drive each other out of the first-level cache.
template <class T>
void transpose(const T *from, int64_t stride, int64_t used, int64_t depth, T *to, int64_t width) {
  int64_t whole_rows = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t side = 16 / sizeof(T);
  constexpr auto length = static_cast<int64_t>(line<T>);
  if (used >= band_rows<T> && depth >= length) {
    // The last bands and lines overlap those before them.
    for (int64_t i = 0; i < used; i += band_rows<T>)
      for (int64_t k = 0; k < depth; k += length) {
        const int64_t row = HWY_MIN(i, used - band_rows<T>);
        const int64_t at = HWY_MIN(k, depth - length);
        transpose_band(from + row * stride + at, stride, to + at * width + row, width);
      }
    for (int64_t k = 0; k < depth && used < width; ++k)
      for (int64_t i = used; i < width; ++i) to[k * width + i] = T(0);
    return;
  }
  whole_rows = used / side * side;
  const int64_t whole_depth = depth / side * side;
  for (int64_t k0 = 0; k0 < whole_depth; k0 += length)
    for (int64_t i0 = 0; i0 < whole_rows; i0 += length) {
      const int64_t k1 = HWY_MIN(k0 + length, whole_depth);
      const int64_t i1 = HWY_MIN(i0 + length, whole_rows);
      if (width > stride) {
        for (int64_t k = k0; k < k1; k += side)
          for (int64_t i = i0; i < i1; i += side)
            transpose_words(from + i * stride + k, stride, to + k * width + i, width);
      } else {
        for (int64_t i = i0; i < i1; i += side)
          for (int64_t k = k0; k < k1; k += side)
            transpose_words(from + i * stride + k, stride, to + k * width + i, width);
      }
    }
  for (int64_t k = whole_depth; k < depth; ++k)
    for (int64_t i = 0; i < whole_rows; ++i) to[k * width + i] = from[i * stride + k];
#endif
  for (int64_t i = whole_rows; i < width; ++i)
    for (int64_t k = 0; k < depth; ++k) to[k * width + i] = i < used ? from[i * stride + k] : T(0);
}

// A row of the narrowest panel is a vector. Eight rows at a time, so that whole lines are written.
template <class T>
void copy(const T *from, int64_t stride, int64_t used, int64_t depth, T *to, int64_t width) {
  const hn::CappedTag<T, tile_rows> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  for (int64_t k0 = 0; k0 < depth; k0 += 8)
    for (int64_t first = 0; first < used; first += width) {
      const int64_t count = HWY_MIN(width, used - first);
      for (int64_t k = k0; k < HWY_MIN(k0 + 8, depth); ++k) {
        const T *const row = from + k * stride + first;
        T *const panel = to + first * depth + k * width;
        int64_t i = 0;
        for (; i + lanes <= count; i += lanes) hn::StoreU(hn::LoadU(d, row + i), d, panel + i);
        for (; i < width; ++i) panel[i] = i < count ? row[i] : T(0);
      }
    }
}

template <class T, int rows, int cols>
void dot_tile(const T *a, int64_t a_row, const T *b, int64_t b_row, int64_t depth, T *sums,
              int64_t sums_row) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  Vec<T> sum[rows][cols];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < cols; ++c) sum[r][c] = hn::Zero(d);
  int64_t k = 0;
  for (; k + lanes <= depth; k += lanes) {
    Vec<T> right[cols];
#pragma GCC unroll 4
    for (int c = 0; c < cols; ++c) right[c] = hn::LoadU(d, b + c * b_row + k);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const Vec<T> left = hn::LoadU(d, a + r * a_row + k);
#pragma GCC unroll 4
      for (int c = 0; c < cols; ++c) sum[r][c] = hn::MulAdd(left, right[c], sum[r][c]);
    }
  }
  if (k < depth) {
    const int64_t rest = depth - k;
#pragma GCC unroll 4
    for (int c = 0; c < cols; ++c) {
      const Vec<T> right = load_first(d, b + c * b_row + k, rest);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r)
        sum[r][c] = hn::MulAdd(load_first(d, a + r * a_row + k, rest), right, sum[r][c]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < cols; ++c)
      sums[r * sums_row + c] = hn::GetLane(hn::SumOfLanes(d, sum[r][c]));
}

// Tiles of 4 x 4, and of 1 x 4, 4 x 1 and 1 x 1 at the edges. With n = 1 a single row streams four.
template <class T, int rows>
void dot_rows(const T *a, int64_t a_row, const T *b, int64_t b_row, int64_t cols, int64_t depth,
              T *sums, int64_t sums_row) {
  int64_t j = 0;
  for (; j + 4 <= cols; j += 4)
    dot_tile<T, rows, 4>(a, a_row, b + j * b_row, b_row, depth, sums + j, sums_row);
  for (; j < cols; ++j)
    dot_tile<T, rows, 1>(a, a_row, b + j * b_row, b_row, depth, sums + j, sums_row);
}

template <class T>
void dot(const T *a, int64_t a_row, int64_t rows, const T *b, int64_t b_row, int64_t cols,
         int64_t depth, T *sums, int64_t sums_row) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4)
    dot_rows<T, 4>(a + i * a_row, a_row, b, b_row, cols, depth, sums + i * sums_row, sums_row);
  for (; i < rows; ++i)
    dot_rows<T, 1>(a + i * a_row, a_row, b, b_row, cols, depth, sums + i * sums_row, sums_row);
}

template <class T, int rows>
void add_some_rows(const T *a, const T *b, int64_t b_row, T *c, int64_t cols) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  Vec<T> factor[rows];
#pragma GCC unroll 8
  for (int k = 0; k < rows; ++k) factor[k] = hn::Set(d, a[k]);
  int64_t j = 0;
  for (; j + lanes <= cols; j += lanes) {
    Vec<T> sum = hn::LoadU(d, c + j);
#pragma GCC unroll 8
    for (int k = 0; k < rows; ++k)
      sum = hn::MulAdd(factor[k], hn::LoadU(d, b + k * b_row + j), sum);
    hn::StoreU(sum, d, c + j);
  }
  if (j < cols) {
    Vec<T> sum = load_first(d, c + j, cols - j);
#pragma GCC unroll 8
    for (int k = 0; k < rows; ++k)
      sum = hn::MulAdd(factor[k], load_first(d, b + k * b_row + j, cols - j), sum);
    store_first(sum, d, c + j, cols - j);
  }
}

template <class T>
void add_rows(const T *a, const T *b, int64_t b_row, int64_t depth, T *c, int64_t cols) {
  int64_t k = 0;
  for (; k + 8 <= depth; k += 8) add_some_rows<T, 8>(a + k, b + k * b_row, b_row, c, cols);
  for (; k < depth; ++k) add_some_rows<T, 1>(a + k, b + k * b_row, b_row, c, cols);
}

template <class T>
Survey<T> scale(const T *x, T factor, int64_t count, T *y) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  const Vec<T> times = hn::Set(d, factor);
  const Vec<T> infinity = hn::Inf(d);
  const Vec<T> least_normal = hn::Set(d, std::numeric_limits<T>::min());
  Vec<T> largest = hn::Zero(d);
  Vec<T> smallest = infinity;
  auto nonfinite = hn::Ne(largest, largest);
  auto lost = nonfinite;
  auto tiny = nonfinite;
  const auto look = [&](Vec<T> source, Vec<T> value) HWY_ATTR {
    const Vec<T> magnitude = hn::Abs(value);
    const auto below = hn::Lt(magnitude, least_normal);
    nonfinite = hn::Or(nonfinite, hn::Not(hn::Lt(magnitude, infinity)));
    tiny = hn::Or(tiny, below);
    lost = hn::Or(lost, hn::And(below, hn::Ne(source, hn::Zero(d))));
    largest = hn::Max(largest, magnitude);
    smallest =
        hn::Min(smallest, hn::IfThenElse(hn::Eq(magnitude, hn::Zero(d)), infinity, magnitude));
  };
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Vec<T> source = hn::LoadU(d, x + i);
    const Vec<T> value = hn::Mul(source, times);
    if (y != nullptr) hn::StoreU(value, d, y + i);
    look(source, value);
  }
  for (; i < count; ++i) {
    const Vec<T> source = hn::Set(d, x[i]);
    const Vec<T> value = hn::Mul(source, times);
    if (y != nullptr) y[i] = hn::GetLane(value);
    look(source, value);
  }
  Survey<T> result;
  result.largest = hn::GetLane(hn::MaxOfLanes(d, largest));
  result.smallest = hn::GetLane(hn::MinOfLanes(d, smallest));
  result.finite = hn::AllFalse(d, nonfinite);
  result.lost = !hn::AllFalse(d, lost);
  result.tiny = !hn::AllFalse(d, tiny);
  return result;
}

template <class T, int rows>
constexpr void add_tiles(GemmKernels<T> &kernels) {
  if constexpr (rows > 0) {
    kernels.tile[rows - 1][0] = multiply_tile<T, rows, 1>;
    kernels.tile[rows - 1][1] = multiply_tile<T, rows, 2>;
    kernels.tile[rows - 1][2] = multiply_tile<T, rows, 3>;
    kernels.scattered[rows - 1][0] = multiply_scattered<T, rows, 1>;
    kernels.scattered[rows - 1][1] = multiply_scattered<T, rows, 2>;
    kernels.scattered[rows - 1][2] = multiply_scattered<T, rows, 3>;
    add_tiles<T, rows - 1>(kernels);
  }
}

template <class T>
constexpr GemmKernels<T> make_kernels() {
  GemmKernels<T> kernels{};
  kernels.lanes = hn::MaxLanes(Lanes<T>());
  kernels.rows = tile_rows;
  kernels.cols = tile_vectors * kernels.lanes;
  add_tiles<T, tile_rows>(kernels);
  kernels.tall_rows = 2 * tile_rows;
  kernels.tall_tile = multiply_tile<T, 2 * tile_rows, 1>;
  kernels.transpose = transpose<T>;
  kernels.copy = copy<T>;
  kernels.dot = dot<T>;
  kernels.add_rows = add_rows<T>;
  kernels.scale = scale<T>;
  return kernels;
}

template <class T>
constexpr GemmKernels<T> kernels = make_kernels<T>();

}  // namespace
}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
TORCHLEAN_CPU_KERNELS(GemmKernels, gemm_kernels)
#endif
