/* Buffers as Lean external objects, failures, and the other classes that cross the boundary. */
#include "object.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What all copies of the shim in a process share, so that one recognises the other's buffers: a
 * program may hold the static shim and load the shared one. */
typedef struct {
  _Atomic(lean_external_class *) buffer_class;
  _Atomic(lean_external_class *) poison_class;
  atomic_uint_fast64_t live;
  atomic_uint_fast64_t peak;
  atomic_uint_fast64_t created;
  atomic_uint_fast64_t finalized;
} SharedState;

static SharedState *shared_state(void) {
  static SharedState own;
  static _Atomic(SharedState *) chosen;
  SharedState *state = atomic_load_explicit(&chosen, memory_order_acquire);
  if (state == NULL) {
    state = tl_binding_state("lean-1", &own);
    atomic_store_explicit(&chosen, state, memory_order_release);
  }
  return state;
}

/* ---- External objects ----------------------------------------------------------------------- */

static void visit_no_children(void *data, b_lean_obj_arg visitor) {
  (void)data;
  (void)visitor;
}

static lean_external_class *registered(_Atomic(lean_external_class *) *place,
                                       void (*finalize)(void *)) {
  lean_external_class *known = atomic_load_explicit(place, memory_order_acquire);
  if (known != NULL) return known;
  /* Of several threads that register at once one wins; Lean keeps the other classes, unused. */
  lean_external_class *fresh = lean_register_external_class(finalize, visit_no_children);
  const bool won = atomic_compare_exchange_strong_explicit(
      place, &known, fresh, memory_order_acq_rel, memory_order_acquire);
  return won ? fresh : known;
}

static lean_object *counted(SharedState *state, lean_external_class *class, void *data) {
  lean_object *object = lean_alloc_external(class, data);
  const uint64_t live = atomic_fetch_add_explicit(&state->live, 1, memory_order_relaxed) + 1;
  uint_fast64_t peak = atomic_load_explicit(&state->peak, memory_order_relaxed);
  while (live > peak &&
         !atomic_compare_exchange_weak_explicit(&state->peak, &peak, live, memory_order_relaxed,
                                                memory_order_relaxed)) {
  }
  atomic_fetch_add_explicit(&state->created, 1, memory_order_relaxed);
  return object;
}

static void count_finalized(SharedState *state) {
  atomic_fetch_sub_explicit(&state->live, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&state->finalized, 1, memory_order_relaxed);
}

static bool is_of_class(b_lean_obj_arg object, _Atomic(lean_external_class *) *place) {
  /* Not registered yet: no object has that class, and NULL is none. */
  return !lean_is_scalar(object) && lean_is_external(object) &&
         lean_get_external_class(object) == atomic_load_explicit(place, memory_order_acquire);
}

/* ---- Buffers -------------------------------------------------------------------------------- */

/* Runs on whichever thread drops the last reference. */
static void finalize_buffer(void *data) {
  tl_buffer_free(data);
  count_finalized(shared_state());
}

lean_obj_res tl_lean_wrap(tl_buffer *buffer) {
  SharedState *state = shared_state();
  return counted(state, registered(&state->buffer_class, finalize_buffer), buffer);
}

tl_buffer *tl_lean_buffer(b_lean_obj_arg object) {
  return is_of_class(object, &shared_state()->buffer_class) ? lean_get_external_data(object) : NULL;
}

bool tl_lean_is_buffer(b_lean_obj_arg object) {
  SharedState *state = shared_state();
  return is_of_class(object, &state->buffer_class) || is_of_class(object, &state->poison_class);
}

tl_lean_wrapper_counts tl_lean_count_wrappers(void) {
  SharedState *state = shared_state();
  tl_lean_wrapper_counts counts;
  counts.live = atomic_load_explicit(&state->live, memory_order_relaxed);
  counts.peak = atomic_load_explicit(&state->peak, memory_order_relaxed);
  counts.created = atomic_load_explicit(&state->created, memory_order_relaxed);
  counts.finalized = atomic_load_explicit(&state->finalized, memory_order_relaxed);
  return counts;
}

/* ---- Failures ------------------------------------------------------------------------------- */

struct tl_lean_failure {
  atomic_uint_fast32_t references;
  tl_status status;
  const char *text;
};

/* For where not even the failure can be allocated. It starts with a reference that nobody drops. */
static tl_lean_failure exhausted = {1, TL_OUT_OF_MEMORY, "host memory is exhausted"};

tl_lean_failure *tl_lean_failure_make(tl_status status, const char *text) {
  const size_t bytes = strlen(text) + 1;
  tl_lean_failure *failure = malloc(sizeof *failure + bytes);
  if (failure == NULL) return tl_lean_failure_share(&exhausted);
  char *copy = (char *)(failure + 1);
  memcpy(copy, text, bytes);
  atomic_init(&failure->references, 1);
  failure->status = status;
  failure->text = copy;
  return failure;
}

tl_status tl_lean_failure_status(const tl_lean_failure *failure) { return failure->status; }

const char *tl_lean_failure_text(const tl_lean_failure *failure) { return failure->text; }

tl_lean_failure *tl_lean_failure_share(tl_lean_failure *failure) {
  atomic_fetch_add_explicit(&failure->references, 1, memory_order_relaxed);
  return failure;
}

void tl_lean_failure_drop(tl_lean_failure *failure) {
  if (atomic_fetch_sub_explicit(&failure->references, 1, memory_order_acq_rel) == 1) free(failure);
}

static void finalize_poison(void *data) {
  tl_lean_failure_drop(data);
  count_finalized(shared_state());
}

lean_obj_res tl_lean_poison(tl_lean_failure *failure) {
  SharedState *state = shared_state();
  return counted(state, registered(&state->poison_class, finalize_poison), failure);
}

tl_lean_failure *tl_lean_poison_of(b_lean_obj_arg object) {
  return is_of_class(object, &shared_state()->poison_class) ? lean_get_external_data(object) : NULL;
}

/* ---- Other classes -------------------------------------------------------------------------- */

bool tl_lean_is_byte_array(b_lean_obj_arg object) {
  return !lean_is_scalar(object) && lean_is_sarray(object) && lean_sarray_elem_size(object) == 1;
}

bool tl_lean_is_float_array(b_lean_obj_arg object) {
  return !lean_is_scalar(object) && lean_is_sarray(object) && lean_sarray_elem_size(object) == 8;
}

enum { format_naturals = 3, format_encoding_offset = format_naturals * sizeof(lean_object *) };

bool tl_lean_read_format(b_lean_obj_arg object, tl_format *out) {
  if (lean_is_scalar(object) || lean_ptr_tag(object) != 0 ||
      lean_ctor_num_objs(object) != format_naturals) {
    return false;
  }
  uint64_t naturals[format_naturals];
  for (unsigned i = 0; i < format_naturals; ++i) {
    lean_object *field = lean_ctor_get(object, i);
    if (!lean_is_scalar(field)) return false;
    naturals[i] = lean_unbox(field);
  }
  out->exponent_bits = naturals[0];
  out->fraction_bits = naturals[1];
  out->exponent_bias = naturals[2];
  out->encoding = lean_ctor_get_uint8(object, format_encoding_offset);
  return true;
}

lean_obj_res tl_lean_make_format(const tl_format *format) {
  lean_object *object = lean_alloc_ctor(0, format_naturals, sizeof(uint8_t));
  /* The limits of a format keep every field a small Nat. */
  lean_ctor_set(object, 0, lean_box(format->exponent_bits));
  lean_ctor_set(object, 1, lean_box(format->fraction_bits));
  lean_ctor_set(object, 2, lean_box(format->exponent_bias));
  lean_ctor_set_uint8(object, format_encoding_offset, format->encoding);
  return object;
}

lean_obj_res tl_lean_make_array(uint32_t width, uint64_t count) {
  const size_t small = 1u << 20; /* below it the question costs more than the answer is worth */
  const size_t header = 64;
  if (count > (PTRDIFF_MAX - header) / width) return NULL;
  const size_t bytes = (size_t)count * width;
  if (bytes > small) {
    void *probe = malloc(bytes + header);
    if (probe == NULL) return NULL;
    free(probe);
  }
  return lean_alloc_sarray(width, (size_t)count, (size_t)count);
}

lean_obj_res tl_lean_pair(lean_obj_arg first, lean_obj_arg second) {
  lean_object *pair = lean_alloc_ctor(0, 2, 0);
  lean_ctor_set(pair, 0, first);
  lean_ctor_set(pair, 1, second);
  return pair;
}

const char *tl_lean_class_name(b_lean_obj_arg object) {
  if (lean_is_scalar(object)) return "a Nat or an enumeration";
  if (tl_lean_is_buffer(object)) return "a Buffer";
  if (tl_lean_is_byte_array(object)) return "a ByteArray";
  if (tl_lean_is_float_array(object)) return "a FloatArray";
  if (lean_is_ctor(object)) return "a structure";
  if (lean_is_array(object)) return "an Array";
  if (lean_is_string(object)) return "a String";
  if (lean_is_mpz(object)) return "a Nat of 2^63 or more";
  if (lean_is_external(object)) return "an external object of another class";
  return "an object of another class";
}
