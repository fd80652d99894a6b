/* What the Lean shim costs: one addition through its symbol, the result made and dropped, against
 * the same addition through runtime.h plus a bare Lean external made and dropped, in one run, on a
 * backend that does nothing. The best of many short batches of each, taken in turn.
 *
 *   shim_cost [--limit NANOSECONDS]      exit code 1 where the shim costs more
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <torchlean/runtime.h>

#include "symbols.h"

enum { batches = 400, calls = 2000 };

void lean_initialize_runtime_module(void);
void lean_io_mark_end_initialization(void);

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void ignore_data(void *data) { (void)data; }

static void ignore_children(void *data, lean_object *visitor) {
  (void)data;
  (void)visitor;
}

static lean_object *wrapped;
static tl_buffer *plain;
static lean_external_class *bare_class;

static void through_the_shim(void) { lean_dec(torchlean_cuda_buffer_add(wrapped, wrapped)); }

static void through_runtime_h(void) {
  tl_buffer *sum = NULL;
  if (tl_binary(TL_BINARY_ADD, plain, plain, &sum) != TL_OK) abort();
  tl_buffer_free(sum);
}

static void bare_external(void) { lean_dec(lean_alloc_external(bare_class, NULL)); }

static double batch(void (*call)(void)) {
  const double start = now();
  for (int i = 0; i < calls; ++i) call();
  return (now() - start) / calls;
}

int main(int argc, char **argv) {
  double limit = 0;
  if (argc == 3 && strcmp(argv[1], "--limit") == 0) limit = strtod(argv[2], NULL);
  setenv("TORCHLEAN_BACKEND", NOTHING_BACKEND, 1);
  lean_initialize_runtime_module();
  lean_io_mark_end_initialization();
  if (tl_zeros(1, TL_FLOAT32, &plain) != TL_OK) {
    fprintf(stderr, "shim_cost: %s\n", tl_last_error());
    return 1;
  }
  wrapped = torchlean_cuda_buffer_zeros(1, TL_FLOAT32);
  bare_class = lean_register_external_class(ignore_data, ignore_children);

  void (*const ways[])(void) = {through_the_shim, through_runtime_h, bare_external};
  double best[3] = {1e9, 1e9, 1e9};
  for (int i = 0; i < batches; ++i) {
    for (int way = 0; way < 3; ++way) {
      const double one = batch(ways[way]);
      if (one < best[way]) best[way] = one;
    }
  }
  const double extra = best[0] - best[1] - best[2];
  printf(
      "shim_cost: addition through the shim %.1f ns; through runtime.h %.1f ns; bare external "
      "%.1f ns; the shim's own %.1f ns\n",
      best[0], best[1], best[2], extra);
  lean_dec(wrapped);
  tl_buffer_free(plain);
  if (limit > 0 && extra > limit) {
    fprintf(stderr, "shim_cost: %.1f ns, expected at most %g\n", extra, limit);
    return 1;
  }
  return 0;
}
