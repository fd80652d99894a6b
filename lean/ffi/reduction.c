/* Lean symbols: sums, means, maxima and the masks that they give. */
#include "object.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_buffer_reduce_sum(b_lean_obj_arg x) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_reduce_sum(tl_lean_expect_buffer("reduce_sum", "x", x), &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_reduce_mean(b_lean_obj_arg x) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_reduce_mean(tl_lean_expect_buffer("reduce_mean", "x", x), &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_reduce_sum_by_row(b_lean_obj_arg x, uint32_t rows,
                                                     uint32_t cols) {
  tl_buffer *out = NULL;
  tl_lean_must(
      tl_reduce_sum_by_row(tl_lean_expect_buffer("reduce_sum_by_row", "x", x), rows, cols, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_reduce_max_by_row(b_lean_obj_arg x, uint32_t rows,
                                                     uint32_t cols) {
  tl_buffer *out = NULL;
  tl_lean_must(
      tl_reduce_max_by_row(tl_lean_expect_buffer("reduce_max_by_row", "x", x), rows, cols, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_reduce_max_by_column(b_lean_obj_arg x, uint32_t rows,
                                                        uint32_t cols) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_reduce_max_by_column(tl_lean_expect_buffer("reduce_max_by_column", "x", x), rows,
                                       cols, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_first_max_mask_by_row(b_lean_obj_arg x, uint32_t rows,
                                                         uint32_t cols) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_first_max_mask_by_row(tl_lean_expect_buffer("first_max_mask_by_row", "x", x),
                                        rows, cols, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_top_k_mask_by_row(b_lean_obj_arg x, uint32_t rows, uint32_t cols,
                                                     uint32_t k) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_top_k_mask_by_row(tl_lean_expect_buffer("top_k_mask_by_row", "x", x), rows, cols,
                                    k, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_reduce_sum_axis(b_lean_obj_arg x, b_lean_obj_arg dims,
                                                   uint32_t axis) {
  static const char operation[] = "reduce_sum_axis";
  const tl_buffer *input = tl_lean_expect_buffer(operation, "x", x);
  const tl_lean_dims shape = tl_lean_expect_dims(operation, "dims", dims);
  tl_buffer *out = NULL;
  tl_lean_must(tl_reduce_sum_axis(input, shape.values, shape.length, axis, &out));
  return tl_lean_wrap(out);
}

/* The adjoint of broadcast_to with the same lists. */
lean_obj_res torchlean_cuda_buffer_reduce_from_broadcast(b_lean_obj_arg d_out,
                                                         b_lean_obj_arg in_dims,
                                                         b_lean_obj_arg out_dims,
                                                         b_lean_obj_arg axis_map) {
  static const char operation[] = "reduce_from_broadcast";
  const tl_buffer *gradient = tl_lean_expect_buffer(operation, "dOut", d_out);
  const tl_lean_dims in = tl_lean_expect_dims(operation, "inDims", in_dims);
  const tl_lean_dims large = tl_lean_expect_dims(operation, "outDims", out_dims);
  const tl_lean_dims map = tl_lean_expect_dims(operation, "axisMap", axis_map);
  tl_buffer *out = NULL;
  tl_lean_must(tl_reduce_from_broadcast(gradient, in.values, in.length, large.values, large.length,
                                        map.values, map.length, &out));
  return tl_lean_wrap(out);
}
