/* Thousands of the LibTorch backend's own C++ exceptions in a real Lean process, each back as a
 * Lean error with the first line of its text: 2,000, with TL_TEST_LONG=1 20,000. They are c10
 * errors that its allocator throws through ATen. Run with TORCHLEAN_BACKEND=libtorch. */
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

int main(int argc, char **argv) {
  static const Test tests[] = {TEST(each_throw_is_a_lean_error), {0}};
  static const Scenario none[] = {{0}};
  return run_tests(argc, argv, tests, none);
}
