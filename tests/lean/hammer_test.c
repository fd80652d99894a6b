/* Eight Lean tasks on one backend, releases and errors mixed in: nothing crashes, and at the end
 * every counter is what the tasks themselves counted. Half a second in sanitizer builds, five
 * seconds otherwise, ten with TL_TEST_LONG=1. */
#define _POSIX_C_SOURCE 200809L
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lean_process.h"

enum { task_count = 8, elements = 64, shared_count = 4, dedicated_thread = 9 };

static double seconds_to_run(void) {
#ifdef __SANITIZE_THREAD__
  return 0.5;
#else
  const char *set = getenv("TL_TEST_LONG");
  return set != NULL && strcmp(set, "1") == 0 ? 10 : 5;
#endif
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* What the tasks did, all together. */
static atomic_uint_fast64_t wrappers;
static atomic_uint_fast64_t payloads;
static atomic_uint_fast64_t errors;
static atomic_uint_fast64_t rounds;
static double deadline;

static void count_buffers(uint64_t number) {
  atomic_fetch_add_explicit(&wrappers, number, memory_order_relaxed);
  atomic_fetch_add_explicit(&payloads, number, memory_order_relaxed);
}

static void expect_error(lean_object *result) {
  const bool is_error = lean_ptr_tag(result) == 1;
  lean_dec(result);
  if (!is_error) abort();
  atomic_fetch_add_explicit(&errors, 1, memory_order_relaxed);
}

static lean_object *value_of(lean_object *result) {
  if (lean_ptr_tag(result) != 0) abort();
  lean_object *value = lean_ctor_get(result, 0);
  lean_inc(value);
  lean_dec(result);
  return value;
}

/* Both halves of a pair, owned; takes the pair over. */
static void open_pair(lean_object *pair, lean_object **first, lean_object **second) {
  *first = lean_ctor_get(pair, 0);
  *second = lean_ctor_get(pair, 1);
  lean_inc(*first);
  lean_inc(*second);
  lean_dec(pair);
}

/* One round: buffers that all tasks read, buffers of its own, tuples, releases, errors. */
static void work(lean_object *shared, uint64_t round) {
  lean_object *x = lean_array_get_core(shared, round % shared_count);
  lean_object *y = lean_array_get_core(shared, (round / shared_count) % shared_count);
  lean_object *sum = torchlean_cuda_buffer_add(x, y);
  lean_object *fresh = value_of(torchlean_cuda_buffer_full_io(elements, 2, TL_FLOAT32));
  lean_object *product = torchlean_cuda_buffer_mul(sum, fresh);
  count_buffers(3);

  lean_object *d_sum = NULL;
  lean_object *d_fresh = NULL;
  open_pair(torchlean_cuda_buffer_max_bwd(sum, fresh, product), &d_sum, &d_fresh);
  count_buffers(2);
  if (round % 3 == 0) {
    if (torchlean_cuda_buffer_release_with_token(d_sum, (uint32_t)round) != 1) abort();
    if (torchlean_cuda_buffer_release_with_token(d_sum, 0) != 0) abort();
    expect_error(torchlean_cuda_buffer_to_float_array_io(d_sum)); /* released */
  }
  if (round % 5 == 0) {
    expect_error(torchlean_cuda_buffer_zeros_io(3, 7));
    expect_error(torchlean_cuda_buffer_to_bytes_io(shared, TL_FLOAT32)); /* an Array */
  }
  lean_object *kept = torchlean_cuda_buffer_release_then(d_fresh, product); /* no new wrapper */
  lean_object *floats = value_of(torchlean_cuda_buffer_to_float_array_io(kept));
  if (lean_sarray_size(floats) != elements) abort();
  lean_object *objects[] = {floats, kept, d_fresh, d_sum, product, fresh, sum};
  drop_all(7, objects);
  atomic_fetch_add_explicit(&rounds, 1, memory_order_relaxed);
}

/* What Lean's compiler makes of `fun _ => loop shared`; takes both arguments over. */
static lean_object *loop(lean_object *shared, lean_object *unit) {
  for (uint64_t round = 0; round % 16 != 0 || now() < deadline; ++round) work(shared, round);
  lean_dec(shared);
  return unit;
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
void lean_mark_mt(lean_object *object);

static lean_object *spawn(lean_object *shared) {
  Closure *closure = (Closure *)(void *)lean_abi_make(sizeof *closure, 245, 0);
  lean_object *(*function)(lean_object *, lean_object *) = loop;
  memcpy(&closure->function, &function, sizeof function);
  closure->arity = 2;
  closure->fixed_count = 1;
  closure->fixed[0] = shared;
  return lean_task_spawn_core(&closure->header, dedicated_thread, false);
}

static void eight_tasks_leave_exact_counters(void) {
  lean_object *members[shared_count];
  for (int i = 0; i < shared_count; ++i) {
    members[i] = value_of(torchlean_cuda_buffer_full_io(elements, i, TL_FLOAT32));
  }
  lean_object *shared = make_array(shared_count, members);
  lean_mark_mt(shared);
  const uint64_t made = torchlean_cuda_wrapper_alloc_count(0);
  const uint64_t gone = torchlean_cuda_wrapper_finalize_count(0);
  const uint64_t created = torchlean_cuda_allocator_alloc_count(0);
  const uint64_t retired = torchlean_cuda_allocator_free_count(0);
  const uint64_t bytes = torchlean_cuda_allocator_live_bytes(0);

  deadline = now() + seconds_to_run();
  lean_object *tasks[task_count];
  for (int i = 0; i < task_count; ++i) {
    lean_inc(shared);
    tasks[i] = spawn(shared);
  }
  for (int i = 0; i < task_count; ++i) {
    lean_task_get(tasks[i]);
    lean_dec(tasks[i]);
  }

  printf("%g rounds, %g buffers, %g errors\n", (double)rounds, (double)wrappers, (double)errors);
  CHECK(rounds >= task_count);
  CHECK(errors > 0);
  CHECK_EQUAL(torchlean_cuda_wrapper_live_count(0), shared_count);
  CHECK_EQUAL(torchlean_cuda_wrapper_alloc_count(0), made + wrappers);
  CHECK_EQUAL(torchlean_cuda_wrapper_finalize_count(0), gone + wrappers);
  CHECK_EQUAL(torchlean_cuda_allocator_alloc_count(0), created + payloads);
  CHECK_EQUAL(torchlean_cuda_allocator_free_count(0), retired + payloads);
  CHECK_EQUAL(torchlean_cuda_allocator_live_bytes(0), bytes);
  lean_dec(shared);
  CHECK_EQUAL(torchlean_cuda_wrapper_live_count(0), 0);
  CHECK_EQUAL(torchlean_cuda_allocator_live_bytes(0), 0);
}

int main(int argc, char **argv) {
  static const Test tests[] = {TEST(eight_tasks_leave_exact_counters), {0}};
  static const Scenario none[] = {{0}};
  return run_tests(argc, argv, tests, none);
}
