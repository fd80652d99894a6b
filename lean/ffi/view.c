/* Lean symbols: moves of whole elements. */
#include "object.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_buffer_concat1d(b_lean_obj_arg a, b_lean_obj_arg b, uint32_t n,
                                            uint32_t m) {
  const tl_buffer *first = tl_lean_expect_buffer("concat1d", "a", a);
  const tl_buffer *second = tl_lean_expect_buffer("concat1d", "b", b);
  tl_buffer *out = NULL;
  tl_lean_must(tl_concat1d(first, second, n, m, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_slice1d(b_lean_obj_arg x, uint32_t n, uint32_t start,
                                           uint32_t len) {
  tl_buffer *out = NULL;
  tl_lean_must(tl_slice1d(tl_lean_expect_buffer("slice1d", "x", x), n, start, len, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_broadcast_vec_to_cols(b_lean_obj_arg vec, uint32_t rows,
                                                         uint32_t cols) {
  const tl_buffer *column = tl_lean_expect_buffer("broadcast_vec_to_cols", "vec", vec);
  tl_buffer *out = NULL;
  tl_lean_must(tl_broadcast_vec_to_cols(column, rows, cols, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_broadcast_to(b_lean_obj_arg x, b_lean_obj_arg in_dims,
                                                b_lean_obj_arg out_dims, b_lean_obj_arg axis_map) {
  static const char operation[] = "broadcast_to";
  const tl_buffer *input = tl_lean_expect_buffer(operation, "x", x);
  const tl_lean_dims in = tl_lean_expect_dims(operation, "inDims", in_dims);
  const tl_lean_dims large = tl_lean_expect_dims(operation, "outDims", out_dims);
  const tl_lean_dims map = tl_lean_expect_dims(operation, "axisMap", axis_map);
  tl_buffer *out = NULL;
  tl_lean_must(tl_broadcast_to(input, in.values, in.length, large.values, large.length, map.values,
                               map.length, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_swap_adjacent_at_depth(b_lean_obj_arg x, b_lean_obj_arg dims,
                                                          uint32_t depth) {
  static const char operation[] = "swap_adjacent_at_depth";
  const tl_buffer *input = tl_lean_expect_buffer(operation, "x", x);
  const tl_lean_dims shape = tl_lean_expect_dims(operation, "dims", dims);
  tl_buffer *out = NULL;
  tl_lean_must(tl_swap_adjacent_at_depth(input, shape.values, shape.length, depth, &out));
  return tl_lean_wrap(out);
}
