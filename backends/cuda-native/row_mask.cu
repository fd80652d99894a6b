// Masks over the rows of a matrix: the first maximum, the k largest entries.
//
// The k largest entries of a long row are found by its k-th largest number, digit by digit from
// the top (a radix select): a block reads the row once for each byte of the dtype. Short rows, and
// long ones that hold NaN, are counted pair by pair: cols steps for each entry, for a NaN none.
#include "folds.cuh"
#include "operation_names.hpp"
#include "row_mask.hpp"

namespace torchlean::cuda {

namespace {

constexpr auto names = operation_names<TL_ROW_MASK_OP_COUNT>("row_mask");

// Rows of up to so many entries are counted.
constexpr uint64_t longest_counted = 256;

// ---- Masks whose entries are found one by one --------------------------------------------------

template <class T, class Marks>
__global__ void mask_kernel(uint64_t n, Divisor cols, T *out, Marks marks) {
  for (uint64_t i = first_element(); i < n; i += element_stride()) {
    const Divided place = cols.divide(i);
    out[i] = marks(place.quotient, place.remainder) ? T(1) : T(0);
  }
}

struct Everywhere {
  __device__ bool operator()(uint64_t, uint64_t) const { return true; }
};

// Do fewer than k entries of the row beat entry i? Entry j beats it if row[j] > row[i], or neither
// is greater and j < i.
template <class T>
__device__ bool is_in_top(const T *row, uint64_t cols, uint64_t k, uint64_t i) {
  const T own = row[i];
  if (is_nan(own)) {
    return i < k;
  }
  uint64_t beaten_by = 0;
  for (uint64_t j = 0; j < cols && beaten_by < k; ++j) {
    beaten_by += row[j] > own || (!(own > row[j]) && j < i) ? 1 : 0;
  }
  return beaten_by < k;
}

template <class T>
struct InTop {
  const T *x;
  uint64_t cols;
  uint64_t k;
  __device__ bool operator()(uint64_t row, uint64_t i) const {
    return is_in_top(x + row * cols, cols, k, i);
  }
};

// ---- First maxima ------------------------------------------------------------------------------

template <class T>
struct Candidate {
  T value;
  uint64_t index;
};

struct Smaller {
  __device__ uint64_t operator()(uint64_t a, uint64_t b) const { return b < a ? b : a; }
};

// The first of the largest numbers; of none, where all are NaN, the index is out of reach.
template <class T>
struct FirstMaximumOf {
  using Value = Candidate<T>;
  using OfValues = FirstMaximumOf<T>;
  static constexpr uint64_t nowhere = UINT64_MAX;
  Value best = {-std::numeric_limits<T>::infinity(), nowhere};

  __device__ void add(const Value &next) {
    if (next.value > best.value || (next.value == best.value && next.index < best.index)) {
      best = next;
    }
  }
  template <class Threads>
  __device__ Value of_all() const {
    const T highest = Threads::fold(best.value, Larger());
    return {highest, Threads::fold(best.value == highest ? best.index : nowhere, Smaller())};
  }
};

template <class T>
struct Candidates {
  const T *x;
  __device__ Candidate<T> at(uint64_t place, uint64_t k) const { return {x[place], k}; }
};

template <class T>
struct IsFirst {
  const Candidate<T> *of_rows;
  __device__ bool operator()(uint64_t row, uint64_t i) const { return of_rows[row].index == i; }
};

// ---- The k largest -----------------------------------------------------------------------------

constexpr uint32_t digit_bits = 8;
constexpr uint32_t digits = 1u << digit_bits;
static_assert(digits == threads_of_rows, "each thread clears one count");

// Numbers as unsigned integers of the same order, both zeros the same.
template <class T>
__device__ auto ordinal(T x) {
  const auto bits = bits_of(add_rn(x, T(0)));
  using Bits = std::remove_const_t<decltype(bits)>;
  constexpr Bits sign = Bits(1) << (8 * sizeof(T) - 1);
  return (bits & sign) != 0 ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | sign);
}
template <class T>
using Ordinal = decltype(ordinal(T()));

struct TopCells {
  uint32_t count[digits];  // of the numbers with each next digit
  uint32_t has_nan;
  uint32_t digit;  // of the k-th largest
  uint64_t rank;   // among those that begin with its digits so far; 1 is the largest
  uint64_t ties;   // those that do
  uint32_t equal_in_warp[threads_of_rows / warp_threads];
};

// The digit of the number of this rank, by one warp: each lane has eight counts, the largest
// digits first.
__device__ inline void choose_digit(TopCells &cells, uint64_t rank) {
  constexpr uint32_t own_counts = digits / warp_threads;
  const uint32_t top_digit = digits - 1 - own_counts * lane_index();
  uint64_t own = 0;
  for (uint32_t j = 0; j < own_counts; ++j) {
    own += cells.count[top_digit - j];
  }
  uint64_t up_to_here = own;
  for (uint32_t distance = 1; distance < warp_threads; distance *= 2) {
    const uint64_t before = __shfl_up_sync(all_lanes, up_to_here, distance);
    up_to_here += lane_index() >= distance ? before : 0;
  }
  const uint64_t before = up_to_here - own;
  if (before < rank && rank <= up_to_here) {
    uint64_t left = rank - before;
    uint32_t digit = top_digit;
    while (left > cells.count[digit]) {
      left -= cells.count[digit];
      --digit;
    }
    cells.digit = digit;
    cells.rank = left;
    cells.ties = cells.count[digit];
  }
}

// The k largest numbers of a row: all those above `limit`, and the first `rank` of the `ties` that
// equal it.
template <class T>
struct Limit {
  Ordinal<T> number;
  uint64_t rank;
  uint64_t ties;
  bool has_nan;  // then the rest means nothing
};

template <class T>
__device__ Limit<T> limit_of(TopCells &cells, const T *row, uint64_t cols, uint64_t k) {
  Limit<T> limit = {0, k, 0, false};
  for (uint32_t shift = 8 * sizeof(T); shift > 0; shift -= digit_bits) {
    const uint32_t low = shift - digit_bits;
    cells.count[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
      cells.has_nan = 0;
    }
    __syncthreads();
    for (uint64_t i = threadIdx.x; i < cols; i += blockDim.x) {
      const Ordinal<T> number = ordinal(row[i]);
      if (is_nan(row[i])) {
        atomicOr(&cells.has_nan, 1u);
      } else if ((number >> low >> digit_bits) == limit.number) {
        atomicAdd(&cells.count[(number >> low) % digits], 1u);
      }
    }
    __syncthreads();
    limit.has_nan = cells.has_nan != 0;
    if (limit.has_nan) {
      break;
    }
    if (warp_index() == 0) {
      choose_digit(cells, limit.rank);
    }
    __syncthreads();
    limit.number = limit.number << digit_bits | cells.digit;
    limit.rank = cells.rank;
    limit.ties = cells.ties;
  }
  return limit;
}

// Some of the ties are marked, the first ones: the block counts them from the left.
template <class T>
__device__ void mark_first_ties(TopCells &cells, const Limit<T> &limit, const T *row, uint64_t cols,
                                T *mask) {
  uint64_t seen = 0;
  for (uint64_t start = 0; start < cols; start += blockDim.x) {
    const uint64_t i = start + threadIdx.x;
    const Ordinal<T> number = i < cols ? ordinal(row[i]) : Ordinal<T>(0);
    const bool is_tie = i < cols && number == limit.number;
    const uint32_t votes = __ballot_sync(all_lanes, is_tie);
    if (lane_index() == 0) {
      cells.equal_in_warp[warp_index()] = static_cast<uint32_t>(__popc(votes));
    }
    __syncthreads();
    uint64_t before = seen + static_cast<uint32_t>(__popc(votes & ((1u << lane_index()) - 1)));
    for (uint32_t warp = 0; warp < warp_count(); ++warp) {
      before += warp < warp_index() ? cells.equal_in_warp[warp] : 0;
      seen += cells.equal_in_warp[warp];
    }
    if (i < cols) {
      mask[i] = number > limit.number || (is_tie && before < limit.rank) ? T(1) : T(0);
    }
    __syncthreads();
  }
}

// 0 < k < cols; a block for each row.
template <class T>
__global__ void top_kernel(uint64_t rows, uint64_t cols, uint64_t k, const T *x, T *out) {
  TopCells &cells = shared<TopCells>();
  for (uint64_t i = BlockPerRow::first_row(); i < rows; i += BlockPerRow::row_stride()) {
    const T *const row = x + i * cols;
    T *const mask = out + i * cols;
    const Limit<T> limit = limit_of(cells, row, cols, k);
    if (!limit.has_nan && limit.rank < limit.ties) {
      mark_first_ties(cells, limit, row, cols, mask);
    } else {
      for (uint64_t j = threadIdx.x; j < cols; j += blockDim.x) {
        const bool is_marked =
            limit.has_nan ? is_in_top(row, cols, k, j) : ordinal(row[j]) >= limit.number;
        mask[j] = is_marked ? T(1) : T(0);
      }
    }
    __syncthreads();  // before the next row's counts
  }
}

// ---- The entry ---------------------------------------------------------------------------------

// A matrix and its mask to be.
template <class T>
struct Matrix {
  const char *operation;
  uint64_t rows;
  uint64_t cols;
  const T *x;
  T *mask;
};

template <class T, class Marks>
void mark(device::Stream &stream, const Matrix<T> &matrix, const Marks &marks) {
  launch(stream, matrix.operation, matrix.rows * matrix.cols, &mask_kernel<T, Marks>,
         Divisor(matrix.cols), matrix.mask, marks);
}

template <class T>
void mark_first_maxima(tl_instance &instance, const Matrix<T> &matrix) {
  const Result of_rows(instance, matrix.operation, matrix.rows, sizeof(Candidate<T>));
  Candidate<T> *const firsts = of_rows.elements<Candidate<T>>();
  fold_lines<FirstMaximumOf<T>>(instance, matrix.operation, matrix.rows, matrix.cols,
                                MiddleLines(matrix.cols, 1), Candidates<T>{matrix.x},
                                Kept<Candidate<T>>{firsts});
  mark(*instance.stream, matrix, IsFirst<T>{firsts});
}

template <class T>
void mark_top(device::Stream &stream, const Matrix<T> &matrix, uint64_t k) {
  if (k == 0) {
    device::clear(stream, matrix.operation, matrix.mask, matrix.rows * matrix.cols * sizeof(T));
  } else if (k >= matrix.cols) {
    mark(stream, matrix, Everywhere());
  } else if (matrix.cols <= longest_counted) {
    mark(stream, matrix, InTop<T>{matrix.x, matrix.cols, k});
  } else {
    launch_rows<BlockPerRow>(stream, matrix.operation, matrix.rows, &top_kernel<T>, matrix.cols, k,
                             matrix.x, matrix.mask);
  }
}

}  // namespace

void row_mask(tl_instance *instance, tl_row_mask_op op, const tl_operand *x, uint64_t rows,
              uint64_t cols, uint64_t k, tl_flags, tl_storage **out) {
  const char *operation = name_of(names, "row_mask", op);
  with_native(operation, x->dtype, [&]<class T>() {
    check_operand(operation, "x", *x, native_dtype<T>, product({rows, cols}));
    Result result(*instance, operation, x->count, sizeof(T));
    const Matrix<T> matrix = {operation, rows, cols, elements<T>(*x), result.elements<T>()};
    if (op == TL_ROW_MASK_FIRST_MAX) {
      mark_first_maxima(*instance, matrix);
    } else {
      mark_top(*instance->stream, matrix, k);
    }
    *out = result.hand_over();
  });
}

}  // namespace torchlean::cuda
