// Reduction family: sums, means, maxima, and masks that mark them.
#include "dispatch/broadcast.hpp"
#include "dispatch/shape.hpp"

namespace torchlean {
namespace {

tl_status reduce(Call &call, tl_reduce_op op, const tl_operand *x, std::uint64_t outer,
                 std::uint64_t n, std::uint64_t inner, tl_buffer **out) {
  return call.result(out, outer * inner, [&](Backend &backend, tl_storage **storage) {
    return backend.reduction.reduce(backend.instance, op, x, outer, n, inner, 0, storage);
  });
}

tl_status reduce_total(tl_operation operation, tl_reduce_op op, const tl_buffer *x,
                       tl_buffer **out) {
  Call call(operation);
  const tl_operand *operand = call.native("x", x);
  if (call.failed()) return call.status();
  return reduce(call, op, operand, 1, operand->count, 1, out);
}

tl_status row_mask(tl_operation operation, tl_row_mask_op op, const tl_buffer *x,
                   std::uint64_t rows, std::uint64_t cols, std::uint64_t k, tl_buffer **out) {
  Call call(operation);
  const tl_operand *operand = matrix(call, "x", x, rows, cols);
  if (call.failed()) return call.status();
  return call.result(out, operand->count, [&](Backend &backend, tl_storage **storage) {
    return backend.reduction.row_mask(backend.instance, op, operand, rows, cols,
                                      std::min(k, largest_count), 0, storage);
  });
}

}  // namespace
}  // namespace torchlean

using namespace torchlean;

extern "C" {

tl_status tl_reduce_sum(const tl_buffer *x, tl_buffer **out) {
  return reduce_total(TL_OP_reduce_sum, TL_REDUCE_TOTAL_SUM, x, out);
}

tl_status tl_reduce_mean(const tl_buffer *x, tl_buffer **out) {
  return reduce_total(TL_OP_reduce_mean, TL_REDUCE_TOTAL_MEAN, x, out);
}

tl_status tl_reduce_sum_by_row(const tl_buffer *x, uint64_t rows, uint64_t cols, tl_buffer **out) {
  Call call(TL_OP_reduce_sum_by_row);
  const tl_operand *operand = matrix(call, "x", x, rows, cols);
  return reduce(call, TL_REDUCE_SUM, operand, rows, cols, 1, out);
}

tl_status tl_reduce_sum_axis(const tl_buffer *x, const uint64_t *dims, size_t rank, uint64_t axis,
                             tl_buffer **out) {
  Call call(TL_OP_reduce_sum_axis);
  const tl_operand *operand = call.native("x", x);
  const std::span<const std::uint64_t> axes = call.list("dims", dims, rank);
  call.check_count("x", operand, call.product("dims", axes), "the product of dims");
  if (call.failed()) return call.status();
  check_axis(call, axis, axes.size());
  const MiddleAxis middle = split_at(call, axes, axis);
  const std::array<std::uint64_t, 2> result = {middle.outer, middle.inner};
  const std::uint64_t count = call.product("dims without the axis", result);
  if (count > largest_count) {
    return call.refuse(TL_INVALID_ARGUMENT,
                       "the result would have {} elements, at most {} are possible", count,
                       largest_count);
  }
  return reduce(call, TL_REDUCE_SUM, operand, middle.outer, middle.n, middle.inner, out);
}

tl_status tl_reduce_from_broadcast(const tl_buffer *d_out, const uint64_t *in_dims, size_t in_rank,
                                   const uint64_t *out_dims, size_t out_rank,
                                   const uint64_t *axis_map, size_t axis_map_length,
                                   tl_buffer **out) {
  Call call(TL_OP_reduce_from_broadcast);
  const tl_operand *operand = call.native("dOut", d_out);
  const Broadcast broadcast = make_broadcast(call, call.list("inDims", in_dims, in_rank),
                                             call.list("outDims", out_dims, out_rank),
                                             call.list("axisMap", axis_map, axis_map_length));
  call.check_count("dOut", operand, broadcast.large_count, "the product of outDims");
  return call.result(out, broadcast.small_count, [&](Backend &backend, tl_storage **storage) {
    return backend.reduction.sum_to_shape(backend.instance, operand, &broadcast.params,
                                          broadcast.small_count, 0, storage);
  });
}

tl_status tl_reduce_max_by_row(const tl_buffer *x, uint64_t rows, uint64_t cols, tl_buffer **out) {
  Call call(TL_OP_reduce_max_by_row);
  const tl_operand *operand = matrix(call, "x", x, rows, cols);
  return reduce(call, TL_REDUCE_MAX, operand, rows, cols, 1, out);
}

tl_status tl_reduce_max_by_column(const tl_buffer *x, uint64_t rows, uint64_t cols,
                                  tl_buffer **out) {
  Call call(TL_OP_reduce_max_by_column);
  const tl_operand *operand = matrix(call, "x", x, rows, cols);
  return reduce(call, TL_REDUCE_MAX, operand, 1, rows, cols, out);
}

tl_status tl_first_max_mask_by_row(const tl_buffer *x, uint64_t rows, uint64_t cols,
                                   tl_buffer **out) {
  return row_mask(TL_OP_first_max_mask_by_row, TL_ROW_MASK_FIRST_MAX, x, rows, cols, 0, out);
}

tl_status tl_top_k_mask_by_row(const tl_buffer *x, uint64_t rows, uint64_t cols, uint64_t k,
                               tl_buffer **out) {
  return row_mask(TL_OP_top_k_mask_by_row, TL_ROW_MASK_TOP_K, x, rows, cols, k, out);
}

}  // extern "C"
