/* A backend that does nothing, in C: what remains of a call is the core's own cost.
 *
 * Every result is one and the same storage; a download leaves zeros. It claims no operation, so the
 * self-test has nothing to check. */
#include <torchlean/backend.h>

#include <string.h>

TL_BACKEND_NOTE("nothing", TL_NOTE_TEST_ONLY, "", "", "");

struct tl_instance {
  int unused;
};

struct tl_storage {
  int unused;
};

static tl_instance the_instance;
static tl_storage the_storage;

static tl_status give(tl_storage **out) {
  *out = &the_storage;
  return TL_OK;
}

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
  (void)storage;
}

static tl_status fill(tl_instance *self, tl_dtype dtype, uint32_t width, uint64_t n, double value,
                      tl_flags flags, tl_storage **out) {
  (void)self, (void)dtype, (void)width, (void)n, (void)value, (void)flags;
  return give(out);
}

static tl_status copy(tl_instance *self, const tl_operand *x, tl_flags flags, tl_storage **out) {
  (void)self, (void)x, (void)flags;
  return give(out);
}

static tl_status download(tl_instance *self, const tl_operand *x, tl_dtype target, void *words) {
  (void)self;
  memset(words, 0, (size_t)x->count * (target == TL_FLOAT32 ? 4 : 8));
  return TL_OK;
}

static tl_status unary(tl_instance *self, tl_unary_op op, const tl_operand *x,
                       const tl_scalars *scalars, tl_flags flags, tl_storage **out) {
  (void)self, (void)op, (void)x, (void)scalars, (void)flags;
  return give(out);
}

static tl_status binary(tl_instance *self, tl_binary_op op, const tl_operand *a,
                        const tl_operand *b, const tl_scalars *scalars, tl_flags flags,
                        tl_storage **out) {
  (void)self, (void)op, (void)a, (void)b, (void)scalars, (void)flags;
  return give(out);
}

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
static const tl_elementwise_table elementwise = {
    .struct_size = sizeof(tl_elementwise_table), .unary = unary, .binary = binary};

static const BackendVTable vtable = {
    .struct_size = sizeof(BackendVTable),
    .magic = TL_BACKEND_MAGIC,
    .abi_version = TL_ABI_VERSION,
    .name = "nothing",
    .version = "0.1.0",
    .library = "",
    .create = create,
    .destroy = destroy,
    .supports = supports,
    .device = &device,
    .memory = &memory,
    .transfer = &transfer,
    .elementwise = &elementwise,
};

const BackendVTable *torchlean_backend_entry(const tl_host *host) {
  (void)host;
  return &vtable;
}
