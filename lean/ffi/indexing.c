/* Lean symbols: rows picked by a list of indices, and rows added to. */
#include <stdlib.h>

#include "object.h"
#include "symbols.h"

lean_obj_res torchlean_cuda_buffer_gather_rows(b_lean_obj_arg mat, uint32_t rows, uint32_t cols,
                                               b_lean_obj_arg indices, uint32_t k) {
  static const char operation[] = "gather_rows";
  const tl_buffer *source = tl_lean_expect_buffer(operation, "mat", mat);
  const tl_lean_indices list = tl_lean_expect_indices(operation, "indices", indices);
  tl_buffer *out = NULL;
  tl_lean_must(tl_gather_rows(source, rows, cols, list.values, list.length, k, &out));
  free(list.values);
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_scatter_add(b_lean_obj_arg x, b_lean_obj_arg values, uint32_t n,
                                               b_lean_obj_arg indices, uint32_t k) {
  static const char operation[] = "scatter_add";
  const tl_buffer *base = tl_lean_expect_buffer(operation, "x", x);
  const tl_buffer *added = tl_lean_expect_buffer(operation, "values", values);
  const tl_lean_indices list = tl_lean_expect_indices(operation, "indices", indices);
  tl_buffer *out = NULL;
  tl_lean_must(tl_scatter_add(base, added, n, list.values, list.length, k, &out));
  free(list.values);
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_scatter_add_rows(b_lean_obj_arg mat, b_lean_obj_arg values,
                                                    uint32_t rows, uint32_t cols,
                                                    b_lean_obj_arg indices, uint32_t k) {
  static const char operation[] = "scatter_add_rows";
  const tl_buffer *base = tl_lean_expect_buffer(operation, "mat", mat);
  const tl_buffer *added = tl_lean_expect_buffer(operation, "values", values);
  const tl_lean_indices list = tl_lean_expect_indices(operation, "indices", indices);
  tl_buffer *out = NULL;
  tl_lean_must(tl_scatter_add_rows(base, added, rows, cols, list.values, list.length, k, &out));
  free(list.values);
  return tl_lean_wrap(out);
}
