/* Wrong on purpose (rule T8): a copy of the reference backend with one thing spoilt in one
 * operation. What, the variable WRONG_KIND says; tests/tools/wrong_test.cpp lists the kinds.
 *
 * Results are spoilt behind the reference's back: it takes its memory from the host services that
 * it is given here, so that this file knows the block of every result.
 */
#include <torchlean/backend.h>

#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "wrong.h"

TL_BACKEND_NOTE("wrong", TL_NOTE_CXX_RUNTIME | TL_NOTE_TEST_ONLY, "", "", "");

static const char *kind = "swapped-arguments";
static bool is(const char *name) { return strcmp(kind, name) == 0; }

static const tl_host *core;
static tl_host host;
static BackendVTable right;
static BackendVTable vtable;
static tl_device_table device;
static tl_memory_table memory;
static tl_transfer_table transfer;
static tl_elementwise_table elementwise;
static tl_reduction_table reduction;
static tl_matmul_table matmul;
static tl_indexing_table indexing;
static tl_normalization_table normalization;
static tl_fourier_table fourier;
static tl_scan_table scan;

/* ---- Blocks --------------------------------------------------------------------------------- */

/* The block that this thread took last, with what lay in it then. */
static _Thread_local unsigned char *last_block;
static _Thread_local size_t last_bytes;
/* The ones before it, the newest first. */
static _Thread_local unsigned char *earlier_blocks[3];
static _Thread_local unsigned char *before;

static void *host_alloc(size_t bytes) {
  memmove(earlier_blocks + 1, earlier_blocks, 2 * sizeof *earlier_blocks);
  earlier_blocks[0] = last_block;
  last_block = core->alloc(bytes);
  last_bytes = bytes;
  if (last_block != NULL && is("nothing-written")) {
    free(before);
    before = malloc(bytes);
    if (before != NULL) memcpy(before, last_block, bytes);
  }
  return last_block;
}

/* Uploaded storages and their blocks, the last ones. */
enum { REMEMBERED = 64 };
static struct {
  tl_storage *storage;
  unsigned char *block;
} uploads[REMEMBERED];
static size_t upload_count;

static tl_status upload(tl_instance *instance, const void *words, tl_dtype source, tl_dtype dtype,
                        uint32_t width, uint64_t count, tl_flags flags, tl_storage **out) {
  const tl_status status =
      right.transfer->upload(instance, words, source, dtype, width, count, flags, out);
  if (status == TL_OK && *out != NULL) { /* an empty one has no block */
    uploads[upload_count % REMEMBERED].storage = *out;
    uploads[upload_count++ % REMEMBERED].block = last_block;
  }
  return status;
}

static void release(tl_instance *instance, tl_storage *storage) {
  for (size_t i = 0; i < REMEMBERED; ++i) {
    if (uploads[i].storage == storage) uploads[i].storage = NULL;
  }
  right.memory->release(instance, storage);
}

/* The block of an uploaded operand, NULL of an empty one and of one that was not uploaded. */
static unsigned char *block_of(const tl_operand *x) {
  for (size_t i = 0; i < REMEMBERED && x->storage != NULL; ++i) {
    if (uploads[i].storage == x->storage) return uploads[i].block;
  }
  return NULL;
}

static void change_input(const tl_operand *x) {
  unsigned char *block = block_of(x);
  if (block != NULL) block[0] ^= 1;
}

/* ---- Spoiling the last result --------------------------------------------------------------- */

/* Away from zero, for finite numbers that are not zero. */
static void move_ulps_in(unsigned char *block, tl_dtype dtype, uint64_t index, uint64_t ulps) {
  if (dtype == TL_FLOAT32) {
    uint32_t word;
    memcpy(&word, block + 4 * index, 4);
    const uint32_t size = word & 0x7FFFFFFFu;
    if (size != 0 && size < 0x7F000000u) word += (uint32_t)ulps;
    memcpy(block + 4 * index, &word, 4);
  } else {
    uint64_t word;
    memcpy(&word, block + 8 * index, 8);
    const uint64_t size = word & 0x7FFFFFFFFFFFFFFFu;
    if (size != 0 && size < 0x7FE0000000000000u) word += ulps;
    memcpy(block + 8 * index, &word, 8);
  }
}

static void move_ulps(tl_dtype dtype, uint64_t index, uint64_t ulps) {
  move_ulps_in(last_block, dtype, index, ulps);
}

/* Elements of float32 blocks. */
static float *floats(unsigned char *block) { return (float *)(void *)block; }

/* Words of the dtype become a storage of the other native dtype. */
static tl_status change_dtype(tl_instance *instance, const tl_operand *like, tl_storage **out) {
  const tl_dtype other = like->dtype == TL_FLOAT32 ? TL_FLOAT64 : TL_FLOAT32;
  const uint32_t width = other == TL_FLOAT32 ? 4 : 8;
  const tl_operand result = {*out, like->count, like->dtype, like->width};
  void *words = malloc(like->count * width);
  tl_status status = right.transfer->download(instance, &result, other, words);
  right.memory->release(instance, *out);
  if (status == TL_OK) {
    status = right.transfer->upload(instance, words, other, other, width, like->count, 0, out);
  }
  free(words);
  return status;
}

/* ---- Entries -------------------------------------------------------------------------------- */

static uint32_t threads = 1;
static bool is_deterministic;

static tl_status set_num_threads(tl_instance *instance, uint32_t count) {
  threads = count;
  return right.device->set_num_threads(instance, count);
}

static tl_status set_setting(tl_instance *instance, tl_setting setting, uint32_t value) {
  if (setting == TL_SETTING_DETERMINISTIC) is_deterministic = value != 0;
  return right.device->set_setting(instance, setting, value);
}

/* Uses up two milliseconds of the processor. */
static void dawdle(void) {
  const clock_t end = clock() + CLOCKS_PER_SEC / 500;
  while (clock() < end) {
  }
}

static tl_status unary(tl_instance *instance, tl_unary_op op, const tl_operand *x,
                       const tl_scalars *scalars, tl_flags flags, tl_storage **out) {
  /* What is not right anyway is not spoilt. */
  if (x == NULL || x->dtype == TL_ENCODED) {
    return right.elementwise->unary(instance, op, x, scalars, flags, out);
  }
  if (op == TL_UNARY_COS && is("refused")) {
    core->set_error("cos is not known here");
    return TL_UNSUPPORTED;
  }
  if (op == TL_UNARY_TANH && is("crash")) raise(SIGSEGV);
  if (op == TL_UNARY_LOG && is("abort")) abort();
  if (op == TL_UNARY_LOG1P && is("exit")) _exit(0);
  if (op == TL_UNARY_SIN && is("hang")) pause();
  if (op == TL_UNARY_FLOOR && is("no-result")) return TL_OK;
  if (op == TL_UNARY_NEG && is("slow")) dawdle(); /* right, but for bench_test.cpp */
  const tl_status status = right.elementwise->unary(instance, op, x, scalars, flags, out);
  if (status != TL_OK) return status;
  if (op == TL_UNARY_EXP && is("one-ulp-too-many")) {
    for (uint64_t i = 0; i < x->count; ++i) move_ulps(x->dtype, i, 3); /* of 2 */
  }
  if (op == TL_UNARY_NEG && is("write-past-the-end")) last_block[last_bytes] ^= 1;
  if (op == TL_UNARY_INV && is("write-before-the-start")) last_block[-1] ^= 1;
  if (op == TL_UNARY_SQRT && is("write-far-away")) last_block[last_bytes + 1024] = 1;
  if (op == TL_UNARY_ABS && is("nothing-written")) memcpy(last_block, before, last_bytes);
  if (op == TL_UNARY_RELU && is("input-changed")) change_input(x);
  return status;
}

static tl_status binary(tl_instance *instance, tl_binary_op op, const tl_operand *a,
                        const tl_operand *b, const tl_scalars *scalars, tl_flags flags,
                        tl_storage **out) {
  if (op == TL_BINARY_SUB && is("swapped-arguments")) {
    return right.elementwise->binary(instance, op, b, a, scalars, flags, out);
  }
  const tl_status status = right.elementwise->binary(instance, op, a, b, scalars, flags, out);
  if (status != TL_OK) return status;
  if (op == TL_BINARY_MUL && is("one-element-off")) move_ulps(a->dtype, a->count / 2, 1);
  if (op == TL_BINARY_DIV && is("wrong-dtype")) return change_dtype(instance, a, out);
  return status;
}

static tl_status reduce(tl_instance *instance, tl_reduce_op op, const tl_operand *x, uint64_t outer,
                        uint64_t n, uint64_t inner, tl_flags flags, tl_storage **out) {
  static uint32_t calls;
  const tl_status status = right.reduction->reduce(instance, op, x, outer, n, inner, flags, out);
  /* One ulp is within the bound of long sums. */
  if (status != TL_OK || n < 1000) return status;
  if (op == TL_REDUCE_TOTAL_SUM && is("nondeterminism") && calls++ % 2 == 1) {
    move_ulps(x->dtype, 0, 1);
  }
  if (op == TL_REDUCE_TOTAL_MEAN && is("bits-by-threads") && threads > 1) {
    move_ulps(x->dtype, 0, 1);
  }
  if (op == TL_REDUCE_TOTAL_SUM && is("order-of-its-own") && is_deterministic) {
    move_ulps(x->dtype, 0, 1);
  }
  return status;
}

static tl_status bmm(tl_instance *instance, const tl_operand *a, const tl_operand *b,
                     const tl_bmm_params *params, tl_flags flags, tl_storage **out) {
  const tl_status status = right.matmul->bmm(instance, a, b, params, flags, out);
  if (status == TL_OK && is("last-row-missed")) {
    const size_t row = params->p * a->width;
    for (uint64_t i = 0; i < params->batch; ++i) {
      memset(last_block + ((i + 1) * params->m - 1) * row, 0, row);
    }
  }
  return status;
}

static tl_status scatter_add_rows(tl_instance *instance, const tl_operand *base,
                                  const tl_operand *values, uint64_t rows, uint64_t cols,
                                  const uint32_t *indices, uint64_t k, tl_flags flags,
                                  tl_storage **out) {
  const tl_status status =
      right.indexing->scatter_add_rows(instance, base, values, rows, cols, indices, k, flags, out);
  /* A row that every case hits. */
  if (status == TL_OK && rows == 17 && is_deterministic && is("updates-out-of-order")) {
    move_ulps(base->dtype, rows / 2 * cols, 1);
  }
  return status;
}

static tl_status softmax(tl_instance *instance, const tl_operand *x, uint64_t outer, uint64_t n,
                         uint64_t inner, tl_flags flags, tl_storage **out) {
  const tl_status status = right.normalization->softmax(instance, x, outer, n, inner, flags, out);
  if (status != TL_OK) return status;
  if (is("just-over-the-budget")) {
    for (uint64_t i = 0; n == 1 && i < x->count; ++i) move_ulps(x->dtype, i, 5); /* of 4.501 */
  }
  if (is("maximum-not-subtracted") && x->dtype == TL_FLOAT32 && inner == 1 && block_of(x) != NULL) {
    const float *scores = floats(block_of(x));
    float *weights = floats(last_block);
    for (uint64_t first = 0; first < x->count; first += n) {
      float sum = 0;
      for (uint64_t i = first; i < first + n; ++i) sum += weights[i] = expf(scores[i]);
      for (uint64_t i = first; i < first + n; ++i) weights[i] /= sum;
    }
  }
  return status;
}

static tl_status layer_norm(tl_instance *instance, const tl_operand *x, const tl_operand *gamma,
                            const tl_operand *beta, uint64_t rows, uint64_t cols, double epsilon,
                            tl_flags flags, tl_storage **out) {
  const tl_status status =
      right.normalization->layer_norm(instance, x, gamma, beta, rows, cols, epsilon, flags, out);
  /* The block of the first of three results. */
  if (status == TL_OK && is("output-on-its-own")) move_ulps_in(earlier_blocks[1], x->dtype, 0, 1);
  return status;
}

static tl_status transform(tl_instance *instance, tl_fourier_op op, const tl_operand *x,
                           uint64_t batch, uint64_t n, tl_flags flags, tl_storage **out) {
  const tl_status status = right.fourier->transform(instance, op, x, batch, n, flags, out);
  /* Imaginary part of the second bin of the last transform. */
  if (status == TL_OK && op == TL_FOURIER_RFFT && n > 2 && is("one-bin-conjugated")) {
    const uint64_t place = (batch - 1) * 2 * (n / 2 + 1) + 3;
    last_block[(place + 1) * x->width - 1] ^= 0x80;
  }
  return status;
}

static tl_status scan_forward(tl_instance *instance, tl_scan_op op, const tl_operand *a,
                              const tl_operand *b, const tl_operand *x, const tl_operand *h0,
                              uint64_t time, uint64_t state, tl_flags flags, tl_storage **out) {
  const tl_status status = right.scan->forward(instance, op, a, b, x, h0, time, state, flags, out);
  if (status != TL_OK || op != TL_SCAN_CONSTANT || x->dtype != TL_FLOAT32 || !is("fused-scan")) {
    return status;
  }
  if (block_of(a) == NULL || block_of(b) == NULL || block_of(x) == NULL || block_of(h0) == NULL) {
    return status;
  }
  const float *factors = floats(block_of(a));
  const float *inputs = floats(block_of(b));
  float *h = floats(last_block);
  for (uint64_t j = 0; j < state; ++j) {
    float state_before = floats(block_of(h0))[j];
    for (uint64_t i = j; i < time * state; i += state) {
      state_before = h[i] = fmaf(factors[j], state_before, inputs[j] * floats(block_of(x))[i]);
    }
  }
  return status;
}

static tl_status scan_backward(tl_instance *instance, tl_scan_op op, const tl_operand *a,
                               const tl_operand *b, const tl_operand *x, const tl_operand *h0,
                               const tl_operand *h, const tl_operand *d_y, uint64_t time,
                               uint64_t state, tl_flags flags, tl_storage **out) {
  const tl_status status =
      right.scan->backward(instance, op, a, b, x, h0, h, d_y, time, state, flags, out);
  /* The second of four results. */
  if (status == TL_OK && op == TL_SCAN_CONSTANT && time == 257 && is_deterministic &&
      is("gradients-out-of-order")) {
    move_ulps_in(earlier_blocks[1], x->dtype, 0, 1);
  }
  return status;
}

const BackendVTable *torchlean_backend_entry(const tl_host *given) {
  const char *asked = getenv("WRONG_KIND");
  if (asked != NULL) kind = asked;
  core = given;
  host = *given;
  host.alloc = host_alloc;
  /* A copy of the reference's file: it keeps these services, and the reference itself the core's.
   */
  void *file = dlopen(REFERENCE, RTLD_NOW | RTLD_LOCAL);
  tl_backend_entry_fn entry = NULL;
  /* ISO C has no conversion from an object pointer to a function pointer. */
  if (file != NULL) *(void **)&entry = dlsym(file, "torchlean_backend_entry");
  if (entry == NULL) {
    core->set_error("wrong: cannot open " REFERENCE);
    return NULL;
  }
  const BackendVTable *reference = entry(&host);
  if (reference == NULL) return NULL;
  vtable = right = *reference;
  device = *right.device;
  device.set_num_threads = set_num_threads;
  device.set_setting = set_setting;
  memory = *right.memory;
  memory.release = release;
  transfer = *right.transfer;
  transfer.upload = upload;
  elementwise = *right.elementwise;
  elementwise.unary = unary;
  elementwise.binary = binary;
  reduction = *right.reduction;
  reduction.reduce = reduce;
  matmul = *right.matmul;
  matmul.bmm = bmm;
  indexing = *right.indexing;
  indexing.scatter_add_rows = scatter_add_rows;
  normalization = *right.normalization;
  normalization.softmax = softmax;
  normalization.layer_norm = layer_norm;
  fourier = *right.fourier;
  fourier.transform = transform;
  scan = *right.scan;
  scan.forward = scan_forward;
  scan.backward = scan_backward;
  vtable.name = "wrong";
  vtable.device = &device;
  vtable.memory = &memory;
  vtable.transfer = &transfer;
  vtable.elementwise = &elementwise;
  vtable.reduction = &reduction;
  vtable.matmul = &matmul;
  vtable.indexing = &indexing;
  vtable.normalization = &normalization;
  vtable.fourier = &fourier;
  vtable.scan = &scan;
  spoil_manners(&vtable, core, kind);
  spoil_windows(&vtable, kind);
  return &vtable;
}
