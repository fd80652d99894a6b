/* What a program calls: the C API of libtorchlean_core.so.
 *
 * A program works on *buffers*: flat, contiguous, row-major arrays of one scalar kind, held by the
 * backend that serves the process. Which backend that is, the user decides by TORCHLEAN_BACKEND
 * when the process starts. Every operation returns a fresh buffer and never changes its inputs.
 *
 * Conventions of every function that returns a tl_status
 *   - Any thread may call it, also many at once on the same buffers.
 *   - TL_OK: the results are written. Otherwise no result is written, nothing is left allocated, no
 *     counter has changed, and tl_last_error() says on this thread what was wrong and what to do.
 *   - It never throws, never aborts, and leaves the caller's rounding mode and flush-to-zero as
 * found.
 *   - The first call that needs the runtime starts it (see tl_start).
 * Structures that are filled by the core begin with struct_size: set it to sizeof before the call.
 * Texts that the core returns stay valid for the life of the process unless said otherwise.
 */
#ifndef TORCHLEAN_RUNTIME_H
#define TORCHLEAN_RUNTIME_H

#include <torchlean/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TL_API __attribute__((visibility("default")))
#else
#define TL_API
#endif

/* A handle: owned by its creator, freed with tl_buffer_free. */
typedef struct tl_buffer tl_buffer;

/* An opened backend (a file on one device). */
typedef struct tl_backend tl_backend;

/* ---- Process -------------------------------------------------------------------------------- */

/* Finds, opens and chooses a backend as the environment asks (docs/backends.md). Once per process;
 * later calls return at once. TL_OK also where only the null backend serves: see tl_runtime_status.
 */
TL_API tl_status tl_start(void);

/* Waits for calls under way and refuses later ones (TL_UNAVAILABLE); freeing buffers stays
 * harmless. Runs by itself when the process exits. Twice is harmless. */
TL_API void tl_shutdown(void);

typedef uint32_t tl_runtime_state;
enum {
  TL_NOT_LINKED = 0,        /* the null backend serves: every operation fails with the reason */
  TL_NATIVE_AVAILABLE = 1,  /* a backend is loaded and its device is usable */
  TL_NATIVE_UNAVAILABLE = 2 /* a backend is loaded but has no usable device */
};

/* The state of the runtime; starts it. */
TL_API tl_runtime_state tl_runtime_status(void);

/* Text of the last failed call on this thread, "" if none failed. Valid until the next call here.
 */
TL_API const char *tl_last_error(void);

/* "ok", "invalid argument" ... "unknown status" for other values. */
TL_API const char *tl_status_name(tl_status status);

/* The core's version, "0.1.0". Starts nothing. */
TL_API const char *tl_version(void);

/* ---- What was found and chosen -------------------------------------------------------------- */

typedef struct tl_runtime_info {
  size_t struct_size;
  tl_runtime_state state;
  uint32_t is_slow;   /* the serving backend says that it is made for checking, not speed */
  const char *asked;  /* the value of TORCHLEAN_BACKEND, "" if unset */
  const char *reason; /* why this backend serves; for null: why nothing else does, and the remedy */
  const char *binding;        /* how C++ backends are opened: "local", "deep" or "refused" */
  const char *binding_reason; /* which unwinder was found where */
  const char *core_path;      /* the file of the core */
  const char *ignored;        /* variables ignored since the process has raised privileges, or "" */
} tl_runtime_info;

TL_API tl_status tl_get_runtime_info(tl_runtime_info *out);

/* How far a candidate file came. A candidate that stays below TL_STAGE_USABLE says why in `reason`,
 * one that was not tried says that it was not needed. */
typedef uint32_t tl_stage;
enum {
  TL_STAGE_FOUND = 0,
  TL_STAGE_INSPECTED = 1,
  TL_STAGE_OPENED = 2,
  TL_STAGE_ENTRY_FOUND = 3,
  TL_STAGE_NEGOTIATED = 4,
  TL_STAGE_CREATED = 5,
  TL_STAGE_SELF_TESTED = 6,
  TL_STAGE_USABLE = 7
};

/* "found", "inspected" ... */
TL_API const char *tl_stage_name(tl_stage stage);

typedef struct tl_attempt {
  size_t struct_size;
  const char *name;    /* of the backend; of the file where it is not known */
  const char *path;    /* "" for an entry of TORCHLEAN_BACKEND that names no file that exists */
  const char *device;  /* asked of the backend, "" if it was to choose */
  tl_stage stage;      /* the last stage that it passed */
  tl_status status;    /* TL_OK unless it was tried and failed */
  uint32_t is_serving; /* this one answers the process's calls */
  const char *reason;  /* why it stopped there; never empty unless it is usable */
  const char *missing_libraries; /* separated by spaces, "" if none */
  const char *built_for;         /* from the note: "LibTorch 2.15.0" */
  uint64_t microseconds;         /* time spent on it */
} tl_attempt;

/* Records of everything that was looked at, oldest first; they only grow. */
TL_API size_t tl_attempt_count(void);
TL_API tl_status tl_get_attempt(size_t index, tl_attempt *out);

/* ---- Variables and operations: the tables behind `torchlean env` and `torchlean ops` -------- */

typedef struct tl_variable {
  size_t struct_size;
  const char *name;
  const char *fallback; /* the default, as text */
  const char *allowed;
  const char *meaning;
  const char *value; /* in force now */
  const char *error; /* what is wrong with the user's value, or "" */
  uint32_t is_set;
} tl_variable;

/* Start nothing, open nothing. */
TL_API size_t tl_variable_count(void);
TL_API tl_status tl_get_variable(size_t index, tl_variable *out);

typedef struct tl_operation_info {
  size_t struct_size;
  const char *name;
  const char *family;
  const char *entry;
  const char *accuracy; /* "exact", "bounded" or "staged" */
  const char *runtime;  /* the function of this header */
  const char *lean;     /* Lean symbols without the prefix "torchlean_", separated by spaces */
  uint32_t is_compared; /* `torchlean compare` has cases for it */
} tl_operation_info;

/* operation < TL_OP_COUNT. Starts nothing. */
TL_API tl_status tl_get_operation(tl_operation operation, tl_operation_info *out);

/* ---- Several backends in one process -------------------------------------------------------- */

/* Opens a backend by name or absolute path, as TORCHLEAN_BACKEND would. It does not become the one
 * that serves the process, and no other is opened for it. device as TORCHLEAN_DEVICE; "" or NULL:
 * that variable's value, else the backend's own choice. */
TL_API tl_status tl_backend_open(const char *name_or_path, const char *device, tl_backend **out);

/* Gives it back; it lives on until its last buffer is freed. NULL is harmless. */
TL_API void tl_backend_close(tl_backend *backend);

/* Makes `backend` the one that this thread's results are created on (operations on buffers always
 * run where their inputs live). NULL: the process's own. Returns the former value. */
TL_API tl_backend *tl_set_thread_backend(tl_backend *backend);

typedef struct tl_backend_info {
  size_t struct_size;
  const char *name;
  const char *version;
  const char *library; /* what it computes with: "LibTorch 2.15.0" */
  const char *path;    /* of its file; "" for the null backend */
  const char *device;  /* name of the selected device; valid until the next call on this thread */
} tl_backend_info;

/* backend NULL: the thread's current one. */
TL_API tl_status tl_get_backend_info(tl_backend *backend, tl_backend_info *out);

/* TL_OK or TL_UNSUPPORTED. backend NULL: the thread's current one. */
TL_API tl_status tl_supports(tl_backend *backend, tl_operation operation, tl_dtype dtype);

/* ---- Devices, settings, figures (of the thread's current backend) --------------------------- */

TL_API tl_status tl_device_count(uint32_t *out);
TL_API tl_status tl_get_device(uint32_t *out);
/* Refused while any buffer handle is alive, or where the index does not exist. */
TL_API tl_status tl_set_device(uint32_t index);

typedef struct tl_device_info {
  size_t struct_size;
  const char *name; /* valid until the next call on this thread */
  uint32_t is_cuda;
  uint32_t capability; /* 10 * major + minor on CUDA, 0 on a host */
  uint32_t multiprocessor_count;
  uint32_t clock_khz;
  uint32_t memory_clock_khz;
  uint32_t memory_bus_width;
  uint64_t total_bytes;
} tl_device_info;

TL_API tl_status tl_get_device_info(uint32_t index, tl_device_info *out);

/* CUDA's numbers, 0 on a host. */
TL_API tl_status tl_driver_version(uint32_t *out);
TL_API tl_status tl_runtime_version(uint32_t *out);

/* Waits for all submitted work and reports its faults. */
TL_API tl_status tl_synchronize(void);
/* Gives the device's cached, unused memory back. */
TL_API tl_status tl_empty_cache(void);
/* Gives unused host pages back to the system. Works without a backend. */
TL_API void tl_collect_allocator(void);

TL_API tl_status tl_get_setting(tl_setting setting, uint32_t *out);
/* *out_former (may be NULL) receives the value before. */
TL_API tl_status tl_set_setting(tl_setting setting, uint32_t enabled, uint32_t *out_former);

/* Share of the selected device's memory that may be used, in (0, 1]; 1 when unset. */
TL_API tl_status tl_get_memory_fraction(double *out);
TL_API tl_status tl_set_memory_fraction(double fraction);

TL_API tl_status tl_get_num_threads(uint32_t *out);
TL_API tl_status tl_set_num_threads(uint32_t threads);

/* Exact, process-wide, and one consistent snapshot: live = created - retired at all times. */
typedef struct tl_counters {
  size_t struct_size;
  uint64_t live_bytes; /* nonempty payloads, size times word width */
  uint64_t peak_bytes;
  uint64_t created_bytes;
  uint64_t retired_bytes;
  uint64_t live_buffers;
  uint64_t peak_buffers;
  uint64_t created_buffers;
  uint64_t retired_buffers;
} tl_counters;

TL_API tl_status tl_get_counters(tl_counters *out);

/* The backend allocator's own figures; zeros where no backend serves. */
typedef struct tl_memory_figures {
  size_t struct_size;
  uint64_t allocated_bytes;
  uint64_t reserved_bytes;
  uint64_t peak_allocated_bytes;
  uint64_t peak_reserved_bytes;
  uint64_t device_free_bytes;
  uint64_t device_total_bytes;
} tl_memory_figures;

TL_API tl_status tl_get_memory_figures(tl_memory_figures *out);

/* With TORCHLEAN_GUARD=1: how many blocks of host memory were found written outside their bounds
 * when they were freed. Each is in the log too. Starts nothing. */
TL_API uint64_t tl_guard_damages(void);

/* For tests of backends: the first-th block of host memory that any of them asks the core for from
 * now on (1: the next) is refused as if memory were exhausted, and those after it too if ever_after
 * is not 0. first = 0 ends it. Returns how many were asked for since a call with first > 0. Starts
 * nothing. */
TL_API uint64_t tl_fail_allocations(uint64_t first, uint32_t ever_after);

/* ---- Buffers -------------------------------------------------------------------------------- */

/* Frees the handle, and retires its payload if it is not released yet. No other call may use the
 * handle then. Harmless after shutdown, in a forked child, and for NULL. */
TL_API void tl_buffer_free(tl_buffer *buffer);

/* Retires the payload at once and leaves an empty, released handle. An operation under way keeps
 * its storage alive. Returns 1 if a nonempty payload was retired, else 0. */
TL_API uint32_t tl_buffer_release(tl_buffer *buffer);

/* Number of elements; 0 once released. Never fails. */
TL_API uint64_t tl_buffer_size(const tl_buffer *buffer);

/* Errors on a released handle. */
TL_API tl_status tl_buffer_dtype(const tl_buffer *buffer, tl_dtype *out);
/* *out_is_encoded = 0 for native buffers; else 1 and *out is the format. */
TL_API tl_status tl_buffer_format(const tl_buffer *buffer, uint32_t *out_is_encoded,
                                  tl_format *out);
/* Bytes per element. */
TL_API tl_status tl_buffer_width(const tl_buffer *buffer, uint32_t *out);

/* Bytes of one word of a format: ceil((1 + exponent_bits + fraction_bits) / 8). TL_INVALID_ARGUMENT
 * for a format outside the limits of types.h. Starts nothing. */
TL_API tl_status tl_format_width(const tl_format *format, uint32_t *out);

/* ---- Memory and transfer -------------------------------------------------------------------- */

TL_API tl_status tl_zeros(uint64_t count, tl_dtype dtype, tl_buffer **out);
TL_API tl_status tl_full(uint64_t count, double value, tl_dtype dtype, tl_buffer **out);
/* Zeros of the reference's full scalar kind, encoded formats included. */
TL_API tl_status tl_zeros_like(const tl_buffer *reference, uint64_t count, tl_buffer **out);
TL_API tl_status tl_copy(const tl_buffer *x, tl_buffer **out);
TL_API tl_status tl_duplicate(const tl_buffer *x, tl_buffer **out_first, tl_buffer **out_second);

/* `bytes` must be a multiple of the width of `source`; the words may lie at any address. */
TL_API tl_status tl_upload(const void *words, uint64_t bytes, tl_dtype source, tl_dtype dtype,
                           tl_buffer **out);
/* `bytes` must be exactly size times the width of `target`. */
TL_API tl_status tl_download(const tl_buffer *x, tl_dtype target, void *words, uint64_t bytes);
/* `width` must be the format's. Words with nonzero unused high bits are errors. */
TL_API tl_status tl_upload_encoded(const void *words, uint64_t bytes, const tl_format *format,
                                   uint64_t width, tl_buffer **out);
TL_API tl_status tl_download_encoded(const tl_buffer *x, void *words, uint64_t bytes);

/* ---- Random --------------------------------------------------------------------------------- */

/* Element i depends on key + i alone; derive keys by mixing, not by counting. */
TL_API tl_status tl_rand_uniform(uint64_t count, uint64_t key, tl_dtype dtype, tl_buffer **out);
TL_API tl_status tl_rand_normal(uint64_t count, double mean, double std, uint64_t key,
                                tl_dtype dtype, tl_buffer **out);
TL_API tl_status tl_bernoulli_mask(uint64_t count, double keep_probability, uint64_t key,
                                   tl_dtype dtype, tl_buffer **out);

/* ---- Elementwise ---------------------------------------------------------------------------- */

/* Enumerators without scalars only; the others have functions of their own below. */
TL_API tl_status tl_unary(tl_unary_op op, const tl_buffer *x, tl_buffer **out);
TL_API tl_status tl_binary(tl_binary_op op, const tl_buffer *a, const tl_buffer *b,
                           tl_buffer **out);
TL_API tl_status tl_scale(const tl_buffer *x, double factor, tl_buffer **out);
TL_API tl_status tl_clamp(const tl_buffer *x, double lo, double hi, tl_buffer **out);
TL_API tl_status tl_clamp_bwd(const tl_buffer *x, const tl_buffer *gradient, double lo, double hi,
                              tl_buffer **out);
/* fma(b, factor, a) */
TL_API tl_status tl_axpy(const tl_buffer *a, const tl_buffer *b, double factor, tl_buffer **out);
/* exp((x * factor) * y) */
TL_API tl_status tl_scaled_prod_exp(const tl_buffer *x, const tl_buffer *y, double factor,
                                    tl_buffer **out);
TL_API tl_status tl_select_bwd(tl_select_bwd_op op, const tl_buffer *a, const tl_buffer *b,
                               const tl_buffer *gradient, tl_buffer **out_da, tl_buffer **out_db);

/* ---- Optimizer ------------------------------------------------------------------------------ */

typedef struct tl_adam_scalars {
  size_t struct_size;
  double beta1;
  double one_minus_beta1;
  double beta2;
  double one_minus_beta2;
  double first_correction;  /* 1 / (1 - beta1^t) */
  double second_correction; /* 1 / (1 - beta2^t) */
  double epsilon;
  double decay;        /* 0 for Adam, -(learning rate * weight decay) for AdamW */
  double update_scale; /* -(learning rate) */
} tl_adam_scalars;

/* Results: new parameters, first moment, second moment. */
TL_API tl_status tl_adam_step(const tl_buffer *parameters, const tl_buffer *gradient,
                              const tl_buffer *first_moment, const tl_buffer *second_moment,
                              const tl_adam_scalars *scalars, tl_buffer **out_parameters,
                              tl_buffer **out_first_moment, tl_buffer **out_second_moment);

/* ---- Reductions ----------------------------------------------------------------------------- */

TL_API tl_status tl_reduce_sum(const tl_buffer *x, tl_buffer **out);
TL_API tl_status tl_reduce_mean(const tl_buffer *x, tl_buffer **out);
TL_API tl_status tl_reduce_sum_by_row(const tl_buffer *x, uint64_t rows, uint64_t cols,
                                      tl_buffer **out);
/* Lists of dimensions have at most 64 entries, here and below. */
TL_API tl_status tl_reduce_sum_axis(const tl_buffer *x, const uint64_t *dims, size_t rank,
                                    uint64_t axis, tl_buffer **out);
/* The adjoint of tl_broadcast_to with the same lists: d_out has out_dims, the result in_dims. */
TL_API tl_status tl_reduce_from_broadcast(const tl_buffer *d_out, const uint64_t *in_dims,
                                          size_t in_rank, const uint64_t *out_dims, size_t out_rank,
                                          const uint64_t *axis_map, size_t axis_map_length,
                                          tl_buffer **out);
TL_API tl_status tl_reduce_max_by_row(const tl_buffer *x, uint64_t rows, uint64_t cols,
                                      tl_buffer **out);
TL_API tl_status tl_reduce_max_by_column(const tl_buffer *x, uint64_t rows, uint64_t cols,
                                         tl_buffer **out);
TL_API tl_status tl_first_max_mask_by_row(const tl_buffer *x, uint64_t rows, uint64_t cols,
                                          tl_buffer **out);
TL_API tl_status tl_top_k_mask_by_row(const tl_buffer *x, uint64_t rows, uint64_t cols, uint64_t k,
                                      tl_buffer **out);

/* ---- Views ---------------------------------------------------------------------------------- */

/* first_size and second_size repeat the operands' sizes and are checked. */
TL_API tl_status tl_concat1d(const tl_buffer *a, const tl_buffer *b, uint64_t first_size,
                             uint64_t second_size, tl_buffer **out);
/* size repeats x's size and is checked. */
TL_API tl_status tl_slice1d(const tl_buffer *x, uint64_t size, uint64_t start, uint64_t length,
                            tl_buffer **out);
/* out[i, j] = vec[i] */
TL_API tl_status tl_broadcast_vec_to_cols(const tl_buffer *vec, uint64_t rows, uint64_t cols,
                                          tl_buffer **out);
/* axis_map has one entry per output axis: 0 = a new axis, a + 1 = it reads input axis a, whose size
 * is 1 or the output's. Each input axis occurs exactly once. */
TL_API tl_status tl_broadcast_to(const tl_buffer *x, const uint64_t *in_dims, size_t in_rank,
                                 const uint64_t *out_dims, size_t out_rank,
                                 const uint64_t *axis_map, size_t axis_map_length, tl_buffer **out);
/* Transposes axes depth and depth + 1. */
TL_API tl_status tl_swap_adjacent_at_depth(const tl_buffer *x, const uint64_t *dims, size_t rank,
                                           uint64_t depth, tl_buffer **out);

/* ---- Indexing ----------------------------------------------------------------------------------
 * Lists of row numbers: index_count entries, of which k repeats the number and is checked. */

/* mat is (rows, cols), the result (k, cols); an index >= rows gives a row of zeros. */
TL_API tl_status tl_gather_rows(const tl_buffer *mat, uint64_t rows, uint64_t cols,
                                const uint32_t *indices, size_t index_count, uint64_t k,
                                tl_buffer **out);
/* x with values[i] added at indices[i]; n repeats x's size and is checked, values has k elements.
 * An index >= n is ignored. */
TL_API tl_status tl_scatter_add(const tl_buffer *x, const tl_buffer *values, uint64_t n,
                                const uint32_t *indices, size_t index_count, uint64_t k,
                                tl_buffer **out);
/* The same for rows: mat is (rows, cols), values (k, cols). */
TL_API tl_status tl_scatter_add_rows(const tl_buffer *mat, const tl_buffer *values, uint64_t rows,
                                     uint64_t cols, const uint32_t *indices, size_t index_count,
                                     uint64_t k, tl_buffer **out);

/* ---- Matrix products ------------------------------------------------------------------------ */

/* (batch, m, n) x (batch, n, p); transpose_a: a is stored (batch, n, m), transpose_b: b is stored
 * (batch, p, n). Flags other than 0 and 1 are errors. */
TL_API tl_status tl_bmm_with_transpose(const tl_buffer *a, const tl_buffer *b, uint64_t batch,
                                       uint64_t m, uint64_t n, uint64_t p, uint32_t transpose_a,
                                       uint32_t transpose_b, tl_buffer **out);
/* scale * a * b. *out_replay = 1: the values are unspecified, compute from the operands another
 * way. */
TL_API tl_status tl_bmm_scaled(const tl_buffer *a, const tl_buffer *b, uint64_t batch, uint64_t m,
                               uint64_t n, uint64_t p, uint32_t transpose_a, uint32_t transpose_b,
                               double scale, tl_buffer **out, uint32_t *out_replay);
/* Host arrays (m, n) x (n, p) -> (m, p) on the backend's device; the counts are checked. */
TL_API tl_status tl_dgemm(const double *a, uint64_t a_count, const double *b, uint64_t b_count,
                          uint64_t m, uint64_t n, uint64_t p, double *out, uint64_t out_count);

/* ---- Normalization -------------------------------------------------------------------------- */

/* Over one axis of dims; rank 0 has the axis 0. */
TL_API tl_status tl_softmax(const tl_buffer *x, const uint64_t *dims, size_t rank, uint64_t axis,
                            tl_buffer **out);
/* Scores and mask (rows, cols); mask != 0 allows, what is blocked becomes +0. */
TL_API tl_status tl_hard_masked_softmax_by_row(const tl_buffer *scores, const tl_buffer *mask,
                                               uint64_t rows, uint64_t cols, tl_buffer **out);
/* x is (rows, cols), neither 0; gamma and beta have cols elements. Results: (rows, cols), the
 * normalized values (rows, cols) and 1 / standard deviation (rows). */
TL_API tl_status tl_layer_norm_fwd(const tl_buffer *x, const tl_buffer *gamma,
                                   const tl_buffer *beta, uint64_t rows, uint64_t cols,
                                   double epsilon, tl_buffer **out, tl_buffer **out_normalized,
                                   tl_buffer **out_inv_std);
/* Results: the gradients of x (rows, cols), gamma (cols) and beta (cols). cols_scale is cols,
 * inv_cols its reciprocal. */
TL_API tl_status tl_layer_norm_bwd(const tl_buffer *d_out, const tl_buffer *normalized,
                                   const tl_buffer *inv_std, const tl_buffer *gamma, uint64_t rows,
                                   uint64_t cols, double cols_scale, double inv_cols,
                                   tl_buffer **out_dx, tl_buffer **out_dgamma,
                                   tl_buffer **out_dbeta);

/* ---- Losses ------------------------------------------------------------------------------------
 * Operands (rows, cols), results of one element. No rows give NaN, else no columns give 0. */

TL_API tl_status tl_cross_entropy(const tl_buffer *logits, const tl_buffer *weights, uint64_t rows,
                                  uint64_t cols, tl_buffer **out);
/* gradient 1: not the loss, but its gradient with respect to student, (rows, cols). */
TL_API tl_status tl_distillation(const tl_buffer *student, const tl_buffer *teacher, uint64_t rows,
                                 uint64_t cols, uint32_t gradient, tl_buffer **out);

/* ---- Fourier -----------------------------------------------------------------------------------
 * Each of batch transforms pairs n > 0 real numbers with n / 2 + 1 complex ones, real and imaginary
 * parts interleaved. */

TL_API tl_status tl_rfft1d_packed(const tl_buffer *x, uint64_t batch, uint64_t n, tl_buffer **out);
TL_API tl_status tl_irfft1d_packed(const tl_buffer *spec, uint64_t batch, uint64_t n,
                                   tl_buffer **out);
/* Without the factor 1 / n. */
TL_API tl_status tl_irfft1d_packed_unnormalized(const tl_buffer *spec, uint64_t batch, uint64_t n,
                                                tl_buffer **out);

/* ---- Scans -------------------------------------------------------------------------------------
 * h[t] = a * h[t - 1] + b * x[t], element by element, with h[-1] = h0. Sequences are
 * (seq_len, state), h0 is (state); the coefficients a and b are (state), in the `var` forms
 * (seq_len, state). */

TL_API tl_status tl_selective_scan_diag_fwd(const tl_buffer *a, const tl_buffer *b,
                                            const tl_buffer *x, const tl_buffer *h0,
                                            uint64_t seq_len, uint64_t state, tl_buffer **out);
TL_API tl_status tl_selective_scan_diag_var_fwd(const tl_buffer *a, const tl_buffer *b,
                                                const tl_buffer *x, const tl_buffer *h0,
                                                uint64_t seq_len, uint64_t state, tl_buffer **out);
/* h is the forward result, d_y its gradient. Results: the gradients of a, b, x and h0. */
TL_API tl_status tl_selective_scan_diag_bwd(const tl_buffer *a, const tl_buffer *b,
                                            const tl_buffer *x, const tl_buffer *h0,
                                            const tl_buffer *h, const tl_buffer *d_y,
                                            uint64_t seq_len, uint64_t state, tl_buffer **out_da,
                                            tl_buffer **out_db, tl_buffer **out_dx,
                                            tl_buffer **out_dh0);
TL_API tl_status tl_selective_scan_diag_var_bwd(const tl_buffer *a, const tl_buffer *b,
                                                const tl_buffer *x, const tl_buffer *h0,
                                                const tl_buffer *h, const tl_buffer *d_y,
                                                uint64_t seq_len, uint64_t state,
                                                tl_buffer **out_da, tl_buffer **out_db,
                                                tl_buffer **out_dx, tl_buffer **out_dh0);

/* ---- Convolutions and pools --------------------------------------------------------------------
 * Cross-correlation over 1 to 3 spatial axes, channels first. */

/* Numbers below 2^32, borrowed for one call: here one per spatial axis, but for the first two lists
 * of tl_conv_lists. */
typedef struct tl_list {
  const uint64_t *values;
  size_t length;
} tl_list;

typedef struct tl_conv_lists {
  size_t struct_size;
  tl_list input_dims;  /* (leading..., inC, spatial...); the leading axes are a batch */
  tl_list kernel_dims; /* (outC, inC, spatial...), extents >= 1 */
  tl_list strides;     /* >= 1 */
  tl_list padding_before;
  tl_list padding_after;
  tl_list dilations; /* >= 1 */
} tl_conv_lists;

/* bias has outC elements. groups >= 1 divides both channel counts; of the kernel only the
 * group-diagonal blocks are used then. Where the window does not fit the result is empty. */
TL_API tl_status tl_conv(const tl_buffer *input, const tl_buffer *kernel, const tl_buffer *bias,
                         const tl_conv_lists *lists, uint64_t groups, tl_buffer **out);

/* One sample (in_channels, spatial...), padded by `padding` on both sides. The kernel is
 * (out_channels, in_channels, spatial...), of the transposed form (in_channels, out_channels,
 * spatial...). The gradients are those of kernel, bias and input. */
TL_API tl_status tl_conv_fwd(const tl_buffer *input, const tl_buffer *kernel, const tl_buffer *bias,
                             tl_list in_spatial, tl_list kernel_spatial, tl_list stride,
                             tl_list padding, uint64_t in_channels, uint64_t out_channels,
                             tl_buffer **out);
TL_API tl_status tl_conv_bwd(const tl_buffer *input, const tl_buffer *kernel, const tl_buffer *grad,
                             tl_list in_spatial, tl_list kernel_spatial, tl_list stride,
                             tl_list padding, uint64_t in_channels, uint64_t out_channels,
                             tl_buffer **out_dkernel, tl_buffer **out_dbias,
                             tl_buffer **out_dinput);
TL_API tl_status tl_convtranspose_fwd(const tl_buffer *input, const tl_buffer *kernel,
                                      const tl_buffer *bias, tl_list in_spatial,
                                      tl_list kernel_spatial, tl_list stride, tl_list padding,
                                      uint64_t in_channels, uint64_t out_channels, tl_buffer **out);
TL_API tl_status tl_convtranspose_bwd(const tl_buffer *input, const tl_buffer *kernel,
                                      const tl_buffer *grad, tl_list in_spatial,
                                      tl_list kernel_spatial, tl_list stride, tl_list padding,
                                      uint64_t in_channels, uint64_t out_channels,
                                      tl_buffer **out_dkernel, tl_buffer **out_dbias,
                                      tl_buffer **out_dinput);

/* Pools of one sample (channels, spatial...). The gradients are those of input. beta is finite and
 * not 0, also after rounding to the dtype. */
TL_API tl_status tl_maxpool_fwd(const tl_buffer *input, tl_list in_spatial, tl_list kernel,
                                tl_list stride, tl_list padding, uint64_t channels,
                                tl_buffer **out);
TL_API tl_status tl_maxpool_bwd(const tl_buffer *input, const tl_buffer *grad, tl_list in_spatial,
                                tl_list kernel, tl_list stride, tl_list padding, uint64_t channels,
                                tl_buffer **out);
TL_API tl_status tl_avgpool_fwd(const tl_buffer *input, tl_list in_spatial, tl_list kernel,
                                tl_list stride, tl_list padding, uint64_t channels,
                                tl_buffer **out);
TL_API tl_status tl_avgpool_bwd(const tl_buffer *grad, tl_list in_spatial, tl_list kernel,
                                tl_list stride, tl_list padding, uint64_t channels,
                                tl_buffer **out);
TL_API tl_status tl_smooth_maxpool_fwd(const tl_buffer *input, double beta, tl_list in_spatial,
                                       tl_list kernel, tl_list stride, tl_list padding,
                                       uint64_t channels, tl_buffer **out);
TL_API tl_status tl_smooth_maxpool_bwd(const tl_buffer *input, const tl_buffer *grad, double beta,
                                       tl_list in_spatial, tl_list kernel, tl_list stride,
                                       tl_list padding, uint64_t channels, tl_buffer **out);

/* ---- Language bindings ---------------------------------------------------------------------- */

/* Lets several copies of one language binding in a process share their state: the first candidate
 * for a name is kept for ever and returned to all. Starts nothing. Where memory is exhausted the
 * candidate itself comes back. */
TL_API void *tl_binding_state(const char *binding, void *candidate);

#ifdef __cplusplus
}
#endif

#endif /* TORCHLEAN_RUNTIME_H */
