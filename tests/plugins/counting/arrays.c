/* Random numbers, elementwise operations, reductions, moves: each call is logged. */
#include <inttypes.h>

#include "log.h"

static tl_status generate(tl_instance *self, tl_random_op op, tl_dtype dtype, uint64_t n,
                          uint64_t key, const tl_scalars *scalars, tl_flags flags,
                          tl_storage **out) {
  (void)self, (void)flags;
  begin_with("random.generate", op);
  say(" %" PRIu32 " %" PRIu64 " %" PRIu64 " %g %g", dtype, n, key, scalars->scalar[0],
      scalars->scalar[1]);
  return end(out, 1);
}

const tl_random_table random_table = {.struct_size = sizeof random_table, .generate = generate};

/* ---- Elementwise, optimizer, reduction ------------------------------------------------------ */

static tl_status unary(tl_instance *self, tl_unary_op op, const tl_operand *x,
                       const tl_scalars *scalars, tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin_with("elementwise.unary", op);
  say_operand(x);
  say(" %g %g", scalars->scalar[0], scalars->scalar[1]);
  return end(out, 1);
}

static tl_status binary(tl_instance *self, tl_binary_op op, const tl_operand *a,
                        const tl_operand *b, const tl_scalars *scalars, tl_flags flags,
                        tl_storage **out) {
  (void)self, (void)flags;
  begin_with("elementwise.binary", op);
  say_operand(a);
  say_operand(b);
  say(" %g %g", scalars->scalar[0], scalars->scalar[1]);
  return end(out, 1);
}

static tl_status select_bwd(tl_instance *self, tl_select_bwd_op op, const tl_operand *a,
                            const tl_operand *b, const tl_operand *gradient, tl_flags flags,
                            tl_storage *out[2]) {
  (void)self, (void)flags;
  begin_with("elementwise.select_bwd", op);
  say_operand(a);
  say_operand(b);
  say_operand(gradient);
  return end(out, 2);
}

static tl_status adam_step(tl_instance *self, const tl_operand *parameters,
                           const tl_operand *gradient, const tl_operand *first_moment,
                           const tl_operand *second_moment, const tl_adam_params *params,
                           tl_flags flags, tl_storage *out[3]) {
  (void)self, (void)flags;
  begin("optimizer.adam_step");
  say_operand(parameters);
  say_operand(gradient);
  say_operand(first_moment);
  say_operand(second_moment);
  say(" %g %g %g %g %g %g %g %g %g", params->beta1, params->one_minus_beta1, params->beta2,
      params->one_minus_beta2, params->first_correction, params->second_correction, params->epsilon,
      params->decay, params->update_scale);
  return end(out, 3);
}

static void say_walk(const tl_broadcast_params *params) {
  for (uint32_t i = 0; i < params->rank; ++i) {
    say(" %" PRIu64 "*%" PRIu64, params->dims[i], params->strides[i]);
  }
}

static tl_status reduce(tl_instance *self, tl_reduce_op op, const tl_operand *x, uint64_t outer,
                        uint64_t n, uint64_t inner, tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin_with("reduction.reduce", op);
  say_operand(x);
  say(" %" PRIu64 " %" PRIu64 " %" PRIu64, outer, n, inner);
  return end(out, 1);
}

static tl_status sum_to_shape(tl_instance *self, const tl_operand *x,
                              const tl_broadcast_params *params, uint64_t out_count, tl_flags flags,
                              tl_storage **out) {
  (void)self, (void)flags;
  begin("reduction.sum_to_shape");
  say_operand(x);
  say_walk(params);
  say_number(out_count);
  return end(out, 1);
}

static tl_status row_mask(tl_instance *self, tl_row_mask_op op, const tl_operand *x, uint64_t rows,
                          uint64_t cols, uint64_t k, tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin_with("reduction.row_mask", op);
  say_operand(x);
  say(" %" PRIu64 " %" PRIu64 " %" PRIu64, rows, cols, k);
  return end(out, 1);
}

const tl_elementwise_table elementwise_table = {.struct_size = sizeof elementwise_table,
                                                .unary = unary,
                                                .binary = binary,
                                                .select_bwd = select_bwd};
const tl_optimizer_table optimizer_table = {.struct_size = sizeof optimizer_table,
                                            .adam_step = adam_step};
const tl_reduction_table reduction_table = {.struct_size = sizeof reduction_table,
                                            .reduce = reduce,
                                            .sum_to_shape = sum_to_shape,
                                            .row_mask = row_mask};

/* ---- View, indexing ------------------------------------------------------------------------- */

static tl_status concat(tl_instance *self, const tl_operand *a, const tl_operand *b, tl_flags flags,
                        tl_storage **out) {
  (void)self, (void)flags;
  begin("view.concat");
  say_operand(a);
  say_operand(b);
  return end(out, 1);
}

static tl_status slice(tl_instance *self, const tl_operand *x, uint64_t start, uint64_t length,
                       tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin("view.slice");
  say_operand(x);
  say(" %" PRIu64 " %" PRIu64, start, length);
  return end(out, 1);
}

static tl_status broadcast(tl_instance *self, const tl_operand *x,
                           const tl_broadcast_params *params, tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin("view.broadcast");
  say_operand(x);
  say_walk(params);
  return end(out, 1);
}

static tl_status swap(tl_instance *self, const tl_operand *x, uint64_t outer, uint64_t first,
                      uint64_t second, uint64_t inner, tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin("view.swap");
  say_operand(x);
  say(" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, outer, first, second, inner);
  return end(out, 1);
}

static void say_indices(const uint32_t *indices, uint64_t k) {
  for (uint64_t i = 0; i < k; ++i) say("%s%" PRIu32, i == 0 ? " " : ",", indices[i]);
}

static tl_status gather_rows(tl_instance *self, const tl_operand *source, uint64_t rows,
                             uint64_t cols, const uint32_t *indices, uint64_t k, tl_flags flags,
                             tl_storage **out) {
  (void)self, (void)flags;
  begin("indexing.gather_rows");
  say_operand(source);
  say(" %" PRIu64 " %" PRIu64, rows, cols);
  say_indices(indices, k);
  return end(out, 1);
}

static tl_status scatter_add_rows(tl_instance *self, const tl_operand *base,
                                  const tl_operand *values, uint64_t rows, uint64_t cols,
                                  const uint32_t *indices, uint64_t k, tl_flags flags,
                                  tl_storage **out) {
  (void)self, (void)flags;
  begin("indexing.scatter_add_rows");
  say_operand(base);
  say_operand(values);
  say(" %" PRIu64 " %" PRIu64, rows, cols);
  say_indices(indices, k);
  return end(out, 1);
}

const tl_view_table view_table = {.struct_size = sizeof view_table,
                                  .concat = concat,
                                  .slice = slice,
                                  .broadcast = broadcast,
                                  .swap = swap};
const tl_indexing_table indexing_table = {.struct_size = sizeof indexing_table,
                                          .gather_rows = gather_rows,
                                          .scatter_add_rows = scatter_add_rows};
