// The backend around its kernels: coverage, storages, transfer, views, refusals, failures, threads.
#include "fake_host.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

tl_status relu(const Session &session, const tl_operand *x, tl_storage **out) {
  return backend().elementwise->unary(session.instance(), TL_UNARY_RELU, x, &no_scalars, 0, out);
}

}  // namespace

TEST_CASE("the table says who it is") {
  CHECK(backend().struct_size == sizeof(BackendVTable));
  CHECK(backend().magic == TL_BACKEND_MAGIC);
  CHECK(std::string(backend().name) == "cuda-emulated");
}

TEST_CASE("it supports every operation, in the dtypes of its row") {
  const Session session;
  const std::map<std::string, std::set<tl_dtype>> kinds = {
      {"native", {TL_FLOAT32, TL_FLOAT64}},
      {"float64", {TL_FLOAT64}},
      {"encoded", {TL_ENCODED}},
      {"any", {TL_FLOAT32, TL_FLOAT64, TL_ENCODED}}};
  const auto check = [&](const std::string &name, tl_operation op, const std::string &dtypes) {
    INFO(name);
    for (const tl_dtype dtype : {TL_FLOAT32, TL_FLOAT64, TL_ENCODED, TL_DTYPE_COUNT}) {
      const tl_status expected = kinds.at(dtypes).contains(dtype) ? TL_OK : TL_UNSUPPORTED;
      CHECK(backend().supports(session.instance(), op, dtype) == expected);
    }
  };
#define TL_OPERATION(name, family, entry, enumerator, accuracy, state, runtime, lean, dtypes) \
  check(#name, TL_OP_##name, #dtypes);
#include <torchlean/operations.def>
#undef TL_OPERATION
  CHECK(backend().supports(session.instance(), TL_OP_COUNT, TL_FLOAT32) == TL_UNSUPPORTED);
}

TEST_CASE("fill writes every element, the sign of zero and NaN included") {
  const Session session("5");
  for (const double value : {0.0, -0.0, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    tl_storage *out = nullptr;
    REQUIRE(backend().memory->fill(session.instance(), TL_FLOAT32, 4, 9001, value, 0, &out) ==
            TL_OK);
    const Buffer buffer(session, out, 9001, TL_FLOAT32, 4);
    const float wanted = static_cast<float>(value);
    for (const float element : buffer.values<float>()) {
      REQUIRE(std::bit_cast<uint32_t>(element) == std::bit_cast<uint32_t>(wanted));
    }
  }
  tl_storage *out = nullptr;
  REQUIRE(backend().memory->fill(session.instance(), TL_ENCODED, 3, 5, 0, 0, &out) == TL_OK);
  const Buffer words(session, out, 5, TL_ENCODED, 3);
  std::vector<unsigned char> bytes(15, 1);
  REQUIRE(backend().transfer->download(session.instance(), words.operand(), TL_ENCODED,
                                       bytes.data()) == TL_OK);
  CHECK(bytes == std::vector<unsigned char>(15, 0));
}

TEST_CASE("transfer and copy keep every bit, from and to unaligned words") {
  const Session session;
  std::vector<unsigned char> words(1 + 8 * 1000);
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = static_cast<unsigned char>(i * 151 + 240);  // NaN payloads among them
  }
  tl_storage *out = nullptr;
  REQUIRE(backend().transfer->upload(session.instance(), words.data() + 1, TL_FLOAT64, TL_FLOAT64,
                                     8, 1000, 0, &out) == TL_OK);
  const Buffer buffer(session, out, 1000, TL_FLOAT64, 8);
  tl_storage *copied = nullptr;
  REQUIRE(backend().memory->copy(session.instance(), buffer.operand(), 0, &copied) == TL_OK);
  CHECK(copied != out);
  const Buffer copy(session, copied, 1000, TL_FLOAT64, 8);
  std::vector<unsigned char> back(words.size(), words[0]);
  REQUIRE(backend().transfer->download(session.instance(), copy.operand(), TL_FLOAT64,
                                       back.data() + 1) == TL_OK);
  CHECK(back == words);
}

TEST_CASE("transfer converts between the native kinds, rounding to nearest even") {
  const Session session("3");
  const std::vector<double> values = {
      0.1,      -0.0,         1e300,
      1e-300,   0x1.000001p0, 0x1.000003p0,
      0x1p-149, 0x1.8p-150,   std::numeric_limits<double>::infinity()};
  tl_storage *out = nullptr;
  REQUIRE(backend().transfer->upload(session.instance(), values.data(), TL_FLOAT64, TL_FLOAT32, 4,
                                     values.size(), 0, &out) == TL_OK);
  const Buffer narrow(session, out, values.size(), TL_FLOAT32, 4);
  std::vector<double> widened(values.size());
  REQUIRE(backend().transfer->download(session.instance(), narrow.operand(), TL_FLOAT64,
                                       widened.data()) == TL_OK);
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(widened == std::vector<double>{double{0.1f}, -0.0, inf, 0.0, 1.0, 0x1.000004p0, 0x1p-149,
                                       0x1p-149, inf});
  CHECK(std::signbit(widened[1]));
  CHECK(backend().transfer->upload(session.instance(), values.data(), TL_FLOAT64, TL_ENCODED, 8, 1,
                                   0, &out) == TL_UNSUPPORTED);
}

TEST_CASE("concat and slice move whole words, empty sides included") {
  const Session session;
  const Buffer a(session, std::vector<float>{1, 2, 3});
  const Buffer b(session, std::vector<float>{4, 5});
  const Buffer none(session, std::vector<float>{});
  const auto concat = [&](const Buffer &left, const Buffer &right) {
    tl_storage *out = nullptr;
    REQUIRE(backend().view->concat(session.instance(), left.operand(), right.operand(), 0, &out) ==
            TL_OK);
    return Buffer(session, out, left.operand()->count + right.operand()->count, TL_FLOAT32, 4)
        .values<float>();
  };
  CHECK(concat(a, b) == std::vector<float>{1, 2, 3, 4, 5});
  CHECK(concat(none, b) == std::vector<float>{4, 5});
  CHECK(concat(a, none) == std::vector<float>{1, 2, 3});

  tl_storage *out = nullptr;
  REQUIRE(backend().view->slice(session.instance(), a.operand(), 1, 2, 0, &out) == TL_OK);
  CHECK(Buffer(session, out, 2, TL_FLOAT32, 4).values<float>() == std::vector<float>{2, 3});
  CHECK(backend().view->slice(session.instance(), a.operand(), 2, 2, 0, &out) ==
        TL_INVALID_ARGUMENT);
  CHECK(backend().view->slice(session.instance(), a.operand(), UINT64_MAX, 2, 0, &out) ==
        TL_INVALID_ARGUMENT);
}

TEST_CASE("malformed arguments are refused by name and leave the output alone") {
  const Session session;
  const Buffer floats(session, std::vector<float>{1, 2, 3});
  const Buffer doubles(session, std::vector<double>{1, 2, 3});
  const Buffer shorter(session, std::vector<float>{1, 2});
  tl_storage *const untouched = reinterpret_cast<tl_storage *>(16);
  tl_storage *out = untouched;
  const auto binary = [&](tl_binary_op op, const tl_operand *a, const tl_operand *b,
                          const tl_scalars *scalars) {
    return backend().elementwise->binary(session.instance(), op, a, b, scalars, 0, &out);
  };
  CHECK(binary(TL_BINARY_ADD, floats.operand(), shorter.operand(), &no_scalars) ==
        TL_INVALID_ARGUMENT);
  CHECK(fake_host::error() == "add: b has 2 elements, expected 3");
  CHECK(binary(TL_BINARY_ADD, floats.operand(), doubles.operand(), &no_scalars) ==
        TL_INVALID_ARGUMENT);
  CHECK(fake_host::error() == "add: b has dtype 1, expected 0");
  const tl_scalars short_scalars = {8, {0, 0}};
  CHECK(binary(TL_BINARY_AXPY, floats.operand(), floats.operand(), &short_scalars) ==
        TL_INVALID_ARGUMENT);
  tl_operand lying = *floats.operand();
  lying.count = 4;
  CHECK(relu(session, &lying, &out) == TL_INVALID_ARGUMENT);
  CHECK(fake_host::error() == "relu: x holds 12 bytes, expected 4 elements of 4");
  tl_operand encoded = *floats.operand();
  encoded.dtype = TL_ENCODED;
  CHECK(relu(session, &encoded, &out) == TL_UNSUPPORTED);
  CHECK(binary(TL_BINARY_OP_COUNT, floats.operand(), floats.operand(), &no_scalars) ==
        TL_UNSUPPORTED);
  CHECK(backend().elementwise->unary(session.instance(), UINT32_MAX, floats.operand(), &no_scalars,
                                     0, &out) == TL_UNSUPPORTED);
  CHECK(backend().memory->fill(session.instance(), TL_FLOAT32, 8, 1, 0, 0, &out) ==
        TL_INVALID_ARGUMENT);
  CHECK(backend().memory->fill(session.instance(), TL_FLOAT32, 4, UINT64_MAX, 0, 0, &out) ==
        TL_INVALID_ARGUMENT);
  CHECK(out == untouched);
}

TEST_CASE("a device or schedule that does not exist is refused at creation") {
  tl_create_options options{};
  options.struct_size = sizeof options;
  tl_instance *instance = nullptr;
  fake_host::set_schedule("");
  options.device = "cuda:1";
  CHECK(backend().create(&options, &instance) == TL_UNAVAILABLE);
  options.device = "cuda";
  fake_host::set_schedule("twelve");
  CHECK(backend().create(&options, &instance) == TL_INVALID_ARGUMENT);
  fake_host::set_schedule("");
  fake_host::set_tail_blocks("2147483648");
  CHECK(backend().create(&options, &instance) == TL_INVALID_ARGUMENT);
  CHECK(fake_host::error() ==
        "create: TORCHLEAN_EMULATION_TAIL_BLOCKS is \"2147483648\", "
        "expected a number from 0 to 2147483647");
  fake_host::set_tail_blocks("");
  CHECK(instance == nullptr);
  fake_host::set_schedule("");
}

TEST_CASE("B3: whichever allocation fails, the call says so, returns nothing and leaks nothing") {
  const Session session;
  const Buffer x(session, std::vector<double>(300, 2.0));
  const Buffer y(session, std::vector<double>(300, 3.0));
  const Buffer many(session, std::vector<double>(5000, 1.0));
  const tl_adam_params params = {sizeof(tl_adam_params), 0.9, 0.1, 0.999, 0.001, 1, 1, 1e-8, 0, -1};
  std::vector<double> words(300);
  std::vector<tl_storage *> out(3);
  const std::vector<std::function<tl_status()>> calls = {
      [&] { return relu(session, x.operand(), out.data()); },
      [&] {
        return backend().elementwise->binary(session.instance(), TL_BINARY_ADD, x.operand(),
                                             y.operand(), &no_scalars, 0, out.data());
      },
      [&] {
        return backend().elementwise->select_bwd(session.instance(), TL_SELECT_MAX_BWD, x.operand(),
                                                 y.operand(), y.operand(), 0, out.data());
      },
      [&] {
        return backend().optimizer->adam_step(session.instance(), x.operand(), y.operand(),
                                              x.operand(), y.operand(), &params, 0, out.data());
      },
      [&] {
        return backend().memory->fill(session.instance(), TL_FLOAT32, 4, 5, 1, 0, out.data());
      },
      [&] { return backend().memory->copy(session.instance(), x.operand(), 0, out.data()); },
      [&] {
        return backend().transfer->upload(session.instance(), words.data(), TL_FLOAT64, TL_FLOAT32,
                                          4, 300, 0, out.data());
      },
      [&] {
        return backend().transfer->download(session.instance(), x.operand(), TL_FLOAT32,
                                            words.data());
      },
      [&] {
        return backend().view->concat(session.instance(), x.operand(), y.operand(), 0, out.data());
      },
      [&] { return backend().view->slice(session.instance(), x.operand(), 7, 9, 0, out.data()); },
      [&] {
        return backend().reduction->reduce(session.instance(), TL_REDUCE_TOTAL_SUM, many.operand(),
                                           1, 5000, 1, 0, out.data());
      },
      [&] {
        return backend().reduction->row_mask(session.instance(), TL_ROW_MASK_FIRST_MAX,
                                             many.operand(), 1, 5000, 0, 0, out.data());
      },
  };
  for (const auto &call : calls) {
    for (const bool ever_after : {false, true}) {
      tl_status status = TL_OUT_OF_MEMORY;
      int64_t n = 0;
      while (status != TL_OK) {
        const int64_t blocks = fake_host::live_blocks();
        const int64_t before = fake_host::allocations();
        tl_memory_info info{};
        info.struct_size = sizeof info;
        REQUIRE(backend().device->memory_info(session.instance(), &info) == TL_OK);
        const uint64_t bytes = info.allocated_bytes;
        out.assign(3, nullptr);
        fake_host::fail_allocation(++n, ever_after);
        status = call();
        fake_host::fail_allocation(0, false);
        if (status == TL_OK) {
          CHECK(fake_host::allocations() - before == n - 1);
          for (tl_storage *storage : out) {
            if (storage != nullptr) {
              backend().memory->release(session.instance(), storage);
            }
          }
        } else {
          CHECK(status == TL_OUT_OF_MEMORY);
          CHECK(out == std::vector<tl_storage *>(3, nullptr));
        }
        CHECK(fake_host::live_blocks() == blocks);
        REQUIRE(backend().device->memory_info(session.instance(), &info) == TL_OK);
        CHECK(info.allocated_bytes == bytes);
      }
      CHECK(n >= 2);
    }
  }
}

TEST_CASE("entries may be called from many threads at once") {
  const Session session("9");
  const Buffer x(session, std::vector<float>(1500, -1.5f));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads(4);
  for (std::thread &thread : threads) {
    thread = std::thread([&] {
      for (int repeat = 0; repeat < 20; ++repeat) {
        tl_storage *out = nullptr;
        if (relu(session, x.operand(), &out) != TL_OK) {
          ++wrong;
          continue;
        }
        const Buffer result(session, out, 1500, TL_FLOAT32, 4);
        wrong += result.values<float>() == std::vector<float>(1500, 0.0f) ? 0 : 1;
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  CHECK(wrong == 0);
}

TEST_CASE("device figures fill the prefix that the caller knows") {
  const Session session;
  tl_device_properties properties{};
  properties.struct_size = offsetof(tl_device_properties, capability);
  properties.total_bytes = 7;
  REQUIRE(backend().device->properties(session.instance(), 0, &properties) == TL_OK);
  CHECK(std::string(properties.name) == "emulated CUDA device");
  CHECK(properties.total_bytes == 7);
  CHECK(backend().device->properties(session.instance(), 1, &properties) == TL_INVALID_ARGUMENT);
  uint32_t count = 0;
  REQUIRE(backend().device->count(session.instance(), &count) == TL_OK);
  CHECK(count == 1);
  CHECK(backend().device->set_setting(session.instance(), TL_SETTING_DETERMINISTIC, 1) == TL_OK);
  CHECK(backend().device->set_setting(session.instance(), TL_SETTING_CUDNN, 1) == TL_UNSUPPORTED);
}

TEST_CASE("the memory fraction refuses the first block too many, and figures count blocks") {
  const Session session;
  const auto figures = [&] {
    tl_memory_info info{};
    info.struct_size = sizeof info;
    REQUIRE(backend().device->memory_info(session.instance(), &info) == TL_OK);
    return info;
  };
  const auto fill = [&](uint64_t count) {
    tl_storage *out = nullptr;
    const tl_status status =
        backend().memory->fill(session.instance(), TL_FLOAT64, 8, count, 0, 0, &out);
    if (status == TL_OK) {
      backend().memory->release(session.instance(), out);
    }
    return status;
  };
  const tl_memory_info first = figures();
  const Buffer held(session, std::vector<double>(9));  // 72 bytes, as two blocks of 64
  CHECK(figures().allocated_bytes == first.allocated_bytes + 128);
  CHECK(figures().peak_allocated_bytes >= figures().allocated_bytes);
  const double total = static_cast<double>(first.device_total_bytes);
  const auto set_cap = [&](uint64_t bytes) {
    // A little more than the quotient, which may be rounded down.
    return backend().device->set_memory_fraction(session.instance(),
                                                 (static_cast<double>(bytes) + 0.5) / total);
  };
  REQUIRE(set_cap(first.allocated_bytes + 128 + 1024) == TL_OK);
  CHECK(fill(128) == TL_OK);
  CHECK(fill(129) == TL_OUT_OF_MEMORY);
  CHECK(fake_host::error().starts_with("fill: no memory for 1088 bytes: "));
  CHECK(fill(128) == TL_OK);
  CHECK(figures().allocated_bytes == first.allocated_bytes + 128);
  for (const double bad : {0.0, -1.0, 1.5, static_cast<double>(NAN)}) {
    CHECK(backend().device->set_memory_fraction(session.instance(), bad) == TL_INVALID_ARGUMENT);
  }
  REQUIRE(backend().device->set_memory_fraction(session.instance(), 1) == TL_OK);
  CHECK(fill(129) == TL_OK);
  CHECK(backend().device->empty_cache(session.instance()) == TL_OK);
}

TEST_CASE("another device than the one there is cannot be selected") {
  const Session session;
  CHECK(backend().device->select(session.instance(), 0) == TL_OK);
  CHECK(backend().device->select(session.instance(), 1) == TL_INVALID_ARGUMENT);
  CHECK(fake_host::error() == "select: index is 1, expected less than 1");
  uint32_t driver = 1, runtime = 1;
  CHECK(backend().device->versions(session.instance(), &driver, &runtime) == TL_OK);
  CHECK(driver == 0);
  CHECK(runtime == 0);
  CHECK(backend().device->set_setting(session.instance(), TL_SETTING_MATMUL_TF32, 1) == TL_OK);
}
