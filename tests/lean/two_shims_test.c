/* A program that holds the static shim and loads the shared one, as Lean's interpreter does:
 * buffers of one are buffers of the other, and both count together. The first argument is the
 * shared shim. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "lean_process.h"

static void *shared_shim;

/* Copies a function's address out of the shared shim. */
static void find(const char *name, void *function) {
  void *symbol = dlsym(shared_shim, name);
  if (symbol == NULL) {
    fprintf(stderr, "%s: %s\n", name, dlerror());
    exit(1);
  }
  memcpy(function, &symbol, sizeof symbol);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  start_lean();
  lean_object *ours = torchlean_cuda_buffer_full(3, 2, TL_FLOAT32);
  shared_shim = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (shared_shim == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  lean_object *(*their_full)(uint32_t, double, uint8_t) = NULL;
  lean_object *(*their_add)(lean_object *, lean_object *) = NULL;
  uint64_t (*their_live)(uint32_t) = NULL;
  find("torchlean_cuda_buffer_full", &their_full);
  find("torchlean_cuda_buffer_add", &their_add);
  find("torchlean_cuda_wrapper_live_count", &their_live);
  CHECK(their_full != torchlean_cuda_buffer_full); /* two copies indeed */

  lean_object *theirs = their_full(3, 1, TL_FLOAT32);
  lean_object *here = torchlean_cuda_buffer_add(ours, theirs);
  lean_object *there = their_add(ours, theirs);
  CHECK_EQUAL(their_live(0), 4);
  CHECK_EQUAL(torchlean_cuda_wrapper_live_count(0), 4);
  double values[3] = {0};
  read_buffer(there, 3, values);
  CHECK_EQUAL(values[2], 3);
  lean_object *objects[] = {ours, theirs, here, there};
  drop_all(4, objects);
  CHECK_EQUAL(torchlean_cuda_wrapper_live_count(0), 0);
  dlclose(shared_shim);
  return failed_checks() == 0 ? 0 : 1;
}
