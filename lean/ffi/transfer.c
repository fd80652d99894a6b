/* Lean symbols: elements between buffers and FloatArray, ByteArray. */
#include <inttypes.h>
#include <stdio.h>

#include "object.h"
#include "symbols.h"

/* Bytes per element of a native kind; 0 for others, which the core then refuses by name. */
static uint32_t native_width(tl_dtype dtype) {
  return dtype == TL_FLOAT32 ? 4 : dtype == TL_FLOAT64 ? 8 : 0;
}

/* ---- Into buffers ------------------------------------------------------------------------------
 */

static tl_status upload_doubles(b_lean_obj_arg a, uint8_t dtype, tl_buffer **out) {
  return tl_upload(lean_sarray_cptr(a), (uint64_t)lean_sarray_size(a) * sizeof(double), TL_FLOAT64,
                   dtype, out);
}

lean_obj_res torchlean_cuda_buffer_of_float_array(b_lean_obj_arg a, uint8_t dtype) {
  tl_lean_expect_float_array("of_float_array", "a", a);
  tl_buffer *out = NULL;
  tl_lean_must(upload_doubles(a, dtype, &out));
  return tl_lean_wrap(out);
}

lean_obj_res torchlean_cuda_buffer_of_float_array_io(b_lean_obj_arg a, uint8_t dtype) {
  if (!tl_lean_is_float_array(a)) {
    return tl_lean_io_wrong_class("of_float_array_io", "a", a, "a FloatArray");
  }
  tl_buffer *out = NULL;
  return tl_lean_io_buffer(upload_doubles(a, dtype, &out), &out);
}

lean_obj_res torchlean_cuda_buffer_of_bytes_io(b_lean_obj_arg bytes, uint8_t dtype,
                                               uint8_t source) {
  if (!tl_lean_is_byte_array(bytes)) {
    return tl_lean_io_wrong_class("of_bytes_io", "bytes", bytes, "a ByteArray");
  }
  tl_buffer *out = NULL;
  return tl_lean_io_buffer(
      tl_upload(lean_sarray_cptr(bytes), lean_sarray_size(bytes), source, dtype, &out), &out);
}

lean_obj_res torchlean_cuda_buffer_of_encoded_io(b_lean_obj_arg bytes, b_lean_obj_arg format,
                                                 uint64_t width) {
  if (!tl_lean_is_byte_array(bytes)) {
    return tl_lean_io_wrong_class("of_encoded_io", "bytes", bytes, "a ByteArray");
  }
  tl_format fields;
  if (!tl_lean_read_format(format, &fields)) {
    return tl_lean_io_wrong_class("of_encoded_io", "format", format,
                                  "a FloatFormat with fields below 2^62");
  }
  tl_buffer *out = NULL;
  return tl_lean_io_buffer(
      tl_upload_encoded(lean_sarray_cptr(bytes), lean_sarray_size(bytes), &fields, width, &out),
      &out);
}

/* ---- Out of buffers ----------------------------------------------------------------------------
 */

typedef struct {
  tl_status status;
  lean_object *array; /* valid if status is TL_OK */
  char text[96];      /* of a failure of ours; "" leaves the word to the core */
} Download;

/* A buffer's words as an array of elements of `element_width` bytes, 1 (ByteArray) or 8
 * (FloatArray). */
static Download download(const char *operation, const tl_buffer *x, bool encoded, tl_dtype target,
                         uint32_t word_width, uint32_t element_width) {
  Download result = {.status = TL_OUT_OF_MEMORY};
  const uint64_t size = tl_buffer_size(x);
  const uint64_t bytes = size * word_width; /* at most 2^32 words of 32 bytes */
  result.array = tl_lean_make_array(element_width, bytes / element_width);
  if (result.array == NULL) {
    snprintf(result.text, sizeof result.text, "%s: no memory for an array of %" PRIu64 " bytes",
             operation, bytes);
    return result;
  }
  void *words = lean_sarray_cptr(result.array);
  result.status =
      encoded ? tl_download_encoded(x, words, bytes) : tl_download(x, target, words, bytes);
  if (result.status != TL_OK) lean_dec(result.array);
  return result;
}

static const char *failure_text(const Download *result) {
  return result->text[0] != '\0' ? result->text : tl_last_error();
}

static lean_obj_res io_array(const Download *result) {
  return result->status == TL_OK ? lean_io_result_mk_ok(result->array)
                                 : tl_lean_io_error(result->status, failure_text(result));
}

lean_obj_res torchlean_cuda_buffer_to_float_array(b_lean_obj_arg b) {
  const tl_buffer *x = tl_lean_expect_buffer("to_float_array", "b", b);
  const Download result = download("to_float_array", x, false, TL_FLOAT64, 8, 8);
  if (result.status != TL_OK) tl_lean_panic(failure_text(&result));
  return result.array;
}

lean_obj_res torchlean_cuda_buffer_to_float_array_io(b_lean_obj_arg b) {
  if (!tl_lean_is_buffer(b)) {
    return tl_lean_io_wrong_class("to_float_array_io", "b", b, "a Buffer");
  }
  const Download result = download("to_float_array_io", tl_lean_buffer(b), false, TL_FLOAT64, 8, 8);
  return io_array(&result);
}

lean_obj_res torchlean_cuda_buffer_to_bytes_io(b_lean_obj_arg b, uint8_t dtype) {
  if (!tl_lean_is_buffer(b)) return tl_lean_io_wrong_class("to_bytes_io", "b", b, "a Buffer");
  const Download result =
      download("to_bytes_io", tl_lean_buffer(b), false, dtype, native_width(dtype), 1);
  return io_array(&result);
}

lean_obj_res torchlean_cuda_buffer_to_encoded_io(b_lean_obj_arg b) {
  if (!tl_lean_is_buffer(b)) return tl_lean_io_wrong_class("to_encoded_io", "b", b, "a Buffer");
  const tl_buffer *x = tl_lean_buffer(b);
  uint32_t width = 0;
  const tl_status status = tl_buffer_width(x, &width);
  if (status != TL_OK) return tl_lean_io_error(status, tl_last_error());
  const Download result = download("to_encoded_io", x, true, TL_ENCODED, width, 1);
  return io_array(&result);
}
