/* A small backend on the host that is bad in one way: BAD_KIND says which, and
 * tests/loader/bad_backends_test.cpp lists the kinds with what must come of them.
 *
 * It has upload, download, fill, copy, add and neg. What the preprocessor must decide (no entry, no
 * note, another name) has a macro of its own in CMakeLists.txt. */
#define _POSIX_C_SOURCE 200809L
#include <torchlean/backend.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef BAD_NOTE_ABI
enum { own_abi = TL_ABI_VERSION };
#undef TL_ABI_VERSION
#define TL_ABI_VERSION BAD_NOTE_ABI
#endif
#ifndef BAD_NAME
#define BAD_NAME "bad-" BAD_KIND
#endif
#ifndef BAD_WITHOUT_NOTE
TL_BACKEND_NOTE(BAD_NAME, TL_NOTE_TEST_ONLY, "", "", "");
#endif

static int is(const char *kind) { return strcmp(BAD_KIND, kind) == 0; }

static const tl_host *host;

static tl_status fail(tl_status status, const char *text) {
  host->set_error(text);
  return status;
}

/* Says how many calls there have been. */
static tl_status fail_counted(int *calls, const char *why) {
  char text[80];
  snprintf(text, sizeof text, "%s (call %d)", why, __atomic_add_fetch(calls, 1, __ATOMIC_SEQ_CST));
  return fail(TL_UNAVAILABLE, text);
}

/* What the kinds that throw call; others have no C++ in them. */
#ifdef BAD_THROWS
void throw_on_purpose(void);
#else
static void throw_on_purpose(void) {}
#endif

/* A library whose own teardown at exit pulls the ground from under calls, as many have. */
static volatile int is_torn_down;

static void wait_ms(long ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL); }

static void tear_down(void) {
  is_torn_down = 1;
  wait_ms(50);
}

static void stand_on_the_ground(void) {
  wait_ms(1);
  if (is_torn_down) abort();
}

/* ---- The part that works -------------------------------------------------------------------- */

struct tl_instance {
  int unused;
};

struct tl_storage {
  uint64_t count;
  double values[];
};

static tl_instance the_instance;

static tl_status make(uint64_t count, tl_storage **out) {
  tl_storage *storage = malloc(sizeof *storage + (size_t)count * sizeof(double));
  if (storage == NULL) return fail(TL_OUT_OF_MEMORY, "malloc failed");
  storage->count = count;
  *out = storage;
  return TL_OK;
}

static tl_status count_devices(tl_instance *self, uint32_t *out_count) {
  (void)self;
  *out_count = is("no-devices") ? 0 : 1;
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

static tl_status fill(tl_instance *self, tl_dtype dtype, uint32_t width, uint64_t count,
                      double value, tl_flags flags, tl_storage **out) {
  (void)self, (void)dtype, (void)width, (void)flags;
  if (is("tears-down")) stand_on_the_ground();
  const tl_status status = make(count, out);
  for (uint64_t i = 0; status == TL_OK && i < count; ++i) (*out)->values[i] = value;
  return status;
}

static tl_status copy(tl_instance *self, const tl_operand *x, tl_flags flags, tl_storage **out) {
  (void)self, (void)flags;
  const tl_status status = make(x->count, out);
  if (status == TL_OK) {
    memcpy((*out)->values, x->storage->values, (size_t)x->count * sizeof(double));
  }
  return status;
}

static tl_status upload(tl_instance *self, const void *words, tl_dtype source, tl_dtype dtype,
                        uint32_t width, uint64_t count, tl_flags flags, tl_storage **out) {
  (void)self, (void)dtype, (void)width, (void)flags;
  if (is("upload-fails")) return fail(TL_DEVICE_ERROR, "the bus is on fire");
  if (is("no-result")) return TL_OK;
  const tl_status status = make(count, out);
  for (uint64_t i = 0; status == TL_OK && i < count; ++i) {
    (*out)->values[i] =
        source == TL_FLOAT32 ? (double)((const float *)words)[i] : ((const double *)words)[i];
  }
  return status;
}

static tl_status download(tl_instance *self, const tl_operand *x, tl_dtype target, void *words) {
  (void)self;
  for (uint64_t i = 0; i < x->count; ++i) {
    if (target == TL_FLOAT32) {
      ((float *)words)[i] = (float)x->storage->values[i];
    } else {
      ((double *)words)[i] = x->storage->values[i];
    }
  }
  return TL_OK;
}

static tl_status unary(tl_instance *self, tl_unary_op op, const tl_operand *x,
                       const tl_scalars *scalars, tl_flags flags, tl_storage **out) {
  (void)scalars;
  if (op != TL_UNARY_NEG) return fail(TL_UNSUPPORTED, "it has no such operation");
  if (is("device-lost")) return fail(TL_DEVICE_LOST, "the device has fallen off the bus");
  if (is("fills-on-failure")) {
    *out = (tl_storage *)(uintptr_t)0x51;
    return fail(TL_DEVICE_ERROR, "failed after writing its output");
  }
  const tl_status status = copy(self, x, flags, out);
  for (uint64_t i = 0; status == TL_OK && i < x->count; ++i) {
    (*out)->values[i] = -(*out)->values[i];
  }
  return status;
}

static tl_status binary(tl_instance *self, tl_binary_op op, const tl_operand *a,
                        const tl_operand *b, const tl_scalars *scalars, tl_flags flags,
                        tl_storage **out) {
  (void)scalars;
  if (op != TL_BINARY_ADD) return fail(TL_UNSUPPORTED, "it has no such operation");
  if (is("self-test-fills-on-failure")) {
    *out = (tl_storage *)(uintptr_t)0x51;
    return fail(TL_DEVICE_ERROR, "failed after writing its output");
  }
  const tl_status status = copy(self, a, flags, out);
  for (uint64_t i = 0; status == TL_OK && i < a->count; ++i) {
    (*out)->values[i] += b->storage->values[i] + (is("wrong-sum") ? 1.0 : 0.0);
  }
  return status;
}

/* ---- Life cycle ----------------------------------------------------------------------------- */

static tl_status supports(tl_instance *self, tl_operation operation, tl_dtype dtype) {
  (void)self;
  if (dtype == TL_ENCODED) return TL_UNSUPPORTED;
  switch (operation) {
    case TL_OP_zeros:
    case TL_OP_full:
    case TL_OP_copy:
    case TL_OP_upload:
    case TL_OP_download:
    case TL_OP_neg:
    case TL_OP_add: return TL_OK;
    case TL_OP_exp: return is("claims-exp") ? TL_OK : TL_UNSUPPORTED;
    default: return TL_UNSUPPORTED;
  }
}

static tl_status create(const tl_create_options *options, tl_instance **out) {
  (void)options;
  if (is("create-fails")) return fail(TL_OUT_OF_MEMORY, "no memory for a context");
  if (is("create-fails-silently")) return TL_DEVICE_ERROR;
  if (is("create-fails-with-instance")) {
    *out = (tl_instance *)(uintptr_t)0x51;
    return fail(TL_DEVICE_ERROR, "failed after writing its instance");
  }
  if (is("create-fails-slowly")) {
    static int calls;
    wait_ms(100);
    return fail_counted(&calls, "no device");
  }
  if (is("create-lies")) return TL_OK;
  if (is("create-throws")) throw_on_purpose();
  if (is("create-traps")) __builtin_trap();
  if (is("create-exits")) exit(0);
  if (is("create-hangs")) {
    for (;;) pause();
  }
  if (is("slow")) wait_ms(300);
  if (is("prints")) puts("create says hello");
  *out = &the_instance;
  return TL_OK;
}

static void destroy(tl_instance *self) {
  if (self != &the_instance) abort();
}

/* ---- The table, and what is wrong with it --------------------------------------------------- */

static tl_device_table device = {
    .struct_size = sizeof device, .count = count_devices, .synchronize = synchronize};
static tl_memory_table memory = {
    .struct_size = sizeof memory, .release = release, .fill = fill, .copy = copy};
static const tl_transfer_table transfer = {
    .struct_size = sizeof transfer, .upload = upload, .download = download};
static const tl_elementwise_table elementwise = {
    .struct_size = sizeof elementwise, .unary = unary, .binary = binary};

/* Larger than the core's: what a backend of a later version would hand over. */
static struct {
  BackendVTable known;
  const void *later[8];
} table;

static void fill_table(BackendVTable *made) {
  made->struct_size = sizeof *made;
  made->magic = is("wrong-magic") ? 0xDEADBEEFu : TL_BACKEND_MAGIC;
#ifdef BAD_NOTE_ABI
  made->abi_version = own_abi;
#else
  made->abi_version = is("table-other-abi") ? 1000 : TL_ABI_VERSION;
#endif
  made->name = is("other-name") ? "somebody-else" : BAD_NAME;
  made->version = "1.0";
  made->library = "";
  made->create = is("no-create") ? NULL : create;
  made->destroy = destroy;
  made->supports = supports;
  made->device = is("no-device") ? NULL : &device;
  made->memory = &memory;
  made->transfer = is("claims-upload") ? NULL : &transfer;
  made->elementwise = &elementwise;
  if (is("size-tiny")) made->struct_size = 8;
  if (is("size-huge")) made->struct_size = SIZE_MAX;
  if (is("size-odd")) made->struct_size -= 3;
  if (is("size-smaller")) made->struct_size = offsetof(BackendVTable, optimizer);
  if (is("size-larger")) made->struct_size = sizeof table;
  if (is("sub-table-garbage")) memory.struct_size = 3;
  if (is("no-synchronize")) device.synchronize = NULL;
}

#ifdef BAD_MISSING_SYMBOL
void torchlean_symbol_that_nobody_has(void);
#endif

#ifdef BAD_OLD_ENTRY
__asm__(".symver torchlean_backend_entry, torchlean_backend_entry@OLD_1, remove");
#endif

const BackendVTable *torchlean_backend_entry(const tl_host *given) {
  host = given;
  if (is("entry-aborts")) abort();
  if (is("entry-throws")) throw_on_purpose();
  if (is("null-silent")) return NULL;
  if (is("null-with-reason")) {
    static int calls;
    fail_counted(&calls, "no licence for this machine");
    return NULL;
  }
#ifdef BAD_MISSING_SYMBOL
  torchlean_symbol_that_nobody_has();
#endif
  if (is("prints")) puts("the entry says hello");
  if (is("tears-down")) {
    atexit(tear_down);
    at_quick_exit(tear_down);
  }
  fill_table(&table.known);
  return &table.known;
}
