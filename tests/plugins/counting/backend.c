/* A backend that computes nothing, logs each call with its arguments, and fails on demand; what
 * tests can do with it: counting.h. */
#include <inttypes.h>
#include <string.h>

#include "log.h"

TL_BACKEND_NOTE("counting", TL_NOTE_TEST_ONLY, "", "", "");

struct tl_instance {
  int unused;
};

static tl_instance the_instance;

/* ---- Device: every figure is another number ------------------------------------------------- */

static tl_status count(tl_instance *self, uint32_t *out_count) {
  (void)self;
  *out_count = 3;
  return TL_OK;
}

static tl_status select_device(tl_instance *self, uint32_t index) {
  (void)self;
  begin_with("device.select", index);
  return end(NULL, 0);
}

static tl_status properties(tl_instance *self, uint32_t index, tl_device_properties *out) {
  (void)self;
  begin_with("device.properties", index);
  const tl_device_properties all = {.struct_size = out->struct_size,
                                    .name = "abacus",
                                    .capability = 75,
                                    .multiprocessor_count = 11,
                                    .clock_khz = 12,
                                    .memory_clock_khz = 13,
                                    .memory_bus_width = 14,
                                    .total_bytes = 15};
  if (out->struct_size == sizeof all) *out = all;
  return end(NULL, 0);
}

static tl_status memory_info(tl_instance *self, tl_memory_info *out) {
  (void)self;
  begin("device.memory_info");
  const tl_memory_info all = {.struct_size = out->struct_size,
                              .allocated_bytes = 21,
                              .reserved_bytes = 22,
                              .peak_allocated_bytes = 23,
                              .peak_reserved_bytes = 24,
                              .device_free_bytes = 25,
                              .device_total_bytes = 26};
  if (out->struct_size == sizeof all) *out = all;
  return end(NULL, 0);
}

static tl_status synchronize(tl_instance *self) {
  (void)self;
  begin("device.synchronize");
  return end(NULL, 0);
}

static tl_status empty_cache(tl_instance *self) {
  (void)self;
  begin("device.empty_cache");
  return end(NULL, 0);
}

static tl_status set_setting(tl_instance *self, tl_setting setting, uint32_t value) {
  (void)self;
  begin_with("device.set_setting", setting);
  say_number(value);
  return end(NULL, 0);
}

static tl_status set_memory_fraction(tl_instance *self, double fraction) {
  (void)self;
  begin("device.set_memory_fraction");
  say(" %g", fraction);
  return end(NULL, 0);
}

static tl_status versions(tl_instance *self, uint32_t *out_driver, uint32_t *out_runtime) {
  (void)self;
  begin("device.versions");
  *out_driver = 31;
  *out_runtime = 32;
  return end(NULL, 0);
}

/* ---- Memory, transfer ----------------------------------------------------------------------- */

static void release(tl_instance *self, tl_storage *storage) {
  (void)self;
  forget(storage);
}

static tl_status fill(tl_instance *self, tl_dtype dtype, uint32_t width, uint64_t n, double value,
                      tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin_with("memory.fill", dtype);
  say(" %" PRIu32 " %" PRIu64 " %g", width, n, value);
  return end(out, 1);
}

static tl_status copy(tl_instance *self, const tl_operand *x, tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin("memory.copy");
  say_operand(x);
  return end(out, 1);
}

static tl_status upload(tl_instance *self, const void *words, tl_dtype source, tl_dtype dtype,
                        uint32_t width, uint64_t n, tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  begin_with("transfer.upload", source);
  say(" %" PRIu32 " %" PRIu32, dtype, width);
  say_words(words, source, width, n);
  return end(out, 1);
}

static tl_status download(tl_instance *self, const tl_operand *x, tl_dtype target, void *words) {
  (void)self;
  begin("transfer.download");
  say_operand(x);
  say_number(target);
  for (uint64_t i = 0; i < x->count; ++i) {
    if (target == TL_FLOAT32) {
      ((float *)words)[i] = (float)x->storage->number;
    } else if (target == TL_FLOAT64) {
      ((double *)words)[i] = (double)x->storage->number;
    } else {
      memset((unsigned char *)words + i * x->width, 0, x->width);
      memcpy((unsigned char *)words + i * x->width, &x->storage->number, 1);
    }
  }
  return end(NULL, 0);
}

/* ---- The table ------------------------------------------------------------------------------ */

static tl_status create(const tl_create_options *options, tl_instance **out) {
  (void)options;
  *out = &the_instance;
  return TL_OK;
}

static void destroy(tl_instance *self) { (void)self; }

/* It claims nothing, so that the core's self-test has nothing to check. */
static tl_status supports(tl_instance *self, tl_operation operation, tl_dtype dtype) {
  (void)self, (void)operation, (void)dtype;
  return TL_UNSUPPORTED;
}

static const tl_device_table device = {.struct_size = sizeof device,
                                       .count = count,
                                       .select = select_device,
                                       .properties = properties,
                                       .memory_info = memory_info,
                                       .synchronize = synchronize,
                                       .empty_cache = empty_cache,
                                       .set_setting = set_setting,
                                       .set_memory_fraction = set_memory_fraction,
                                       .versions = versions};
static const tl_memory_table memory = {
    .struct_size = sizeof memory, .release = release, .fill = fill, .copy = copy};
static const tl_transfer_table transfer = {
    .struct_size = sizeof transfer, .upload = upload, .download = download};

static const counting_table tables = {.table = {.struct_size = sizeof(BackendVTable),
                                                .magic = TL_BACKEND_MAGIC,
                                                .abi_version = TL_ABI_VERSION,
                                                .name = "counting",
                                                .version = "0.1.0",
                                                .library = "an abacus",
                                                .create = create,
                                                .destroy = destroy,
                                                .supports = supports,
                                                .device = &device,
                                                .memory = &memory,
                                                .transfer = &transfer,
                                                .random = &random_table,
                                                .elementwise = &elementwise_table,
                                                .optimizer = &optimizer_table,
                                                .reduction = &reduction_table,
                                                .view = &view_table,
                                                .indexing = &indexing_table,
                                                .matmul = &matmul_table,
                                                .normalization = &normalization_table,
                                                .loss = &loss_table,
                                                .fourier = &fourier_table,
                                                .scan = &scan_table,
                                                .convolution = &convolution_table,
                                                .pooling = &pooling_table},
                                      .log = read_log,
                                      .reset = reset,
                                      .fail_next = fail_next,
                                      .live_storages = live_storages};

/* The core asks first; a test that asks for the same tables leaves the core's services in place. */
const BackendVTable *torchlean_backend_entry(const tl_host *services) {
  if (host == NULL) host = services;
  return &tables.table;
}
