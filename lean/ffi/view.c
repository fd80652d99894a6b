/* Lean symbols: moves of whole elements. */
#include "call.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_buffer_concat1d(b_lean_obj_arg a, b_lean_obj_arg b, uint32_t n,
                                            uint32_t m) {
  tl_lean_call call = tl_lean_pure("concat1d");
  const tl_buffer *first = tl_lean_take_buffer(&call, "a", a);
  const tl_buffer *second = tl_lean_take_buffer(&call, "b", b);
  if (tl_lean_ok(&call)) call.status = tl_concat1d(first, second, n, m, &call.out[0]);
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_slice1d(b_lean_obj_arg x, uint32_t n, uint32_t start,
                                           uint32_t len) {
  tl_lean_call call = tl_lean_pure("slice1d");
  const tl_buffer *whole = tl_lean_take_buffer(&call, "x", x);
  if (tl_lean_ok(&call)) call.status = tl_slice1d(whole, n, start, len, &call.out[0]);
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_broadcast_vec_to_cols(b_lean_obj_arg vec, uint32_t rows,
                                                         uint32_t cols) {
  return tl_lean_map_2d(tl_broadcast_vec_to_cols, "broadcast_vec_to_cols", "vec", vec, rows, cols);
}

lean_obj_res torchlean_cuda_buffer_broadcast_to(b_lean_obj_arg x, b_lean_obj_arg in_dims,
                                                b_lean_obj_arg out_dims, b_lean_obj_arg axis_map) {
  return tl_lean_broadcast(tl_broadcast_to, "broadcast_to", "x", x, in_dims, out_dims, axis_map);
}

lean_obj_res torchlean_cuda_buffer_swap_adjacent_at_depth(b_lean_obj_arg x, b_lean_obj_arg dims,
                                                          uint32_t depth) {
  tl_lean_call call = tl_lean_pure("swap_adjacent_at_depth");
  const tl_buffer *input = tl_lean_take_buffer(&call, "x", x);
  tl_lean_dims storage;
  const tl_list shape = tl_lean_take_dims(&call, "dims", dims, storage);
  if (tl_lean_ok(&call)) {
    call.status = tl_swap_adjacent_at_depth(input, shape.values, shape.length, depth, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}
