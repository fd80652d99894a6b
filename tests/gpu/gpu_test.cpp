// What only a GPU shows: its figures, its memory running out, the choice of a device. Run by
// tests/gpu/run with TORCHLEAN_DEVICE=cuda.
#include <doctest/doctest.h>
#include <torchlean/runtime.hpp>

#include <cstdlib>
#include <string>
#include <thread>

using namespace torchlean;

namespace {

constexpr uint64_t mebibyte = uint64_t{1} << 20;

bool is_libtorch() { return std::string(std::getenv("TORCHLEAN_BACKEND")) == "libtorch"; }

Buffer block(uint64_t bytes) { return zeros(bytes / 4, TL_FLOAT32); }

bool fits(uint64_t bytes) {
  try {
    block(bytes);
    return true;
  } catch (const Error &error) {
    CHECK(error.status() == TL_OUT_OF_MEMORY);
    return false;
  }
}

// 1 + 1, so that something was computed.
bool computes() {
  const Buffer x = full(1000, 1, TL_FLOAT32);
  return download<float>(add(x, x)) == std::vector<float>(1000, 2);
}

}  // namespace

TEST_CASE("the device says what it is") {
  REQUIRE(tl_runtime_status() == TL_NATIVE_AVAILABLE);
  REQUIRE(device_count() >= 1);
  const DeviceInfo info = device_info(0);
  CHECK(info.is_cuda);
  CHECK(!info.name.empty());
  CHECK(info.capability >= 50);
  CHECK(info.total_bytes >= 1024 * mebibyte);
  const tl_memory_figures figures = memory_figures();
  CHECK(figures.device_total_bytes == info.total_bytes);
  CHECK(figures.device_free_bytes <= figures.device_total_bytes);
  CHECK(computes());
  synchronize();
}

TEST_CASE("a device is chosen while no buffer lives, and only one that is there") {
  CHECK(device_index() == 0);
  {
    const Buffer held = block(64);
    CHECK(tl_set_device(0) == TL_INVALID_ARGUMENT);
  }
  for (uint32_t index = 0; index < device_count(); ++index) {
    check(tl_set_device(index));
    CHECK(device_index() == index);
    CHECK(computes());
  }
  check(tl_set_device(0));
  CHECK(tl_set_device(device_count()) == TL_INVALID_ARGUMENT);
  CHECK(computes());
}

TEST_CASE("10,000 operations with releases leave the allocated bytes where they began") {
  const Buffer large = full(300'000, 1, TL_FLOAT32);
  const Buffer small = full(10, 1, TL_FLOAT32);
  computes();
  synchronize();
  const uint64_t before = memory_figures().allocated_bytes;
  for (int i = 0; i < 10'000; ++i) {
    const Buffer &x = i % 100 == 0 ? large : small;
    Buffer y = i % 2 == 0 ? add(x, x) : exp(x);
    y.release();
  }
  synchronize();
  CHECK(memory_figures().allocated_bytes == before);
}

TEST_CASE("memory that runs out is an error that leaves everything usable") {
  const uint64_t total = memory_figures().device_total_bytes;
  const Buffer held = full(1000, 3, TL_FLOAT32);
  std::vector<Buffer> blocks;
  uint64_t taken = 0;
  bool is_refused = false;
  const uint64_t size = std::min<uint64_t>(total / 8, 15 * 1024 * mebibyte) / 4096 * 4096;
  while (!is_refused && taken <= 2 * total) {
    try {
      blocks.push_back(block(size));
      taken += size;
    } catch (const Error &error) {
      CHECK(error.status() == TL_OUT_OF_MEMORY);
      is_refused = true;
    }
  }
  CHECK(is_refused);
  CHECK(taken <= total);
  blocks.clear();
  CHECK(fits(size));
  CHECK(computes());
  CHECK(download<float>(held) == std::vector<float>(1000, 3));
  check(tl_empty_cache());
}

TEST_CASE("the fraction refuses the right allocation and nothing else") {
  check(tl_empty_cache());
  const tl_memory_figures at_first = memory_figures();
  const auto total = static_cast<double>(at_first.device_total_bytes);
  const uint64_t room = 256 * mebibyte;
  // LibTorch counts what it has reserved, cuda-native what is allocated.
  const uint64_t counted = is_libtorch() ? at_first.reserved_bytes : at_first.allocated_bytes;
  check(tl_set_memory_fraction(static_cast<double>(counted + room) / total));
  CHECK(fits(200 * mebibyte));
  CHECK_FALSE(fits(300 * mebibyte));
  {
    const Buffer held = block(100 * mebibyte);
    CHECK(fits(100 * mebibyte));
    CHECK_FALSE(fits(200 * mebibyte));
  }
  CHECK(fits(200 * mebibyte));
  CHECK(computes());
  check(tl_set_memory_fraction(1));
  CHECK(fits(300 * mebibyte));
  check(tl_empty_cache());
  CHECK(memory_figures().reserved_bytes <= at_first.reserved_bytes);
}

TEST_CASE("settings are taken") {
  for (tl_setting which = 0; which < TL_SETTING_COUNT; ++which) {
    const bool former = set_setting(which, true);
    CHECK(setting(which));
    CHECK(computes());
    set_setting(which, former);
  }
}

TEST_CASE("no TF32 unless it is asked for") {
  // 1 + 2^-12 needs more bits than TF32 has.
  const float x = 1 + 0x1p-12F;
  const Buffer a = full(256 * 256, x, TL_FLOAT32);
  std::vector<float> diagonal(256 * 256, 0);
  for (size_t i = 0; i < 256; ++i) diagonal[i * 257] = 1;
  const Buffer product = bmm(a, upload(diagonal), {.batch = 1, .m = 256, .n = 256, .p = 256});
  CHECK(download<float>(product) == std::vector<float>(256 * 256, x));
}

TEST_CASE("many threads compute at once") {
  std::vector<std::thread> threads;
  std::vector<int> right(4);
  threads.reserve(right.size());
  for (int &count : right)
    threads.emplace_back([&count] {
      for (int i = 0; i < 50; ++i) count += computes() ? 1 : 0;
    });
  for (std::thread &thread : threads) thread.join();
  CHECK(right == std::vector<int>(4, 50));
}

TEST_CASE("versions are CUDA's") {
  uint32_t driver = 0, runtime = 0;
  check(tl_driver_version(&driver));
  check(tl_runtime_version(&runtime));
  CHECK(driver >= 11000);
  CHECK(runtime >= 11000);
}
