// A matrix product whose right factor is never laid out: what it has for a term and a column is the
// element of an array that the coordinates of both together lead to, or nothing where they lead
// beside the array. All that convolutions compute is such a product (convolution.cu).
#pragma once

#include "arithmetic.cuh"
#include "block.cuh"
#include "words.cuh"

#include <algorithm>

namespace torchlean::cuda {

// One of the three axes along which columns and terms are counted. Column i and term k meet at
// coordinate origin + i * column_step + k * term_step of the source, if that is in [0, extent).
struct ProductAxis {
  uint32_t columns;
  uint32_t terms;
  int64_t column_step;
  int64_t term_step;
  int64_t origin;
  int64_t extent;
  // In elements, for one step: of the coordinate, of the term, of the column. (Places are computed
  // modulo 2^64, since what leads far beside the source may leave it on the way.)
  uint64_t source_stride;
  uint64_t matrix_stride;
  uint64_t result_stride;
  // stride > 1: a column meets every stride-th term only, the same as the columns a multiple of
  // stride away do. Such columns are a phase, which is worked through by itself.
  int64_t stride;
  int64_t padding;
  uint32_t phases;
  // Where the first term and column of the phase are; 0 of the axis itself.
  uint64_t matrix_origin;
  uint64_t result_origin;

  // The axis as the columns phase, phase + stride, phase + 2 stride ... see it.
  __device__ ProductAxis in_phase(uint32_t phase) const {
    ProductAxis axis = *this;
    if (stride > 1) {
      const int64_t reach = phase + padding;
      const int64_t first_term = reach % stride;
      const auto step = static_cast<uint64_t>(stride);
      axis.columns = static_cast<uint32_t>((columns - phase - 1) / step) + 1;
      axis.terms =
          first_term < terms ? static_cast<uint32_t>((terms - 1 - first_term) / stride) + 1 : 0;
      axis.origin = reach / stride;
      axis.matrix_origin = static_cast<uint64_t>(first_term) * matrix_stride;
      axis.matrix_stride = matrix_stride * step;
      axis.result_origin = phase * result_stride;
      axis.result_stride = result_stride * step;
    }
    return axis;
  }

  // Whether a column and a term may meet nothing.
  bool may_miss() const {
    const int64_t reach = (int64_t{terms} - 1) * term_step;
    const int64_t last = origin + (int64_t{columns} - 1) * column_step;
    return stride > 1 || origin + std::min<int64_t>(0, reach) < 0 ||
           last + std::max<int64_t>(0, reach) >= extent;
  }
};

// result[group, row, column] = the sum over terms of matrix[group, row, term] * source[group, term,
// column]. Columns and terms have an outer digit and one for each axis. Strides are in elements.
// There are fewer than 2^32 columns, and terms.
struct GatheredProduct {
  ProductAxis axis[3];
  uint32_t rows;
  uint32_t outer_columns;
  uint32_t outer_terms;
  uint32_t groups;
  uint64_t row_matrix;
  uint64_t row_result;
  uint64_t outer_column_source;
  uint64_t outer_column_result;
  uint64_t outer_term_source;
  uint64_t outer_term_matrix;
  uint64_t group_matrix;
  uint64_t group_source;
  uint64_t group_result;

  bool may_miss() const { return axis[0].may_miss() || axis[1].may_miss() || axis[2].may_miss(); }
  uint64_t columns() const {
    return uint64_t{outer_columns} * axis[0].columns * axis[1].columns * axis[2].columns;
  }
  uint64_t terms() const {
    return uint64_t{outer_terms} * axis[0].terms * axis[1].terms * axis[2].terms;
  }
};

// ---- Columns and terms in mixed radix -----------------------------------------------------------

// The outer digit, then one for each axis.
struct Digits {
  uint32_t outer;
  uint32_t at[3];
};

struct Radix {
  uint32_t size[3];

  __device__ uint64_t count(uint32_t outer) const {
    return uint64_t{outer} * size[0] * size[1] * size[2];
  }
  __device__ Digits digits(uint32_t number) const {
    Digits digits;
    for (uint32_t a = 3; a-- > 0;) {
      digits.at[a] = number % size[a];
      number /= size[a];
    }
    digits.outer = number;
    return digits;
  }
  __device__ Digits sum(const Digits &a, const Digits &b) const {
    Digits sum;
    uint32_t carry = 0;
    for (uint32_t i = 3; i-- > 0;) {
      const uint64_t digit = uint64_t{a.at[i]} + b.at[i] + carry;
      carry = digit >= size[i] ? 1 : 0;
      sum.at[i] = static_cast<uint32_t>(carry == 0 ? digit : digit - size[i]);
    }
    sum.outer = a.outer + b.outer + carry;
    return sum;
  }
};

// What a column has, and what a term adds to it: a place in the source with its coordinates, and
// another, of the column in the result, of the term in the matrix.
struct Offsets {
  uint64_t source;
  uint64_t other;
  int64_t coordinate[3];
};

// One phase of a product.
struct ProductPhase {
  ProductAxis axis[3];
  Radix columns;
  Radix terms;

  __device__ void set(const GatheredProduct &product, uint64_t number) {
    for (uint32_t a = 3; a-- > 0;) {
      axis[a] = product.axis[a].in_phase(static_cast<uint32_t>(number % product.axis[a].phases));
      number /= product.axis[a].phases;
      columns.size[a] = axis[a].columns;
      terms.size[a] = axis[a].terms;
    }
  }

  __device__ Offsets column(const GatheredProduct &product, const Digits &digits) const {
    Offsets column = {
        digits.outer * product.outer_column_source, digits.outer * product.outer_column_result, {}};
    for (uint32_t a = 0; a < 3; ++a) {
      column.coordinate[a] = axis[a].origin + digits.at[a] * axis[a].column_step;
      column.source += static_cast<uint64_t>(column.coordinate[a]) * axis[a].source_stride;
      column.other += axis[a].result_origin + digits.at[a] * axis[a].result_stride;
    }
    return column;
  }
  __device__ Offsets term(const GatheredProduct &product, const Digits &digits) const {
    Offsets term = {
        digits.outer * product.outer_term_source, digits.outer * product.outer_term_matrix, {}};
    for (uint32_t a = 0; a < 3; ++a) {
      term.coordinate[a] = digits.at[a] * axis[a].term_step;
      term.source += static_cast<uint64_t>(term.coordinate[a]) * axis[a].source_stride;
      term.other += axis[a].matrix_origin + digits.at[a] * axis[a].matrix_stride;
    }
    return term;
  }
  // Whether a column and a term meet an element: each coordinate in [0, extent), by one comparison.
  struct Bounds {
    uint64_t extent[3];
    __device__ bool hold(const Offsets &column, const Offsets &term) const {
      bool inside = true;
      for (uint32_t a = 0; a < 3; ++a) {
        const int64_t coordinate = column.coordinate[a] + term.coordinate[a];
        inside = inside && static_cast<uint64_t>(coordinate) < extent[a];
      }
      return inside;
    }
  };
  __device__ Bounds bounds() const {
    return {{static_cast<uint64_t>(axis[0].extent), static_cast<uint64_t>(axis[1].extent),
             static_cast<uint64_t>(axis[2].extent)}};
  }
};

// ---- The tiles of a block -----------------------------------------------------------------------

inline constexpr uint32_t product_threads = 256;

// A block computes `extent` rows of `extent` columns, a thread `per_thread` squared of them,
// `depth` terms at a time.
template <class T, uint32_t per_thread>
struct ProductTile {
  static constexpr uint32_t side = 16;  // threads along rows, and along columns
  static constexpr uint32_t depth = 16;
  static constexpr uint32_t extent = side * per_thread;

  struct Cells {
    alignas(16) T matrix[depth][extent + 4];  // wider, so that a column's cells differ in banks
    alignas(16) T source[depth][extent];
    bool inside[depth][extent];
    Offsets term[2][depth];
    uint64_t result[extent];
    ProductPhase phase;
  };

  // A thread's results lie four by four, so that the block reads its cells without conflicts.
  static __device__ uint32_t place(uint32_t thread, uint32_t i) {
    return i / 4 * (4 * side) + thread * 4 + i % 4;
  }

  static __device__ void read(T (&values)[per_thread], const T *cells, uint32_t thread) {
    constexpr uint32_t width = widest_word<T>;
    for (uint32_t i = 0; i < per_thread; i += width) {
      const auto word = *reinterpret_cast<const Word<T, width> *>(cells + place(thread, i));
      for (uint32_t k = 0; k < width; ++k) {
        values[i + k] = word.element[k];
      }
    }
  }

  // sums += the tile's products. Only `careful` leaves out what is not inside; else it is a zero
  // times a finite number.
  template <bool careful>
  static __device__ void multiply(const Cells &cells, T (&sums)[per_thread][per_thread]) {
    const uint32_t row = threadIdx.x / side;
    const uint32_t column = threadIdx.x % side;
    for (uint32_t k = 0; k < depth; ++k) {
      T left[per_thread];
      T right[per_thread];
      read(left, cells.matrix[k], row);
      read(right, cells.source[k], column);
      for (uint32_t j = 0; j < per_thread; ++j) {
        if (!careful || cells.inside[k][place(column, j)]) {
          for (uint32_t i = 0; i < per_thread; ++i) {
            sums[i][j] = fma_rn(left[i], right[j], sums[i][j]);
          }
        }
      }
    }
  }
};

// How a product is cut. A chunk is some of the terms, whose sums lie by themselves.
struct ProductGrid {
  uint64_t row_tiles;
  uint64_t column_tiles;  // of a phase, at most
  uint64_t phases;
  uint64_t groups;
  uint64_t chunks;
  uint64_t chunk_terms;
  uint64_t chunk_result;  // elements

  uint64_t tiles() const { return row_tiles * column_tiles * phases * groups; }
};

// Elements under way from memory to the cells while the block multiplies those before them.
template <class T, uint32_t per_thread>
struct Fetched {
  T matrix[per_thread];
  T source[per_thread];
  bool inside[per_thread];
};

// nonfinite: whether the matrix has a number by which nothing would not be nothing; NULL: it does
// not matter.
template <class T, uint32_t per_thread>
__global__ void product_kernel(GatheredProduct product, ProductGrid grid, T *out, const T *matrix,
                               const T *source, const T *bias, const unsigned *nonfinite) {
  using Tile = ProductTile<T, per_thread>;
  constexpr uint32_t extent = Tile::extent;
  constexpr uint32_t depth = Tile::depth;
  typename Tile::Cells &cells = shared<typename Tile::Cells>();
  const bool careful = nonfinite != nullptr && *nonfinite != 0;
  const uint32_t thread = threadIdx.x;
  const uint64_t items =
      grid.row_tiles * grid.column_tiles * grid.phases * grid.groups * grid.chunks;
  for (uint64_t item = blockIdx.x; item < items; item += gridDim.x) {
    uint64_t rest = item;
    const auto next = [&](uint64_t count) {
      const uint64_t digit = rest % count;
      rest /= count;
      return digit;
    };
    const uint64_t first_row = next(grid.row_tiles) * extent;
    const uint64_t first_column = next(grid.column_tiles) * extent;
    const uint64_t phase_number = next(grid.phases);
    if (thread == 0) {
      cells.phase.set(product, phase_number);
    }
    __syncthreads();
    const ProductPhase &phase = cells.phase;
    const uint64_t group = next(grid.groups);
    const uint64_t chunk = rest;
    const uint64_t columns = phase.columns.count(product.outer_columns);
    if (first_column >= columns) {
      __syncthreads();
      continue;  // the whole block
    }
    const uint64_t terms = phase.terms.count(product.outer_terms);
    const uint64_t first_term = chunk * grid.chunk_terms;
    const uint64_t chunk_end = first_term + grid.chunk_terms;
    const uint64_t end_term = chunk_end < terms ? chunk_end : terms;
    const auto steps =
        static_cast<uint32_t>(first_term < end_term ? (end_term - first_term - 1) / depth + 1 : 0);

    // The column that this thread fetches, and the terms that it looks up.
    const ProductPhase::Bounds bounds = phase.bounds();
    const uint32_t own_column = thread % extent;
    const bool has_column = first_column + own_column < columns;
    const Offsets column = phase.column(
        product, phase.columns.digits(
                     static_cast<uint32_t>(has_column ? first_column + own_column : first_column)));
    if (thread < extent) {
      cells.result[thread] = column.other;
    }
    Digits own_term = {};
    Digits a_step = {};
    if (thread < depth && steps > 0) {
      own_term = phase.terms.digits(static_cast<uint32_t>(first_term) + thread);
      a_step = phase.terms.digits(depth);
      cells.term[0][thread] = phase.term(product, own_term);
    }
    const auto look_up = [&](uint32_t step) {
      if (thread < depth) {
        own_term = phase.terms.sum(own_term, a_step);
        cells.term[step % 2][thread] = phase.term(product, own_term);
      }
    };

    Fetched<T, per_thread> fetched;
    const uint64_t group_source = group * product.group_source + column.source;
    const uint64_t group_matrix = group * product.group_matrix;
    const auto fetch = [&](uint32_t step) {
      const uint64_t left = end_term - first_term - uint64_t{step} * depth;
      const Offsets *const term = cells.term[step % 2];
      for (uint32_t i = 0; i < per_thread; ++i) {
        const uint32_t k = thread / extent + i * (product_threads / extent);
        fetched.inside[i] = has_column && k < left && bounds.hold(column, term[k]);
        fetched.source[i] = fetched.inside[i] ? source[group_source + term[k].source] : T(0);
      }
      const uint32_t k = thread % depth;
      for (uint32_t i = 0; i < per_thread; ++i) {
        const uint64_t row = first_row + thread / depth + i * (product_threads / depth);
        fetched.matrix[i] = row < product.rows && k < left
                                ? matrix[group_matrix + row * product.row_matrix + term[k].other]
                                : T(0);
      }
    };
    const auto store = [&] {
      for (uint32_t i = 0; i < per_thread; ++i) {
        const uint32_t k = thread / extent + i * (product_threads / extent);
        cells.source[k][own_column] = fetched.source[i];
        if (careful) {
          cells.inside[k][own_column] = fetched.inside[i];
        }
        cells.matrix[thread % depth][thread / depth + i * (product_threads / depth)] =
            fetched.matrix[i];
      }
    };

    T sums[per_thread][per_thread] = {};
    __syncthreads();
    if (steps > 0) {
      fetch(0);
      look_up(1);
    }
    for (uint32_t step = 0; step < steps; ++step) {
      store();
      __syncthreads();
      if (step + 1 < steps) {
        fetch(step + 1);
        look_up(step + 2);
      }
      if (careful) {
        Tile::template multiply<true>(cells, sums);
      } else {
        Tile::template multiply<false>(cells, sums);
      }
      __syncthreads();
    }

    T *const to = out + chunk * grid.chunk_result + group * product.group_result;
    for (uint32_t i = 0; i < per_thread; ++i) {
      const uint64_t row = first_row + Tile::place(thread / Tile::side, i);
      if (row < product.rows) {
        const T added = bias == nullptr ? T(0) : bias[group * product.rows + row];
        for (uint32_t j = 0; j < per_thread; ++j) {
          const uint32_t at = Tile::place(thread % Tile::side, j);
          if (first_column + at < columns) {
            to[cells.result[at] + row * product.row_result] = add_rn(sums[i][j], added);
          }
        }
      }
    }
  }
}

}  // namespace torchlean::cuda
