// Arguments that no backend could accept are refused by the core, by name, and lose nothing.
#include <doctest/doctest.h>
#include <torchlean/runtime.h>

#include <array>
#include <cfenv>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "fixture.hpp"

namespace {

constexpr std::uint64_t huge = std::uint64_t{1} << 40U;

Owned full(double of) {
  Owned owned;
  REQUIRE(tl_full(1, of, TL_FLOAT32, &owned.buffer) == TL_OK);
  return owned;
}

double value(const Owned &owned) {
  float word = 0;
  REQUIRE(tl_download(owned.buffer, TL_FLOAT32, &word, sizeof word) == TL_OK);
  return word;
}

}  // namespace

TEST_CASE("wrong counts name the operation, the argument, its value and the expectation") {
  const Owned three = zeros(3), four = zeros(4), doubles = zeros(3, TL_FLOAT64);
  refused([&](tl_buffer **out) { return tl_binary(TL_BINARY_ADD, three.buffer, four.buffer, out); },
          "add: b has 4 elements, expected 3 as the first operand");
  refused(
      [&](tl_buffer **out) { return tl_binary(TL_BINARY_MUL, three.buffer, doubles.buffer, out); },
      "mul: b is float64, expected float32 as the first operand");
  refused([&](tl_buffer **out) { return tl_reduce_sum_by_row(four.buffer, 2, 3, out); },
          "reduce_sum_by_row: x has 4 elements, expected rows * cols = 6");
  refused([&](tl_buffer **out) { return tl_concat1d(three.buffer, four.buffer, 3, 3, out); },
          "concat1d: b has 4 elements, expected m = 3");
  refused([&](tl_buffer **out) { return tl_axpy(three.buffer, four.buffer, 1.0, out); },
          "axpy: b has 4 elements, expected 3 as the first operand");
}

TEST_CASE("unknown dtypes, enumerators and flags are refused") {
  const Owned x = zeros(4);
  refused([&](tl_buffer **out) { return tl_zeros(1, 7, out); },
          "zeros: dtype is 7 (unknown dtype), expected float32 (0) or float64 (1)");
  refused([&](tl_buffer **out) { return tl_full(1, 0.0, TL_ENCODED, out); },
          "full: dtype is 2 (encoded), expected float32 (0) or float64 (1)");
  refused([&](tl_buffer **out) { return tl_unary(99, x.buffer, out); },
          "unary: op is 99, expected a one-operand operation without scalars");
  refused([&](tl_buffer **out) { return tl_unary(TL_UNARY_SCALE, x.buffer, out); },
          "unary: op is 14, expected a one-operand operation without scalars");
  refused(
      [&](tl_buffer **out) {
        return tl_bmm_with_transpose(x.buffer, x.buffer, 1, 2, 2, 2, 2, 0, out);
      },
      "bmm_with_transpose: transposeA is 2, expected 0 or 1");
}

TEST_CASE("slices past the end are refused, overflow included") {
  const Owned x = zeros(5);
  refused([&](tl_buffer **out) { return tl_slice1d(x.buffer, 5, 3, 3, out); },
          "slice1d: start 3 and length 3 reach beyond the end, 5");
  refused([&](tl_buffer **out) { return tl_slice1d(x.buffer, 5, 4, ~std::uint64_t{0}, out); },
          "slice1d: start 4 and length 18446744073709551615 reach beyond the end, 5");
  refused([&](tl_buffer **out) { return tl_slice1d(x.buffer, 4, 0, 4, out); },
          "slice1d: x has 5 elements, expected n = 4");
}

TEST_CASE("axes and depths out of range are refused") {
  const Owned x = zeros(6);
  const std::array<std::uint64_t, 2> dims = {2, 3};
  refused([&](tl_buffer **out) { return tl_reduce_sum_axis(x.buffer, dims.data(), 2, 2, out); },
          "reduce_sum_axis: axis is 2, expected less than the rank 2");
  refused(
      [&](tl_buffer **out) { return tl_swap_adjacent_at_depth(x.buffer, dims.data(), 2, 1, out); },
      "swap_adjacent_at_depth: depth is 1, expected depth + 1 below the rank 2");
  const std::vector<std::uint64_t> long_list(65, 1);
  refused(
      [&](tl_buffer **out) { return tl_reduce_sum_axis(x.buffer, long_list.data(), 65, 0, out); },
      "reduce_sum_axis: dims has 65 entries, expected at most 64");
}

TEST_CASE("results and products beyond the limits are refused") {
  const Owned one = zeros(1), none = zeros(0);
  refused([&](tl_buffer **out) { return tl_zeros(huge, TL_FLOAT32, out); },
          "zeros: the result would have 1099511627776 elements, at most 4294967295 are possible");
  refused([&](tl_buffer **out) { return tl_reduce_sum_by_row(none.buffer, huge, 0, out); },
          "reduce_sum_by_row: the result would have 1099511627776 elements, at most 4294967295 are "
          "possible");
  refused([&](tl_buffer **out) { return tl_reduce_sum_by_row(one.buffer, huge, huge, out); },
          "reduce_sum_by_row: the product of rows and cols does not fit 64 bits");
}

TEST_CASE("uploads of broken payloads are refused") {
  const std::array<unsigned char, 6> bytes = {};
  refused([&](tl_buffer **out) { return tl_upload(bytes.data(), 6, TL_FLOAT32, TL_FLOAT32, out); },
          "upload: the payload has 6 bytes, expected a multiple of the word width 4");
  refused([&](tl_buffer **out) { return tl_upload(nullptr, 8, TL_FLOAT32, TL_FLOAT32, out); },
          "upload: words is NULL, expected 8 bytes");
  const tl_format e4m3 = {4, 3, 7, TL_ENCODING_FINITE_MAX_NAN};
  const tl_format e2m1 = {2, 1, 1, TL_ENCODING_FINITE};
  refused([&](tl_buffer **out) { return tl_upload_encoded(bytes.data(), 6, &e4m3, 2, out); },
          "upload_encoded: the word width is 2, expected 1 for 8 bits");
  const std::array<unsigned char, 2> stray = {0x0F, 0x10};
  refused([&](tl_buffer **out) { return tl_upload_encoded(stray.data(), 2, &e2m1, 1, out); },
          "upload_encoded: word 1 has bits above the 4 of its format, expected zeros there");
  const tl_format impossible = {1, 3, 7, TL_ENCODING_IEEE};
  const tl_counters before = counters();
  tl_buffer *out = nullptr;
  CHECK(tl_upload_encoded(bytes.data(), 6, &impossible, 1, &out) == TL_INVALID_ARGUMENT);
  CHECK(counters().created_buffers == before.created_buffers);
}

TEST_CASE("downloads into the wrong room are refused") {
  const Owned x = zeros(3);
  std::array<float, 3> words = {};
  CHECK(tl_download(x.buffer, TL_FLOAT32, words.data(), 11) == TL_INVALID_ARGUMENT);
  CHECK(std::string(tl_last_error()) ==
        "download: the target has 11 bytes, expected 3 words of 4 = 12");
  CHECK(tl_download(x.buffer, TL_FLOAT32, nullptr, 12) == TL_INVALID_ARGUMENT);
  CHECK(tl_download_encoded(x.buffer, words.data(), 12) == TL_INVALID_ARGUMENT);
}

TEST_CASE("released buffers are refused, by name") {
  const Owned x = zeros(3);
  CHECK(tl_buffer_release(x.buffer) == 1);
  CHECK(tl_buffer_release(x.buffer) == 0);
  CHECK(tl_buffer_size(x.buffer) == 0);
  refused([&](tl_buffer **out) { return tl_unary(TL_UNARY_EXP, x.buffer, out); },
          "exp: x: the buffer has been released");
  tl_dtype dtype = 0;
  CHECK(tl_buffer_dtype(x.buffer, &dtype) == TL_INVALID_ARGUMENT);
}

TEST_CASE("an empty buffer is released once, without a payload") {
  const Owned x = zeros(0);
  CHECK(tl_buffer_release(x.buffer) == 0);
  refused([&](tl_buffer **out) { return tl_copy(x.buffer, out); },
          "copy: x: the buffer has been released");
}

TEST_CASE("encoded buffers are kept out of native operations") {
  const tl_format e4m3 = {4, 3, 7, TL_ENCODING_FINITE_MAX_NAN};
  const std::array<unsigned char, 4> words = {1, 2, 3, 4};
  Owned encoded;
  REQUIRE(tl_upload_encoded(words.data(), 4, &e4m3, 1, &encoded.buffer) == TL_OK);
  refused([&](tl_buffer **out) { return tl_unary(TL_UNARY_NEG, encoded.buffer, out); },
          "neg: x is encoded, expected float32 or float64");
  const tl_format e5m2 = {5, 2, 15, TL_ENCODING_IEEE};
  Owned other;
  REQUIRE(tl_upload_encoded(words.data(), 4, &e5m2, 1, &other.buffer) == TL_OK);
  refused([&](tl_buffer **out) { return tl_concat1d(encoded.buffer, other.buffer, 4, 4, out); },
          "concat1d: b has another encoded format than the first operand");
}

TEST_CASE("NULL is refused everywhere") {
  refused([&](tl_buffer **out) { return tl_unary(TL_UNARY_ABS, nullptr, out); }, "abs: x is NULL");
  const Owned x = zeros(2);
  CHECK(tl_unary(TL_UNARY_ABS, x.buffer, nullptr) == TL_INVALID_ARGUMENT);
  CHECK(tl_buffer_release(nullptr) == 0);
  CHECK(tl_buffer_size(nullptr) == 0);
}

TEST_CASE("support is asked for one operation and dtype") {
  CHECK(tl_supports(nullptr, TL_OP_add, TL_ENCODED) == TL_UNSUPPORTED);
  CHECK(tl_supports(nullptr, TL_OP_add, TL_FLOAT32) == TL_OK);
  CHECK(tl_supports(nullptr, TL_OP_COUNT, TL_FLOAT32) == TL_INVALID_ARGUMENT);
}

TEST_CASE("settings keep their rules") {
  std::uint32_t value = 0;
  REQUIRE(tl_get_setting(TL_SETTING_CUDNN, &value) == TL_OK);
  CHECK(value == 1);
  REQUIRE(tl_get_setting(TL_SETTING_MATMUL_TF32, &value) == TL_OK);
  CHECK(value == 0);
  std::uint32_t former = 7;
  CHECK(tl_set_setting(TL_SETTING_CUDNN_BENCHMARK, 5, &former) == TL_OK);
  CHECK(former == 0);
  CHECK(tl_set_setting(TL_SETTING_DETERMINISTIC, 1, nullptr) == TL_OK);
  tl_get_setting(TL_SETTING_CUDNN_BENCHMARK, &value);
  CHECK(value == 0);
  CHECK(tl_set_setting(TL_SETTING_CUDNN_BENCHMARK, 1, nullptr) == TL_INVALID_ARGUMENT);
  CHECK(tl_set_setting(TL_SETTING_DETERMINISTIC, 0, &former) == TL_OK);
  CHECK(former == 1);
  CHECK(tl_set_setting(9, 1, nullptr) == TL_INVALID_ARGUMENT);
  CHECK(tl_get_setting(9, &value) == TL_INVALID_ARGUMENT);
}

TEST_CASE("the memory fraction is checked, caps allocation, and can be raised again") {
  for (const double bad : {0.0, -1.0, 1.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
    CHECK(tl_set_memory_fraction(bad) == TL_INVALID_ARGUMENT);
  }
  double fraction = 0;
  REQUIRE(tl_get_memory_fraction(&fraction) == TL_OK);
  CHECK(fraction == 1.0);
  REQUIRE(tl_set_memory_fraction(1e-6) == TL_OK);
  tl_buffer *out = nullptr;
  CHECK(tl_zeros(1 << 24, TL_FLOAT64, &out) == TL_OUT_OF_MEMORY);
  CHECK(out == nullptr);
  CHECK(std::string(tl_last_error()).rfind("zeros: ", 0) == 0);
  CHECK(tl_set_memory_fraction(1.0) == TL_OK);
  CHECK(zeros(1 << 20).buffer != nullptr);
}

TEST_CASE("the device is not changed while handles are alive") {
  {
    const Owned x = zeros(0);
    CHECK(tl_set_device(0) == TL_INVALID_ARGUMENT);
    CHECK(std::string(tl_last_error()).find("handles are alive") != std::string::npos);
  }
  CHECK(tl_set_device(0) == TL_OK);
  CHECK(tl_set_device(1) == TL_INVALID_ARGUMENT);
}

TEST_CASE("buffers of two backends do not mix") {
  tl_backend *other = nullptr;
  REQUIRE(tl_backend_open("reference", "", &other) == TL_OK);
  const Owned x = zeros(2);
  tl_backend *former = tl_set_thread_backend(other);
  const Owned y = zeros(2);
  CHECK(tl_set_thread_backend(former) == other);
  refused([&](tl_buffer **out) { return tl_binary(TL_BINARY_ADD, x.buffer, y.buffer, out); },
          "add: operands live on two backends, reference and reference");
  tl_backend_close(other);
  refused([&](tl_buffer **out) { return tl_copy(y.buffer, out); },
          "copy: the backend reference of this buffer has been closed", TL_UNAVAILABLE);
}

TEST_CASE("every operation is in the reference backend, in some dtype") {
  for (tl_operation operation = 0; operation < TL_OP_COUNT; ++operation) {
    tl_operation_info info = {};
    info.struct_size = sizeof info;
    REQUIRE(tl_get_operation(operation, &info) == TL_OK);
    bool is_there = false;
    for (tl_dtype dtype = 0; dtype < TL_DTYPE_COUNT; ++dtype) {
      is_there = is_there || tl_supports(nullptr, operation, dtype) == TL_OK;
    }
    CAPTURE(info.name);
    CHECK(is_there);
  }
}

TEST_CASE("B9: the caller's floating-point state neither matters nor changes") {
  const Owned one = full(1.0), tiny = full(0x1p-149), third = full(0x1.555556p-2);
  struct Sum {
    const Owned &b;
    double expected;
  };
  // Upward, both would be one step more; flushed to zero, tiny + tiny would vanish.
  const Sum sums[] = {{tiny, 1.0}, {third, 0x1.555556p+0}};
  for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    CAPTURE(mode);
    std::fenv_t normal;
    std::fegetenv(&normal);
    std::fesetround(mode);
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);  // flush results and operands
    const unsigned control = __builtin_ia32_stmxcsr() & 0xFFC0;
#endif
    Owned results[2], doubled;
    for (int i = 0; i < 2; ++i)
      tl_binary(TL_BINARY_ADD, one.buffer, sums[i].b.buffer, &results[i].buffer);
    tl_binary(TL_BINARY_ADD, tiny.buffer, tiny.buffer, &doubled.buffer);
    const int mode_after = std::fegetround();
#if defined(__x86_64__)
    const unsigned control_after = __builtin_ia32_stmxcsr() & 0xFFC0;
    CHECK(control_after == control);
#endif
    std::fesetenv(&normal);
    CHECK(mode_after == mode);
    for (int i = 0; i < 2; ++i) CHECK(value(results[i]) == sums[i].expected);
    CHECK(value(doubled) == 0x1p-148);
  }
}
