/* How failures reach Lean: IO error constructors and texts, and panics in processes of their own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lean_process.h"

enum { float32 = TL_FLOAT32, float64 = TL_FLOAT64 };

static void expect_error(lean_object *result, const char *constructor, const char *part) {
  const IoError error = take_error(result);
  CHECK_CONTAINS(error.constructor, constructor);
  CHECK_CONTAINS(error.text, part);
}

/* ---- IO ------------------------------------------------------------------------------------- */

static void a_wrong_argument_is_a_user_error(void) {
  expect_error(torchlean_cuda_buffer_zeros_io(1, 7), "userError", "7");
  expect_error(torchlean_cuda_buffer_zeros_io(1, TL_ENCODED), "userError", "dtype");
  lean_object *odd = make_bytes(5, "12345");
  expect_error(torchlean_cuda_buffer_of_bytes_io(odd, float32, float32), "userError", "5");
  lean_object *x = torchlean_cuda_buffer_zeros(3, float32);
  expect_error(torchlean_cuda_buffer_to_bytes_io(x, TL_ENCODED), "userError", "");
  expect_error(torchlean_cuda_buffer_to_bytes_io(x, 9), "userError", "9");
  expect_error(torchlean_cuda_buffer_to_encoded_io(x), "userError", "");
  expect_error(torchlean_cuda_buffer_bmm_scaled_io(x, x, 1, 2, 2, 2, 0, 0, 1), "userError", "");
  lean_dec(x);
  lean_dec(odd);
}

static void ignore_data(void *data) { (void)data; }

static void ignore_child(void *data, lean_object *visitor) {
  (void)data;
  (void)visitor;
}

static void an_object_of_the_wrong_class_is_a_user_error(void) {
  lean_object *text = lean_mk_string("words");
  lean_object *floats = make_floats(1, (double[]){1});
  lean_object *bytes = make_bytes(1, "1");
  lean_object *x = torchlean_cuda_buffer_zeros(1, float32);
  expect_error(torchlean_cuda_buffer_of_bytes_io(text, float32, float32), "userError",
               "of_bytes_io: bytes is a String, expected a ByteArray");
  expect_error(torchlean_cuda_buffer_of_bytes_io(floats, float32, float32), "userError",
               "bytes is a FloatArray");
  expect_error(torchlean_cuda_buffer_of_float_array_io(bytes, float32), "userError",
               "a is a ByteArray, expected a FloatArray");
  expect_error(torchlean_cuda_buffer_to_float_array_io(lean_box(3)), "userError",
               "b is a Nat or an enumeration, expected a Buffer");
  expect_error(torchlean_cuda_buffer_to_bytes_io(floats, float32), "userError",
               "expected a Buffer");
  expect_error(torchlean_cuda_buffer_to_encoded_io(text), "userError", "expected a Buffer");
  expect_error(torchlean_cuda_buffer_of_encoded_io(bytes, x, 1), "userError",
               "format is a Buffer, expected a FloatFormat");
  expect_error(torchlean_cuda_buffer_bmm_scaled_io(x, text, 1, 1, 1, 1, 0, 0, 1), "userError",
               "bmm_scaled_io: b is a String");
  lean_object *foreign =
      lean_alloc_external(lean_register_external_class(ignore_data, ignore_child), NULL);
  expect_error(torchlean_cuda_buffer_to_float_array_io(foreign), "userError",
               "b is an external object of another class");
  lean_object *objects[] = {foreign, x, bytes, floats, text};
  drop_all(5, objects);
}

static void a_wrong_list_is_a_user_error(void) {
  lean_object *x = torchlean_cuda_buffer_zeros(3, float32);
  lean_object *three = make_naturals(1, (size_t[]){3});
  lean_object *huge = make_naturals(1, (size_t[]){1ull << 32});
  lean_object *image = make_naturals(3, (size_t[]){1, 1, 3});
  lean_object *one = make_naturals(1, (size_t[]){1});
  lean_object *zero = make_naturals(1, (size_t[]){0});
  expect_error(torchlean_cuda_buffer_softmax_io(three, three, 0), "userError",
               "softmax_io: x is an Array, expected a Buffer");
  expect_error(torchlean_cuda_buffer_softmax_io(x, x, 0), "userError",
               "softmax_io: dims is a Buffer, expected an Array of Nat");
  expect_error(torchlean_cuda_buffer_softmax_io(x, huge, 0), "userError",
               "softmax_io: dims[0] is 4294967296, expected at most 4294967295");
  expect_error(torchlean_cuda_buffer_softmax_io(x, three, 1), "userError",
               "softmax: axis is 1, expected less than the rank 1");
  expect_error(torchlean_cuda_buffer_cross_entropy_io(x, x, 1, 4), "userError",
               "cross_entropy: logits has 3 elements, expected rows * cols = 4");
  expect_error(torchlean_cuda_buffer_distillation_io(x, x, 1, 3, 2), "userError",
               "distillation: gradient is 2, expected 0 or 1");
  expect_error(torchlean_cuda_buffer_conv_io(x, x, x, image, image, one, zero, huge, one, 1),
               "userError", "conv_io: paddingAfter[0] is 4294967296, expected at most 4294967295");
  expect_error(torchlean_cuda_buffer_conv_io(x, x, x, image, image, zero, zero, zero, one, 1),
               "userError", "conv: strides[0] is 0, expected at least 1");
  lean_object *objects[] = {x, three, huge, image, one, zero};
  drop_all(6, objects);
}

static void what_no_backend_has_is_a_user_error(void) {
  lean_object *x = torchlean_cuda_buffer_zeros(1, float32);
  lean_object *dims = make_naturals(1, (size_t[]){1});
  lean_object *source = lean_mk_string("kernel");
  lean_object *inputs = make_array(1, (lean_object *[]){x});
  expect_error(torchlean_kernel_run_buffer(source, inputs, 1), "userError", "not supported");
  expect_error(torchlean_kernel_run_buffer(dims, inputs, 1), "userError",
               "source is an Array, expected a String");
  expect_error(torchlean_kernel_run_bytes(source, 0, 1, inputs, 1), "userError",
               "arrays[0] is a Buffer, expected a ByteArray");
  lean_dec(inputs);
  lean_dec(source);
  lean_dec(dims);
}

/* ---- Memory --------------------------------------------------------------------------------- */

static size_t address_space_in_use(void) {
  size_t pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%zu", &pages) != 1) exit(96);
  fclose(file);
  return pages * 4096;
}

/* Room for 64 MiB, where the buffer of 32 MiB needs an array of 128 MiB. */
static void exhausted_memory_scenario(void) {
  const uint32_t count = 8u << 20;
  lean_object *x = take_value(torchlean_cuda_buffer_zeros_io(2 * count, float32));
  lean_object *small = take_value(torchlean_cuda_buffer_zeros_io(16, float32));
  const size_t limit = address_space_in_use() + (64u << 20);
  const struct rlimit room = {limit, limit};
  if (setrlimit(RLIMIT_AS, &room) != 0) exit(95);

  const uint64_t created = torchlean_cuda_allocator_alloc_count(0);
  const uint64_t wrappers = torchlean_cuda_wrapper_alloc_count(0);
  const IoError array = take_error(torchlean_cuda_buffer_to_float_array_io(x));
  CHECK_CONTAINS(array.constructor, "resourceExhausted");
  CHECK_EQUAL(array.code, ENOMEM);
  CHECK_CONTAINS(array.text, "134217728 bytes");
  const IoError buffer = take_error(torchlean_cuda_buffer_full_io(UINT32_MAX, 1, float64));
  CHECK_CONTAINS(buffer.constructor, "resourceExhausted");
  CHECK_EQUAL(buffer.code, ENOMEM);
  CHECK_EQUAL(torchlean_cuda_allocator_alloc_count(0), created);
  CHECK_EQUAL(torchlean_cuda_wrapper_alloc_count(0), wrappers);

  /* Release and try less, as the error suggests. */
  lean_dec(take_value(torchlean_cuda_buffer_to_float_array_io(small)));
  exit(failed_checks() == 0 ? 0 : 1);
}

static void exhausted_memory_is_resource_exhausted_and_the_process_goes_on(void) {
  const Ending ending = run_scenario("exhausted_memory");
  CHECK_EQUAL(ending.exit_code, 0);
  if (ending.exit_code != 0) fputs(ending.errors, stderr);
}

/* ---- Panics --------------------------------------------------------------------------------- */

static void fail_scenario(void) {
  torchlean_cuda_buffer_fail(lean_mk_string("the model has no layers"));
}

static void wrong_class_scenario(void) { torchlean_cuda_buffer_abs(lean_mk_string("x")); }

static void unequal_lengths_scenario(void) {
  torchlean_cuda_buffer_add(torchlean_cuda_buffer_zeros(3, float32),
                            torchlean_cuda_buffer_zeros(4, float32));
}

static void released_scenario(void) {
  lean_object *x = torchlean_cuda_buffer_zeros(3, float32);
  torchlean_cuda_buffer_release_with_token(x, 0);
  torchlean_cuda_buffer_dtype(x);
}

lean_object *lean_cstr_to_nat(const char *digits);

static void big_nat_scenario(void) {
  lean_object *huge = lean_cstr_to_nat("18446744073709551618"); /* 2^64 + 2 */
  lean_object *dims = make_array(2, (lean_object *[]){huge, lean_box(2)});
  torchlean_cuda_buffer_reduce_sum_axis(torchlean_cuda_buffer_zeros(4, float32), dims, 0);
}

static void nat_over_32_bits_scenario(void) {
  lean_object *dims = make_naturals(2, (size_t[]){(1ull << 32) + 2, 2});
  torchlean_cuda_buffer_reduce_sum_axis(torchlean_cuda_buffer_zeros(4, float32), dims, 0);
}

static void no_nat_scenario(void) {
  lean_object *dims = make_array(1, (lean_object *[]){lean_mk_string("4")});
  torchlean_cuda_buffer_swap_adjacent_at_depth(torchlean_cuda_buffer_zeros(4, float32), dims, 0);
}

static void too_many_dims_scenario(void) {
  size_t ones[65];
  for (size_t i = 0; i < 65; ++i) ones[i] = 1;
  torchlean_cuda_buffer_reduce_sum_axis(torchlean_cuda_buffer_zeros(1, float32),
                                        make_naturals(65, ones), 0);
}

static void planned_scenario(void) {
  torchlean_cuda_buffer_encoded_neg(torchlean_cuda_buffer_zeros(4, float32));
}

static void no_array_scenario(void) {
  torchlean_cuda_buffer_gather_rows(torchlean_cuda_buffer_zeros(4, float32), 2, 2, lean_box(3), 1);
}

static void big_index_scenario(void) {
  torchlean_cuda_buffer_gather_rows(torchlean_cuda_buffer_zeros(4, float32), 2, 2,
                                    make_naturals(2, (size_t[]){0, 1ull << 32}), 2);
}

static void wrong_k_scenario(void) {
  lean_object *x = torchlean_cuda_buffer_zeros(4, float32);
  torchlean_cuda_buffer_scatter_add(x, x, 4, make_naturals(2, (size_t[]){0, 9}), 4);
}

static void pool_rank_scenario(void) {
  lean_object *none = make_naturals(0, NULL);
  torchlean_cuda_avgpool_bwd(torchlean_cuda_buffer_zeros(1, float32), none, none, none, none, 1);
}

static void kernel_scenario(void) {
  torchlean_kernel_run_encoded(lean_mk_string(""), make_array(0, NULL), lean_box(0), 2, 1);
}

static const Scenario scenarios[] = {{"exhausted_memory", exhausted_memory_scenario},
                                     {"fail", fail_scenario},
                                     {"wrong_class", wrong_class_scenario},
                                     {"unequal_lengths", unequal_lengths_scenario},
                                     {"released", released_scenario},
                                     {"big_nat", big_nat_scenario},
                                     {"nat_over_32_bits", nat_over_32_bits_scenario},
                                     {"no_nat", no_nat_scenario},
                                     {"too_many_dims", too_many_dims_scenario},
                                     {"planned", planned_scenario},
                                     {"no_array", no_array_scenario},
                                     {"big_index", big_index_scenario},
                                     {"wrong_k", wrong_k_scenario},
                                     {"pool_rank", pool_rank_scenario},
                                     {"kernel", kernel_scenario},
                                     {0}};

static void a_pure_failure_ends_the_process_with_its_message(void) {
  static const struct {
    const char *scenario;
    const char *message;
  } panics[] = {
      {"fail", "the model has no layers"},
      {"wrong_class", "abs: x is a String, expected a Buffer"},
      {"unequal_lengths", "add"},
      {"released", "buffer has been released"},
      {"big_nat", "reduce_sum_axis: dims[0] is a Nat of 2^63 or more, expected"},
      {"nat_over_32_bits", "reduce_sum_axis: dims[0] is 4294967298, expected at most 4294967295"},
      {"no_nat", "swap_adjacent_at_depth: dims[0] is a String, expected a Nat"},
      {"too_many_dims", "reduce_sum_axis: dims has 65 entries, expected at most 64"},
      {"planned", "encoded_neg: no backend has this operation yet"},
      {"no_array", "gather_rows: indices is a Nat or an enumeration, expected an Array of Nat"},
      {"big_index", "gather_rows: indices[1] is 4294967296, expected at most 4294967295"},
      {"wrong_k", "scatter_add: indices has 2 entries, expected k = 4"},
      {"pool_rank", "avgpool_bwd: inSpatial has 0 spatial axes, expected 1 to 3"},
      {"kernel", "run_encoded: format is a Nat or an enumeration, expected a FloatFormat"},
  };
  for (size_t i = 0; i < sizeof panics / sizeof *panics; ++i) {
    const Ending ending = run_scenario(panics[i].scenario);
    CHECK_EQUAL(ending.exit_code, 1);
    CHECK_CONTAINS(ending.errors, panics[i].message);
  }
}

int main(int argc, char **argv) {
  static const Test tests[] = {TEST(a_wrong_argument_is_a_user_error),
                               TEST(an_object_of_the_wrong_class_is_a_user_error),
                               TEST(a_wrong_list_is_a_user_error),
                               TEST(what_no_backend_has_is_a_user_error),
                               TEST(exhausted_memory_is_resource_exhausted_and_the_process_goes_on),
                               TEST(a_pure_failure_ends_the_process_with_its_message),
                               {0}};
  return run_tests(argc, argv, tests, scenarios);
}
