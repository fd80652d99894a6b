/* How long things live: finalizers on any thread, exact counters, nothing left on Lean's heap. */
#include <pthread.h>
#include <string.h>

#include "lean_process.h"

enum { float32 = TL_FLOAT32 };

typedef struct {
  uint64_t live;
  uint64_t peak;
  uint64_t created;
  uint64_t finalized;
} Counts;

static Counts wrapper_counts(void) {
  return (Counts){torchlean_cuda_wrapper_live_count(0), torchlean_cuda_wrapper_peak_count(0),
                  torchlean_cuda_wrapper_alloc_count(0), torchlean_cuda_wrapper_finalize_count(0)};
}

static void counters_start_at_zero(void) {
  const Counts wrappers = wrapper_counts();
  CHECK_EQUAL(wrappers.live + wrappers.peak + wrappers.created + wrappers.finalized, 0);
  CHECK_EQUAL(torchlean_cuda_allocator_live_bytes(0), 0);
  CHECK_EQUAL(torchlean_cuda_allocator_peak_bytes(0), 0);
  CHECK_EQUAL(torchlean_cuda_allocator_alloc_count(0), 0);
  CHECK_EQUAL(torchlean_cuda_allocator_free_count(0), 0);
}

static void the_last_reference_frees_wrapper_and_payload(void) {
  const Counts before = wrapper_counts();
  const uint64_t bytes = torchlean_cuda_allocator_live_bytes(0);
  const uint64_t retired = torchlean_cuda_allocator_free_count(0);
  lean_object *x = torchlean_cuda_buffer_full(100, 1, float32);
  CHECK_EQUAL(torchlean_cuda_allocator_live_bytes(0), bytes + 400);
  CHECK(torchlean_cuda_allocator_peak_bytes(0) >= bytes + 400);
  lean_inc(x);
  lean_dec(x);
  CHECK_EQUAL(wrapper_counts().live, before.live + 1);
  CHECK_EQUAL(wrapper_counts().finalized, before.finalized);
  lean_dec(x);
  CHECK_EQUAL(wrapper_counts().live, before.live);
  CHECK_EQUAL(wrapper_counts().created, before.created + 1);
  CHECK_EQUAL(wrapper_counts().finalized, before.finalized + 1);
  CHECK_EQUAL(torchlean_cuda_allocator_live_bytes(0), bytes);
  CHECK_EQUAL(torchlean_cuda_allocator_free_count(0), retired + 1);
}

static void released_and_empty_wrappers_count_as_wrappers_only(void) {
  const Counts before = wrapper_counts();
  const uint64_t created = torchlean_cuda_allocator_alloc_count(0);
  lean_object *empty = torchlean_cuda_buffer_zeros(0, float32);
  CHECK_EQUAL(torchlean_cuda_allocator_alloc_count(0), created);
  lean_object *released = torchlean_cuda_buffer_full(10, 1, float32);
  const uint64_t bytes = torchlean_cuda_allocator_live_bytes(0);
  torchlean_cuda_buffer_release_with_token(released, 0);
  CHECK_EQUAL(torchlean_cuda_allocator_live_bytes(0), bytes - 40);
  CHECK_EQUAL(wrapper_counts().live, before.live + 2);
  lean_dec(released);
  lean_dec(empty);
  CHECK_EQUAL(wrapper_counts().live, before.live);
}

static void a_failed_call_counts_nowhere(void) {
  const Counts before = wrapper_counts();
  const uint64_t created = torchlean_cuda_allocator_alloc_count(0);
  take_error(torchlean_cuda_buffer_zeros_io(5, 9));
  const Counts after = wrapper_counts();
  CHECK(memcmp(&before, &after, sizeof before) == 0);
  CHECK_EQUAL(torchlean_cuda_allocator_alloc_count(0), created);
}

static void set_device_is_refused_while_any_wrapper_lives(void) {
  lean_object *x = torchlean_cuda_buffer_full(10, 1, float32);
  const IoError alive = take_error(torchlean_libtorch_set_device(0));
  CHECK_CONTAINS(alive.constructor, "userError");
  torchlean_cuda_buffer_release_with_token(x, 0);
  const IoError released = take_error(torchlean_libtorch_set_device(0));
  CHECK_CONTAINS(released.constructor, "userError");
  lean_dec(x);
  CHECK(take_value(torchlean_libtorch_set_device(0)) == lean_box(0));
  const IoError beyond = take_error(torchlean_libtorch_set_device(1000));
  CHECK_CONTAINS(beyond.constructor, "userError");
  CHECK_CONTAINS(beyond.text, "1000");
}

/* ---- Threads -------------------------------------------------------------------------------- */

void lean_mark_mt(lean_object *object);

static void *drop(void *object) {
  lean_dec(object);
  return NULL;
}

static void another_thread_may_drop_the_last_reference(void) {
  const Counts before = wrapper_counts();
  lean_object *x = torchlean_cuda_buffer_full(100, 1, float32);
  lean_mark_mt(x);
  pthread_t thread;
  CHECK_EQUAL(pthread_create(&thread, NULL, drop, x), 0);
  pthread_join(thread, NULL);
  CHECK_EQUAL(wrapper_counts().live, before.live);
  CHECK_EQUAL(wrapper_counts().finalized, before.finalized + 1);
}

typedef struct {
  lean_object header;
  void *function;
  uint16_t arity;
  uint16_t fixed_count;
  lean_object *fixed[1];
} Closure;

lean_object *lean_task_spawn_core(lean_object *closure, unsigned priority, bool keep_alive);
lean_object *lean_task_get(lean_object *task);

/* What Lean's compiler makes of `fun _ => x.add x`; takes both arguments over. */
static lean_object *double_it(lean_object *x, lean_object *unit) {
  lean_object *sum = torchlean_cuda_buffer_add(x, x);
  lean_dec(x);
  lean_dec(unit);
  return sum;
}

static void a_task_computes_with_buffers_and_drops_them(void) {
  const Counts before = wrapper_counts();
  lean_object *x = torchlean_cuda_buffer_full(3, 1.5, float32);
  Closure *closure = (Closure *)(void *)lean_abi_make(sizeof *closure, 245, 0);
  lean_object *(*function)(lean_object *, lean_object *) = double_it;
  memcpy(&closure->function, &function, sizeof function);
  closure->arity = 2;
  closure->fixed_count = 1;
  closure->fixed[0] = x;
  lean_object *task = lean_task_spawn_core(&closure->header, 0, false);
  double values[3] = {0};
  read_buffer(lean_task_get(task), 3, values);
  CHECK_EQUAL(values[2], 3);
  lean_dec(task);
  CHECK_EQUAL(wrapper_counts().live, before.live);
  CHECK_EQUAL(wrapper_counts().finalized, before.finalized + 2);
}

enum { thread_count = 4, rounds = 2000, held = 3 };

static void *churn(void *shared) {
  for (int round = 0; round < rounds; ++round) {
    lean_object *mine[held];
    for (int i = 0; i < held; ++i) mine[i] = torchlean_cuda_buffer_add(shared, shared);
    for (int i = 0; i < held; ++i) lean_dec(mine[i]);
  }
  return NULL;
}

static void counters_are_exact_under_concurrent_use(void) {
  lean_object *shared = torchlean_cuda_buffer_full(8, 1, float32);
  lean_mark_mt(shared);
  const Counts before = wrapper_counts();
  const uint64_t created = torchlean_cuda_allocator_alloc_count(0);
  const uint64_t retired = torchlean_cuda_allocator_free_count(0);
  const uint64_t bytes = torchlean_cuda_allocator_live_bytes(0);
  pthread_t threads[thread_count];
  for (int i = 0; i < thread_count; ++i) pthread_create(&threads[i], NULL, churn, shared);
  for (int i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
  const Counts after = wrapper_counts();
  const uint64_t total = (uint64_t)thread_count * rounds * held;
  CHECK_EQUAL(after.created, before.created + total);
  CHECK_EQUAL(after.finalized, before.finalized + total);
  CHECK_EQUAL(after.live, before.live);
  CHECK(after.peak >= before.live + held);
  CHECK(after.peak <= before.live + thread_count * held || after.peak == before.peak);
  CHECK_EQUAL(torchlean_cuda_allocator_alloc_count(0), created + total);
  CHECK_EQUAL(torchlean_cuda_allocator_free_count(0), retired + total);
  CHECK_EQUAL(torchlean_cuda_allocator_live_bytes(0), bytes);
  lean_dec(shared);
}

/* ---- Lean's heap ---------------------------------------------------------------------------- */

static void one_of_everything(void) {
  lean_object *x = torchlean_cuda_buffer_full(4, 2, float32);
  lean_dec(torchlean_cuda_buffer_duplicate(x));
  lean_dec(torchlean_cuda_buffer_max_bwd(x, x, x));
  lean_dec(torchlean_cuda_buffer_adam_step(x, x, x, x, 0, 1, 0, 1, 1, 1, 1, 0, -1));
  lean_dec(take_value(torchlean_cuda_buffer_bmm_scaled_io(x, x, 1, 2, 2, 2, 0, 0, 0.5)));
  lean_dec(take_value(torchlean_cuda_buffer_to_bytes_io(x, float32)));
  lean_dec(torchlean_cuda_buffer_to_float_array(x));
  lean_object *dims = make_naturals(2, (size_t[]){2, 2});
  lean_dec(torchlean_cuda_buffer_reduce_sum_axis(x, dims, 1));
  lean_dec(dims);
  lean_object *same = torchlean_cuda_buffer_release_then(x, x);
  lean_dec(same);
  take_error(torchlean_cuda_buffer_to_float_array_io(x)); /* released */
  take_error(torchlean_cuda_buffer_to_bytes_io(lean_box(1), float32));
  take_error(torchlean_cuda_buffer_zeros_io(1, 200));
  lean_object *format = lean_alloc_ctor(0, 3, 1);
  lean_ctor_set(format, 0, lean_box(5));
  lean_ctor_set(format, 1, lean_box(10));
  lean_ctor_set(format, 2, lean_box(15));
  lean_object *bytes = make_bytes(4, "\0\1\2\3");
  lean_object *words = take_value(torchlean_cuda_buffer_of_encoded_io(bytes, format, 2));
  lean_dec(torchlean_cuda_buffer_format(words));
  lean_dec(take_value(torchlean_cuda_buffer_to_encoded_io(words)));
  lean_dec(words);
  lean_dec(bytes);
  lean_dec(format);
  lean_dec(torchlean_libtorch_version(0));
  lean_dec(take_value(torchlean_libtorch_device_name(0)));
  lean_dec(take_value(torchlean_libtorch_device_total_bytes(0)));
  lean_dec(take_value(torchlean_libtorch_get_memory_fraction(0)));
  lean_dec(x);
}

static void no_object_stays_on_leans_heap(void) {
  one_of_everything(); /* what Lean keeps for good, it has now */
  const size_t before = live_lean_blocks();
  for (int i = 0; i < 500; ++i) one_of_everything();
  CHECK_EQUAL(live_lean_blocks(), before);
  CHECK_EQUAL(wrapper_counts().live, 0);
  CHECK_EQUAL(torchlean_cuda_allocator_live_bytes(0), 0);
}

int main(int argc, char **argv) {
  static const Test tests[] = {TEST(counters_start_at_zero),
                               TEST(the_last_reference_frees_wrapper_and_payload),
                               TEST(released_and_empty_wrappers_count_as_wrappers_only),
                               TEST(a_failed_call_counts_nowhere),
                               TEST(set_device_is_refused_while_any_wrapper_lives),
                               TEST(another_thread_may_drop_the_last_reference),
                               TEST(a_task_computes_with_buffers_and_drops_them),
                               TEST(counters_are_exact_under_concurrent_use),
                               TEST(no_object_stays_on_leans_heap),
                               {0}};
  static const Scenario none[] = {{0}};
  return run_tests(argc, argv, tests, none);
}
