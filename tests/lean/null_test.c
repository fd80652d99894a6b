/* Where no backend serves: figures read zero, operations and setters say why and what to do. */
#include <string.h>

#include "lean_process.h"

static void expect_reason(lean_object *result, const char *constructor) {
  const IoError error = take_error(result);
  CHECK_CONTAINS(error.constructor, constructor);
  CHECK_CONTAINS(error.text, "TORCHLEAN_BACKEND");
}

static void readings_are_zero(void) {
  CHECK_EQUAL(torchlean_cuda_runtime_status(0), TL_NOT_LINKED);
  CHECK_EQUAL(torchlean_cuda_allocator_live_bytes(0), 0);
  CHECK_EQUAL(torchlean_cuda_allocator_device_free_bytes(0), 0);
  CHECK_EQUAL(torchlean_cuda_allocator_device_total_bytes(0), 0);
  CHECK_EQUAL(torchlean_libtorch_allocated_bytes(0), 0);
  CHECK_EQUAL(torchlean_libtorch_reserved_bytes(0), 0);
  CHECK_EQUAL(torchlean_libtorch_peak_allocated_bytes(0), 0);
  CHECK_EQUAL(torchlean_libtorch_peak_reserved_bytes(0), 0);
  CHECK_EQUAL(torchlean_libtorch_device_count(0), 0);
  CHECK_EQUAL(torchlean_libtorch_get_device(0), 0);
  CHECK_EQUAL(torchlean_runtime_collect_allocator(0), 0);
  lean_object *version = torchlean_libtorch_version(0);
  CHECK(strcmp(lean_string_cstr(version), "unavailable") == 0);
  lean_dec(version);
  for (uint32_t id = 0; id < TL_SETTING_COUNT; ++id) {
    CHECK(take_value(torchlean_libtorch_get_setting(id)) == lean_box(0));
  }
  CHECK_CONTAINS(take_error(torchlean_libtorch_get_setting(TL_SETTING_COUNT)).constructor,
                 "userError");
  lean_object *boxed = take_value(torchlean_libtorch_get_memory_fraction(0));
  double fraction = 1;
  memcpy(&fraction, lean_ctor_obj_cptr(boxed), sizeof fraction);
  CHECK_EQUAL(fraction, 0);
  lean_dec(boxed);
}

static void setters_and_operations_fail_with_the_reason(void) {
  expect_reason(torchlean_libtorch_set_setting(TL_SETTING_DETERMINISTIC, 1), "otherError");
  expect_reason(torchlean_libtorch_set_memory_fraction(0.5), "otherError");
  expect_reason(torchlean_libtorch_set_device(0), "otherError");
  expect_reason(torchlean_libtorch_device_name(0), "otherError");
  expect_reason(torchlean_libtorch_device_capability(0), "otherError");
  expect_reason(torchlean_libtorch_device_total_bytes(0), "otherError");
  expect_reason(torchlean_cuda_buffer_zeros_io(4, TL_FLOAT32), "otherError");
  expect_reason(torchlean_cuda_buffer_rand_uniform_io(4, 1, TL_FLOAT32), "otherError");
  lean_object *array = make_floats(1, (double[]){1});
  expect_reason(torchlean_cuda_buffer_of_float_array_io(array, TL_FLOAT32), "otherError");
  lean_dec(array);
  CHECK_EQUAL(torchlean_cuda_wrapper_alloc_count(0), 0);
}

static void pure_scenario(void) { torchlean_cuda_buffer_zeros(1, TL_FLOAT32); }

static const Scenario scenarios[] = {{"pure", pure_scenario}, {0}};

static void a_pure_operation_ends_the_process_with_the_reason(void) {
  const Ending ending = run_scenario("pure");
  CHECK_EQUAL(ending.exit_code, 1);
  CHECK_CONTAINS(ending.errors, "TORCHLEAN_BACKEND");
}

int main(int argc, char **argv) {
  static const Test tests[] = {TEST(readings_are_zero),
                               TEST(setters_and_operations_fail_with_the_reason),
                               TEST(a_pure_operation_ends_the_process_with_the_reason),
                               {0}};
  return run_tests(argc, argv, tests, scenarios);
}
