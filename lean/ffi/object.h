/* Lean objects that cross the boundary: buffers as external objects, arrays, formats, pairs.
 *
 * Any thread may call everything here. Arguments are borrowed, results owned by the caller, unless
 * said otherwise.
 */
#ifndef TORCHLEAN_LEAN_OBJECT_H
#define TORCHLEAN_LEAN_OBJECT_H

#include <torchlean/runtime.h>

#include "lean_abi.h"

/* ---- Buffers -------------------------------------------------------------------------------- */

/* A new Lean object that owns the handle and frees it when Lean drops the last reference. */
lean_obj_res tl_lean_wrap(tl_buffer *buffer);

/* Poisoned ones included. */
bool tl_lean_is_buffer(b_lean_obj_arg object);

/* The handle inside; NULL where there is none: a poisoned buffer, an object of another class. */
tl_buffer *tl_lean_buffer(b_lean_obj_arg object);

/* Lean objects of class Buffer: empty, released and poisoned ones included; live = created -
 * finalized. */
typedef struct tl_lean_wrapper_counts {
  uint64_t live;
  uint64_t peak;
  uint64_t created;
  uint64_t finalized;
} tl_lean_wrapper_counts;

/* Each number is exact; the four are read one after the other. */
tl_lean_wrapper_counts tl_lean_count_wrappers(void);

/* ---- Failures, and buffers poisoned by them ------------------------------------------------- */

/* Why a call failed; shared by all buffers that it poisoned. */
typedef struct tl_lean_failure tl_lean_failure;

/* Copies the text. Where memory is exhausted, a failure that says so. */
tl_lean_failure *tl_lean_failure_make(tl_status status, const char *text);
tl_status tl_lean_failure_status(const tl_lean_failure *failure);
const char *tl_lean_failure_text(const tl_lean_failure *failure);
tl_lean_failure *tl_lean_failure_share(tl_lean_failure *failure);
void tl_lean_failure_drop(tl_lean_failure *failure);

/* A buffer without a handle; takes the failure over. */
lean_obj_res tl_lean_poison(tl_lean_failure *failure);

/* The failure inside a poisoned buffer, borrowed; NULL for any other object. */
tl_lean_failure *tl_lean_poison_of(b_lean_obj_arg object);

/* ---- Other classes -------------------------------------------------------------------------- */

bool tl_lean_is_byte_array(b_lean_obj_arg object);
bool tl_lean_is_float_array(b_lean_obj_arg object);

/* A FloatFormat: constructor 0 with three Nat fields and one byte. False where it is none, or where
 * a field is beyond what any format has (2^63). */
bool tl_lean_read_format(b_lean_obj_arg object, tl_format *out);
lean_obj_res tl_lean_make_format(const tl_format *format);

/* A ByteArray (width 1) or FloatArray (width 8) of `count` elements to be filled in, or NULL where
 * memory is exhausted: Lean's own allocator would end the process. */
lean_obj_res tl_lean_make_array(uint32_t width, uint64_t count);

/* Elements of a FloatArray, which are aligned as doubles. */
static inline double *tl_lean_doubles(b_lean_obj_arg array) {
  return (double *)(void *)lean_sarray_cptr(array);
}

/* (a, (b, c)) for three; takes both over. */
lean_obj_res tl_lean_pair(lean_obj_arg first, lean_obj_arg second);

/* "a String" */
const char *tl_lean_class_name(b_lean_obj_arg object);

#endif
