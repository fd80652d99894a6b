/* Between Lean objects and runtime.h: buffers as external objects, results, errors, argument
 * checks.
 *
 * Errors. A symbol of kind `io` returns an IO error: exhausted memory is `resourceExhausted`, a
 * wrong or unsupported request `userError`, anything else `otherError`. A symbol of kind `pure`
 * cannot: its message goes to stderr and the process ends through Lean's internal panic. The
 * functions named `expect` and `must` do the latter and return only if all is well.
 *
 * Any thread may call everything here. Arguments are borrowed, results owned by the caller.
 */
#ifndef TORCHLEAN_LEAN_OBJECT_H
#define TORCHLEAN_LEAN_OBJECT_H

#include <torchlean/runtime.h>

#include "lean_abi.h"

/* ---- Buffers -----------------------------------------------------------------------------------
 */

/* A new Lean object that owns the handle and frees it when Lean drops the last reference. */
lean_obj_res tl_lean_wrap(tl_buffer *buffer);

bool tl_lean_is_buffer(b_lean_obj_arg object);

/* The handle inside; the object must be a buffer. */
tl_buffer *tl_lean_buffer(b_lean_obj_arg object);

/* Lean objects that hold handles, empty and released ones included; live = created - finalized. */
typedef struct tl_lean_wrapper_counts {
  uint64_t live;
  uint64_t peak;
  uint64_t created;
  uint64_t finalized;
} tl_lean_wrapper_counts;

/* Each number is exact; the four are read one after the other. */
tl_lean_wrapper_counts tl_lean_count_wrappers(void);

/* ---- Other classes -----------------------------------------------------------------------------
 */

bool tl_lean_is_byte_array(b_lean_obj_arg object);
bool tl_lean_is_float_array(b_lean_obj_arg object);

/* A FloatFormat: constructor 0 with three Nat fields and one byte. False where it is none, or where
 * a field is beyond what any format has (2^63). */
bool tl_lean_read_format(b_lean_obj_arg object, tl_format *out);
lean_obj_res tl_lean_make_format(const tl_format *format);

/* A ByteArray (width 1) or FloatArray (width 8) of `count` elements to be filled in, or NULL where
 * memory is exhausted: Lean's own allocator would end the process. */
lean_obj_res tl_lean_make_array(uint32_t width, uint64_t count);

/* (a, (b, c)) for three. */
lean_obj_res tl_lean_pair(lean_obj_arg first, lean_obj_arg second);

/* ---- IO results --------------------------------------------------------------------------------
 */

lean_obj_res tl_lean_io_error(tl_status status, const char *text);

/* "to_bytes_io: b is a String, expected a Buffer" */
lean_obj_res tl_lean_io_wrong_class(const char *operation, const char *argument,
                                    b_lean_obj_arg object, const char *expected);

/* The value where status is TL_OK, else the error that tl_last_error() describes. */
lean_obj_res tl_lean_io_unit(tl_status status);
lean_obj_res tl_lean_io_u32(tl_status status, uint32_t value);
lean_obj_res tl_lean_io_u64(tl_status status, uint64_t value);
lean_obj_res tl_lean_io_f64(tl_status status, double value);
lean_obj_res tl_lean_io_buffer(tl_status status, tl_buffer *const *buffer);

/* ---- Pure symbols ------------------------------------------------------------------------------
 */

_Noreturn void tl_lean_panic(const char *text);

/* Ends the process with tl_last_error() unless status is TL_OK. */
void tl_lean_must(tl_status status);

tl_buffer *tl_lean_expect_buffer(const char *operation, const char *argument,
                                 b_lean_obj_arg object);
void tl_lean_expect_float_array(const char *operation, const char *argument, b_lean_obj_arg object);

/* A list of dimensions or axes: an Array Nat of at most 64 entries. */
enum { TL_LEAN_MAX_DIMS = 64 };
typedef struct tl_lean_dims {
  size_t length;
  uint64_t values[TL_LEAN_MAX_DIMS];
} tl_lean_dims;

static inline tl_list tl_lean_list(const tl_lean_dims *dims) {
  return (tl_list){dims->values, dims->length};
}

tl_lean_dims tl_lean_expect_dims(const char *operation, const char *argument, b_lean_obj_arg array);

/* Windows over spatial axes; the name of the list of their extents differs between symbols. */
typedef struct tl_lean_windows {
  tl_lean_dims in;
  tl_lean_dims kernel;
  tl_lean_dims stride;
  tl_lean_dims padding;
} tl_lean_windows;

void tl_lean_expect_windows(tl_lean_windows *out, const char *operation, b_lean_obj_arg in_spatial,
                            const char *kernel_name, b_lean_obj_arg kernel, b_lean_obj_arg stride,
                            b_lean_obj_arg padding);

/* For symbols of kind io: NULL with *out filled in, or the IO error. */
lean_obj_res tl_lean_io_dims(const char *operation, const char *argument, b_lean_obj_arg array,
                             tl_lean_dims *out);

/* Row numbers: an Array Nat of any length. The caller frees `values`, which are NULL where there
 * are none. */
typedef struct tl_lean_indices {
  size_t length;
  uint32_t *values;
} tl_lean_indices;

tl_lean_indices tl_lean_expect_indices(const char *operation, const char *argument,
                                       b_lean_obj_arg array);

#endif
