// Moves of whole elements: concatenation, slices, broadcasts, swapped axes.
#include "arguments.hpp"
#include "block.cuh"
#include "division.cuh"
#include "instance.hpp"
#include "words.cuh"

namespace torchlean::cuda {

namespace {

// ---- Copies ------------------------------------------------------------------------------------

void concat(tl_instance *instance, const tl_operand *a, const tl_operand *b, tl_flags,
            tl_storage **out) {
  check_operand("concat1d", "a", *a, a->dtype, a->count);
  check_operand("concat1d", "b", *b, a->dtype, b->count);
  if (a->width != b->width) {
    throw Failure(TL_INVALID_ARGUMENT, "concat1d: b has words of " + std::to_string(b->width) +
                                           " bytes, expected " + std::to_string(a->width));
  }
  Result result(*instance, "concat1d", a->count + b->count, a->width);
  std::byte *to = result.elements<std::byte>();
  for (const tl_operand *part : {a, b}) {
    if (part->count > 0) {
      device::copy_on_device(*instance->stream, "concat1d", to, elements<void>(*part),
                             part->storage->bytes);
      to += part->storage->bytes;
    }
  }
  *out = result.hand_over();
}

void slice(tl_instance *instance, const tl_operand *x, uint64_t start, uint64_t length, tl_flags,
           tl_storage **out) {
  check_operand("slice1d", "x", *x, x->dtype, x->count);
  if (length > x->count || start > x->count - length) {
    throw Failure(TL_INVALID_ARGUMENT, "slice1d: " + std::to_string(length) + " elements from " +
                                           std::to_string(start) + ", but x has " +
                                           std::to_string(x->count));
  }
  Result result(*instance, "slice1d", length, x->width);
  device::copy_on_device(*instance->stream, "slice1d", result.elements<void>(),
                         elements<std::byte>(*x) + start * x->width, length * x->width);
  *out = result.hand_over();
}

// ---- Broadcasts --------------------------------------------------------------------------------

// tl_broadcast_params for a kernel: the last axis first, axes of one element left out.
struct Walk {
  explicit Walk(const tl_broadcast_params &params) {
    for (uint32_t i = params.rank; i-- > 0;) {
      if (params.dims[i] > 1) {
        axes[rank++] = {Divisor(params.dims[i]), params.strides[i]};
      }
    }
  }

  // An element of the large side: where its line, along the last axis, begins on the small side,
  // and its index in the line.
  struct Place {
    uint64_t line;
    uint64_t index;
  };

  __device__ Place at(uint64_t large) const {
    const Divided last = axes[0].size.divide(large);
    uint64_t rest = last.quotient;
    uint64_t line = 0;
    for (uint32_t i = 1; i < rank; ++i) {
      const Divided axis = axes[i].size.divide(rest);
      rest = axis.quotient;
      line += axis.remainder * axes[i].stride;
    }
    return {line, last.remainder};
  }

  struct Axis {
    Divisor size;
    uint64_t stride = 0;
  };
  Axis axes[TL_MAX_RANK];
  uint32_t rank = 0;
};

// Index arithmetic once for each word of the large side that stays within a line.
template <class T>
__global__ void broadcast_kernel(uint64_t items, uint64_t count, T *out, const T *x, Walk walk) {
  for_words<widest_word<T>>(items, count, [&]<size_t width>(uint64_t i) {
    const uint64_t first = i * width;
    Walk::Place place = walk.at(first);
    Word<T, width> word;
    for (uint64_t k = 0; k < width; ++k) {
      word.element[k] = x[place.line + place.index * walk.axes[0].stride];
      if (++place.index == walk.axes[0].size.value()) {
        place = walk.at(first + k + 1);
      }
    }
    store_word(out, i, word);
  });
}

void broadcast(tl_instance *instance, const tl_operand *x, const tl_broadcast_params *params,
               tl_flags, tl_storage **out) {
  constexpr const char *operation = "broadcast";
  with_native(operation, x->dtype, [&]<class T>() {
    check_operand(operation, "x", *x, native_dtype<T>, x->count);
    const tl_broadcast_params known = known_broadcast(operation, *params, x->count);
    const uint64_t count = large_count(known);
    Result result(*instance, operation, count, sizeof(T));
    launch_words<widest_word<T>>(*instance->stream, operation, count, &broadcast_kernel<T>,
                                 result.elements<T>(), elements<T>(*x), Walk(known));
    *out = result.hand_over();
  });
}

// ---- Swapped axes ------------------------------------------------------------------------------

// (outer, first, second, inner) -> (outer, second, first, inner)
struct Swap {
  uint64_t outer;
  uint64_t first;
  uint64_t second;
  uint64_t inner;
};

// Each thread moves words by themselves: neighbours write side by side, and read side by side
// wherever inner > 1.
template <class W>
__global__ void swap_kernel(uint64_t words, W *out, const W *x, Divisor first, Divisor second,
                            Divisor inner) {
  for (uint64_t i = first_element(); i < words; i += element_stride()) {
    const Divided in_row = inner.divide(i);
    const Divided in_second = first.divide(in_row.quotient);
    const Divided in_outer = second.divide(in_second.quotient);
    const uint64_t row =
        (in_outer.quotient * first.value() + in_second.remainder) * second.value() +
        in_outer.remainder;
    out[i] = x[row * inner.value() + in_row.remainder];
  }
}

constexpr uint32_t tile = 32;         // words on either side
constexpr uint32_t tile_rows = 8;     // that a block moves at once
constexpr uint64_t worth_tiles = 16;  // a side that fills half a tile

// The column more keeps the words of a column in different banks.
template <class W>
struct Tile {
  W word[tile][tile + 1];
};

// inner = 1. A block reads a tile by rows and writes it by columns.
template <class W>
__global__ void transpose_kernel(uint64_t tiles, W *out, const W *x, uint64_t first,
                                 uint64_t second, Divisor first_tiles, Divisor second_tiles) {
  Tile<W> &cells = shared<Tile<W>>();
  const uint32_t column = threadIdx.x % tile;
  const uint32_t row = threadIdx.x / tile;
  for (uint64_t item = blockIdx.x; item < tiles; item += gridDim.x) {
    const Divided along_second = second_tiles.divide(item);
    const Divided along_first = first_tiles.divide(along_second.quotient);
    const uint64_t matrix = along_first.quotient * first * second;
    const uint64_t first_base = along_first.remainder * tile;
    const uint64_t second_base = along_second.remainder * tile;
    for (uint32_t r = row; r < tile; r += tile_rows) {
      if (first_base + r < first && second_base + column < second) {
        cells.word[r][column] = x[matrix + (first_base + r) * second + second_base + column];
      }
    }
    __syncthreads();
    for (uint32_t r = row; r < tile; r += tile_rows) {
      if (second_base + r < second && first_base + column < first) {
        out[matrix + (second_base + r) * first + first_base + column] = cells.word[column][r];
      }
    }
    __syncthreads();
  }
}

template <class W>
void swap_words(device::Stream &stream, const char *operation, const Swap &shape, void *to,
                const void *from) {
  W *out = static_cast<W *>(to);
  const W *x = static_cast<const W *>(from);
  if (shape.inner == 1 && shape.first >= worth_tiles && shape.second >= worth_tiles) {
    const uint64_t first_tiles = (shape.first - 1) / tile + 1;
    const uint64_t second_tiles = (shape.second - 1) / tile + 1;
    const uint64_t tiles = shape.outer * first_tiles * second_tiles;
    launch_blocks(stream, operation, {blocks_for(stream, tiles), tile * tile_rows},
                  &transpose_kernel<W>, tiles, out, x, shape.first, shape.second,
                  Divisor(first_tiles), Divisor(second_tiles));
  } else {
    launch(stream, operation, shape.outer * shape.first * shape.second * shape.inner,
           &swap_kernel<W>, out, x, Divisor(shape.first), Divisor(shape.second),
           Divisor(shape.inner));
  }
}

// In the widest words that divide a row.
template <class T, size_t width = widest_word<T>>
void swap_rows(device::Stream &stream, const char *operation, const Swap &shape, void *to,
               const void *from) {
  if constexpr (width > 1) {
    if (shape.inner % width != 0) {
      return swap_rows<T, width / 2>(stream, operation, shape, to, from);
    }
  }
  swap_words<Word<T, width>>(
      stream, operation, {shape.outer, shape.first, shape.second, shape.inner / width}, to, from);
}

void swap(tl_instance *instance, const tl_operand *x, uint64_t outer, uint64_t first,
          uint64_t second, uint64_t inner, tl_flags, tl_storage **out) {
  constexpr const char *operation = "swap_adjacent_at_depth";
  with_native(operation, x->dtype, [&]<class T>() {
    check_operand(operation, "x", *x, native_dtype<T>, product({outer, first, second, inner}));
    Result result(*instance, operation, x->count, sizeof(T));
    swap_rows<T>(*instance->stream, operation, {outer, first, second, inner},
                 result.elements<void>(), elements<void>(*x));
    *out = result.hand_over();
  });
}

}  // namespace

const tl_view_table view_table = {
    .struct_size = sizeof(tl_view_table),
    .concat = entry<concat>,
    .slice = entry<slice>,
    .broadcast = entry<broadcast>,
    .swap = entry<swap>,
};

}  // namespace torchlean::cuda
