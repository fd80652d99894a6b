/* Thousands of LibTorch's C++ exceptions in a real Lean process, each back as a Lean error with the
 * first line of its text, and memory does not grow: 2,000, with TL_TEST_LONG=1 20,000.
 *
 *   lean_throws           the backend libtorch: c10 errors that its allocator throws through ATen
 *   lean_throws its-own   a test backend: ATen's own errors, in a parallel region, too */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lean_process.h"

static size_t rounds(void) {
  const char *set = getenv("TL_TEST_LONG");
  return set != NULL && strcmp(set, "1") == 0 ? 20000 : 2000;
}

/* More than the process may map. */
static lean_object *ask_for_too_much(size_t round) {
  switch (round % 3) {
    case 0: return torchlean_cuda_buffer_full_io(UINT32_MAX, 1, TL_FLOAT64);
    case 1: return torchlean_cuda_buffer_rand_uniform_io(UINT32_MAX, round, TL_FLOAT32);
    default: return torchlean_cuda_buffer_bernoulli_mask_io(UINT32_MAX, 0.5, round, TL_FLOAT64);
  }
}

static void each_throw_is_a_lean_error(void) {
  const struct rlimit room = {8ull << 30, 8ull << 30};
  CHECK_EQUAL(setrlimit(RLIMIT_AS, &room), 0);
  lean_dec(take_value(torchlean_cuda_buffer_full_io(16, 1, TL_FLOAT64)));
  take_error(ask_for_too_much(0)); /* what Lean keeps for good, it has now */
  const size_t blocks = live_lean_blocks();
  const uint64_t created = torchlean_cuda_allocator_alloc_count(0);

  const size_t count = rounds();
  for (size_t i = 0; i < count && failed_checks() == 0; ++i) {
    const IoError error = take_error(ask_for_too_much(i));
    CHECK_CONTAINS(error.constructor, "resourceExhausted");
    CHECK_EQUAL(error.code, ENOMEM);
    CHECK_CONTAINS(error.text, "bytes were asked for (backend libtorch)");
    CHECK(strchr(error.text, '\n') == NULL);
  }
  CHECK_EQUAL(live_lean_blocks(), blocks);
  CHECK_EQUAL(torchlean_cuda_allocator_alloc_count(0), created);
  CHECK_EQUAL(torchlean_cuda_wrapper_live_count(0), 0);
  lean_object *x = take_value(torchlean_cuda_buffer_full_io(16, 1, TL_FLOAT64));
  CHECK_EQUAL(torchlean_cuda_buffer_size(x), 16);
  lean_dec(x);
}

static long resident_kib(void) {
  char line[256];
  long kib = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, "VmRSS:", 6) == 0) kib = strtol(line + 6, NULL, 10);
  }
  if (status != NULL) fclose(status);
  return kib;
}

/* What ATen says, by the key that makes it say so. */
static const char *const first_lines[] = {
    "shape '[1, 2, 3]' is invalid for input of size 5 (backend aten-throwing)",
    "Expected size for first two dimensions of batch2 tensor to be: [1, 1] but got: [1, 5].",
    "exceeds dimension size (5).", /* in front of it, where: any thread's may be the first */
};

static lean_object *make_aten_throw(size_t round) {
  return torchlean_cuda_buffer_rand_uniform_io(4, round % 3, TL_FLOAT32);
}

static void each_throw_of_atens_is_a_lean_error(void) {
  const size_t count = rounds();
  for (size_t i = 0; i < count / 10; ++i) take_error(make_aten_throw(i)); /* caches fill */
  const size_t blocks = live_lean_blocks();
  const long resident = resident_kib();
  for (size_t i = 0; i < count && failed_checks() == 0; ++i) {
    const IoError error = take_error(make_aten_throw(i));
    CHECK_CONTAINS(error.constructor, "otherError");
    CHECK_CONTAINS(error.text, first_lines[i % 3]);
    CHECK(strchr(error.text, '\n') == NULL);
  }
  CHECK_EQUAL(live_lean_blocks(), blocks);
  CHECK(resident_kib() - resident < 2048); /* 20,000 leaks of 128 bytes would show */
  CHECK_EQUAL(torchlean_cuda_wrapper_live_count(0), 0);
}

int main(int argc, char **argv) {
  static const Test tests[] = {TEST(each_throw_is_a_lean_error), {0}};
  static const Test its_own[] = {TEST(each_throw_of_atens_is_a_lean_error), {0}};
  static const Scenario none[] = {{0}};
  if (argc == 2 && strcmp(argv[1], "its-own") == 0) return run_tests(1, argv, its_own, none);
  return run_tests(argc, argv, tests, none);
}
