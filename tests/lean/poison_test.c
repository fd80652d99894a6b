/* TORCHLEAN_ON_ERROR=poison: a failing pure operation returns poisoned buffers, which carry the
 * failure on until an io symbol tells it. */
#include <errno.h>
#include <string.h>

#include "lean_process.h"

enum { float32 = TL_FLOAT32 };

static const char unequal[] = "add: b has 4 elements, expected 3";

/* What `add` leaves for operands of 3 and 4 elements. */
static lean_object *make_poison(void) {
  lean_object *three = torchlean_cuda_buffer_zeros(3, float32);
  lean_object *four = torchlean_cuda_buffer_zeros(4, float32);
  lean_object *poison = torchlean_cuda_buffer_add(three, four);
  lean_dec(three);
  lean_dec(four);
  return poison;
}

/* An io symbol that touches `object` tells the failure. */
static void expect_failure(lean_object *object, const char *constructor, const char *text) {
  const IoError error = take_error(torchlean_cuda_buffer_to_bytes_io(object, float32));
  CHECK_CONTAINS(error.constructor, constructor);
  CHECK_CONTAINS(error.text, text);
}

static void a_failed_operation_gives_a_buffer_of_size_0(void) {
  lean_object *poison = make_poison();
  CHECK(lean_is_external(poison));
  CHECK_EQUAL(torchlean_cuda_buffer_size(poison), 0);
  CHECK_EQUAL(torchlean_cuda_buffer_size_with_token(poison, 3), 0);
  expect_failure(poison, "userError", unequal);
  expect_failure(poison, "userError", unequal); /* as often as it is asked */
  lean_dec(poison);
}

static void every_io_symbol_that_touches_it_tells_the_first_failure(void) {
  lean_object *poison = make_poison();
  lean_object *good = torchlean_cuda_buffer_zeros(1, float32);
  lean_object *dims = make_naturals(1, (size_t[]){1});
  lean_object *inputs = make_array(1, (lean_object *[]){poison});
  lean_inc(poison);
  lean_object *source = lean_mk_string("kernel");
  enum { result_count = 8 };
  lean_object *results[result_count] = {
      torchlean_cuda_buffer_to_float_array_io(poison),
      torchlean_cuda_buffer_to_encoded_io(poison),
      torchlean_cuda_buffer_softmax_io(poison, dims, 0),
      torchlean_cuda_buffer_cross_entropy_io(good, poison, 1, 1),
      torchlean_cuda_buffer_distillation_io(poison, good, 1, 1, 0),
      torchlean_cuda_buffer_bmm_scaled_io(good, poison, 1, 1, 1, 1, 0, 0, 1),
      torchlean_cuda_buffer_conv_io(good, good, poison, dims, dims, dims, dims, dims, dims, 1),
      torchlean_kernel_run_buffer(source, inputs, 1),
  };
  for (size_t i = 0; i < result_count; ++i) {
    const IoError error = take_error(results[i]);
    CHECK_CONTAINS(error.constructor, "userError");
    CHECK_CONTAINS(error.text, unequal);
  }
  lean_object *objects[] = {source, inputs, dims, good, poison};
  drop_all(5, objects);
}

static void poison_spreads_through_operations_and_tuples(void) {
  lean_object *poison = make_poison();
  lean_object *good = torchlean_cuda_buffer_zeros(3, float32);
  lean_object *dims = make_naturals(1, (size_t[]){3});
  lean_object *first = torchlean_cuda_buffer_exp(poison);
  lean_object *second = torchlean_cuda_buffer_mul(good, first);
  lean_object *third = torchlean_cuda_buffer_reduce_sum_axis(second, dims, 0);
  expect_failure(third, "userError", unequal);
  lean_object *two = torchlean_cuda_buffer_max_bwd(good, third, good);
  expect_failure(lean_ctor_get(two, 0), "userError", unequal);
  expect_failure(lean_ctor_get(two, 1), "userError", unequal);
  lean_object *three =
      torchlean_cuda_buffer_adam_step(good, good, poison, good, 0, 1, 0, 1, 1, 1, 1, 0, -1);
  lean_object *rest = lean_ctor_get(three, 1);
  expect_failure(lean_ctor_get(three, 0), "userError", unequal);
  expect_failure(lean_ctor_get(rest, 0), "userError", unequal);
  expect_failure(lean_ctor_get(rest, 1), "userError", unequal);
  lean_object *four =
      torchlean_cuda_buffer_selective_scan_diag_bwd(poison, good, good, good, good, good, 1, 3);
  CHECK_EQUAL(lean_ctor_num_objs(lean_ctor_get(lean_ctor_get(four, 1), 1)), 2);
  expect_failure(lean_ctor_get(lean_ctor_get(lean_ctor_get(four, 1), 1), 1), "userError", unequal);
  lean_object *objects[] = {four, three, two, third, second, first, dims, good, poison};
  drop_all(9, objects);
}

static void the_first_of_several_failures_stays(void) {
  lean_object *poison = make_poison();
  lean_object *other = torchlean_cuda_buffer_zeros(1, 9);
  expect_failure(other, "userError", "zeros: dtype is 9");
  lean_object *sum = torchlean_cuda_buffer_add(poison, other);
  expect_failure(sum, "userError", unequal);
  lean_object *reversed = torchlean_cuda_buffer_add(other, poison);
  expect_failure(reversed, "userError", "zeros: dtype is 9");
  lean_object *text = lean_mk_string("x");
  lean_object *of_wrong_class = torchlean_cuda_buffer_add(text, poison);
  expect_failure(of_wrong_class, "userError", "add: a is a String, expected a Buffer");
  lean_object *objects[] = {of_wrong_class, text, reversed, sum, other, poison};
  drop_all(6, objects);
}

static void the_constructor_is_that_of_the_failure(void) {
  lean_dec(take_value(torchlean_libtorch_set_memory_fraction(1e-9))); /* a few bytes */
  lean_object *large = torchlean_cuda_buffer_full(1000, 1, float32);
  lean_dec(take_value(torchlean_libtorch_set_memory_fraction(1)));
  const IoError exhausted = take_error(torchlean_cuda_buffer_to_bytes_io(large, float32));
  CHECK_CONTAINS(exhausted.constructor, "resourceExhausted");
  CHECK_EQUAL(exhausted.code, ENOMEM);
  lean_dec(large);
  lean_object *message = lean_mk_string("the model has no layers");
  lean_object *failed = torchlean_cuda_buffer_fail(message);
  expect_failure(failed, "userError", "the model has no layers");
  lean_object *negated = torchlean_cuda_buffer_encoded_neg(failed);
  expect_failure(negated, "userError", "the model has no layers");
  lean_object *unknown = torchlean_cuda_buffer_encoded_binary(message, message, 0);
  expect_failure(unknown, "userError", "encoded_binary: a is a String, expected a Buffer");
  lean_object *objects[] = {unknown, negated, failed, message};
  drop_all(4, objects);
}

static void the_release_family_takes_it_for_a_released_buffer(void) {
  lean_object *poison = make_poison();
  lean_object *keep = torchlean_cuda_buffer_zeros(2, float32);
  CHECK_EQUAL(torchlean_cuda_buffer_release_with_token(poison, 0), 0);
  lean_object *kept = torchlean_cuda_buffer_release_then(poison, keep);
  CHECK(kept == keep);
  CHECK_EQUAL(torchlean_cuda_buffer_size(kept), 2);
  lean_object *still = torchlean_cuda_buffer_release_then(keep, poison);
  CHECK(still == poison);
  CHECK_EQUAL(torchlean_cuda_buffer_size(keep), 0);
  lean_object *moved = torchlean_cuda_buffer_copy_and_release(poison);
  expect_failure(moved, "userError", unequal);
  lean_object *released = torchlean_cuda_buffer_abs(keep);
  expect_failure(released, "userError", "buffer has been released");
  lean_object *objects[] = {released, moved, still, kept, keep, poison};
  drop_all(6, objects);
}

static void it_counts_as_a_wrapper_and_leaves_nothing(void) {
  lean_dec(make_poison()); /* what Lean keeps for good, it has now */
  const size_t blocks = live_lean_blocks();
  const uint64_t live = torchlean_cuda_wrapper_live_count(0);
  const uint64_t created = torchlean_cuda_wrapper_alloc_count(0);
  const uint64_t finalized = torchlean_cuda_wrapper_finalize_count(0);
  const uint64_t payloads = torchlean_cuda_allocator_live_bytes(0);
  lean_object *poison = make_poison();
  CHECK_EQUAL(torchlean_cuda_wrapper_live_count(0), live + 1);
  CHECK_EQUAL(torchlean_cuda_wrapper_alloc_count(0), created + 3);
  CHECK_EQUAL(torchlean_cuda_allocator_live_bytes(0), payloads);
  const IoError refused = take_error(torchlean_libtorch_set_device(0));
  CHECK_CONTAINS(refused.text, "set_device: 1 buffers are alive");
  lean_dec(poison);
  CHECK_EQUAL(torchlean_cuda_wrapper_live_count(0), live);
  CHECK_EQUAL(torchlean_cuda_wrapper_finalize_count(0), finalized + 3);
  CHECK_EQUAL(live_lean_blocks(), blocks);
}

/* ---- What still panics ---------------------------------------------------------------------- */

static void float_array_scenario(void) { torchlean_cuda_buffer_to_float_array(make_poison()); }

static void dtype_scenario(void) { torchlean_cuda_buffer_dtype(make_poison()); }

static void format_scenario(void) { torchlean_cuda_buffer_format(make_poison()); }

static void product_scenario(void) {
  lean_object *three = make_floats(3, (double[]){1, 2, 3});
  torchlean_dgemm_cuda(three, three, 2, 2, 2);
}

static void size_scenario(void) { torchlean_cuda_buffer_size(lean_mk_string("x")); }

static const Scenario scenarios[] = {
    {"float_array", float_array_scenario}, {"dtype", dtype_scenario}, {"format", format_scenario},
    {"product", product_scenario},         {"size", size_scenario},   {0}};

static void a_result_that_is_no_buffer_still_ends_the_process(void) {
  static const char *const endings[][2] = {
      {"float_array", unequal},
      {"dtype", unequal},
      {"format", unequal},
      {"product", "dgemm: a has 3 elements, expected"},
      {"size", "size: b is a String, expected a Buffer"},
  };
  for (size_t i = 0; i < sizeof endings / sizeof *endings; ++i) {
    const Ending ending = run_scenario(endings[i][0]);
    CHECK_EQUAL(ending.exit_code, 1);
    CHECK_CONTAINS(ending.errors, endings[i][1]);
  }
}

int main(int argc, char **argv) {
  static const Test tests[] = {TEST(a_failed_operation_gives_a_buffer_of_size_0),
                               TEST(every_io_symbol_that_touches_it_tells_the_first_failure),
                               TEST(poison_spreads_through_operations_and_tuples),
                               TEST(the_first_of_several_failures_stays),
                               TEST(the_constructor_is_that_of_the_failure),
                               TEST(the_release_family_takes_it_for_a_released_buffer),
                               TEST(it_counts_as_a_wrapper_and_leaves_nothing),
                               TEST(a_result_that_is_no_buffer_still_ends_the_process),
                               {0}};
  return run_tests(argc, argv, tests, scenarios);
}
