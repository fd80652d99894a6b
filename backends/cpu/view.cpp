// Moves of whole elements: copies, broadcasts, transpositions.
//
// Elements are moved as words of 4 or 8 bytes, whatever they mean; pairs of words that stay
// together everywhere become one word. A strided copy is rows that are read in one piece, rows of
// one value, or a transposition, and the rest of its axes count those.
#include "blocks.hpp"
#include "map.hpp"
#include "moves.hpp"
#include "strided.hpp"
#include "threads.hpp"

#include <torchlean/backend_arguments.hpp>

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "view.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "transpose-inl.h"
#include "words-inl.h"

#ifndef TORCHLEAN_CPU_VIEW_ONCE
#define TORCHLEAN_CPU_VIEW_ONCE
namespace torchlean::cpu {
namespace {

// Words that stay together in a transposition. Less than short_run move in squares; up to
// long_run, where caches do not hold them, in the source's order (2.4 times as fast as row by row);
// others are rows.
template <class W>
inline constexpr uint64_t short_run = 256 / sizeof(W);
template <class W>
inline constexpr uint64_t long_run = 4096 / sizeof(W);

// Columns of a result that are written together past the caches where its rows do not start with
// lines of their own.
template <class W>
inline constexpr uint64_t most_cols = 1024 / sizeof(W);

// The loops that each target has. Results are written past the caches where `stream` says so.
template <class W>
struct MoveKernels {
  // to[i * width + j] = from[i * step + j * stride], i < count, j < width
  void (*rows)(const W *from, uint64_t step, uint64_t stride, W *to, uint64_t count, uint64_t width,
               bool stream);
  // to[(i * to_stride + j * run) + r] = from[(j * from_stride + i * run) + r], i < rows, j < cols,
  // r < run
  void (*transpose)(const W *from, uint64_t from_stride, W *to, uint64_t to_stride, uint64_t rows,
                    uint64_t cols, uint64_t run, bool stream);
};

}  // namespace
}  // namespace torchlean::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {
namespace {

// ---- Rows ---------------------------------------------------------------------------------------

// The same short row again and again: as many copies of it as make whole vectors come first.
template <class W>
void repeat_row(const W *from, W *to, uint64_t count, uint64_t width) {
  const uint64_t period = width * line<W>;
  const uint64_t total = count * width;
  const uint64_t first = period < total ? period : total;
  for (uint64_t i = 0; i < first; ++i) to[i] = i < width ? from[i] : to[i - width];
  for (uint64_t i = first; i < total; i += period)
    write_words(to + i, period < total - i ? period : total - i, false, Copied<W>{to});
}

// Short rows, each of one value: whole vectors are written, and what is too much of them is written
// over by the next row.
template <class W>
void fill_short_rows(const W *from, uint64_t step, W *to, uint64_t count, uint64_t width) {
  const LineTag<W> d;
  constexpr uint64_t lanes = hn::MaxLanes(d);
  const uint64_t end = count * width;
  const uint64_t written = (width + lanes - 1) / lanes * lanes;
  uint64_t i = 0;
  for (uint64_t at = 0; at + written <= end; at += width, ++i)
    for (uint64_t j = 0; j < width; j += lanes)
      hn::StoreU(hn::Set(d, from[i * step]), d, to + at + j);
  for (; i < count; ++i)
    for (uint64_t j = 0; j < width; ++j) to[i * width + j] = from[i * step];
}

template <class W>
void rows(const W *from, uint64_t step, uint64_t stride, W *to, uint64_t count, uint64_t width,
          bool stream) {
  if (stride == 1 && step == 0 && width < line<W>) return repeat_row(from, to, count, width);
  if (stride == 0 && width < line<W>) return fill_short_rows(from, step, to, count, width);
  for (uint64_t i = 0; i < count; ++i, from += step, to += width) {
    if (stride == 1) {
      write_words(to, width, stream, Copied<W>{from});
    } else if (stride == 0) {
      write_words(to, width, stream, Repeated<W>{*from});
    } else {
      for (uint64_t j = 0; j < width; ++j) to[j] = from[j * stride];
    }
  }
  if (stream) hwy::FlushStream();
}

// ---- Transpositions -----------------------------------------------------------------------------

// Runs of several words, square by square so that what is read by lines stays in the nearest cache.
template <class W>
void transpose_runs(const W *from, uint64_t from_stride, W *to, uint64_t to_stride, uint64_t rows,
                    uint64_t cols, uint64_t run) {
  constexpr uint64_t side = 16;
  for (uint64_t top = 0; top < rows; top += side)
    for (uint64_t left = 0; left < cols; left += side)
      for (uint64_t i = top; i < top + side && i < rows; ++i)
        for (uint64_t j = left; j < left + side && j < cols; ++j)
          write_words(to + i * to_stride + j * run, run, false,
                      Copied<W>{from + j * from_stride + i * run});
}

// The same in the source's order, which is read from memory once and from front to back.
template <class W>
void spread_runs(const W *from, uint64_t from_stride, W *to, uint64_t to_stride, uint64_t rows,
                 uint64_t cols, uint64_t run, bool stream) {
  for (uint64_t j = 0; j < cols; ++j)
    for (uint64_t i = 0; i < rows; ++i)
      write_words(to + i * to_stride + j * run, run, stream,
                  Copied<W>{from + j * from_stride + i * run});
  if (stream) hwy::FlushStream();
}

// Past the caches to rows that start within lines: transposed apart first, then written by whole
// lines but for their ends. cols <= most_cols.
template <class W>
void transpose_apart(const W *from, uint64_t from_stride, W *to, uint64_t to_stride, uint64_t rows,
                     uint64_t cols) {
  constexpr uint64_t side = line<W>;
  HWY_ALIGN W words[side * most_cols<W>];
  for (uint64_t i = 0; i < rows; i += side) {
    const uint64_t height = rows - i < side ? rows - i : side;
    for (uint64_t j = 0; j < cols; j += side) {
      const uint64_t width = cols - j < side ? cols - j : side;
      const W *const corner = from + j * from_stride + i;
      // For the second cache; processors do not see these jumps coming.
      for (uint64_t r = 0; r < width; ++r)
        __builtin_prefetch(corner + side + r * from_stride, 0, 2);
      transpose_tiles<false>(corner, from_stride, words + j, most_cols<W>, height, width);
    }
    for (uint64_t r = 0; r < height; ++r)
      write_words(to + (i + r) * to_stride, cols, true, Copied<W>{words + r * most_cols<W>});
  }
}

template <class W>
void transpose(const W *from, uint64_t from_stride, W *to, uint64_t to_stride, uint64_t rows,
               uint64_t cols, uint64_t run, bool stream) {
  if (run >= short_run<W>)
    return spread_runs(from, from_stride, to, to_stride, rows, cols, run, stream);
  if (run > 1) return transpose_runs(from, from_stride, to, to_stride, rows, cols, run);
  if (!stream) return transpose_tiles<false>(from, from_stride, to, to_stride, rows, cols);
  if (reinterpret_cast<uintptr_t>(to) % 64 == 0 && to_stride % line<W> == 0) {
    transpose_tiles<true>(from, from_stride, to, to_stride, rows, cols);
  } else {
    transpose_apart(from, from_stride, to, to_stride, rows, cols);
  }
  hwy::FlushStream();
}

}  // namespace

template <class W>
constexpr MoveKernels<W> move_kernels = {rows<W>, transpose<W>};

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torchlean::cpu {

// ---- Axes ---------------------------------------------------------------------------------------

void Axes::append(uint64_t size, uint64_t stride) {
  if (size == 1) return;
  if (rank_ > 0 && axis_[rank_ - 1].stride == size * stride) {
    axis_[rank_ - 1] = {axis_[rank_ - 1].size * size, stride};
  } else {
    axis_[rank_++] = {size, stride};
  }
}

uint64_t count_of(std::span<const Axis> axes) {
  uint64_t count = 1;
  for (const Axis &axis : axes) count *= axis.size;
  return count;
}

Axes broadcast_axes(const tl_broadcast_params *params, uint64_t small_count) {
  const tl_broadcast_params known = known_broadcast(params, small_count);
  Axes axes;
  for (uint32_t i = 0; i < known.rank; ++i) axes.append(known.dims[i], known.strides[i]);
  return axes;
}

namespace {

// ---- Strided copies -----------------------------------------------------------------------------

// Words that make a piece of work, and the length from which a row is cut into such pieces.
constexpr uint64_t piece = 16384;

// Axes that are counted through while others are walked at once, with steps on both sides.
struct OuterAxis {
  uint64_t size;
  uint64_t from;
  uint64_t to;
};

struct Offsets {
  uint64_t from = 0;
  uint64_t to = 0;
};

class OuterAxes {
 public:
  void append(const OuterAxis &axis) {
    axis_[rank_++] = axis;
    count_ *= axis.size;
  }
  uint64_t count() const { return count_; }
  Offsets operator[](uint64_t index) const {
    Offsets offsets;
    for (uint32_t i = rank_; i-- > 0;) {
      const uint64_t coordinate = index % axis_[i].size;
      index /= axis_[i].size;
      offsets.from += coordinate * axis_[i].from;
      offsets.to += coordinate * axis_[i].to;
    }
    return offsets;
  }

 private:
  std::array<OuterAxis, TL_MAX_RANK> axis_;
  uint32_t rank_ = 0;
  uint64_t count_ = 1;
};

// All axes but the last `inner`, and but `left_out`, of a result of `total` words.
OuterAxes outer_axes(std::span<const Axis> axes, size_t inner, size_t left_out, uint64_t total) {
  OuterAxes outer;
  uint64_t step = total;
  for (size_t i = 0; i + inner < axes.size(); ++i) {
    step /= axes[i].size;
    if (i != left_out) outer.append({axes[i].size, axes[i].stride, step});
  }
  return outer;
}

template <class W>
void copy_rows(const tl_instance &instance, std::span<const Axis> axes, const W *from, W *to,
               bool stream) {
  const auto &kernels = TORCHLEAN_CPU_CHOOSE(instance.target, move_kernels<W>);
  const size_t rank = axes.size();
  const Axis row = rank > 0 ? axes[rank - 1] : Axis{1, 1};
  const Axis column = rank > 1 ? axes[rank - 2] : Axis{1, 0};
  const OuterAxes outer = outer_axes(axes, 2, rank, count_of(axes));
  if (row.size >= 2 * piece) {
    const uint64_t parts = blocks_in(row.size, piece);
    parallel_for(instance, outer.count() * column.size * parts, 1,
                 [&](uint64_t begin, uint64_t end) {
                   for (uint64_t part = begin; part < end; ++part) {
                     const uint64_t index = part / parts;
                     const uint64_t first = part % parts * piece;
                     const uint64_t offset =
                         outer[index / column.size].from + index % column.size * column.stride;
                     kernels.rows(from + offset + first * row.stride, 0, row.stride,
                                  to + index * row.size + first, 1,
                                  std::min(piece, row.size - first), stream);
                   }
                 });
    return;
  }
  parallel_for(instance, outer.count() * column.size, blocks_in(piece, row.size),
               [&](uint64_t begin, uint64_t end) {
                 for (uint64_t index = begin; index < end;) {
                   const uint64_t i = index % column.size;
                   const uint64_t count = std::min(column.size - i, end - index);
                   const uint64_t offset = outer[index / column.size].from + i * column.stride;
                   kernels.rows(from + offset, column.stride, row.stride, to + index * row.size,
                                count, row.size, stream);
                   index += count;
                 }
               });
}

// What a transposition exchanges: rows of the result run along `across`, an axis further out, which
// the source has innermost, and `run` words stay together.
template <class W>
void copy_transposed(const tl_instance &instance, std::span<const Axis> axes, size_t across,
                     uint64_t run, const W *from, W *to, bool stream) {
  const auto &kernels = TORCHLEAN_CPU_CHOOSE(instance.target, move_kernels<W>);
  const uint64_t total = count_of(axes);
  const size_t inner = run > 1 ? 2 : 1;
  const Axis along = axes[axes.size() - inner];
  uint64_t to_stride = total;
  for (size_t i = 0; i <= across; ++i) to_stride /= axes[i].size;
  const OuterAxes outer = outer_axes(axes, inner, across, total);

  constexpr uint64_t line = 64 / sizeof(W);
  const uint64_t rows = std::min(axes[across].size, (stream ? 32 : 16) * line);
  const bool is_aligned = reinterpret_cast<uintptr_t>(to) % 64 == 0 && to_stride % line == 0;
  const bool is_apart =
      run == 1 && stream && !is_aligned && along.size >= 4 * line && axes[across].size >= line;
  const uint64_t cols = std::min(along.size, is_apart ? most_cols<W> : 4 * line);
  const uint64_t row_blocks = blocks_in(axes[across].size, rows);
  const uint64_t col_blocks = blocks_in(along.size, cols);
  parallel_for(instance, outer.count() * row_blocks * col_blocks,
               blocks_in(piece, rows * cols * run), [&](uint64_t begin, uint64_t end) {
                 for (uint64_t block = begin; block < end; ++block) {
                   const Offsets corner = outer[block / col_blocks / row_blocks];
                   const uint64_t i = block % row_blocks * rows;
                   const uint64_t j = block / row_blocks % col_blocks * cols;
                   kernels.transpose(from + corner.from + j * along.stride + i * run, along.stride,
                                     to + corner.to + i * to_stride + j * run, to_stride,
                                     std::min(rows, axes[across].size - i),
                                     std::min(cols, along.size - j), run,
                                     stream && (is_aligned || is_apart));
                 }
               });
}

template <class W>
void copy_words(const tl_instance &instance, const Axes &all, const W *from, W *to) {
  const std::span<const Axis> axes = all.all();
  // A source that is read again and again stays in the caches, and so may what is made of it:
  // stores past them are slower then.
  const bool repeats =
      std::any_of(axes.begin(), axes.end(), [](const Axis &axis) { return axis.stride == 0; });
  const bool stream = !repeats && exceeds_caches(count_of(axes) * sizeof(W));
  // Rows that lie in one piece: do neighbours in the source end up far apart, and are they short?
  constexpr uint64_t second_cache = uint64_t{1} << 20;
  const uint64_t most = count_of(axes) * sizeof(W) > second_cache ? long_run<W> : short_run<W>;
  const bool has_runs = !axes.empty() && axes.back().stride == 1;
  const uint64_t run = has_runs ? axes.back().size : 1;
  const size_t inner = has_runs ? 2 : 1;
  if (axes.size() > inner && axes[axes.size() - inner].stride > run && run < most) {
    for (size_t i = 0; i + inner < axes.size(); ++i)
      if (axes[i].stride == run) return copy_transposed(instance, axes, i, run, from, to, stream);
  }
  copy_rows(instance, axes, from, to, stream);
}

// Whether pairs of neighbouring words stay together.
bool moves_pairs(const Axes &axes) {
  const std::span<const Axis> all = axes.all();
  if (all.empty() || all.back().stride != 1 || all.back().size % 2 != 0) return false;
  return std::all_of(all.begin(), all.end() - 1,
                     [](const Axis &axis) { return axis.stride % 2 == 0; });
}

Axes of_pairs(const Axes &axes) {
  Axes pairs;
  const std::span<const Axis> all = axes.all();
  for (const Axis &axis : all.first(all.size() - 1)) pairs.append(axis.size, axis.stride / 2);
  pairs.append(all.back().size / 2, 1);
  return pairs;
}

}  // namespace

template <>
void copy_strided(const tl_instance &instance, const Axes &axes, const double *from, double *to) {
  copy_words(instance, axes, reinterpret_cast<const uint64_t *>(from),
             reinterpret_cast<uint64_t *>(to));
}

template <>
void copy_strided(const tl_instance &instance, const Axes &axes, const float *from, float *to) {
  if (moves_pairs(axes)) {
    copy_words(instance, of_pairs(axes), reinterpret_cast<const uint64_t *>(from),
               reinterpret_cast<uint64_t *>(to));
  } else {
    copy_words(instance, axes, reinterpret_cast<const uint32_t *>(from),
               reinterpret_cast<uint32_t *>(to));
  }
}

// ---- The entries --------------------------------------------------------------------------------

namespace {

void concat(tl_instance &instance, const tl_operand *first, const tl_operand *second, tl_flags,
            tl_storage **out) {
  const auto a = bytes_of("a", first);
  const auto b = bytes_of("b", second);
  expect_equal("b.dtype", second->dtype, first->dtype);
  expect_equal("b.width", second->width, first->width);
  check_count(sum({first->count, second->count}));
  Result<std::byte> y(instance, a.size() + b.size());
  copy_bytes(instance, a.data(), y.begin(), a.size());
  copy_bytes(instance, b.data(), y.begin() + a.size(), b.size());
  hand_out(out, y);
}

void slice(tl_instance &instance, const tl_operand *operand, uint64_t start, uint64_t length,
           tl_flags, tl_storage **out) {
  const auto part = part_of("x", operand, start, length);
  Result<std::byte> y(instance, part.size());
  copy_bytes(instance, part.data(), y.begin(), part.size());
  hand_out(out, y);
}

void broadcast(tl_instance &instance, const tl_operand *operand, const tl_broadcast_params *params,
               tl_flags, tl_storage **out) {
  expect_given("x", operand);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    const Axes axes = broadcast_axes(params, x.size());
    Result<T> y(instance, count_of(axes.all()));
    copy_strided(instance, axes, x.data(), y.begin());
    hand_out(out, y);
  });
}

void swap(tl_instance &instance, const tl_operand *operand, uint64_t outer, uint64_t first,
          uint64_t second, uint64_t inner, tl_flags, tl_storage **out) {
  expect_given("x", operand);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    expect_equal("x.count", x.size(), product({outer, first, second, inner}));
    Result<T> y(instance, x.size());
    if (!x.empty()) {
      Axes axes;
      axes.append(outer, first * second * inner);
      axes.append(second, inner);
      axes.append(first, second * inner);
      axes.append(inner, 1);
      copy_strided(instance, axes, x.data(), y.begin());
    }
    hand_out(out, y);
  });
}

}  // namespace

const tl_view_table view_table = {
    .struct_size = sizeof(tl_view_table),
    .concat = entry<"concat", concat>,
    .slice = entry<"slice", slice>,
    .broadcast = entry<"broadcast", broadcast>,
    .swap = entry<"swap", swap>,
};

}  // namespace torchlean::cpu
#endif  // HWY_ONCE
