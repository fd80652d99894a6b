/* Lean symbols: rows picked by a list of indices, and rows added to. */
#include "call.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_buffer_gather_rows(b_lean_obj_arg mat, uint32_t rows, uint32_t cols,
                                               b_lean_obj_arg indices, uint32_t k) {
  tl_lean_call call = tl_lean_pure("gather_rows");
  const tl_buffer *source = tl_lean_take_buffer(&call, "mat", mat);
  size_t count = 0;
  const uint32_t *list = tl_lean_take_indices(&call, "indices", indices, &count);
  if (tl_lean_ok(&call)) {
    call.status = tl_gather_rows(source, rows, cols, list, count, k, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_scatter_add(b_lean_obj_arg x, b_lean_obj_arg values, uint32_t n,
                                               b_lean_obj_arg indices, uint32_t k) {
  tl_lean_call call = tl_lean_pure("scatter_add");
  const tl_buffer *base = tl_lean_take_buffer(&call, "x", x);
  const tl_buffer *added = tl_lean_take_buffer(&call, "values", values);
  size_t count = 0;
  const uint32_t *list = tl_lean_take_indices(&call, "indices", indices, &count);
  if (tl_lean_ok(&call)) {
    call.status = tl_scatter_add(base, added, n, list, count, k, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_scatter_add_rows(b_lean_obj_arg mat, b_lean_obj_arg values,
                                                    uint32_t rows, uint32_t cols,
                                                    b_lean_obj_arg indices, uint32_t k) {
  tl_lean_call call = tl_lean_pure("scatter_add_rows");
  const tl_buffer *base = tl_lean_take_buffer(&call, "mat", mat);
  const tl_buffer *added = tl_lean_take_buffer(&call, "values", values);
  size_t count = 0;
  const uint32_t *list = tl_lean_take_indices(&call, "indices", indices, &count);
  if (tl_lean_ok(&call)) {
    call.status = tl_scatter_add_rows(base, added, rows, cols, list, count, k, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}
