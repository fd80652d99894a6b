// Sums and maxima over an axis, gradients of broadcasts.
//
// Sums are taken in double, by chunks (folds.cuh); in deterministic mode in the orders that the
// specification gives.
#include "arguments.hpp"
#include "folds.cuh"
#include "row_mask.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace torchlean::cuda {

namespace {

constexpr std::array<const char *, TL_REDUCE_OP_COUNT> names = {"reduce_sum", "reduce_mean",
                                                                "reduce_sum_axis", "reduce_max"};

// ---- Lines of a broadcast's gradient -----------------------------------------------------------

// A number, written in the digits of some axes, the last one's digit first, and where it leads.
class Digits {
 public:
  void append(uint64_t size, uint64_t step) { axes_[rank_++] = {Divisor(size), step}; }

  __device__ uint64_t place(uint64_t number) const {
    uint64_t place = 0;
    for (uint32_t i = 0; i < rank_; ++i) {
      const Divided digit = axes_[i].size.divide(number);
      number = digit.quotient;
      place += digit.remainder * axes_[i].step;
    }
    return place;
  }

 private:
  struct Axis {
    Divisor size;
    uint64_t step = 0;
  };
  Axis axes_[TL_MAX_RANK];
  uint32_t rank_ = 0;
};

// An axis of the large side: how far a step along it leads there, and on the small side.
struct BroadcastAxis {
  uint64_t size;
  uint64_t large;
  uint64_t small;
};

// The axes of more than one element, the innermost first.
std::vector<BroadcastAxis> axes_of(const tl_broadcast_params &params) {
  std::vector<BroadcastAxis> axes;
  uint64_t step = 1;
  for (uint32_t i = params.rank; i-- > 0; step *= params.dims[i]) {
    if (params.dims[i] > 1) {
      axes.push_back({params.dims[i], step, params.strides[i]});
    }
  }
  return axes;
}

// A result's terms lie along the axes that the small side does not have.
class GradientLines {
 public:
  // Throws unless the other axes reach each of the small side's elements once.
  GradientLines(const char *operation, std::vector<BroadcastAxis> axes, uint64_t small_count)
      : are_near_(axes.empty() || axes.front().small == 0) {
    for (const BroadcastAxis &axis : axes) {
      if (axis.small == 0) {
        terms_.append(axis.size, axis.large);
        count_ *= axis.size;
      }
    }
    std::sort(axes.begin(), axes.end(),
              [](const BroadcastAxis &a, const BroadcastAxis &b) { return a.small < b.small; });
    uint64_t dense = 1;
    for (const BroadcastAxis &axis : axes) {
      if (axis.small == 0) {
        continue;
      }
      if (axis.small != dense) {
        throw Failure(TL_INVALID_ARGUMENT, std::string(operation) + ": params.strides hold " +
                                               std::to_string(axis.small) + ", expected " +
                                               std::to_string(dense));
      }
      results_.append(axis.size, axis.large);
      dense *= axis.size;
    }
    if (dense != small_count) {
      throw Failure(TL_INVALID_ARGUMENT, std::string(operation) + ": out_count is " +
                                             std::to_string(small_count) + ", expected " +
                                             std::to_string(dense));
    }
  }

  uint64_t count() const { return count_; }
  bool are_near() const { return are_near_; }

  __device__ uint64_t first(uint64_t result) const { return results_.place(result); }
  __device__ uint64_t place(uint64_t first, uint64_t k) const { return first + terms_.place(k); }

 private:
  Digits results_;
  Digits terms_;
  uint64_t count_ = 1;
  bool are_near_;
};

// ---- Sums --------------------------------------------------------------------------------------

// A sum rounded to the dtype, times a factor: 1, or a mean's reciprocal.
template <class T>
struct Scaled {
  T *out;
  T factor;
  __device__ void put(uint64_t i, double sum) const { out[i] = mul_rn(convert<T>(sum), factor); }
};

// Deterministic: from +0, term after term.
template <class T, class Lines>
__global__ void left_fold_kernel(uint64_t results, uint64_t count, Lines lines, const T *x,
                                 T *out) {
  for (uint64_t i = first_element(); i < results; i += element_stride()) {
    const uint64_t first = lines.first(i);
    T sum = T(0);
    load_ahead(
        count, [&](uint64_t k) { return x[lines.place(first, k)]; },
        [&](uint64_t, T term) { sum = add_rn(sum, term); });
    out[i] = sum;
  }
}

template <class T, class Lines>
void sum_lines(tl_instance &instance, const char *operation, uint64_t results, uint64_t count,
               const Lines &lines, const T *x, T *out) {
  if (instance.deterministic) {
    launch(*instance.stream, operation, results, &left_fold_kernel<T, Lines>, count, lines, x, out);
  } else {
    fold_lines<SumOf<T>>(instance, operation, results, count, lines, Elements<T>{x},
                         Scaled<T>{out, T(1)});
  }
}

// ---- Totals in deterministic mode --------------------------------------------------------------

constexpr uint64_t lanes_of_block = 256;
constexpr uint64_t most_blocks = 65535;

// One pass over x: lane l of the specification adds x[l], x[l + lanes], ... from +0 on; each block
// of 256 lanes folds by halves to one value of out. A warp is one block: each thread has every
// 32nd lane, so that the first three halvings need no other thread.
template <class T>
__global__ void total_kernel(uint64_t blocks, uint64_t n, const T *x, T *out, T factor) {
  constexpr uint32_t own_lanes = lanes_of_block / warp_threads;
  for (uint64_t block = WarpPerRow::first_row(); block < blocks;
       block += WarpPerRow::row_stride()) {
    T lane[own_lanes] = {};
    for (uint64_t first = block * lanes_of_block; first < n; first += blocks * lanes_of_block) {
      for (uint32_t j = 0; j < own_lanes; ++j) {
        const uint64_t i = first + j * warp_threads + lane_index();
        if (i < n) {
          lane[j] = add_rn(lane[j], x[i]);
        }
      }
    }
    for (uint32_t half = own_lanes / 2; half > 0; half /= 2) {
      for (uint32_t j = 0; j < half; ++j) {
        lane[j] = add_rn(lane[j], lane[j + half]);
      }
    }
    const T sum = warp_fold(lane[0], warp_threads, Add());
    if (lane_index() == 0) {
      out[block] = mul_rn(sum, factor);
    }
  }
}

// n > 0. The procedure runs at least once, and until one value is left.
template <class T>
void deterministic_total(tl_instance &instance, const char *operation, uint64_t n, const T *x,
                         const Scaled<T> &sink) {
  const uint64_t blocks = std::min((n - 1) / lanes_of_block + 1, most_blocks);
  const auto pass = [&](T *out, T factor) {
    launch_rows<WarpPerRow>(*instance.stream, operation, blocks, &total_kernel<T>, n, x, out,
                            factor);
  };
  if (blocks == 1) {
    return pass(sink.out, sink.factor);
  }
  const Result values(instance, operation, blocks, sizeof(T));
  pass(values.elements<T>(), T(1));
  deterministic_total<T>(instance, operation, blocks, values.elements<T>(), sink);
}

// ---- Entries -----------------------------------------------------------------------------------

// Of no terms: sums and maxima are 0, the mean is NaN.
template <class T>
void reduce_nothing(tl_instance &instance, tl_reduce_op op, uint64_t results, T *out) {
  if (op == TL_REDUCE_TOTAL_MEAN) {
    const T mean = std::numeric_limits<T>::quiet_NaN();
    device::copy_to_device(*instance.stream, names[op], out, &mean, sizeof mean);
  } else {
    device::clear(*instance.stream, names[op], out, results * sizeof(T));
  }
}

template <class T>
void reduce_terms(tl_instance &instance, tl_reduce_op op, uint64_t outer, uint64_t n,
                  uint64_t inner, const T *x, T *out) {
  const MiddleLines lines(n, inner);
  const T factor = op == TL_REDUCE_TOTAL_MEAN ? 1 / static_cast<T>(n) : T(1);
  if (op == TL_REDUCE_MAX) {
    fold_lines<MaximumOf<T>>(instance, names[op], outer * inner, n, lines, Elements<T>{x},
                             Kept<T>{out});
  } else if (op == TL_REDUCE_SUM) {
    sum_lines<T>(instance, names[op], outer * inner, n, lines, x, out);
  } else if (instance.deterministic) {
    deterministic_total<T>(instance, names[op], n, x, {out, factor});
  } else {
    fold_lines<SumOf<T>>(instance, names[op], 1, n, lines, Elements<T>{x}, Scaled<T>{out, factor});
  }
}

void reduce(tl_instance *instance, tl_reduce_op op, const tl_operand *x, uint64_t outer, uint64_t n,
            uint64_t inner, tl_flags, tl_storage **out) {
  if (op >= TL_REDUCE_OP_COUNT) {
    refuse_enumerator("reduce", op);
  }
  const char *operation = names[op];
  with_native(operation, x->dtype, [&]<class T>() {
    check_operand(operation, "x", *x, native_dtype<T>, product({outer, n, inner}));
    if ((op == TL_REDUCE_TOTAL_SUM || op == TL_REDUCE_TOTAL_MEAN) && (outer != 1 || inner != 1)) {
      throw Failure(TL_INVALID_ARGUMENT, std::string(operation) + ": outer and inner are " +
                                             std::to_string(outer) + " and " +
                                             std::to_string(inner) + ", expected 1");
    }
    Result result(*instance, operation, product({outer, inner}), sizeof(T));
    T *const y = result.elements<T>();
    if (n == 0) {
      reduce_nothing<T>(*instance, op, outer * inner, y);
    } else {
      reduce_terms<T>(*instance, op, outer, n, inner, elements<T>(*x), y);
    }
    *out = result.hand_over();
  });
}

void sum_to_shape(tl_instance *instance, const tl_operand *x, const tl_broadcast_params *params,
                  uint64_t out_count, tl_flags, tl_storage **out) {
  constexpr const char *operation = "reduce_from_broadcast";
  with_native(operation, x->dtype, [&]<class T>() {
    check_operand(operation, "x", *x, native_dtype<T>, x->count);
    const tl_broadcast_params known = known_broadcast(operation, *params, out_count);
    Result result(*instance, operation, out_count, sizeof(T));
    T *const y = result.elements<T>();
    if (x->count == 0) {
      device::clear(*instance->stream, operation, y, out_count * sizeof(T));
    } else {
      check_operand(operation, "x", *x, native_dtype<T>, large_count(known));
      const GradientLines lines(operation, axes_of(known), out_count);
      sum_lines<T>(*instance, operation, out_count, lines.count(), lines, elements<T>(*x), y);
    }
    *out = result.hand_over();
  });
}

}  // namespace

const tl_reduction_table reduction_table = {
    .struct_size = sizeof(tl_reduction_table),
    .reduce = entry<reduce>,
    .sum_to_shape = entry<sum_to_shape>,
    .row_mask = entry<row_mask>,
};

}  // namespace torchlean::cuda
