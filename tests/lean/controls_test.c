/* State, settings, memory fraction, device queries and figures of a host backend that serves: what
 * semantics say of them, on whichever one TORCHLEAN_BACKEND names. For no backend: null_test.c. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lean_process.h"

enum { float32 = TL_FLOAT32, float64 = TL_FLOAT64 };

static void expect_user_error(lean_object *result, const char *part) {
  const IoError error = take_error(result);
  CHECK_CONTAINS(error.constructor, "userError");
  CHECK_CONTAINS(error.text, part);
}

static void succeed(lean_object *result) { CHECK(take_value(result) == lean_box(0)); }

/* A UInt32 inside an IO result is a scalar. */
static uint32_t take_u32(lean_object *result) { return (uint32_t)lean_unbox(take_value(result)); }

/* A UInt64 or Float is an object of its own with eight bytes. */
static uint64_t take_u64(lean_object *result) {
  lean_object *boxed = take_value(result);
  uint64_t number = 0;
  memcpy(&number, lean_ctor_obj_cptr(boxed), sizeof number);
  lean_dec(boxed);
  return number;
}

static double read_fraction(void) {
  const uint64_t bits = take_u64(torchlean_libtorch_get_memory_fraction(0));
  double fraction = 0;
  memcpy(&fraction, &bits, sizeof fraction);
  return fraction;
}

static bool is_text(lean_object *object) {
  return lean_is_string(object) && lean_string_cstr(object)[0] != '\0';
}

static void a_backend_serves(void) {
  CHECK_EQUAL(torchlean_cuda_runtime_status(0), TL_NATIVE_AVAILABLE);
  lean_object *version = torchlean_libtorch_version(0);
  CHECK(is_text(version));
  CHECK(strcmp(lean_string_cstr(version), "unavailable") != 0);
  lean_dec(version);
  CHECK_EQUAL(torchlean_runtime_collect_allocator(0), 0);
  succeed(torchlean_libtorch_synchronize(0));
  succeed(torchlean_libtorch_empty_cache(0));
}

static void a_host_device_says_what_has_a_meaning_there(void) {
  CHECK(torchlean_libtorch_device_count(0) >= 1);
  CHECK_EQUAL(torchlean_libtorch_get_device(0), 0);
  lean_object *name = take_value(torchlean_libtorch_device_name(0));
  CHECK(is_text(name));
  lean_dec(name);
  CHECK_EQUAL(take_u32(torchlean_libtorch_device_capability(0)), 0);
  CHECK_EQUAL(take_u32(torchlean_libtorch_device_clock_khz(0)), 0);
  CHECK_EQUAL(take_u32(torchlean_libtorch_device_mem_clock_khz(0)), 0);
  CHECK_EQUAL(take_u32(torchlean_libtorch_device_mem_bus_width(0)), 0);
  CHECK_EQUAL(take_u32(torchlean_libtorch_driver_version(0)), 0);
  CHECK_EQUAL(take_u32(torchlean_libtorch_runtime_version(0)), 0);
  take_u32(torchlean_libtorch_device_sm_count(0));
  const uint64_t total = take_u64(torchlean_libtorch_device_total_bytes(0));
  CHECK(total > 1 << 20); /* physical memory */
  CHECK_EQUAL(total, torchlean_cuda_allocator_device_total_bytes(0));
}

static void a_device_that_does_not_exist_is_refused(void) {
  lean_object *(*const queries[])(uint32_t) = {
      torchlean_libtorch_device_name,          torchlean_libtorch_device_capability,
      torchlean_libtorch_device_sm_count,      torchlean_libtorch_device_clock_khz,
      torchlean_libtorch_device_mem_clock_khz, torchlean_libtorch_device_mem_bus_width,
      torchlean_libtorch_device_total_bytes,   torchlean_libtorch_set_device};
  for (size_t i = 0; i < sizeof queries / sizeof *queries; ++i) {
    expect_user_error(queries[i](1000), "1000");
  }
}

static void the_backends_figures_are_real(void) {
  const uint64_t before = torchlean_libtorch_allocated_bytes(0);
  const uint64_t bytes = 8 << 20;
  lean_object *x = take_value(torchlean_cuda_buffer_full_io((uint32_t)bytes / 8, 1, float64));
  CHECK(torchlean_libtorch_allocated_bytes(0) >= before + bytes);
  CHECK(torchlean_libtorch_reserved_bytes(0) >= torchlean_libtorch_allocated_bytes(0));
  CHECK(torchlean_libtorch_peak_allocated_bytes(0) >= before + bytes);
  CHECK(torchlean_libtorch_peak_reserved_bytes(0) >= torchlean_libtorch_peak_allocated_bytes(0));
  CHECK(torchlean_cuda_allocator_device_free_bytes(0) > 0);
  CHECK(torchlean_cuda_allocator_device_free_bytes(0) <
        torchlean_cuda_allocator_device_total_bytes(0));
  lean_dec(x);
  CHECK(torchlean_libtorch_allocated_bytes(0) < before + bytes);
}

/* ---- Settings ------------------------------------------------------------------------------- */

static uint32_t setting(uint32_t id) { return take_u32(torchlean_libtorch_get_setting(id)); }

static void settings_start_as_specified(void) {
  const char *deterministic = getenv("TORCHLEAN_CUDA_DETERMINISTIC_REDUCTIONS");
  const bool is_on =
      deterministic != NULL && strcmp(deterministic, "") != 0 && strcmp(deterministic, "0") != 0;
  const uint32_t expected[TL_SETTING_COUNT] = {0, 0, is_on ? 1 : 0, 0, 1, 1, 1, 1, 1};
  for (uint32_t id = 0; id < TL_SETTING_COUNT; ++id) CHECK_EQUAL(setting(id), expected[id]);
  succeed(torchlean_libtorch_set_setting(TL_SETTING_DETERMINISTIC, 0));
}

static void any_nonzero_value_turns_a_setting_on(void) {
  for (uint32_t id = 0; id < TL_SETTING_COUNT; ++id) {
    const uint32_t former = setting(id);
    succeed(torchlean_libtorch_set_setting(id, 0));
    CHECK_EQUAL(setting(id), 0);
    succeed(torchlean_libtorch_set_setting(id, 0x80000000));
    CHECK_EQUAL(setting(id), 1);
    succeed(torchlean_libtorch_set_setting(id, former));
    CHECK_EQUAL(setting(id), former);
  }
  expect_user_error(torchlean_libtorch_get_setting(TL_SETTING_COUNT), "9");
  expect_user_error(torchlean_libtorch_set_setting(99, 1), "99");
}

static void deterministic_mode_excludes_the_benchmark(void) {
  succeed(torchlean_libtorch_set_setting(TL_SETTING_CUDNN_BENCHMARK, 1));
  succeed(torchlean_libtorch_set_setting(TL_SETTING_DETERMINISTIC, 1));
  CHECK_EQUAL(setting(TL_SETTING_CUDNN_BENCHMARK), 0);
  expect_user_error(torchlean_libtorch_set_setting(TL_SETTING_CUDNN_BENCHMARK, 1), "deterministic");
  CHECK_EQUAL(setting(TL_SETTING_CUDNN_BENCHMARK), 0);
  succeed(torchlean_libtorch_set_setting(TL_SETTING_DETERMINISTIC, 0));
  succeed(torchlean_libtorch_set_setting(TL_SETTING_CUDNN_BENCHMARK, 1));
  succeed(torchlean_libtorch_set_setting(TL_SETTING_CUDNN_BENCHMARK, 0));
}

/* ---- Memory fraction ------------------------------------------------------------------------ */

static void a_fraction_lies_above_0_and_at_most_at_1(void) {
  CHECK_EQUAL(read_fraction(), 1);
  succeed(torchlean_libtorch_set_memory_fraction(0.5));
  CHECK_EQUAL(read_fraction(), 0.5);
  const double wrong[] = {0, -0.0, -0.25, 1.5, NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    expect_user_error(torchlean_libtorch_set_memory_fraction(wrong[i]), "fraction");
  }
  CHECK_EQUAL(read_fraction(), 0.5);
  succeed(torchlean_libtorch_set_memory_fraction(1));
}

static void what_goes_beyond_the_fraction_is_resource_exhausted(void) {
  const double total = (double)take_u64(torchlean_libtorch_device_total_bytes(0));
  const double in_use = (double)torchlean_libtorch_allocated_bytes(0);
  const uint64_t created = torchlean_cuda_allocator_alloc_count(0);
  succeed(torchlean_libtorch_set_memory_fraction((in_use + (4 << 20)) / total));
  const IoError error = take_error(torchlean_cuda_buffer_full_io(4 << 20, 1, float32));
  CHECK_CONTAINS(error.constructor, "resourceExhausted");
  CHECK_EQUAL(error.code, ENOMEM);
  CHECK_EQUAL(torchlean_cuda_allocator_alloc_count(0), created);
  lean_dec(take_value(torchlean_cuda_buffer_full_io(1 << 10, 1, float32)));
  succeed(torchlean_libtorch_set_memory_fraction(1));
  lean_dec(take_value(torchlean_cuda_buffer_full_io(4 << 20, 1, float32)));
}

int main(int argc, char **argv) {
  static const Test tests[] = {TEST(a_backend_serves),
                               TEST(a_host_device_says_what_has_a_meaning_there),
                               TEST(a_device_that_does_not_exist_is_refused),
                               TEST(the_backends_figures_are_real),
                               TEST(settings_start_as_specified),
                               TEST(any_nonzero_value_turns_a_setting_on),
                               TEST(deterministic_mode_excludes_the_benchmark),
                               TEST(a_fraction_lies_above_0_and_at_most_at_1),
                               TEST(what_goes_beyond_the_fraction_is_resource_exhausted),
                               {0}};
  static const Scenario none[] = {{0}};
  return run_tests(argc, argv, tests, none);
}
