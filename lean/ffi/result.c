/* How a call ends in Lean: IO results, IO errors, panics, and the checks that lead to them. */
#include "object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { text_size = 256 };

static const char *class_name(b_lean_obj_arg object) {
  if (lean_is_scalar(object)) return "a Nat or an enumeration";
  if (tl_lean_is_buffer(object)) return "a Buffer";
  if (tl_lean_is_byte_array(object)) return "a ByteArray";
  if (tl_lean_is_float_array(object)) return "a FloatArray";
  if (lean_is_ctor(object)) return "a structure";
  if (lean_is_array(object)) return "an Array";
  if (lean_is_string(object)) return "a String";
  if (lean_is_mpz(object)) return "a Nat of 2^63 or more";
  if (lean_is_external(object)) return "an external object of another class";
  return "an object of another class";
}

static void describe_wrong_class(char text[text_size], const char *operation, const char *argument,
                                 b_lean_obj_arg object, const char *expected) {
  snprintf(text, text_size, "%s: %s is %s, expected %s", operation, argument, class_name(object),
           expected);
}

/* ---- IO results --------------------------------------------------------------------------------
 */

lean_obj_res tl_lean_io_error(tl_status status, const char *text) {
  lean_object *message = lean_mk_string(text);
  switch (status) {
    case TL_OUT_OF_MEMORY:
      return lean_io_result_mk_error(lean_mk_io_error_resource_exhausted(ENOMEM, message));
    case TL_INVALID_ARGUMENT:
    case TL_UNSUPPORTED: /* the request does not fit the backend: the caller's to change */
      return lean_io_result_mk_error(lean_mk_io_user_error(message));
    default: return lean_io_result_mk_error(lean_mk_io_error_other_error(EIO, message));
  }
}

lean_obj_res tl_lean_io_wrong_class(const char *operation, const char *argument,
                                    b_lean_obj_arg object, const char *expected) {
  char text[text_size];
  describe_wrong_class(text, operation, argument, object, expected);
  return tl_lean_io_error(TL_INVALID_ARGUMENT, text);
}

static lean_obj_res io_failure(tl_status status) {
  return tl_lean_io_error(status, tl_last_error());
}

lean_obj_res tl_lean_io_unit(tl_status status) {
  return status == TL_OK ? lean_io_result_mk_ok(lean_box(0)) : io_failure(status);
}

lean_obj_res tl_lean_io_u32(tl_status status, uint32_t value) {
  return status == TL_OK ? lean_io_result_mk_ok(lean_box_uint32(value)) : io_failure(status);
}

lean_obj_res tl_lean_io_u64(tl_status status, uint64_t value) {
  return status == TL_OK ? lean_io_result_mk_ok(lean_box_uint64(value)) : io_failure(status);
}

lean_obj_res tl_lean_io_f64(tl_status status, double value) {
  return status == TL_OK ? lean_io_result_mk_ok(lean_box_float(value)) : io_failure(status);
}

lean_obj_res tl_lean_io_buffer(tl_status status, tl_buffer *const *buffer) {
  return status == TL_OK ? lean_io_result_mk_ok(tl_lean_wrap(*buffer)) : io_failure(status);
}

/* ---- Pure symbols ------------------------------------------------------------------------------
 */

_Noreturn void tl_lean_panic(const char *text) {
  lean_internal_panic(text);
  abort(); /* not reached; for headers that do not declare that the panic never returns */
}

void tl_lean_must(tl_status status) {
  if (status != TL_OK) tl_lean_panic(tl_last_error());
}

static _Noreturn void panic_about_class(const char *operation, const char *argument,
                                        b_lean_obj_arg object, const char *expected) {
  char text[text_size];
  describe_wrong_class(text, operation, argument, object, expected);
  tl_lean_panic(text);
}

tl_buffer *tl_lean_expect_buffer(const char *operation, const char *argument,
                                 b_lean_obj_arg object) {
  if (!tl_lean_is_buffer(object)) panic_about_class(operation, argument, object, "a Buffer");
  return tl_lean_buffer(object);
}

void tl_lean_expect_float_array(const char *operation, const char *argument,
                                b_lean_obj_arg object) {
  if (!tl_lean_is_float_array(object)) {
    panic_about_class(operation, argument, object, "a FloatArray");
  }
}

/* ---- Arrays of Nat -----------------------------------------------------------------------------
 * Each function returns false after writing what is wrong. */

static bool read_array(char text[text_size], const char *operation, const char *argument,
                       b_lean_obj_arg array) {
  if (!lean_is_scalar(array) && lean_is_array(array)) return true;
  describe_wrong_class(text, operation, argument, array, "an Array of Nat");
  return false;
}

static bool read_natural(char text[text_size], const char *operation, const char *argument,
                         b_lean_obj_arg array, size_t index, uint32_t *out) {
  lean_object *entry = lean_array_get_core(array, index);
  if (!lean_is_scalar(entry)) {
    char element[text_size / 2];
    snprintf(element, sizeof element, "%s[%zu]", argument, index);
    describe_wrong_class(text, operation, element, entry, "a Nat of at most 4294967295");
    return false;
  }
  const uint64_t value = lean_unbox(entry);
  if (value > UINT32_MAX) {
    snprintf(text, text_size, "%s: %s[%zu] is %" PRIu64 ", expected at most 4294967295", operation,
             argument, index, value);
    return false;
  }
  *out = (uint32_t)value;
  return true;
}

static bool read_dims(char text[text_size], const char *operation, const char *argument,
                      b_lean_obj_arg array, tl_lean_dims *out) {
  if (!read_array(text, operation, argument, array)) return false;
  out->length = lean_array_size(array);
  if (out->length > TL_LEAN_MAX_DIMS) {
    snprintf(text, text_size, "%s: %s has %zu entries, expected at most %d", operation, argument,
             out->length, TL_LEAN_MAX_DIMS);
    return false;
  }
  for (size_t i = 0; i < out->length; ++i) {
    uint32_t value = 0;
    if (!read_natural(text, operation, argument, array, i, &value)) return false;
    out->values[i] = value;
  }
  return true;
}

tl_lean_dims tl_lean_expect_dims(const char *operation, const char *argument,
                                 b_lean_obj_arg array) {
  char text[text_size];
  tl_lean_dims dims;
  if (!read_dims(text, operation, argument, array, &dims)) tl_lean_panic(text);
  return dims;
}

void tl_lean_expect_windows(tl_lean_windows *out, const char *operation, b_lean_obj_arg in_spatial,
                            const char *kernel_name, b_lean_obj_arg kernel, b_lean_obj_arg stride,
                            b_lean_obj_arg padding) {
  out->in = tl_lean_expect_dims(operation, "inSpatial", in_spatial);
  out->kernel = tl_lean_expect_dims(operation, kernel_name, kernel);
  out->stride = tl_lean_expect_dims(operation, "stride", stride);
  out->padding = tl_lean_expect_dims(operation, "padding", padding);
}

lean_obj_res tl_lean_io_dims(const char *operation, const char *argument, b_lean_obj_arg array,
                             tl_lean_dims *out) {
  char text[text_size];
  if (read_dims(text, operation, argument, array, out)) return NULL;
  return tl_lean_io_error(TL_INVALID_ARGUMENT, text);
}

tl_lean_indices tl_lean_expect_indices(const char *operation, const char *argument,
                                       b_lean_obj_arg array) {
  char text[text_size];
  if (!read_array(text, operation, argument, array)) tl_lean_panic(text);
  tl_lean_indices indices = {lean_array_size(array), NULL};
  if (indices.length == 0) return indices;
  indices.values = malloc(indices.length * sizeof *indices.values);
  if (indices.values == NULL) {
    snprintf(text, sizeof text, "%s: no memory for the %zu entries of %s", operation,
             indices.length, argument);
    tl_lean_panic(text);
  }
  for (size_t i = 0; i < indices.length; ++i) {
    if (!read_natural(text, operation, argument, array, i, &indices.values[i])) {
      tl_lean_panic(text);
    }
  }
  return indices;
}
