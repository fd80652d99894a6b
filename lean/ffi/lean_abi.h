/* Lean's object layout and calls, as far as the shim needs them, for builds without a Lean
 * toolchain.
 *
 * Where the toolchain's own <lean/lean.h> is at hand it decides; TORCHLEAN_OWN_LEAN_ABI forces this
 * file. The functions carry lean.h's names and contracts, so that the shim compiles against either.
 * Layout and rules: objects of Lean 4, 64-bit; IO results as Lean 4.26 and later pass them,
 * readable by older ones too.
 */
#ifndef TORCHLEAN_LEAN_ABI_H
#define TORCHLEAN_LEAN_ABI_H

#if !defined(TORCHLEAN_OWN_LEAN_ABI) && defined(__has_include)
#if __has_include(<lean/lean.h>)
#define TORCHLEAN_HAS_LEAN_H
#endif
#endif

#ifdef TORCHLEAN_HAS_LEAN_H
#include <lean/lean.h>
#else

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LEAN_EXPORT __attribute__((visibility("default")))

typedef struct lean_object {
  int32_t count; /* > 0: one thread's; < 0: shared, counts away from 0; 0: never counted */
  uint16_t size; /* the allocator's */
  uint8_t other; /* constructor: number of object fields; scalar array: bytes per element */
  uint8_t tag;
} lean_object;

typedef lean_object *lean_obj_arg;   /* owned: the callee releases it */
typedef lean_object *b_lean_obj_arg; /* borrowed */
typedef lean_object *lean_obj_res;   /* owned by the caller */

enum {
  lean_abi_max_constructor = 243,
  lean_abi_array = 246,
  lean_abi_scalar_array = 248,
  lean_abi_string = 249,
  lean_abi_big_number = 250,
  lean_abi_external = 254
};

typedef struct {
  lean_object header;
  size_t size;
  size_t capacity;
  lean_object *elements[];
} lean_abi_array_object;

typedef struct {
  lean_object header;
  size_t size;
  size_t capacity;
  uint8_t data[];
} lean_abi_scalar_array_object;

typedef struct {
  lean_object header;
  size_t size; /* in bytes, with the terminating 0 */
  size_t capacity;
  size_t length;
  char text[];
} lean_abi_string_object;

typedef struct lean_external_class lean_external_class;

typedef struct {
  lean_object header;
  lean_external_class *external_class;
  void *data;
} lean_abi_external_object;

/* ---- Lean's own functions ------------------------------------------------------------------- */

lean_object *lean_alloc_object(size_t bytes);
void lean_dec_ref_cold(lean_object *object);
lean_object *lean_mk_string(const char *text);
lean_object *lean_mk_io_user_error(lean_object *text);
lean_object *lean_mk_io_error_other_error(uint32_t code, lean_object *details);
lean_object *lean_mk_io_error_resource_exhausted(uint32_t code, lean_object *details);
__attribute__((noreturn)) void lean_internal_panic(const char *message);
lean_external_class *lean_register_external_class(void (*finalize)(void *),
                                                  void (*foreach)(void *, b_lean_obj_arg));

/* ---- For the thread sanitizer ------------------------------------------------------------------
 * Lean's library is not instrumented: the sanitizer sees neither the atomic counts that order one
 * thread's last use of an object before another's freeing it, nor the allocator that hands its
 * memory to a third. These two say so. */

#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *address);
void __tsan_release(void *address);

/* Before a reference is dropped: our use of the object comes before whatever follows, and if it is
 * the last reference, everybody's did. */
static inline void lean_abi_dropping(lean_object *object) {
  __tsan_release(object);
  __tsan_acquire(object);
}
static inline void lean_abi_allocated(lean_object *object) { __tsan_acquire(object); }
#else
static inline void lean_abi_dropping(lean_object *object) { (void)object; }
static inline void lean_abi_allocated(lean_object *object) { (void)object; }
#endif

/* ---- Scalars and counting ------------------------------------------------------------------- */

static inline bool lean_is_scalar(lean_object *object) { return ((uintptr_t)object & 1) != 0; }

static inline lean_object *lean_box(size_t value) { return (lean_object *)((value << 1) | 1); }

static inline size_t lean_unbox(lean_object *object) { return (uintptr_t)object >> 1; }

static inline void lean_inc(lean_object *object) {
  if (lean_is_scalar(object)) return;
  const int32_t count = __atomic_load_n(&object->count, __ATOMIC_RELAXED);
  if (count > 0) {
    object->count = count + 1;
  } else if (count != 0 && count > INT_MIN + 0x10000000) { /* near the limit it stays for ever */
    __atomic_fetch_sub(&object->count, 1, __ATOMIC_RELAXED);
  }
}

static inline void lean_dec(lean_object *object) {
  if (lean_is_scalar(object)) return;
  const int32_t count = __atomic_load_n(&object->count, __ATOMIC_RELAXED);
  if (count > 1) {
    object->count = count - 1;
  } else if (count != 0) {
    lean_abi_dropping(object);
    lean_dec_ref_cold(object);
  }
}

/* ---- Classes of objects --------------------------------------------------------------------- */

static inline unsigned lean_ptr_tag(lean_object *object) { return object->tag; }

static inline bool lean_is_ctor(lean_object *object) {
  return object->tag <= lean_abi_max_constructor;
}
static inline bool lean_is_array(lean_object *object) { return object->tag == lean_abi_array; }
static inline bool lean_is_sarray(lean_object *object) {
  return object->tag == lean_abi_scalar_array;
}
static inline bool lean_is_string(lean_object *object) { return object->tag == lean_abi_string; }
static inline bool lean_is_mpz(lean_object *object) { return object->tag == lean_abi_big_number; }
static inline bool lean_is_external(lean_object *object) {
  return object->tag == lean_abi_external;
}

/* Lean's allocator keeps the size in the header; the other members are the caller's to set. */
static inline lean_object *lean_abi_make(size_t bytes, unsigned tag, unsigned other) {
  lean_object *object = lean_alloc_object(bytes);
  lean_abi_allocated(object);
  object->count = 1;
  object->tag = (uint8_t)tag;
  object->other = (uint8_t)other;
  return object;
}

/* ---- Constructors --------------------------------------------------------------------------- */

static inline unsigned lean_ctor_num_objs(lean_object *object) { return object->other; }

static inline lean_object **lean_ctor_obj_cptr(lean_object *object) {
  return (lean_object **)(void *)(object + 1);
}

static inline lean_object *lean_ctor_get(b_lean_obj_arg object, unsigned index) {
  return lean_ctor_obj_cptr(object)[index];
}

static inline void lean_ctor_set(b_lean_obj_arg object, unsigned index, lean_obj_arg value) {
  lean_ctor_obj_cptr(object)[index] = value;
}

/* Offsets of scalars count from the first object field. */
static inline uint8_t lean_ctor_get_uint8(b_lean_obj_arg object, unsigned offset) {
  return ((uint8_t *)(object + 1))[offset];
}

static inline void lean_ctor_set_uint8(b_lean_obj_arg object, unsigned offset, uint8_t value) {
  ((uint8_t *)(object + 1))[offset] = value;
}

static inline lean_object *lean_alloc_ctor(unsigned tag, unsigned objects, unsigned scalar_bytes) {
  const size_t scalars = ((size_t)scalar_bytes + 7) / 8 * 8;
  const size_t fields = sizeof(lean_object) + objects * sizeof(lean_object *);
  lean_object *object = lean_abi_make(fields + scalars, tag, objects);
  memset((char *)object + fields, 0, scalars); /* Lean compares whole words */
  return object;
}

/* Small numbers inside pairs and IO results. */
static inline lean_obj_res lean_box_uint32(uint32_t value) { return lean_box(value); }

static inline lean_obj_res lean_box_uint64(uint64_t value) {
  lean_object *object = lean_alloc_ctor(0, 0, sizeof value);
  memcpy(object + 1, &value, sizeof value);
  return object;
}

static inline lean_obj_res lean_box_float(double value) {
  lean_object *object = lean_alloc_ctor(0, 0, sizeof value);
  memcpy(object + 1, &value, sizeof value);
  return object;
}

/* ---- Arrays, strings, externals ------------------------------------------------------------- */

static inline size_t lean_array_size(b_lean_obj_arg array) {
  return ((lean_abi_array_object *)(void *)array)->size;
}

static inline lean_object *lean_array_get_core(b_lean_obj_arg array, size_t index) {
  return ((lean_abi_array_object *)(void *)array)->elements[index];
}

static inline lean_obj_res lean_alloc_sarray(unsigned width, size_t size, size_t capacity) {
  lean_abi_scalar_array_object *array = (lean_abi_scalar_array_object *)(void *)lean_abi_make(
      sizeof *array + width * capacity, lean_abi_scalar_array, width);
  array->size = size;
  array->capacity = capacity;
  return &array->header;
}

static inline unsigned lean_sarray_elem_size(lean_object *array) { return array->other & 0x7f; }

static inline size_t lean_sarray_size(b_lean_obj_arg array) {
  return ((lean_abi_scalar_array_object *)(void *)array)->size;
}

static inline uint8_t *lean_sarray_cptr(lean_object *array) {
  return ((lean_abi_scalar_array_object *)(void *)array)->data;
}

static inline const char *lean_string_cstr(b_lean_obj_arg string) {
  return ((lean_abi_string_object *)(void *)string)->text;
}

static inline lean_object *lean_alloc_external(lean_external_class *external_class, void *data) {
  lean_abi_external_object *external =
      (lean_abi_external_object *)(void *)lean_abi_make(sizeof *external, lean_abi_external, 0);
  external->external_class = external_class;
  external->data = data;
  return &external->header;
}

static inline lean_external_class *lean_get_external_class(lean_object *external) {
  return ((lean_abi_external_object *)(void *)external)->external_class;
}

static inline void *lean_get_external_data(lean_object *external) {
  return ((lean_abi_external_object *)(void *)external)->data;
}

/* ---- IO results ----------------------------------------------------------------------------- */

/* Two fields serve every toolchain: older ones expect the second, newer ones look at the first
 * alone. */
static inline lean_obj_res lean_abi_io_result(unsigned tag, lean_obj_arg value) {
  lean_object *result = lean_alloc_ctor(tag, 2, 0);
  lean_ctor_set(result, 0, value);
  lean_ctor_set(result, 1, lean_box(0));
  return result;
}

static inline lean_obj_res lean_io_result_mk_ok(lean_obj_arg value) {
  return lean_abi_io_result(0, value);
}

static inline lean_obj_res lean_io_result_mk_error(lean_obj_arg error) {
  return lean_abi_io_result(1, error);
}

#ifdef __cplusplus
}
#endif

#endif /* TORCHLEAN_HAS_LEAN_H */
#endif /* TORCHLEAN_LEAN_ABI_H */
