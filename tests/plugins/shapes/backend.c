/* A backend that computes nothing but says what it was asked: the error text of each entry tells
 * the canonical shape that the core has made of the caller's arguments.
 *
 * A storage is one value that all its elements have. The gradient of a convolution without input
 * answers with sevens. */
#include <torchlean/backend.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

TL_BACKEND_NOTE("shapes", TL_NOTE_TEST_ONLY, "", "", "");

struct tl_instance {
  int unused;
};

struct tl_storage {
  double value;
};

static tl_instance the_instance;
static const tl_host *host;

enum { text_size = 1024, list_size = 80 };

static tl_status say(const char *text) {
  host->set_error(text);
  return TL_UNSUPPORTED;
}

static tl_status make(double value, tl_storage **out) {
  tl_storage *storage = malloc(sizeof *storage);
  if (storage == NULL) return TL_OUT_OF_MEMORY;
  storage->value = value;
  *out = storage;
  return TL_OK;
}

/* ---- What every backend has ----------------------------------------------------------------- */

static tl_status count(tl_instance *self, uint32_t *out_count) {
  (void)self;
  *out_count = 1;
  return TL_OK;
}

static tl_status synchronize(tl_instance *self) {
  (void)self;
  return TL_OK;
}

static void release(tl_instance *self, tl_storage *storage) {
  (void)self;
  free(storage);
}

static tl_status fill(tl_instance *self, tl_dtype dtype, uint32_t width, uint64_t n, double value,
                      tl_flags flags, tl_storage **out) {
  (void)self, (void)dtype, (void)width, (void)n, (void)flags;
  return make(value, out);
}

static tl_status copy(tl_instance *self, const tl_operand *x, tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  return make(x->storage->value, out);
}

static tl_status download(tl_instance *self, const tl_operand *x, tl_dtype target, void *words) {
  (void)self;
  for (uint64_t i = 0; i < x->count; ++i) {
    if (target == TL_FLOAT32) {
      ((float *)words)[i] = (float)x->storage->value;
    } else {
      ((double *)words)[i] = x->storage->value;
    }
  }
  return TL_OK;
}

/* ---- Families that say what they were asked ------------------------------------------------- */

static tl_status gather_rows(tl_instance *self, const tl_operand *source, uint64_t rows,
                             uint64_t cols, const uint32_t *indices, uint64_t k, tl_flags flags,
                             tl_storage **out) {
  (void)self, (void)source, (void)flags, (void)out;
  char text[text_size];
  snprintf(text, sizeof text, "gather %" PRIu64 "x%" PRIu64 " k %" PRIu64 " last %" PRIu32, rows,
           cols, k, indices[k - 1]);
  return say(text);
}

static tl_status scatter_add_rows(tl_instance *self, const tl_operand *base,
                                  const tl_operand *values, uint64_t rows, uint64_t cols,
                                  const uint32_t *indices, uint64_t k, tl_flags flags,
                                  tl_storage **out) {
  (void)self, (void)base, (void)values, (void)flags, (void)out;
  char text[text_size];
  snprintf(text, sizeof text, "scatter %" PRIu64 "x%" PRIu64 " k %" PRIu64 " last %" PRIu32, rows,
           cols, k, indices[k - 1]);
  return say(text);
}

static tl_status softmax(tl_instance *self, const tl_operand *x, uint64_t outer, uint64_t n,
                         uint64_t inner, tl_flags flags, tl_storage **out) {
  (void)self, (void)x, (void)flags, (void)out;
  char text[text_size];
  snprintf(text, sizeof text, "softmax %" PRIu64 "x%" PRIu64 "x%" PRIu64, outer, n, inner);
  return say(text);
}

static tl_status layer_norm(tl_instance *self, const tl_operand *x, const tl_operand *gamma,
                            const tl_operand *beta, uint64_t rows, uint64_t cols, double epsilon,
                            tl_flags flags, tl_storage *out[3]) {
  (void)self, (void)x, (void)gamma, (void)beta, (void)flags, (void)out;
  char text[text_size];
  snprintf(text, sizeof text, "layer norm %" PRIu64 "x%" PRIu64 " epsilon %.17g", rows, cols,
           epsilon);
  return say(text);
}

static tl_status layer_norm_bwd(tl_instance *self, const tl_operand *d_out,
                                const tl_operand *normalized, const tl_operand *inv_std,
                                const tl_operand *gamma, const tl_layer_norm_bwd_params *params,
                                tl_flags flags, tl_storage *out[3]) {
  (void)self, (void)d_out, (void)normalized, (void)inv_std, (void)gamma, (void)flags, (void)out;
  char text[text_size];
  snprintf(text, sizeof text, "layer norm %" PRIu64 "x%" PRIu64 " scale %.17g inverse %.17g",
           params->rows, params->cols, params->cols_scale, params->inv_cols);
  return say(text);
}

static tl_status loss(tl_instance *self, tl_loss_op op, const tl_operand *prediction,
                      const tl_operand *target, uint64_t rows, uint64_t cols, tl_flags flags,
                      tl_storage **out) {
  (void)self, (void)prediction, (void)target, (void)flags, (void)out;
  char text[text_size];
  snprintf(text, sizeof text, "loss %" PRIu32 " %" PRIu64 "x%" PRIu64, op, rows, cols);
  return say(text);
}

static tl_status transform(tl_instance *self, tl_fourier_op op, const tl_operand *x, uint64_t batch,
                           uint64_t n, tl_flags flags, tl_storage **out) {
  (void)self, (void)x, (void)flags, (void)out;
  char text[text_size];
  snprintf(text, sizeof text, "fourier %" PRIu32 " batch %" PRIu64 " n %" PRIu64, op, batch, n);
  return say(text);
}

static tl_status scan_backward(tl_instance *self, tl_scan_op op, const tl_operand *a,
                               const tl_operand *b, const tl_operand *x, const tl_operand *h0,
                               const tl_operand *h, const tl_operand *d_y, uint64_t time,
                               uint64_t state, tl_flags flags, tl_storage *out[4]) {
  (void)self, (void)flags, (void)out;
  char text[text_size];
  snprintf(text, sizeof text,
           "scan %" PRIu32 " %" PRIu64 "x%" PRIu64 " operands %" PRIu64 " %" PRIu64 " %" PRIu64
           " %" PRIu64 " %" PRIu64 " %" PRIu64,
           op, time, state, a->count, b->count, x->count, h0->count, h->count, d_y->count);
  return say(text);
}

static const char *list(char text[list_size], const int64_t axes[3]) {
  snprintf(text, list_size, "%" PRId64 ",%" PRId64 ",%" PRId64, axes[0], axes[1], axes[2]);
  return text;
}

static tl_status describe(tl_convolution_op op, const tl_convolution_params *p) {
  char in[list_size], kernel[list_size], stride[list_size], before[list_size], after[list_size];
  char dilation[list_size], out[list_size];
  char text[text_size];
  snprintf(text, sizeof text,
           "convolution %" PRIu32 " batch %" PRIu64 " channels %" PRIu64 ">%" PRIu64
           " groups %" PRIu64 " in %s kernel %s stride %s padding %s:%s dilation %s out %s",
           op, p->batch, p->in_channels, p->out_channels, p->groups, list(in, p->in),
           list(kernel, p->kernel), list(stride, p->stride), list(before, p->padding_before),
           list(after, p->padding_after), list(dilation, p->dilation), list(out, p->out));
  return say(text);
}

static tl_status convolution_forward(tl_instance *self, tl_convolution_op op,
                                     const tl_operand *input, const tl_operand *kernel,
                                     const tl_operand *bias, const tl_convolution_params *params,
                                     tl_flags flags, tl_storage **out) {
  (void)self, (void)input, (void)kernel, (void)bias, (void)flags, (void)out;
  return describe(op, params);
}

static tl_status convolution_backward(tl_instance *self, tl_convolution_op op,
                                      const tl_operand *input, const tl_operand *kernel,
                                      const tl_operand *gradient,
                                      const tl_convolution_params *params, tl_flags flags,
                                      tl_storage *out[3]) {
  (void)self, (void)gradient, (void)flags;
  if (input->count != 0 || kernel->count != 0) return describe(op, params);
  return make(7, &out[1]);
}

static tl_status pool(const char *direction, tl_pooling_op op, const tl_pooling_params *p) {
  char in[list_size], kernel[list_size], stride[list_size], padding[list_size], out[list_size];
  char text[text_size];
  snprintf(text, sizeof text,
           "%s %" PRIu32 " channels %" PRIu64
           " in %s kernel %s stride %s padding %s out %s beta %.17g",
           direction, op, p->channels, list(in, p->in), list(kernel, p->kernel),
           list(stride, p->stride), list(padding, p->padding), list(out, p->out), p->beta);
  return say(text);
}

static tl_status pooling_forward(tl_instance *self, tl_pooling_op op, const tl_operand *input,
                                 const tl_pooling_params *params, tl_flags flags,
                                 tl_storage **out) {
  (void)self, (void)input, (void)flags, (void)out;
  return pool("pool", op, params);
}

static tl_status pooling_backward(tl_instance *self, tl_pooling_op op, const tl_operand *input,
                                  const tl_operand *gradient, const tl_pooling_params *params,
                                  tl_flags flags, tl_storage **out) {
  (void)self, (void)gradient, (void)flags, (void)out;
  return pool(input == NULL ? "gradient alone" : "gradient", op, params);
}

/* ---- The table ------------------------------------------------------------------------------ */

static tl_status create(const tl_create_options *options, tl_instance **out) {
  (void)options;
  *out = &the_instance;
  return TL_OK;
}

static void destroy(tl_instance *self) { (void)self; }

static tl_status supports(tl_instance *self, tl_operation operation, tl_dtype dtype) {
  (void)self, (void)operation, (void)dtype;
  return TL_UNSUPPORTED;
}

static const tl_device_table device = {
    .struct_size = sizeof(tl_device_table), .count = count, .synchronize = synchronize};
static const tl_memory_table memory = {
    .struct_size = sizeof(tl_memory_table), .release = release, .fill = fill, .copy = copy};
static const tl_transfer_table transfer = {.struct_size = sizeof(tl_transfer_table),
                                           .download = download};
static const tl_indexing_table indexing = {.struct_size = sizeof(tl_indexing_table),
                                           .gather_rows = gather_rows,
                                           .scatter_add_rows = scatter_add_rows};
static const tl_normalization_table normalization = {.struct_size = sizeof(tl_normalization_table),
                                                     .softmax = softmax,
                                                     .layer_norm = layer_norm,
                                                     .layer_norm_bwd = layer_norm_bwd};
static const tl_loss_table losses = {.struct_size = sizeof(tl_loss_table), .loss = loss};
static const tl_fourier_table fourier = {.struct_size = sizeof(tl_fourier_table),
                                         .transform = transform};
static const tl_scan_table scan = {.struct_size = sizeof(tl_scan_table), .backward = scan_backward};
static const tl_convolution_table convolution = {.struct_size = sizeof(tl_convolution_table),
                                                 .forward = convolution_forward,
                                                 .backward = convolution_backward};
static const tl_pooling_table pooling = {.struct_size = sizeof(tl_pooling_table),
                                         .forward = pooling_forward,
                                         .backward = pooling_backward};

static const BackendVTable vtable = {
    .struct_size = sizeof(BackendVTable),
    .magic = TL_BACKEND_MAGIC,
    .abi_version = TL_ABI_VERSION,
    .name = "shapes",
    .version = "0.1.0",
    .library = "",
    .create = create,
    .destroy = destroy,
    .supports = supports,
    .device = &device,
    .memory = &memory,
    .transfer = &transfer,
    .indexing = &indexing,
    .normalization = &normalization,
    .loss = &losses,
    .fourier = &fourier,
    .scan = &scan,
    .convolution = &convolution,
    .pooling = &pooling,
};

const BackendVTable *torchlean_backend_entry(const tl_host *given) {
  host = given;
  return &vtable;
}
