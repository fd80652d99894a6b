/* The frame that every symbol shares: checks of its arguments, one call of runtime.h, its answer.
 *
 *   lean_obj_res torchlean_cuda_buffer_axpy(b_lean_obj_arg a, b_lean_obj_arg b, double c) {
 *     tl_lean_call call = tl_lean_pure("axpy");
 *     const tl_buffer *left = tl_lean_take_buffer(&call, "a", a);
 *     const tl_buffer *right = tl_lean_take_buffer(&call, "b", b);
 *     if (tl_lean_ok(&call)) call.status = tl_axpy(left, right, c, &call.out[0]);
 *     return tl_lean_end(&call, 1);
 *   }
 *
 * After the first failure later checks do nothing, so they may follow each other without looking.
 *
 * How a failure ends. A symbol of kind `io` returns an IO error: exhausted memory is
 * `resourceExhausted`, a wrong or unsupported request `userError`, anything else `otherError`. A
 * symbol of kind `pure` cannot: its message goes to stderr and the process ends through Lean's
 * internal panic. With TORCHLEAN_ON_ERROR=poison those of them whose results are all buffers return
 * poisoned buffers instead, which make every later call on them fail with the same message.
 */
#ifndef TORCHLEAN_LEAN_CALL_H
#define TORCHLEAN_LEAN_CALL_H

#include "object.h"

enum { TL_LEAN_MAX_RESULTS = 4 };

typedef struct tl_lean_call {
  const char *operation; /* in messages */
  bool is_io;
  tl_status status;         /* TL_OK until something has failed */
  tl_lean_failure *failure; /* what; NULL: tl_last_error() says it */
  uint32_t *indices;        /* of tl_lean_take_indices */
  tl_buffer *out[TL_LEAN_MAX_RESULTS];
} tl_lean_call;

static inline tl_lean_call tl_lean_pure(const char *operation) {
  return (tl_lean_call){.operation = operation};
}

static inline tl_lean_call tl_lean_io(const char *operation) {
  return (tl_lean_call){.operation = operation, .is_io = true};
}

static inline bool tl_lean_ok(const tl_lean_call *call) { return call->status == TL_OK; }

/* ---- Failing -------------------------------------------------------------------------------- */

/* The first failure stays. The text begins with the operation's name: "softmax_io: ..." */
__attribute__((format(printf, 3, 4))) void tl_lean_refuse(tl_lean_call *call, tl_status status,
                                                          const char *format, ...);

/* The same with the whole text. */
void tl_lean_fail(tl_lean_call *call, tl_status status, const char *text);

/* ---- Arguments: what they are after a failure is not to be used ----------------------------- */

tl_buffer *tl_lean_take_buffer(tl_lean_call *call, const char *argument, b_lean_obj_arg object);

/* For what works on released buffers too: a poisoned one gives NULL, which counts as released. */
tl_buffer *tl_lean_take_handle(tl_lean_call *call, const char *argument, b_lean_obj_arg object);

void tl_lean_take_float_array(tl_lean_call *call, const char *argument, b_lean_obj_arg object);
void tl_lean_take_byte_array(tl_lean_call *call, const char *argument, b_lean_obj_arg object);
void tl_lean_take_string(tl_lean_call *call, const char *argument, b_lean_obj_arg object);
void tl_lean_take_array(tl_lean_call *call, const char *argument, b_lean_obj_arg object,
                        const char *expected);
tl_format tl_lean_take_format(tl_lean_call *call, const char *argument, b_lean_obj_arg object);

/* A list of dimensions or axes: an Array Nat of at most 64 entries, kept in `storage`. */
enum { TL_LEAN_MAX_DIMS = 64 };
typedef uint64_t tl_lean_dims[TL_LEAN_MAX_DIMS];
tl_list tl_lean_take_dims(tl_lean_call *call, const char *argument, b_lean_obj_arg array,
                          tl_lean_dims storage);

/* Windows over spatial axes; the name of the list of their extents differs between symbols. */
typedef struct tl_lean_windows {
  tl_list in;
  tl_list kernel;
  tl_list stride;
  tl_list padding;
  tl_lean_dims storage[4];
} tl_lean_windows;

void tl_lean_take_windows(tl_lean_call *call, b_lean_obj_arg in_spatial, const char *kernel_name,
                          b_lean_obj_arg kernel, b_lean_obj_arg stride, b_lean_obj_arg padding,
                          tl_lean_windows *out);

/* Row numbers: an Array Nat of any length; the call frees them when it ends. NULL where there are
 * none. */
const uint32_t *tl_lean_take_indices(tl_lean_call *call, const char *argument, b_lean_obj_arg array,
                                     size_t *out_count);

/* ---- Answers -------------------------------------------------------------------------------- */

/* Results that are buffers: call->out[0 .. count) as a, (a, b), (a, (b, c)) ... */
lean_obj_res tl_lean_end(tl_lean_call *call, unsigned count);

/* Any other object, taken over; NULL after a failure. */
lean_obj_res tl_lean_end_value(tl_lean_call *call, lean_obj_arg value);

/* For pure symbols whose results are numbers: returns if the call is all right, else panics. */
void tl_lean_require(tl_lean_call *call);

/* For io symbols without arguments to check: the value, or the error of tl_last_error(). */
lean_obj_res tl_lean_io_unit(tl_status status);
lean_obj_res tl_lean_io_u32(tl_status status, uint32_t value);
lean_obj_res tl_lean_io_u64(tl_status status, uint64_t value);
lean_obj_res tl_lean_io_f64(tl_status status, double value);

/* ---- Whole calls of pure symbols, by the form of the function of runtime.h ------------------ */

typedef tl_status (*tl_lean_map_fn)(const tl_buffer *x, tl_buffer **out);
lean_obj_res tl_lean_map(tl_lean_map_fn function, const char *operation, const char *argument,
                         b_lean_obj_arg object);

/* With the two extents that the operand is seen as. */
typedef tl_status (*tl_lean_map_2d_fn)(const tl_buffer *x, uint64_t rows, uint64_t cols,
                                       tl_buffer **out);
lean_obj_res tl_lean_map_2d(tl_lean_map_2d_fn function, const char *operation, const char *argument,
                            b_lean_obj_arg object, uint32_t rows, uint32_t cols);

/* With the lists of a broadcast. */
typedef tl_status (*tl_lean_broadcast_fn)(const tl_buffer *x, const uint64_t *in_dims,
                                          size_t in_rank, const uint64_t *out_dims, size_t out_rank,
                                          const uint64_t *axis_map, size_t axis_map_length,
                                          tl_buffer **out);
lean_obj_res tl_lean_broadcast(tl_lean_broadcast_fn function, const char *operation,
                               const char *argument, b_lean_obj_arg object, b_lean_obj_arg in_dims,
                               b_lean_obj_arg out_dims, b_lean_obj_arg axis_map);

#endif
