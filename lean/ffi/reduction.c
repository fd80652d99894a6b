/* Lean symbols: sums, means, maxima and the masks that they give. */
#include "call.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_buffer_reduce_sum(b_lean_obj_arg x) {
  return tl_lean_map(tl_reduce_sum, "reduce_sum", "x", x);
}

lean_obj_res torchlean_cuda_buffer_reduce_mean(b_lean_obj_arg x) {
  return tl_lean_map(tl_reduce_mean, "reduce_mean", "x", x);
}

lean_obj_res torchlean_cuda_buffer_reduce_sum_by_row(b_lean_obj_arg x, uint32_t rows,
                                                     uint32_t cols) {
  return tl_lean_map_2d(tl_reduce_sum_by_row, "reduce_sum_by_row", "x", x, rows, cols);
}

lean_obj_res torchlean_cuda_buffer_reduce_max_by_row(b_lean_obj_arg x, uint32_t rows,
                                                     uint32_t cols) {
  return tl_lean_map_2d(tl_reduce_max_by_row, "reduce_max_by_row", "x", x, rows, cols);
}

lean_obj_res torchlean_cuda_buffer_reduce_max_by_column(b_lean_obj_arg x, uint32_t rows,
                                                        uint32_t cols) {
  return tl_lean_map_2d(tl_reduce_max_by_column, "reduce_max_by_column", "x", x, rows, cols);
}

lean_obj_res torchlean_cuda_buffer_first_max_mask_by_row(b_lean_obj_arg x, uint32_t rows,
                                                         uint32_t cols) {
  return tl_lean_map_2d(tl_first_max_mask_by_row, "first_max_mask_by_row", "x", x, rows, cols);
}

lean_obj_res torchlean_cuda_buffer_top_k_mask_by_row(b_lean_obj_arg x, uint32_t rows, uint32_t cols,
                                                     uint32_t k) {
  tl_lean_call call = tl_lean_pure("top_k_mask_by_row");
  const tl_buffer *input = tl_lean_take_buffer(&call, "x", x);
  if (tl_lean_ok(&call)) {
    call.status = tl_top_k_mask_by_row(input, rows, cols, k, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_reduce_sum_axis(b_lean_obj_arg x, b_lean_obj_arg dims,
                                                   uint32_t axis) {
  tl_lean_call call = tl_lean_pure("reduce_sum_axis");
  const tl_buffer *input = tl_lean_take_buffer(&call, "x", x);
  tl_lean_dims storage;
  const tl_list shape = tl_lean_take_dims(&call, "dims", dims, storage);
  if (tl_lean_ok(&call)) {
    call.status = tl_reduce_sum_axis(input, shape.values, shape.length, axis, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

/* The adjoint of broadcast_to with the same lists. */
lean_obj_res torchlean_cuda_buffer_reduce_from_broadcast(b_lean_obj_arg d_out,
                                                         b_lean_obj_arg in_dims,
                                                         b_lean_obj_arg out_dims,
                                                         b_lean_obj_arg axis_map) {
  return tl_lean_broadcast(tl_reduce_from_broadcast, "reduce_from_broadcast", "dOut", d_out,
                           in_dims, out_dims, axis_map);
}
