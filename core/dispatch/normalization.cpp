// Normalization family: softmax over an axis, softmax under a mask, layer norm and its gradient.
#include "dispatch/shape.hpp"

namespace torchlean {
namespace {

void check_rows_and_cols(Call &call, std::uint64_t rows, std::uint64_t cols) {
  call.check_positive("rows", rows);
  call.check_positive("cols", cols);
}

// One number per column or row.
const tl_operand *vector(Call &call, const char *argument, const tl_buffer *buffer,
                         std::uint64_t expected, const char *expectation) {
  const tl_operand *operand = call.native(argument, buffer);
  call.check_count(argument, operand, expected, expectation);
  return operand;
}

}  // namespace
}  // namespace torchlean

using namespace torchlean;

extern "C" {

tl_status tl_softmax(const tl_buffer *x, const uint64_t *dims, size_t rank, uint64_t axis,
                     tl_buffer **out) {
  Call call(TL_OP_softmax);
  const tl_operand *operand = call.native("x", x);
  const std::span<const std::uint64_t> axes = call.list("dims", dims, rank);
  call.check_count("x", operand, call.product("dims", axes), "the product of dims");
  check_axis(call, axis, rank);
  if (call.failed()) return call.status();
  return call.result(out, operand->count, [&](Backend &backend, tl_storage **storage) {
    const MiddleAxis middle = split_at(call, axes, axis);
    return backend.normalization.softmax(backend.instance, operand, middle.outer, middle.n,
                                         middle.inner, 0, storage);
  });
}

tl_status tl_hard_masked_softmax_by_row(const tl_buffer *scores, const tl_buffer *mask,
                                        uint64_t rows, uint64_t cols, tl_buffer **out) {
  Call call(TL_OP_hard_masked_softmax_by_row);
  const tl_operand *values = matrix(call, "scores", scores, rows, cols);
  const tl_operand *allowed = matrix(call, "mask", mask, rows, cols);
  if (call.failed()) return call.status();
  return call.result(out, values->count, [&](Backend &backend, tl_storage **storage) {
    return backend.normalization.masked_softmax(backend.instance, values, allowed, rows, cols, 0,
                                                storage);
  });
}

tl_status tl_layer_norm_fwd(const tl_buffer *x, const tl_buffer *gamma, const tl_buffer *beta,
                            uint64_t rows, uint64_t cols, double epsilon, tl_buffer **out,
                            tl_buffer **out_normalized, tl_buffer **out_inv_std) {
  Call call(TL_OP_layer_norm_fwd);
  check_rows_and_cols(call, rows, cols);
  const tl_operand *input = matrix(call, "x", x, rows, cols);
  const tl_operand *factor = vector(call, "gamma", gamma, cols, "cols");
  const tl_operand *offset = vector(call, "beta", beta, cols, "cols");
  if (call.failed()) return call.status();
  return call.results<3>({out, out_normalized, out_inv_std}, {input->count, input->count, rows},
                         [&](Backend &backend, tl_storage **storages) {
                           return backend.normalization.layer_norm(
                               backend.instance, input, factor, offset, rows, cols,
                               call.rounded(epsilon), 0, storages);
                         });
}

tl_status tl_layer_norm_bwd(const tl_buffer *d_out, const tl_buffer *normalized,
                            const tl_buffer *inv_std, const tl_buffer *gamma, uint64_t rows,
                            uint64_t cols, double cols_scale, double inv_cols, tl_buffer **out_dx,
                            tl_buffer **out_dgamma, tl_buffer **out_dbeta) {
  Call call(TL_OP_layer_norm_bwd);
  check_rows_and_cols(call, rows, cols);
  const tl_operand *gradient = matrix(call, "dOut", d_out, rows, cols);
  const tl_operand *normal = matrix(call, "normalized", normalized, rows, cols);
  const tl_operand *inverse = vector(call, "invStd", inv_std, rows, "rows");
  const tl_operand *factor = vector(call, "gamma", gamma, cols, "cols");
  if (call.failed()) return call.status();
  const tl_layer_norm_bwd_params params = {
      .struct_size = sizeof(tl_layer_norm_bwd_params),
      .rows = rows,
      .cols = cols,
      .cols_scale = call.rounded(cols_scale),
      .inv_cols = call.rounded(inv_cols),
  };
  return call.results<3>({out_dx, out_dgamma, out_dbeta}, {gradient->count, cols, cols},
                         [&](Backend &backend, tl_storage **storages) {
                           return backend.normalization.layer_norm_bwd(backend.instance, gradient,
                                                                       normal, inverse, factor,
                                                                       &params, 0, storages);
                         });
}

}  // extern "C"
