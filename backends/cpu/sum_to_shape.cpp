// Gradients of broadcasts: sums over several axes at once.
//
// Axis by axis, each as reduction.cpp sums it; in deterministic mode left folds in the operand's
// own order.
#include "blocks.hpp"
#include "reduction.hpp"
#include "reduction_kernels.hpp"
#include "strided.hpp"
#include "threads.hpp"

#include <algorithm>
#include <vector>

namespace torchlean::cpu {
namespace {

// Axes of the large side: what they step over in it, and in the result, where 0 sums.
struct SummedAxis {
  uint64_t size;
  uint64_t large;
  uint64_t small;
};

// The kept ones in the result's order, which is that of falling strides.
std::vector<Axis> kept_axes(std::span<const Axis> axes) {
  std::vector<Axis> kept;
  for (const Axis &axis : axes)
    if (axis.stride != 0) kept.push_back(axis);
  std::sort(kept.begin(), kept.end(),
            [](const Axis &a, const Axis &b) { return a.stride > b.stride; });
  return kept;
}

// Throws unless the kept axes are those of a dense result.
void check_dense(std::span<const Axis> kept, uint64_t out_count) {
  uint64_t dense = 1;
  for (size_t i = kept.size(); i-- > 0;) {
    expect_equal("params.strides", kept[i].stride, dense);
    dense *= kept[i].size;
  }
  expect_equal("out_count", out_count, dense);
}

// Adds x, element by element, to the sums that the axes name.
template <class T>
void add_in_order(const FoldKernels<T> &kernels, std::span<const SummedAxis> axes, const T *x,
                  T *sums) {
  const SummedAxis one = {1, 0, 0};
  const SummedAxis last = axes.empty() ? SummedAxis{1, 1, 0} : axes.back();
  const SummedAxis above = axes.size() < 2 ? one : axes[axes.size() - 2];
  if (axes.size() > 2) {
    for (uint64_t i = 0; i < axes[0].size; ++i)
      add_in_order(kernels, axes.subspan(1), x + i * axes[0].large, sums + i * axes[0].small);
  } else if (last.small == 0) {
    kernels.rows_in_order(x, above.large, above.size, last.size, sums, above.small);
  } else if (last.small == 1 && above.small == 0) {
    kernels.columns_in_order(x, above.large, above.size, last.size, sums);
  } else {
    for (uint64_t i = 0; i < above.size; ++i)
      for (uint64_t j = 0; j < last.size; ++j)
        sums[i * above.small + j * last.small] += x[i * above.large + j];
  }
}

// Left folds; threads share out the longest of the kept axes.
template <class T>
void sum_in_order(tl_instance &instance, std::span<const Axis> axes, const T *x, T *y) {
  std::vector<SummedAxis> walked;
  uint64_t step = count_of(axes);
  for (const Axis &axis : axes) {
    step /= axis.size;
    walked.push_back({axis.size, step, axis.stride});
  }
  const auto longest =
      std::max_element(walked.begin(), walked.end(), [](const auto &a, const auto &b) {
        return (a.small == 0 ? 0 : a.size) < (b.small == 0 ? 0 : b.size);
      });
  const auto &kernels = reduction_kernels<T>(instance.target).sums;
  if (longest == walked.end() || longest->small == 0) return add_in_order<T>(kernels, walked, x, y);
  const SummedAxis shared = *longest;
  const uint64_t grain = blocks_in(reduced_at_a_time, count_of(axes) / shared.size);
  parallel_for(instance, shared.size, std::max<uint64_t>(grain, 64),
               [&](uint64_t begin, uint64_t end) {
                 std::vector<SummedAxis> part = walked;
                 part[static_cast<size_t>(longest - walked.begin())].size = end - begin;
                 add_in_order<T>(kernels, part, x + begin * shared.large, y + begin * shared.small);
               });
}

// One axis at a time, the innermost first; what is left has the operand's order of axes.
template <class T>
void sum_by_axes(tl_instance &instance, const Axes &axes, const std::vector<Axis> &kept, const T *x,
                 T *y) {
  Axes order;  // of what is left, as the result will walk it
  bool is_ordered = true;
  const std::span<const Axis> all = axes.all();
  for (const Axis &axis : kept) {
    uint64_t stride = 1;
    for (size_t i = all.size(); all[--i].stride != axis.stride;)
      if (all[i].stride != 0) stride *= all[i].size;
    is_ordered = is_ordered && stride == axis.stride;
    order.append(axis.size, stride);
  }
  std::vector<Result<T>> steps;
  const T *from = x;
  uint64_t outer = count_of(all);
  uint64_t inner = 1;
  auto left = std::count_if(all.begin(), all.end(), [](const Axis &a) { return a.stride == 0; });
  for (size_t i = all.size(); i-- > 0;) {
    outer /= all[i].size;
    if (all[i].stride != 0) {
      inner *= all[i].size;
      continue;
    }
    T *to = y;
    if (--left > 0 || !is_ordered) to = steps.emplace_back(instance, outer * inner).begin();
    sum_middle(instance, {outer, all[i].size, inner}, false, from, to);
    from = to;
  }
  if (from != y) copy_strided(instance, order, from, y);
}

}  // namespace

void sum_to_shape(tl_instance &instance, const tl_operand *operand,
                  const tl_broadcast_params *params, uint64_t out_count, tl_flags,
                  tl_storage **out) {
  expect_given("x", operand);
  check_count(out_count);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    const Axes axes = broadcast_axes(params, out_count);
    Result<T> y(instance, out_count);
    if (x.empty() || instance.deterministic) std::fill(y.begin(), y.end(), T(0));
    if (!x.empty()) {
      const std::vector<Axis> kept = kept_axes(axes.all());
      expect_equal("x.count", x.size(), count_of(axes.all()));
      check_dense(kept, out_count);
      if (instance.deterministic) {
        sum_in_order(instance, axes.all(), x.data(), y.begin());
      } else {
        sum_by_axes(instance, axes, kept, x.data(), y.begin());
      }
    }
    hand_out(out, y);
  });
}

}  // namespace torchlean::cpu
