/* What a backend implements: the plugin ABI of the torchlean runtime.
 *
 * A backend is a shared object that exports one function, torchlean_backend_entry, and carries one
 * ELF note (backend_note.h). The entry returns a BackendVTable: identity, life cycle, and pointers
 * to one sub-table per kernel family. C++ authors find helpers (catch-all wrappers, the list of
 * entries) in backend.hpp; docs/adding.md walks through a first backend.
 *
 * Rules for every function behind this header
 *   - It may be called from any thread, and from many at once.
 *   - It returns a tl_status; anything but TL_OK leaves a text through tl_host.set_error on the
 *     same thread. No C++ exception, no longjmp and no signal leaves it.
 *   - The core calls with the default floating-point state on the thread (to nearest, gradual
 *     underflow, no traps) and puts the program's own back afterwards. An entry leaves the state as
 *     it found it, and the backend's own threads compute in the default state, too.
 *   - Inputs are borrowed and never written. Results are fresh storages that the caller owns; they
 *     never alias an input. On failure no output is written and nothing is left allocated.
 *   - Shapes are canonical: the core has checked operand sizes, dtypes and index ranges that it can
 *     decide, and has rounded host scalars to the operands' dtype. A result may be empty: an empty
 *     operand comes with count 0 and storage NULL, and *out = NULL is the empty result. The core
 *     itself answers whole calls whose results are all empty, and with memory.fill or memory.copy
 *     those that a family's text below says it does.
 *   - TL_UNSUPPORTED: the enumerator, dtype or operation is not known here. TL_INVALID_ARGUMENT: a
 *     malformed argument (a count that does not fit, an unknown struct_size).
 *   - TL_OK from a device backend means "submitted". Later faults surface at the next download or
 *     synchronize, worded "from an earlier operation".
 *
 * Compatibility: every table and every parameter structure starts with its struct_size as the
 * caller or author compiled it. Members are only appended; a reader uses the prefix that both sides
 * know. An enumerator never changes its parameters. tl_operand is fixed for good.
 *
 * Changes
 *   ABI 0 (not frozen): first form.
 */
#ifndef TORCHLEAN_BACKEND_H
#define TORCHLEAN_BACKEND_H

#include <torchlean/types.h>

#include <torchlean/backend_note.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One backend brought to life on one device. Defined by the backend. */
typedef struct tl_instance tl_instance;

/* The payload of one buffer: host block, device block, tensor. Defined by the backend. */
typedef struct tl_storage tl_storage;

/* An input of a kernel: a flat, contiguous, row-major array. */
typedef struct tl_operand {
  tl_storage *storage; /* NULL if and only if count is 0 */
  uint64_t count;      /* elements, at most 2^32 - 1 */
  tl_dtype dtype;
  uint32_t width; /* bytes per element: 4, 8, or the word width of an encoded format (1 to 32) */
} tl_operand;

/* Reserved for later use (donation of inputs). The core passes 0; ignore unknown bits. */
typedef uint32_t tl_flags;

/* Largest rank of a broadcast after the core has dropped axes of size 1 and merged neighbours:
 * 2^32 - 1 elements have at most 31 axes of two or more. */
enum { TL_MAX_RANK = 32 };

/* ---- What the core offers ------------------------------------------------------------------- */

/* Services of the process. Valid for the life of the process, callable from any thread. */
typedef struct tl_host {
  size_t struct_size;
  uint32_t abi_version; /* the newest ABI that the core knows */
  uint32_t reserved;

  /* Writes one line to the core's log (stderr; level set by TORCHLEAN_LOG). */
  void (*log)(tl_log_level level, const char *text);

  /* Sets the calling thread's error text (copied, cut at about 8000 bytes). */
  void (*set_error)(const char *text);

  /* The value of a variable of the core's table ("TORCHLEAN_NUM_THREADS"), its default where the
   * user set none; NULL for a name that is not in the table. Backends never call getenv. The text
   * stays valid for the life of the process. */
  const char *(*option)(const char *name);

  /* Host memory for payloads, aligned to 64 bytes and accounted for; NULL when exhausted or over
   * the memory fraction. bytes > 0. Guard pages, garbage fill and injected failures come in through
   * here. */
  void *(*alloc)(size_t bytes);

  /* Frees a block of alloc; bytes as asked for. NULL is allowed. */
  void (*free)(void *block, size_t bytes);
} tl_host;

/* ---- Life cycle ----------------------------------------------------------------------------- */

typedef struct tl_create_options {
  size_t struct_size;
  /* "" (the backend's own choice), "cpu", "cuda" or "cuda:<index>". Another device than the backend
   * has is TL_UNAVAILABLE. */
  const char *device;
  /* Host threads to compute with; 0 is the backend's own choice. */
  uint32_t num_threads;
  /* Nonzero where the core has seen an NVIDIA driver. */
  uint32_t has_nvidia_driver;
  /* For the null backend: why nothing else serves, and the remedy. NULL for all others. */
  const char *reason;
} tl_create_options;

/* ---- Families ------------------------------------------------------------------------------- */

typedef struct tl_device_properties {
  size_t struct_size;
  char name[256];
  uint32_t is_cuda;
  uint32_t capability; /* 10 * major + minor on CUDA, 0 on a host */
  uint32_t multiprocessor_count;
  uint32_t clock_khz;        /* 0 where it has no meaning */
  uint32_t memory_clock_khz; /* 0 where it has no meaning */
  uint32_t memory_bus_width; /* bits; 0 where it has no meaning */
  uint64_t total_bytes;      /* device memory, or physical memory of a host */
} tl_device_properties;

/* Figures of the backend's own allocator on the selected device, in bytes. */
typedef struct tl_memory_info {
  size_t struct_size;
  uint64_t allocated_bytes;
  uint64_t reserved_bytes;
  uint64_t peak_allocated_bytes;
  uint64_t peak_reserved_bytes;
  uint64_t device_free_bytes;
  uint64_t device_total_bytes;
} tl_memory_info;

/* Devices, settings and figures. Every backend has count and synchronize; the rest is (optional).
 */
typedef struct tl_device_table {
  size_t struct_size;

  /* Number of devices this instance can select; 0 means that the backend loaded but has no device.
   */
  tl_status (*count)(tl_instance *, uint32_t *out_count);
  /* Makes device `index` (< count) the one that later results live on. */
  tl_status (*select)(tl_instance *, uint32_t index);
  /* Fills the prefix that out->struct_size covers. */
  tl_status (*properties)(tl_instance *, uint32_t index, tl_device_properties *out);
  tl_status (*memory_info)(tl_instance *, tl_memory_info *out);
  /* Waits for all submitted work; reports faults of earlier operations. */
  tl_status (*synchronize)(tl_instance *);
  /* Gives cached, unused memory back. Never invalidates a storage. */
  tl_status (*empty_cache)(tl_instance *);
  /* A switch changed (value 0 or 1). TL_UNSUPPORTED: this backend has no such feature; the core
   * then just remembers the flag. Deterministic mode must be understood. */
  tl_status (*set_setting)(tl_instance *, tl_setting setting, uint32_t value);
  /* Caps what the backend allocates on the selected device; 0 < fraction <= 1. Host memory taken
   * from tl_host.alloc is capped by the core already. */
  tl_status (*set_memory_fraction)(tl_instance *, double fraction);
  /* Host threads; 0 restores the backend's own choice. */
  tl_status (*set_num_threads)(tl_instance *, uint32_t threads);
  tl_status (*num_threads)(tl_instance *, uint32_t *out_threads);
  /* CUDA's numbers (13000 for 13.0); 0 on a host. */
  tl_status (*versions)(tl_instance *, uint32_t *out_driver, uint32_t *out_runtime);
} tl_device_table;

/* Storages. */
typedef struct tl_memory_table {
  size_t struct_size;
  /* Gives a storage back; it is not in use by any call. NULL is never passed. Cannot fail. */
  void (*release)(tl_instance *, tl_storage *);
  /* `count` > 0 elements, all equal to value (already rounded to dtype). Encoded: value is +0 and
   * every byte becomes 0. */
  tl_status (*fill)(tl_instance *, tl_dtype dtype, uint32_t width, uint64_t count, double value,
                    tl_flags, tl_storage **out);
  /* The same bits. */
  tl_status (*copy)(tl_instance *, const tl_operand *x, tl_flags, tl_storage **out);
} tl_memory_table;

/* Words between host and device. Same kind: every bit is kept, NaN payloads included. float64 to
 * float32 rounds to nearest even; float32 to float64 widens. The call is complete when it returns:
 * `words` may be freed, or read, at once. `words` need not be aligned. */
typedef struct tl_transfer_table {
  size_t struct_size;
  /* count > 0 elements of kind `source` become a storage of kind `dtype`; TL_ENCODED only to
   * itself, with words of `width` bytes. */
  tl_status (*upload)(tl_instance *, const void *words, tl_dtype source, tl_dtype dtype,
                      uint32_t width, uint64_t count, tl_flags, tl_storage **out);
  /* x->count > 0 elements, converted to kind `target`, into `words`. */
  tl_status (*download)(tl_instance *, const tl_operand *x, tl_dtype target, void *words);
} tl_transfer_table;

/* Scalars of an enumerator, in the order that the enumeration names; rounded to the dtype. */
typedef struct tl_scalars {
  size_t struct_size;
  double scalar[2];
} tl_scalars;

typedef struct tl_random_table {
  size_t struct_size;
  /* Element i is a function of key + i alone (SplitMix64's finalizer). */
  tl_status (*generate)(tl_instance *, tl_random_op op, tl_dtype dtype, uint64_t count,
                        uint64_t key, const tl_scalars *scalars, tl_flags, tl_storage **out);
} tl_random_table;

/* All operands have one native dtype and one count > 0. `scalars` is never NULL. */
typedef struct tl_elementwise_table {
  size_t struct_size;
  tl_status (*unary)(tl_instance *, tl_unary_op op, const tl_operand *x, const tl_scalars *scalars,
                     tl_flags, tl_storage **out);
  tl_status (*binary)(tl_instance *, tl_binary_op op, const tl_operand *a, const tl_operand *b,
                      const tl_scalars *scalars, tl_flags, tl_storage **out);
  /* out[0] = dA, out[1] = dB. */
  tl_status (*select_bwd)(tl_instance *, tl_select_bwd_op op, const tl_operand *a,
                          const tl_operand *b, const tl_operand *gradient, tl_flags,
                          tl_storage *out[2]);
} tl_elementwise_table;

/* Scalars of one Adam or AdamW step, rounded to the dtype. */
typedef struct tl_adam_params {
  size_t struct_size;
  double beta1;
  double one_minus_beta1;
  double beta2;
  double one_minus_beta2;
  double first_correction;  /* 1 / (1 - beta1^t) */
  double second_correction; /* 1 / (1 - beta2^t) */
  double epsilon;
  double decay;        /* 0, or -(learning rate * weight decay) */
  double update_scale; /* -(learning rate) */
} tl_adam_params;

typedef struct tl_optimizer_table {
  size_t struct_size;
  /* Four operands of one count; out = new parameters, first moment, second moment. */
  tl_status (*adam_step)(tl_instance *, const tl_operand *parameters, const tl_operand *gradient,
                         const tl_operand *first_moment, const tl_operand *second_moment,
                         const tl_adam_params *params, tl_flags, tl_storage *out[3]);
} tl_optimizer_table;

/* A rectangular walk over a flat array, outermost axis first: element (i0, i1, ...) of the large
 * side (row-major over dims) corresponds to element i0*strides[0] + i1*strides[1] + ... of the
 * small side. Stride 0 marks a broadcast axis. Every dim is at least 1; rank 0 is one element. */
typedef struct tl_broadcast_params {
  size_t struct_size;
  uint32_t rank; /* at most TL_MAX_RANK */
  uint32_t reserved;
  uint64_t dims[TL_MAX_RANK];
  uint64_t strides[TL_MAX_RANK];
} tl_broadcast_params;

typedef struct tl_reduction_table {
  size_t struct_size;
  /* x is (outer, n, inner), the result (outer, inner), never empty; n may be 0 (sum: 0, mean: NaN,
   * max: 0). */
  tl_status (*reduce)(tl_instance *, tl_reduce_op op, const tl_operand *x, uint64_t outer,
                      uint64_t n, uint64_t inner, tl_flags, tl_storage **out);
  /* The adjoint of view.broadcast: x has the dims of params, the result out_count > 0 elements.
   * Every result element is reached, or x is empty and the result is zeros. */
  tl_status (*sum_to_shape)(tl_instance *, const tl_operand *x, const tl_broadcast_params *params,
                            uint64_t out_count, tl_flags, tl_storage **out);
  /* x is (rows, cols), not empty; the result too. k is used by TOP_K, 0 <= k <= 2^32 - 1. */
  tl_status (*row_mask)(tl_instance *, tl_row_mask_op op, const tl_operand *x, uint64_t rows,
                        uint64_t cols, uint64_t k, tl_flags, tl_storage **out);
} tl_reduction_table;

/* Moves of whole elements; every dtype. */
typedef struct tl_view_table {
  size_t struct_size;
  /* a then b, of one dtype and width; at most one is empty. */
  tl_status (*concat)(tl_instance *, const tl_operand *a, const tl_operand *b, tl_flags,
                      tl_storage **out);
  /* x[start .. start + length), length > 0, inside x. */
  tl_status (*slice)(tl_instance *, const tl_operand *x, uint64_t start, uint64_t length, tl_flags,
                     tl_storage **out);
  /* Every element of the large side reads its element of x. Native dtypes. */
  tl_status (*broadcast)(tl_instance *, const tl_operand *x, const tl_broadcast_params *params,
                         tl_flags, tl_storage **out);
  /* (outer, first, second, inner) -> (outer, second, first, inner), not empty. Native dtypes. */
  tl_status (*swap)(tl_instance *, const tl_operand *x, uint64_t outer, uint64_t first,
                    uint64_t second, uint64_t inner, tl_flags, tl_storage **out);
} tl_view_table;

/* rows, cols, k > 0: the core answers empty sources (zeros) and empty lists (a copy). Index lists
 * are host memory, valid during the call. */
typedef struct tl_indexing_table {
  size_t struct_size;
  /* source is (rows, cols); result (k, cols). indices[i] >= rows gives a row of +0. */
  tl_status (*gather_rows)(tl_instance *, const tl_operand *source, uint64_t rows, uint64_t cols,
                           const uint32_t *indices, uint64_t k, tl_flags, tl_storage **out);
  /* base is (rows, cols), as is the result, values (k, cols). indices[i] >= rows is ignored. */
  tl_status (*scatter_add_rows)(tl_instance *, const tl_operand *base, const tl_operand *values,
                                uint64_t rows, uint64_t cols, const uint32_t *indices, uint64_t k,
                                tl_flags, tl_storage **out);
} tl_indexing_table;

/* (batch, m, n) x (batch, n, p). transpose_a: a is stored (batch, n, m); transpose_b: b is stored
 * (batch, p, n). */
typedef struct tl_bmm_params {
  size_t struct_size;
  uint64_t batch;
  uint64_t m;
  uint64_t n;
  uint64_t p;
  uint32_t transpose_a;
  uint32_t transpose_b;
} tl_bmm_params;

typedef struct tl_matmul_table {
  size_t struct_size;
  /* The result (batch, m, p) is not empty; n = 0 gives zeros. */
  tl_status (*bmm)(tl_instance *, const tl_operand *a, const tl_operand *b,
                   const tl_bmm_params *params, tl_flags, tl_storage **out);
  /* scale * a * b and a flag that asks the caller to replay from the original operands (see
   * docs/operations.md). `scale` is the host's double, not rounded. Waits for the device. */
  tl_status (*bmm_scaled)(tl_instance *, const tl_operand *a, const tl_operand *b,
                          const tl_bmm_params *params, double scale, tl_flags, tl_storage **out,
                          uint32_t *out_replay);
  /* Host arrays in, host array out: (m, n) x (n, p), computed on the device. m, p > 0. */
  tl_status (*dgemm)(tl_instance *, const double *a, const double *b, uint64_t m, uint64_t n,
                     uint64_t p, double *out);
} tl_matmul_table;

typedef struct tl_layer_norm_bwd_params {
  size_t struct_size;
  uint64_t rows;     /* > 0 */
  uint64_t cols;     /* > 0 */
  double cols_scale; /* rounded to the dtype, as the next */
  double inv_cols;
} tl_layer_norm_bwd_params;

/* No operand and no result is empty. */
typedef struct tl_normalization_table {
  size_t struct_size;
  /* Over the middle axis of (outer, n, inner). */
  tl_status (*softmax)(tl_instance *, const tl_operand *x, uint64_t outer, uint64_t n,
                       uint64_t inner, tl_flags, tl_storage **out);
  /* Two operands (rows, cols). */
  tl_status (*masked_softmax)(tl_instance *, const tl_operand *scores, const tl_operand *mask,
                              uint64_t rows, uint64_t cols, tl_flags, tl_storage **out);
  /* x is (rows, cols), gamma and beta (cols); out = result, normalized (rows, cols), invStd (rows).
   * epsilon is rounded to the dtype. */
  tl_status (*layer_norm)(tl_instance *, const tl_operand *x, const tl_operand *gamma,
                          const tl_operand *beta, uint64_t rows, uint64_t cols, double epsilon,
                          tl_flags, tl_storage *out[3]);
  /* inv_std is (rows), gamma (cols), the others (rows, cols); out = dX (rows, cols), dGamma (cols),
   * dBeta (cols). */
  tl_status (*layer_norm_bwd)(tl_instance *, const tl_operand *d_out, const tl_operand *normalized,
                              const tl_operand *inv_std, const tl_operand *gamma,
                              const tl_layer_norm_bwd_params *params, tl_flags, tl_storage *out[3]);
} tl_normalization_table;

typedef struct tl_loss_table {
  size_t struct_size;
  /* Two operands (rows, cols); the result is one element, for the gradient (rows, cols). rows and
   * cols > 0: the core answers NaN for no rows, else 0 for no columns. */
  tl_status (*loss)(tl_instance *, tl_loss_op op, const tl_operand *prediction,
                    const tl_operand *target, uint64_t rows, uint64_t cols, tl_flags,
                    tl_storage **out);
} tl_loss_table;

typedef struct tl_fourier_table {
  size_t struct_size;
  /* n > 0 is the length of the real side; batch > 0. Complex side: (batch, n/2 + 1, 2). */
  tl_status (*transform)(tl_instance *, tl_fourier_op op, const tl_operand *x, uint64_t batch,
                         uint64_t n, tl_flags, tl_storage **out);
} tl_fourier_table;

/* time, state > 0: the core answers empty sequences, whose gradients are empty or zeros. */
typedef struct tl_scan_table {
  size_t struct_size;
  /* a, b: (state) or (time, state) by op; x: (time, state); h0: (state); result (time, state). */
  tl_status (*forward)(tl_instance *, tl_scan_op op, const tl_operand *a, const tl_operand *b,
                       const tl_operand *x, const tl_operand *h0, uint64_t time, uint64_t state,
                       tl_flags, tl_storage **out);
  /* h: the forward result; h and d_y are (time, state). out = dA, dB, dX, dH0, each with the shape
   * of its operand. */
  tl_status (*backward)(tl_instance *, tl_scan_op op, const tl_operand *a, const tl_operand *b,
                        const tl_operand *x, const tl_operand *h0, const tl_operand *h,
                        const tl_operand *d_y, uint64_t time, uint64_t state, tl_flags,
                        tl_storage *out[4]);
} tl_scan_table;

/* Channels first. Spatial arrays are padded in front to three axes with extent 1 (stride 1, no
 * padding, dilation 1); all entries but `out` are below 2^32. The kernel is (outC, inC, ...), of
 * the transposed operation (inC, outC, ...). groups divides both channel counts; in the kernel,
 * which is dense, only the blocks that join channels of one group are used. The transposed
 * operation comes with batch 1, groups 1 and dilation 1, as does every gradient. */
typedef struct tl_convolution_params {
  size_t struct_size;
  uint64_t batch;
  uint64_t in_channels;
  uint64_t out_channels;
  uint64_t groups;
  uint32_t dense_kernel; /* always 1: the kernel has all outC * inC blocks, whatever groups is */
  uint32_t reserved;
  int64_t in[3];
  int64_t kernel[3];
  int64_t stride[3];
  int64_t padding_before[3];
  int64_t padding_after[3];
  int64_t dilation[3];
  int64_t out[3];
} tl_convolution_params;

typedef struct tl_convolution_table {
  size_t struct_size;
  /* bias is (outC), the result (batch, outC, out...), not empty. The input may be empty (no
   * channel, an extent of 0 that padding or transposition makes up for), and the kernel with it:
   * the result is the bias then. Windows may lie in the padding altogether. */
  tl_status (*forward)(tl_instance *, tl_convolution_op op, const tl_operand *input,
                       const tl_operand *kernel, const tl_operand *bias,
                       const tl_convolution_params *params, tl_flags, tl_storage **out);
  /* gradient is (1, outC, out...), not empty: the core answers an empty one with zeros. out =
   * dKernel, dBias, dInput; dKernel and dInput are empty where kernel and input are. */
  tl_status (*backward)(tl_instance *, tl_convolution_op op, const tl_operand *input,
                        const tl_operand *kernel, const tl_operand *gradient,
                        const tl_convolution_params *params, tl_flags, tl_storage *out[3]);
} tl_convolution_table;

/* Channels first; spatial arrays as in tl_convolution_params, the same padding on both sides and at
 * most half of the window. A window may be far larger than the input: walk the part inside. Its
 * volume, the product of kernel, is below 2^64. */
typedef struct tl_pooling_params {
  size_t struct_size;
  uint64_t channels;
  int64_t in[3];
  int64_t kernel[3];
  int64_t stride[3];
  int64_t padding[3];
  int64_t out[3];
  double beta; /* smooth max only; rounded to the dtype, finite and not 0 */
} tl_pooling_params;

/* input is (channels, in...), output and gradient (channels, out...); none is empty: the core
 * answers the gradient of an empty output with zeros. */
typedef struct tl_pooling_table {
  size_t struct_size;
  tl_status (*forward)(tl_instance *, tl_pooling_op op, const tl_operand *input,
                       const tl_pooling_params *params, tl_flags, tl_storage **out);
  /* input is NULL for the average. */
  tl_status (*backward)(tl_instance *, tl_pooling_op op, const tl_operand *input,
                        const tl_operand *gradient, const tl_pooling_params *params, tl_flags,
                        tl_storage **out);
} tl_pooling_table;

/* ---- The table ------------------------------------------------------------------------------ */

/* "TLBE": says that a pointer returned by an entry does lead to a BackendVTable. */
#define TL_BACKEND_MAGIC 0x45424C54u

/* Static data of the backend, valid as long as its file is open (that is, for ever). A family that
 * the backend does not have may be NULL, an entry too: the core answers TL_UNSUPPORTED there. */
typedef struct BackendVTable {
  size_t struct_size;
  uint32_t magic;       /* TL_BACKEND_MAGIC */
  uint32_t abi_version; /* the ABI this table is written for; at most tl_host.abi_version */

  const char *name;    /* as in the note: "reference" */
  const char *version; /* the backend's own: "0.1.0" */
  const char *library; /* what it computes with: "LibTorch 2.15.0"; "" if nothing to name */

  /* Brings up one device. Several instances may live at once. On failure *out stays as it was. */
  tl_status (*create)(const tl_create_options *options, tl_instance **out);
  /* No storage of the instance is left and no call is under way. */
  void (*destroy)(tl_instance *);
  /* TL_OK or TL_UNSUPPORTED; read once at registration. What is claimed must work, what is not
   * claimed must be refused. */
  tl_status (*supports)(tl_instance *, tl_operation operation, tl_dtype dtype);

  const tl_device_table *device; /* required, as is memory; all others (optional) */
  const tl_memory_table *memory;
  const tl_transfer_table *transfer;
  const tl_random_table *random;
  const tl_elementwise_table *elementwise;
  const tl_optimizer_table *optimizer;
  const tl_reduction_table *reduction;
  const tl_view_table *view;
  const tl_indexing_table *indexing;
  const tl_matmul_table *matmul;
  const tl_normalization_table *normalization;
  const tl_loss_table *loss;
  const tl_fourier_table *fourier;
  const tl_scan_table *scan;
  const tl_convolution_table *convolution;
  const tl_pooling_table *pooling;
} BackendVTable;

/* The one exported symbol. Called once, before anything else, with services that stay valid.
 * Returns a table for an ABI that both sides know, or NULL after set_error has said why. Touches no
 * device. */
typedef const BackendVTable *(*tl_backend_entry_fn)(const tl_host *host);

#if defined(__GNUC__)
#define TL_BACKEND_EXPORT __attribute__((visibility("default")))
#else
#define TL_BACKEND_EXPORT
#endif

TL_BACKEND_EXPORT const BackendVTable *torchlean_backend_entry(const tl_host *host);

#ifdef __cplusplus
}
#endif

#endif /* TORCHLEAN_BACKEND_H */
