/* Wrong on purpose: opens the reference backend and hands out its table with sub computing b - a.
 */
#include <torchlean/backend.h>

#include <dlfcn.h>

TL_BACKEND_NOTE("wrong", TL_NOTE_CXX_RUNTIME | TL_NOTE_TEST_ONLY, "", "", "");

static BackendVTable vtable;
static tl_elementwise_table elementwise;
static const tl_elementwise_table *right;

static tl_status binary(tl_instance *instance, tl_binary_op op, const tl_operand *a,
                        const tl_operand *b, const tl_scalars *scalars, tl_flags flags,
                        tl_storage **out) {
  if (op == TL_BINARY_SUB) return right->binary(instance, op, b, a, scalars, flags, out);
  return right->binary(instance, op, a, b, scalars, flags, out);
}

const BackendVTable *torchlean_backend_entry(const tl_host *host) {
  void *file = dlopen(REFERENCE, RTLD_NOW | RTLD_LOCAL);
  tl_backend_entry_fn entry = NULL;
  /* ISO C has no conversion from an object pointer to a function pointer. */
  if (file != NULL) *(void **)&entry = dlsym(file, "torchlean_backend_entry");
  if (entry == NULL) {
    host->set_error("wrong: cannot open " REFERENCE);
    return NULL;
  }
  const BackendVTable *reference = entry(host);
  if (reference == NULL) return NULL;
  right = reference->elementwise;
  elementwise = *right;
  elementwise.binary = binary;
  vtable = *reference;
  vtable.name = "wrong";
  vtable.elementwise = &elementwise;
  return &vtable;
}
