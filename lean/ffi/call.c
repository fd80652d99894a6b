/* The frame of a symbol: how it reads its arguments, how it ends, and what Lean gets. */
#include "call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { text_size = 512 };

/* ---- Failing -------------------------------------------------------------------------------- */

void tl_lean_fail(tl_lean_call *call, tl_status status, const char *text) {
  if (!tl_lean_ok(call)) return;
  call->status = status;
  call->failure = tl_lean_failure_make(status, text);
}

void tl_lean_refuse(tl_lean_call *call, tl_status status, const char *format, ...) {
  char text[text_size];
  const int start = snprintf(text, sizeof text, "%s: ", call->operation);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + start, sizeof text - (size_t)start, format, arguments);
  va_end(arguments);
  tl_lean_fail(call, status, text);
}

static void refuse_class(tl_lean_call *call, const char *argument, b_lean_obj_arg object,
                         const char *expected) {
  tl_lean_refuse(call, TL_INVALID_ARGUMENT, "%s is %s, expected %s", argument,
                 tl_lean_class_name(object), expected);
}

/* ---- Arguments ------------------------------------------------------------------------------ */

tl_buffer *tl_lean_take_buffer(tl_lean_call *call, const char *argument, b_lean_obj_arg object) {
  tl_buffer *buffer = tl_lean_take_handle(call, argument, object);
  if (buffer != NULL || !tl_lean_ok(call)) return buffer;
  tl_lean_failure *failure = tl_lean_poison_of(object);
  call->status = tl_lean_failure_status(failure);
  call->failure = tl_lean_failure_share(failure);
  return NULL;
}

tl_buffer *tl_lean_take_handle(tl_lean_call *call, const char *argument, b_lean_obj_arg object) {
  tl_buffer *buffer = tl_lean_buffer(object);
  if (buffer == NULL && tl_lean_poison_of(object) == NULL) {
    refuse_class(call, argument, object, "a Buffer");
  }
  return buffer;
}

void tl_lean_take_float_array(tl_lean_call *call, const char *argument, b_lean_obj_arg object) {
  if (!tl_lean_is_float_array(object)) refuse_class(call, argument, object, "a FloatArray");
}

void tl_lean_take_byte_array(tl_lean_call *call, const char *argument, b_lean_obj_arg object) {
  if (!tl_lean_is_byte_array(object)) refuse_class(call, argument, object, "a ByteArray");
}

void tl_lean_take_string(tl_lean_call *call, const char *argument, b_lean_obj_arg object) {
  if (lean_is_scalar(object) || !lean_is_string(object)) {
    refuse_class(call, argument, object, "a String");
  }
}

void tl_lean_take_array(tl_lean_call *call, const char *argument, b_lean_obj_arg object,
                        const char *expected) {
  if (lean_is_scalar(object) || !lean_is_array(object)) {
    refuse_class(call, argument, object, expected);
  }
}

tl_format tl_lean_take_format(tl_lean_call *call, const char *argument, b_lean_obj_arg object) {
  tl_format format = {0};
  if (!tl_lean_read_format(object, &format)) {
    refuse_class(call, argument, object, "a FloatFormat with fields below 2^62");
  }
  return format;
}

static uint32_t take_natural(tl_lean_call *call, const char *argument, b_lean_obj_arg array,
                             size_t index) {
  lean_object *entry = lean_array_get_core(array, index);
  if (!lean_is_scalar(entry)) {
    char element[64];
    snprintf(element, sizeof element, "%s[%zu]", argument, index);
    refuse_class(call, element, entry, "a Nat of at most 4294967295");
    return 0;
  }
  const uint64_t value = lean_unbox(entry);
  if (value > UINT32_MAX) {
    tl_lean_refuse(call, TL_INVALID_ARGUMENT, "%s[%zu] is %" PRIu64 ", expected at most 4294967295",
                   argument, index, value);
  }
  return (uint32_t)value;
}

tl_list tl_lean_take_dims(tl_lean_call *call, const char *argument, b_lean_obj_arg array,
                          tl_lean_dims storage) {
  tl_lean_take_array(call, argument, array, "an Array of Nat");
  if (!tl_lean_ok(call)) return (tl_list){NULL, 0};
  const size_t length = lean_array_size(array);
  if (length > TL_LEAN_MAX_DIMS) {
    tl_lean_refuse(call, TL_INVALID_ARGUMENT, "%s has %zu entries, expected at most %d", argument,
                   length, TL_LEAN_MAX_DIMS);
    return (tl_list){NULL, 0};
  }
  for (size_t i = 0; i < length; ++i) storage[i] = take_natural(call, argument, array, i);
  return (tl_list){storage, length};
}

void tl_lean_take_windows(tl_lean_call *call, b_lean_obj_arg in_spatial, const char *kernel_name,
                          b_lean_obj_arg kernel, b_lean_obj_arg stride, b_lean_obj_arg padding,
                          tl_lean_windows *out) {
  out->in = tl_lean_take_dims(call, "inSpatial", in_spatial, out->storage[0]);
  out->kernel = tl_lean_take_dims(call, kernel_name, kernel, out->storage[1]);
  out->stride = tl_lean_take_dims(call, "stride", stride, out->storage[2]);
  out->padding = tl_lean_take_dims(call, "padding", padding, out->storage[3]);
}

const uint32_t *tl_lean_take_indices(tl_lean_call *call, const char *argument, b_lean_obj_arg array,
                                     size_t *out_count) {
  *out_count = 0;
  tl_lean_take_array(call, argument, array, "an Array of Nat");
  if (!tl_lean_ok(call)) return NULL;
  const size_t count = lean_array_size(array);
  *out_count = count;
  if (count == 0) return NULL;
  call->indices = malloc(count * sizeof *call->indices);
  if (call->indices == NULL) {
    tl_lean_refuse(call, TL_OUT_OF_MEMORY, "no memory for the %zu entries of %s", count, argument);
    return NULL;
  }
  for (size_t i = 0; i < count && tl_lean_ok(call); ++i) {
    call->indices[i] = take_natural(call, argument, array, i);
  }
  return call->indices;
}

/* ---- Answers -------------------------------------------------------------------------------- */

static lean_obj_res io_error(tl_status status, const char *text) {
  lean_object *message = lean_mk_string(text);
  switch (status) {
    case TL_OUT_OF_MEMORY:
      return lean_io_result_mk_error(lean_mk_io_error_resource_exhausted(ENOMEM, message));
    case TL_INVALID_ARGUMENT:
    case TL_UNSUPPORTED: /* the request does not fit the backend: the caller's to
                            change */
      return lean_io_result_mk_error(lean_mk_io_user_error(message));
    default: return lean_io_result_mk_error(lean_mk_io_error_other_error(EIO, message));
  }
}

static _Noreturn void panic(const char *text) {
  lean_internal_panic(text);
  abort(); /* not reached; for headers that do not declare that the panic never
              returns */
}

/* TORCHLEAN_ON_ERROR=poison. Asked after a failure only. */
static bool poisons(void) {
  enum { unknown, no, yes };
  static atomic_int answer = unknown;
  int known = atomic_load_explicit(&answer, memory_order_relaxed);
  for (size_t i = 0; known == unknown && i < tl_variable_count(); ++i) {
    tl_variable variable = {.struct_size = sizeof variable};
    if (tl_get_variable(i, &variable) != TL_OK) continue;
    if (strcmp(variable.name, "TORCHLEAN_ON_ERROR") != 0) continue;
    known = strcmp(variable.value, "poison") == 0 ? yes : no;
    atomic_store_explicit(&answer, known, memory_order_relaxed);
  }
  return known == yes;
}

/* What a failed call gives; `count` poisoned buffers, or 0 where a result is no buffer. */
static lean_obj_res end_failed(tl_lean_call *call, unsigned count) {
  tl_lean_failure *failure = call->failure;
  if (failure == NULL) failure = tl_lean_failure_make(call->status, tl_last_error());
  if (!call->is_io && (count == 0 || !poisons())) panic(tl_lean_failure_text(failure));
  lean_object *result = NULL;
  if (call->is_io) {
    result = io_error(call->status, tl_lean_failure_text(failure));
    tl_lean_failure_drop(failure);
    return result;
  }
  result = tl_lean_poison(failure);
  for (unsigned i = 1; i < count; ++i) {
    result = tl_lean_pair(tl_lean_poison(tl_lean_failure_share(failure)), result);
  }
  return result;
}

static lean_obj_res end_with(const tl_lean_call *call, lean_obj_arg value) {
  return call->is_io ? lean_io_result_mk_ok(value) : value;
}

lean_obj_res tl_lean_end(tl_lean_call *call, unsigned count) {
  free(call->indices);
  if (!tl_lean_ok(call)) return end_failed(call, count);
  lean_object *result = tl_lean_wrap(call->out[count - 1]);
  for (unsigned i = count - 1; i > 0; --i) {
    result = tl_lean_pair(tl_lean_wrap(call->out[i - 1]), result);
  }
  return end_with(call, result);
}

lean_obj_res tl_lean_end_value(tl_lean_call *call, lean_obj_arg value) {
  return tl_lean_ok(call) ? end_with(call, value) : end_failed(call, 0);
}

void tl_lean_require(tl_lean_call *call) {
  if (!tl_lean_ok(call)) end_failed(call, 0);
}

lean_obj_res tl_lean_io_unit(tl_status status) {
  return status == TL_OK ? lean_io_result_mk_ok(lean_box(0)) : io_error(status, tl_last_error());
}

lean_obj_res tl_lean_io_u32(tl_status status, uint32_t value) {
  return status == TL_OK ? lean_io_result_mk_ok(lean_box_uint32(value))
                         : io_error(status, tl_last_error());
}

lean_obj_res tl_lean_io_u64(tl_status status, uint64_t value) {
  return status == TL_OK ? lean_io_result_mk_ok(lean_box_uint64(value))
                         : io_error(status, tl_last_error());
}

lean_obj_res tl_lean_io_f64(tl_status status, double value) {
  return status == TL_OK ? lean_io_result_mk_ok(lean_box_float(value))
                         : io_error(status, tl_last_error());
}

/* ---- Whole calls ---------------------------------------------------------------------------- */

lean_obj_res tl_lean_map(tl_lean_map_fn function, const char *operation, const char *argument,
                         b_lean_obj_arg object) {
  tl_lean_call call = tl_lean_pure(operation);
  const tl_buffer *x = tl_lean_take_buffer(&call, argument, object);
  if (tl_lean_ok(&call)) call.status = function(x, &call.out[0]);
  return tl_lean_end(&call, 1);
}

lean_obj_res tl_lean_map_2d(tl_lean_map_2d_fn function, const char *operation, const char *argument,
                            b_lean_obj_arg object, uint32_t rows, uint32_t cols) {
  tl_lean_call call = tl_lean_pure(operation);
  const tl_buffer *x = tl_lean_take_buffer(&call, argument, object);
  if (tl_lean_ok(&call)) call.status = function(x, rows, cols, &call.out[0]);
  return tl_lean_end(&call, 1);
}

lean_obj_res tl_lean_broadcast(tl_lean_broadcast_fn function, const char *operation,
                               const char *argument, b_lean_obj_arg object, b_lean_obj_arg in_dims,
                               b_lean_obj_arg out_dims, b_lean_obj_arg axis_map) {
  tl_lean_call call = tl_lean_pure(operation);
  const tl_buffer *x = tl_lean_take_buffer(&call, argument, object);
  tl_lean_dims storage[3];
  const tl_list in = tl_lean_take_dims(&call, "inDims", in_dims, storage[0]);
  const tl_list large = tl_lean_take_dims(&call, "outDims", out_dims, storage[1]);
  const tl_list map = tl_lean_take_dims(&call, "axisMap", axis_map, storage[2]);
  if (tl_lean_ok(&call)) {
    call.status = function(x, in.values, in.length, large.values, large.length, map.values,
                           map.length, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}
