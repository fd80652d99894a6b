// Sums, means, maxima and masks of rows.
//
// Sums are ATen's, whose cascade keeps the error in bounds along one axis; deterministic mode has
// its own order (folds.hpp). ATen's maxima let NaN win and its sorting is not the specified order
// of ties, so these are loops of our own.
#include "composed.hpp"
#include "folds.hpp"
#include "kernels.hpp"
#include "libtorch.hpp"
#include "maxima.hpp"

#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include <vector>

namespace torchlean::libtorch {
namespace {

template <class T>
at::Tensor filled(int64_t n, T value) {
  at::Tensor result = empty(n, scalar_type<T>);
  T *const y = result.mutable_data_ptr<T>();
  each(n, [=](int64_t i) { y[i] = value; });
  return result;
}

// ---- Sums ---------------------------------------------------------------------------------------

template <class T>
at::Tensor total_sum(const tl_instance &instance, const at::Tensor &x) {
  if (!instance.deterministic) return at::sum(x, {0}, /*keepdim=*/true);
  if (instance.composed) return composed::total_by_lanes(x);
  return filled(1, total_by_lanes(x.const_data_ptr<T>(), x.numel()));
}

template <class T>
at::Tensor total_mean(const tl_instance &instance, const at::Tensor &x) {
  at::Tensor mean = total_sum<T>(instance, x);
  if (instance.composed) return mean.mul_(1 / static_cast<T>(x.numel()));
  *mean.mutable_data_ptr<T>() *= 1 / static_cast<T>(x.numel());
  return mean;
}

// The sums of (outer, n, inner) over its middle axis. The prescribed order is one long chain of
// additions for each sum: from other devices it is brought to the host.
template <class T>
at::Tensor middle_sum(const tl_instance &instance, const at::Tensor &x) {
  if (!instance.deterministic) return at::sum(x, {1});
  const at::Tensor from = x.cpu();
  at::Tensor sums = empty(x.size(0) * x.size(2), scalar_type<T>);
  fold_middle_axis(sums.mutable_data_ptr<T>(), from.const_data_ptr<T>(), x.size(0), x.size(1),
                   x.size(2));
  return sums.to(x.device());
}

// ---- Maxima -------------------------------------------------------------------------------------

template <class T>
at::Tensor middle_max(const at::Tensor &x) {
  const int64_t outer = x.size(0), n = x.size(1), inner = x.size(2);
  at::Tensor result = empty(outer * inner, scalar_type<T>);
  T *const y = result.mutable_data_ptr<T>();
  const T *const from = x.const_data_ptr<T>();
  each_strip(outer, n, inner, 1024, [=](int64_t row, int64_t begin, int64_t width) {
    T *const maxima = y + row * inner + begin;
    const T *const top = from + row * n * inner + begin;
    if (inner == 1) {
      maxima[0] = row_max(top, n);
    } else {
      std::fill_n(maxima, width, -std::numeric_limits<T>::infinity());
      for (int64_t k = 0; k < n; ++k) raise_to(maxima, top + k * inner, width);
    }
  });
  return result;
}

// ---- reduce -------------------------------------------------------------------------------------

// Of all elements; a view of the operand would take as long as adding up some thousand.
template <class T>
at::Tensor total(const tl_instance &instance, tl_reduce_op op, const at::Tensor &x) {
  return op == TL_REDUCE_TOTAL_SUM ? total_sum<T>(instance, x) : total_mean<T>(instance, x);
}

template <class T>
at::Tensor reduced(const tl_instance &instance, tl_reduce_op op, const at::Tensor &x) {
  switch (op) {
    case TL_REDUCE_SUM: return middle_sum<T>(instance, x);
    case TL_REDUCE_MAX:
      if (x.size(1) == 0) return at::zeros({x.size(0) * x.size(2)}, x.options());
      return instance.composed ? composed::middle_max(x) : middle_max<T>(x);
    default: throw unknown("op", op);
  }
}

void reduce(tl_instance &instance, tl_reduce_op op, const tl_operand *operand, uint64_t outer,
            uint64_t n, uint64_t inner, tl_flags, tl_storage **out) {
  const at::Tensor x = native_tensor("x", operand);
  with_native(operand->dtype, [&]<class T>(T) {
    if (op == TL_REDUCE_TOTAL_SUM || op == TL_REDUCE_TOTAL_MEAN) {
      expect_equal("outer", outer, 1);
      expect_equal("inner", inner, 1);
      expect_equal("n", n, operand->count);
      return hand_out(out, total<T>(instance, op, x));
    }
    hand_out(out,
             reduced<T>(
                 instance, op,
                 shaped("x", x, {extent("outer", outer), extent("n", n), extent("inner", inner)})));
  });
}

// ---- sum_to_shape -------------------------------------------------------------------------------

struct Axis {
  int64_t size;
  int64_t stride;  // in the result; 0: summed over
};

// The axes of more than one element; throws where they are not those of a dense result of out_count
// elements and an operand of `count`.
std::vector<Axis> known_axes(const tl_broadcast_params &params, uint64_t count,
                             uint64_t out_count) {
  if (params.rank > TL_MAX_RANK) throw unknown("rank", params.rank);
  std::vector<Axis> axes;
  std::vector<Axis> kept;
  uint64_t product = 1;
  for (uint32_t i = 0; i < params.rank; ++i) {
    const Axis axis{extent("dims", params.dims[i]), extent("strides", params.strides[i])};
    product = static_cast<uint64_t>(extent("product of dims", product * params.dims[i]));
    if (axis.size == 1) continue;
    axes.push_back(axis);
    if (axis.stride != 0) kept.push_back(axis);
  }
  expect_equal("product of dims", product, count);
  std::sort(kept.begin(), kept.end(), [](Axis a, Axis b) { return a.stride < b.stride; });
  uint64_t dense = 1;
  for (const Axis &axis : kept) {
    expect_equal("stride", static_cast<uint64_t>(axis.stride), dense);
    dense *= static_cast<uint64_t>(axis.size);
  }
  expect_equal("out_count", out_count, dense);
  return axes;
}

// One axis at a time, the innermost first: a sum over several axes at once adds the outer ones from
// left to right, too inexact for long ones. The result still has the operand's order of axes.
at::Tensor sum_by_axes(const at::Tensor &x, const std::vector<Axis> &axes) {
  at::Tensor result = x;
  int64_t outer = x.numel();
  int64_t inner = 1;
  for (size_t k = axes.size(); k-- > 0;) {
    const Axis &axis = axes[k];
    outer /= axis.size;
    if (axis.stride == 0) {
      result = at::sum(result.view({outer, axis.size, inner}), {1});
    } else {
      inner *= axis.size;
    }
  }
  return result;
}

// The kept axes in the result's order, which is that of falling strides.
at::Tensor in_order_of_result(const at::Tensor &x, const std::vector<Axis> &axes) {
  std::vector<Axis> kept;
  for (const Axis &axis : axes)
    if (axis.stride != 0) kept.push_back(axis);
  std::vector<int64_t> sizes;
  std::vector<int64_t> order;
  for (size_t i = 0; i < kept.size(); ++i) {
    sizes.push_back(kept[i].size);
    order.push_back(static_cast<int64_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return kept[static_cast<size_t>(a)].stride > kept[static_cast<size_t>(b)].stride;
  });
  return x.view(sizes).permute(order);
}

// Adds the elements at `from`, one after the other, to the sums that the axes from `depth` on name.
template <class T>
void add_in_order(const std::vector<Axis> &axes, size_t depth, const T *&from, T *sums) {
  if (depth == axes.size()) {
    *sums += *from++;
    return;
  }
  const Axis axis = axes[depth];
  if (depth + 1 < axes.size()) {
    for (int64_t i = 0; i < axis.size; ++i)
      add_in_order(axes, depth + 1, from, sums + i * axis.stride);
  } else if (axis.stride == 0) {
    T sum = *sums;
    for (int64_t i = 0; i < axis.size; ++i) sum += from[i];
    *sums = sum;
    from += axis.size;
  } else {
    const T *const row = from;
    detail::each_in_range(0, axis.size, [=](int64_t i) { sums[i * axis.stride] += row[i]; });
    from += axis.size;
  }
}

void sum_to_shape(tl_instance &instance, const tl_operand *operand,
                  const tl_broadcast_params *params, uint64_t out_count, tl_flags,
                  tl_storage **out) {
  const at::Tensor x = native_tensor("x", operand);
  const tl_broadcast_params &known = known_part("params", params);
  const int64_t results = extent("out_count", out_count);
  with_native(operand->dtype, [&]<class T>(T) {
    if (x.numel() == 0) return hand_out(out, at::zeros({results}, x.options()));
    const std::vector<Axis> axes = known_axes(known, operand->count, out_count);
    if (instance.deterministic) {
      const at::Tensor sums = filled(results, T(0));
      const at::Tensor on_host = x.cpu();
      const T *from = on_host.const_data_ptr<T>();
      add_in_order(axes, 0, from, sums.mutable_data_ptr<T>());
      return hand_out(out, sums.to(x.device()));
    }
    const at::Tensor sums = in_order_of_result(sum_by_axes(x, axes), axes);
    hand_out(out, sums.is_alias_of(x) ? sums.clone(at::MemoryFormat::Contiguous) : sums);
  });
}

// ---- row_mask -----------------------------------------------------------------------------------

template <class T>
void first_max_mask(T *mask, const T *x, int64_t cols) {
  std::fill_n(mask, cols, T(0));
  const T highest = row_max(x, cols);
  const T *const first = std::find(x, x + cols, highest);
  if (first != x + cols) mask[first - x] = 1;  // not there: all are NaN
}

// An entry is marked if fewer than k others beat it. A number is beaten by the numbers before it in
// order of falling value, then rising index, and by each NaN to its left; a NaN by all entries to
// its left.
template <class T>
void top_k_mask(T *mask, const T *x, int64_t cols, int64_t k) {
  std::vector<uint32_t> order;  // the numbers
  order.reserve(static_cast<size_t>(cols));
  std::vector<uint32_t> nans;
  for (int64_t i = 0; i < cols; ++i) {
    const bool is_nan = std::isnan(x[i]);
    (is_nan ? nans : order).push_back(static_cast<uint32_t>(i));
    mask[i] = is_nan && i < k ? T(1) : T(0);
  }
  const auto before = [=](uint32_t i, uint32_t j) { return x[i] != x[j] ? x[i] > x[j] : i < j; };
  const auto end = order.begin() + std::min<int64_t>(k, static_cast<int64_t>(order.size()));
  if (end != order.end()) std::nth_element(order.begin(), end, order.end(), before);
  if (!nans.empty()) std::sort(order.begin(), end, before);
  for (auto entry = order.begin(); entry != end; ++entry) {
    const auto nans_before = std::lower_bound(nans.begin(), nans.end(), *entry) - nans.begin();
    mask[*entry] = (entry - order.begin()) + nans_before < k ? T(1) : T(0);
  }
}

template <class T>
at::Tensor masks(tl_row_mask_op op, const at::Tensor &x, int64_t k) {
  const int64_t rows = x.size(0), cols = x.size(1);
  at::Tensor result = empty(x.numel(), scalar_type<T>);
  T *const mask = result.mutable_data_ptr<T>();
  const T *const from = x.const_data_ptr<T>();
  switch (op) {
    case TL_ROW_MASK_FIRST_MAX:
      each_task(rows, cols,
                [=](int64_t row) { first_max_mask(mask + row * cols, from + row * cols, cols); });
      return result;
    case TL_ROW_MASK_TOP_K:
      each_task(rows, 8 * cols,
                [=](int64_t row) { top_k_mask(mask + row * cols, from + row * cols, cols, k); });
      return result;
    default: throw unknown("op", op);
  }
}

// Rows with a NaN are brought to the host.
template <class T>
at::Tensor composed_masks(tl_row_mask_op op, const at::Tensor &x, int64_t k) {
  if (op == TL_ROW_MASK_FIRST_MAX) return composed::first_max_mask(x);
  if (op == TL_ROW_MASK_TOP_K)
    if (std::optional<at::Tensor> mask = composed::top_k_mask(x, k)) return *mask;
  return masks<T>(op, x.cpu(), k).to(x.device());
}

void row_mask(tl_instance &instance, tl_row_mask_op op, const tl_operand *operand, uint64_t rows,
              uint64_t cols, uint64_t k, tl_flags, tl_storage **out) {
  const at::Tensor x =
      shaped("x", native_tensor("x", operand), {extent("rows", rows), extent("cols", cols)});
  const int64_t limit = extent("k", k);
  with_native(operand->dtype, [&]<class T>(T) {
    hand_out(out, instance.composed ? composed_masks<T>(op, x, limit) : masks<T>(op, x, limit));
  });
}

}  // namespace

const tl_reduction_table reduction_table = {
    .struct_size = sizeof(tl_reduction_table),
    .reduce = entry<"reduce", reduce>,
    .sum_to_shape = entry<"sum_to_shape", sum_to_shape>,
    .row_mask = entry<"row_mask", row_mask>,
};

}  // namespace torchlean::libtorch
