/* Lean symbols: elements between buffers and FloatArray, ByteArray. */
#include <inttypes.h>

#include "call.h"
#include "symbols.h"

/* ---- Into buffers --------------------------------------------------------------------------- */

static lean_obj_res upload_doubles(tl_lean_call call, b_lean_obj_arg a, uint8_t dtype) {
  tl_lean_take_float_array(&call, "a", a);
  if (tl_lean_ok(&call)) {
    call.status = tl_upload(lean_sarray_cptr(a), (uint64_t)lean_sarray_size(a) * sizeof(double),
                            TL_FLOAT64, dtype, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_of_float_array(b_lean_obj_arg a, uint8_t dtype) {
  return upload_doubles(tl_lean_pure("of_float_array"), a, dtype);
}

lean_obj_res torchlean_cuda_buffer_of_float_array_io(b_lean_obj_arg a, uint8_t dtype) {
  return upload_doubles(tl_lean_io("of_float_array_io"), a, dtype);
}

lean_obj_res torchlean_cuda_buffer_of_bytes_io(b_lean_obj_arg bytes, uint8_t dtype,
                                               uint8_t source) {
  tl_lean_call call = tl_lean_io("of_bytes_io");
  tl_lean_take_byte_array(&call, "bytes", bytes);
  if (tl_lean_ok(&call)) {
    call.status =
        tl_upload(lean_sarray_cptr(bytes), lean_sarray_size(bytes), source, dtype, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

lean_obj_res torchlean_cuda_buffer_of_encoded_io(b_lean_obj_arg bytes, b_lean_obj_arg format,
                                                 uint64_t width) {
  tl_lean_call call = tl_lean_io("of_encoded_io");
  tl_lean_take_byte_array(&call, "bytes", bytes);
  const tl_format fields = tl_lean_take_format(&call, "format", format);
  if (tl_lean_ok(&call)) {
    call.status = tl_upload_encoded(lean_sarray_cptr(bytes), lean_sarray_size(bytes), &fields,
                                    width, &call.out[0]);
  }
  return tl_lean_end(&call, 1);
}

/* ---- Out of buffers ------------------------------------------------------------------------- */

/* Bytes per element of a native kind; 0 for others, which the core then refuses by name. */
static uint32_t native_width(tl_dtype dtype) {
  return dtype == TL_FLOAT32 ? 4 : dtype == TL_FLOAT64 ? 8 : 0;
}

/* A buffer's words, of `word_width` bytes, as an array of elements of `element_width` bytes: 1
 * (ByteArray) or 8 (FloatArray). NULL after a failure. */
static lean_object *download(tl_lean_call *call, const tl_buffer *x, bool encoded, tl_dtype target,
                             uint32_t word_width, uint32_t element_width) {
  if (!tl_lean_ok(call)) return NULL;
  const uint64_t bytes = tl_buffer_size(x) * word_width; /* at most 2^32 words of 32 bytes */
  lean_object *array = tl_lean_make_array(element_width, bytes / element_width);
  if (array == NULL) {
    tl_lean_refuse(call, TL_OUT_OF_MEMORY, "no memory for an array of %" PRIu64 " bytes", bytes);
    return NULL;
  }
  void *words = lean_sarray_cptr(array);
  call->status =
      encoded ? tl_download_encoded(x, words, bytes) : tl_download(x, target, words, bytes);
  if (tl_lean_ok(call)) return array;
  lean_dec(array);
  return NULL;
}

static lean_obj_res download_doubles(tl_lean_call call, b_lean_obj_arg b) {
  const tl_buffer *x = tl_lean_take_buffer(&call, "b", b);
  lean_object *array = download(&call, x, false, TL_FLOAT64, sizeof(double), sizeof(double));
  return tl_lean_end_value(&call, array);
}

lean_obj_res torchlean_cuda_buffer_to_float_array(b_lean_obj_arg b) {
  return download_doubles(tl_lean_pure("to_float_array"), b);
}

lean_obj_res torchlean_cuda_buffer_to_float_array_io(b_lean_obj_arg b) {
  return download_doubles(tl_lean_io("to_float_array_io"), b);
}

lean_obj_res torchlean_cuda_buffer_to_bytes_io(b_lean_obj_arg b, uint8_t dtype) {
  tl_lean_call call = tl_lean_io("to_bytes_io");
  const tl_buffer *x = tl_lean_take_buffer(&call, "b", b);
  lean_object *array = download(&call, x, false, dtype, native_width(dtype), 1);
  return tl_lean_end_value(&call, array);
}

lean_obj_res torchlean_cuda_buffer_to_encoded_io(b_lean_obj_arg b) {
  tl_lean_call call = tl_lean_io("to_encoded_io");
  const tl_buffer *x = tl_lean_take_buffer(&call, "b", b);
  uint32_t width = 0;
  if (tl_lean_ok(&call)) call.status = tl_buffer_width(x, &width);
  lean_object *array = download(&call, x, true, TL_ENCODED, width, 1);
  return tl_lean_end_value(&call, array);
}
