// The CUDA side of the seam, on a CUDA runtime of host memory: what is asked of CUDA, what its
// faults become, who pays for memory.
#include <doctest/doctest.h>

#include "device_api.hpp"
#include "fake_cuda.hpp"
#include "seam.hpp"

#include <string>

using namespace torchlean;
using namespace torchlean::cuda;
using fake_cuda::machine;

namespace {

uint32_t index_of(const char *name, uint32_t has_driver = 1) {
  tl_create_options options{};
  options.struct_size = sizeof options;
  options.device = name;
  options.has_nvidia_driver = has_driver;
  return device::index_of(options);
}

tl_memory_info figures(device::Stream &stream) {
  tl_memory_info info{};
  device::memory_info(stream, info);
  return info;
}

}  // namespace

TEST_CASE("a device is asked for by name, and one that is not there is unavailable") {
  fake_cuda::reset();
  CHECK(index_of("") == 0);
  CHECK(index_of("cuda") == 0);
  CHECK(index_of("cuda:1") == 1);
  for (const char *name : {"cpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda:99999999999"}) {
    CAPTURE(name);
    CHECK(failure_of([&] { index_of(name); }).first == TL_UNAVAILABLE);
  }
  const auto [status, text] = failure_of([] { index_of("cuda:2"); });
  CHECK(status == TL_UNAVAILABLE);
  CHECK(text == "create: device is \"cuda:2\", but CUDA devices here: 2, the first is 0");
}

TEST_CASE("what keeps every device from being used is told in the same words") {
  fake_cuda::reset();
  const std::string beginning = "create: present, loadable, no usable device (";
  CHECK(failure_of([] { index_of("", 0); }).second == beginning + "no NVIDIA driver)");
  machine().device_count = cudaErrorInsufficientDriver;
  CHECK(failure_of([] { index_of(""); }).second == beginning + "driver too old)");
  CHECK(machine().last_error == cudaSuccess);
  CHECK(device::count() == 0);
  machine().device_count = cudaSuccess;
  machine().devices = 0;
  CHECK(failure_of([] { index_of("cuda"); }).second == beginning + "the NVIDIA driver has none)");
}

TEST_CASE("a device without memory pools is refused by name") {
  fake_cuda::reset();
  machine().has_pools = false;
  const auto [status, text] = failure_of([] { stream_on(5); });
  CHECK(status == TL_UNAVAILABLE);
  CHECK(text == "create: device 5 has no memory pools, which this backend needs");
}

TEST_CASE("streams of one device share a pool, which keeps what is freed") {
  fake_cuda::reset();
  const int before = machine().pools;
  const OwnedStream first = stream_on(0);
  CHECK(machine().release_threshold == UINT64_MAX);
  const OwnedStream second = stream_on(0);
  const int pools = machine().pools;
  CHECK(pools <= before + 1);
  const OwnedStream other = stream_on(1);
  CHECK(machine().pools == pools + 1);

  void *block = device::allocate(*first, "test", 1000);
  CHECK(machine().blocks[block] == 1024);  // whole multiples of 512 bytes
  CHECK(figures(*second).allocated_bytes == 1024);
  CHECK(figures(*other).allocated_bytes == 0);
  CHECK(figures(*first).reserved_bytes == 4096);
  CHECK(figures(*first).peak_reserved_bytes == 8192);
  device::deallocate(*first, block, 1000);
  CHECK(figures(*first).allocated_bytes == 0);
  CHECK(figures(*first).peak_allocated_bytes >= 1024);

  const int waits = machine().calls["cudaStreamSynchronize"];
  device::empty_cache(*first);
  CHECK(machine().calls["cudaMemPoolTrimTo"] == 1);
  CHECK(machine().calls["cudaStreamSynchronize"] == waits + 1);
}

TEST_CASE("the fraction refuses the first byte too many without asking the device") {
  fake_cuda::reset();
  const OwnedStream stream = stream_on(0);
  device::set_memory_fraction(*stream, 1.0 / 256);  // of 1 MiB
  CHECK(machine().release_threshold == 4096);
  void *half = device::allocate(*stream, "test", 2048);
  const int asked = machine().calls["cudaMallocFromPoolAsync"];
  const auto [status, text] = failure_of([&] { device::allocate(*stream, "zeros", 2049); });
  CHECK(status == TL_OUT_OF_MEMORY);
  CHECK(text == "zeros: no memory for 2560 bytes: 2048 are allocated of the 4096 that may be");
  CHECK(machine().calls["cudaMallocFromPoolAsync"] == asked);
  void *rest = device::allocate(*stream, "test", 2048);
  device::deallocate(*stream, rest, 2048);
  device::set_memory_fraction(*stream, 1);
  void *more = device::allocate(*stream, "test", 100000);
  device::deallocate(*stream, more, 100000);
  device::deallocate(*stream, half, 2048);
  CHECK(figures(*stream).allocated_bytes == 0);
}

TEST_CASE("memory that the device has not is refused once, told once and counted nowhere") {
  fake_cuda::reset();
  const OwnedStream stream = stream_on(0);
  machine().next["cudaMallocFromPoolAsync"] = cudaErrorMemoryAllocation;
  const auto [status, text] = failure_of([&] { device::allocate(*stream, "add", 400); });
  CHECK(status == TL_OUT_OF_MEMORY);
  CHECK(text == "add: no memory for 400 bytes: out of memory");
  CHECK(machine().calls["cudaMallocFromPoolAsync"] == 1);
  CHECK(machine().last_error == cudaSuccess);  // a kernel launch would take it for its own
  CHECK(figures(*stream).allocated_bytes == 0);
  CHECK(failure_of([&] { device::allocate(*stream, "add", SIZE_MAX); }).first == TL_OUT_OF_MEMORY);
  device::synchronize(*stream, "synchronize");
}

TEST_CASE("a later fault surfaces at the next wait, and the device is lost for good") {
  fake_cuda::reset();
  const OwnedStream stream = stream_on(1);
  void *block = device::allocate(*stream, "test", 16);
  machine().fault = cudaErrorIllegalAddress;
  char word[16];
  const auto [status, text] =
      failure_of([&] { device::copy_to_host(*stream, "download", word, block, 16); });
  CHECK(status == TL_DEVICE_LOST);
  CHECK(text ==
        "download: from an earlier operation: an illegal memory access was encountered (the device "
        "is lost)");
  machine().fault = cudaSuccess;
  const int calls = machine().calls["cudaMallocFromPoolAsync"];
  CHECK(failure_of([&] { device::allocate(*stream, "add", 4); }).first == TL_DEVICE_LOST);
  CHECK(failure_of([&] { device::synchronize(*stream, "synchronize"); }).first == TL_DEVICE_LOST);
  CHECK(failure_of([&] { device::clear(*stream, "zeros", block, 4); }).first == TL_DEVICE_LOST);
  CHECK(machine().calls["cudaMallocFromPoolAsync"] == calls);
  machine().next["cudaFreeAsync"] = cudaErrorIllegalAddress;
  device::deallocate(*stream, block, 16);
  CHECK(machine().last_error == cudaSuccess);
}

TEST_CASE("a fault that passes ends one call only") {
  fake_cuda::reset();
  const OwnedStream stream = stream_on(0);
  machine().next["cudaStreamSynchronize"] = cudaErrorInvalidValue;
  const auto [status, text] = failure_of([&] { device::synchronize(*stream, "synchronize"); });
  CHECK(status == TL_DEVICE_ERROR);
  CHECK(text == "synchronize: from an earlier operation: invalid argument");
  device::synchronize(*stream, "synchronize");
}

TEST_CASE("each call makes its stream's device the thread's") {
  fake_cuda::reset();
  const OwnedStream stream = stream_on(1);
  const auto sets_device = [&](const auto &call) {
    machine().current_device = 0;
    call();
    return machine().current_device == 1;
  };
  void *block = nullptr;
  char word[4] = {1, 2, 3, 4};
  CHECK(sets_device([&] { block = device::allocate(*stream, "test", 8); }));
  CHECK(sets_device([&] { device::copy_to_device(*stream, "test", block, word, 4); }));
  CHECK(sets_device([&] { device::copy_on_device(*stream, "test", block, word, 4); }));
  CHECK(sets_device([&] { device::clear(*stream, "test", block, 8); }));
  CHECK(sets_device([&] { device::copy_to_host(*stream, "test", word, block, 4); }));
  CHECK(word[3] == 0);
  CHECK(sets_device([&] { device::synchronize(*stream, "test"); }));
  CHECK(sets_device([&] { device::empty_cache(*stream); }));
  CHECK(sets_device([&] { figures(*stream); }));
  CHECK(sets_device([&] { device::deallocate(*stream, block, 8); }));
}

TEST_CASE("a device says what it is") {
  fake_cuda::reset();
  tl_device_properties properties{};
  device::describe(1, properties);
  CHECK(std::string(properties.name) == "second");
  CHECK(properties.is_cuda == 1);
  CHECK(properties.capability == 91);
  CHECK(properties.clock_khz == 7);
  CHECK(properties.total_bytes == size_t{1} << 20);
  uint32_t driver = 0, runtime = 0;
  device::versions(driver, runtime);
  CHECK(driver == 13010);
  CHECK(runtime == 13000);
  CHECK(device::full_grid(*stream_on(0)) == 56);
}
