/* Lean symbols: kernels compiled at run time. Their language is not specified yet: the classes of
 * the arguments are checked, and the answer is "unsupported". */
#include <stdio.h>

#include "object.h"
#include "symbols.h"

enum { text_size = 160 };

/* NULL, or which argument is of the wrong class. */
static const char *wrong_array(b_lean_obj_arg array, bool (*is_element)(b_lean_obj_arg)) {
  if (lean_is_scalar(array) || !lean_is_array(array)) return "is not an Array";
  for (size_t i = 0; i < lean_array_size(array); ++i) {
    if (!is_element(lean_array_get_core(array, i))) return "has an element of another class";
  }
  return NULL;
}

static bool is_string(b_lean_obj_arg object) {
  return !lean_is_scalar(object) && lean_is_string(object);
}

/* Writes what a kernel call ends with, which is never a result. */
static tl_status refuse_kernel(char text[text_size], const char *operation, b_lean_obj_arg source,
                               const char *argument, b_lean_obj_arg array,
                               bool (*is_element)(b_lean_obj_arg)) {
  const char *wrong = wrong_array(array, is_element);
  if (!is_string(source)) {
    snprintf(text, text_size, "%s: source is not a String", operation);
    return TL_INVALID_ARGUMENT;
  }
  if (wrong != NULL) {
    snprintf(text, text_size, "%s: %s %s", operation, argument, wrong);
    return TL_INVALID_ARGUMENT;
  }
  snprintf(text, text_size, "%s: kernels from source text are not supported yet", operation);
  return TL_UNSUPPORTED;
}

lean_obj_res torchlean_kernel_run_encoded(b_lean_obj_arg source, b_lean_obj_arg inputs,
                                          b_lean_obj_arg format, uint64_t width, uint64_t count) {
  (void)width;
  (void)count;
  char text[text_size];
  tl_format fields;
  if (!tl_lean_read_format(format, &fields)) {
    tl_lean_panic("run_encoded: format is not a FloatFormat with fields below 2^62");
  }
  refuse_kernel(text, "run_encoded", source, "inputs", inputs, tl_lean_is_buffer);
  tl_lean_panic(text);
}

lean_obj_res torchlean_kernel_run_buffer(b_lean_obj_arg source, b_lean_obj_arg inputs,
                                         uint64_t count) {
  (void)count;
  char text[text_size];
  const tl_status status =
      refuse_kernel(text, "run_buffer", source, "inputs", inputs, tl_lean_is_buffer);
  return tl_lean_io_error(status, text);
}

lean_obj_res torchlean_kernel_run_bytes(b_lean_obj_arg source, uint32_t format, uint64_t width,
                                        b_lean_obj_arg arrays, uint64_t count) {
  (void)format;
  (void)width;
  (void)count;
  char text[text_size];
  const tl_status status =
      refuse_kernel(text, "run_bytes", source, "arrays", arrays, tl_lean_is_byte_array);
  return tl_lean_io_error(status, text);
}
