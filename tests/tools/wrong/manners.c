/* Kinds of faults that no right call shows: what a backend must refuse, say and leave alone. */
#include <fenv.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wrong.h"

static const tl_host *host;
static const char *kind = "";
static bool is(const char *name) { return strcmp(kind, name) == 0; }

static BackendVTable right;
static tl_elementwise_table elementwise;
static tl_optimizer_table optimizer;

static tl_status supports(tl_instance *instance, tl_operation operation, tl_dtype dtype) {
  if (operation == TL_OP_sub && is("claims-too-little")) return TL_UNSUPPORTED;
  return right.supports(instance, operation, dtype);
}

/* The lowest bit of a finite number changes. */
static void change(unsigned char *word, uint32_t width) {
  /* Of infinities and NaN all bits of the exponent are set. */
  const unsigned char exponent = width == 4 ? 0x80 : 0xF0;
  const bool is_finite =
      (word[width - 1] & 0x7F) != 0x7F || (word[width - 2] & exponent) != exponent;
  if (is_finite) word[0] ^= 1;
}

/* The last elements have other bits, within the bound: what is left over of a vector. */
static tl_status with_another_tail(tl_instance *instance, const tl_operand *x, tl_storage **out) {
  const tl_operand result = {*out, x->count, x->dtype, x->width};
  unsigned char *words = malloc(x->count * x->width);
  tl_status status = right.transfer->download(instance, &result, x->dtype, words);
  right.memory->release(instance, *out);
  for (uint64_t i = x->count - x->count % 8; i < x->count; ++i) {
    change(words + i * x->width, x->width);
  }
  if (status == TL_OK) {
    status =
        right.transfer->upload(instance, words, x->dtype, x->dtype, x->width, x->count, 0, out);
  }
  free(words);
  return status;
}

static tl_status unary(tl_instance *instance, tl_unary_op op, const tl_operand *x,
                       const tl_scalars *scalars, tl_flags flags, tl_storage **out) {
  const tl_status status = right.elementwise->unary(instance, op, x, scalars, flags, out);
  if (op == TL_UNARY_FLOOR && is("rounding-mode-left-upward")) fesetround(FE_UPWARD);
  if (status == TL_OK && op == TL_UNARY_EXP && is("tail-unlike-body")) {
    return with_another_tail(instance, x, out);
  }
  return status;
}

static tl_status binary(tl_instance *instance, tl_binary_op op, const tl_operand *a,
                        const tl_operand *b, const tl_scalars *scalars, tl_flags flags,
                        tl_storage **out) {
  if (op == TL_BINARY_MUL && is("mixed-dtypes-taken") && a != NULL && b != NULL &&
      a->dtype != b->dtype) {
    b = a;
  }
  const tl_status status = right.elementwise->binary(instance, op, a, b, scalars, flags, out);
  if (status != TL_OK && op == TL_BINARY_DIV && is("leak-in-a-refusal")) host->alloc(64);
  return status;
}

static tl_status select_bwd(tl_instance *instance, tl_select_bwd_op op, const tl_operand *a,
                            const tl_operand *b, const tl_operand *gradient, tl_flags flags,
                            tl_storage *out[2]) {
  if (is("unknown-enumerator-taken")) op %= TL_SELECT_BWD_OP_COUNT;
  return right.elementwise->select_bwd(instance, op, a, b, gradient, flags, out);
}

static tl_status adam_step(tl_instance *instance, const tl_operand *parameters,
                           const tl_operand *gradient, const tl_operand *first_moment,
                           const tl_operand *second_moment, const tl_adam_params *params,
                           tl_flags flags, tl_storage *out[3]) {
  tl_adam_params own;
  if (params != NULL && is("struct-size-ignored")) {
    own = *params;
    own.struct_size = sizeof own;
    params = &own;
  }
  if (parameters == NULL && is("crash-on-NULL")) abort();
  return right.optimizer->adam_step(instance, parameters, gradient, first_moment, second_moment,
                                    params, flags, out);
}

void spoil_manners(BackendVTable *vtable, const tl_host *core, const char *asked) {
  host = core;
  kind = asked;
  right = *vtable;
  elementwise = *right.elementwise;
  elementwise.unary = unary;
  elementwise.binary = binary;
  elementwise.select_bwd = select_bwd;
  optimizer = *right.optimizer;
  optimizer.adam_step = adam_step;
  vtable->supports = supports;
  vtable->elementwise = &elementwise;
  vtable->optimizer = &optimizer;
}
