// The seam's host side: an emulated device whose memory is the core's host memory.
#include "executor.hpp"

#include <unistd.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace torchlean::cuda::device {

namespace {

// Fresh device memory holds anything. These bytes make a NaN of either dtype, which spoils any
// result that an element was forgotten in.
constexpr int garbage = 0xFB;

// A few multiprocessors, so that grids of middle-sized arrays already take more than one stride.
constexpr uint32_t multiprocessors = 4;

// TORCHLEAN_EMULATION_SCHEDULE, where the core's table has it: 0 or absent is the natural order.
uint64_t schedule_option(const tl_host &host) {
  const char *text = host.option("TORCHLEAN_EMULATION_SCHEDULE");
  if (text == nullptr || *text == '\0') {
    return 0;
  }
  uint64_t schedule = 0;
  const char *end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, schedule);
  if (error != std::errc() || stop != end) {
    throw Failure(TL_INVALID_ARGUMENT, "create: TORCHLEAN_EMULATION_SCHEDULE is \"" +
                                           std::string(text) +
                                           "\", expected a number from 0 to 2^64 - 1");
  }
  return schedule;
}

uint64_t pages(int name) {
  const long number = sysconf(name);
  const long size = sysconf(_SC_PAGESIZE);
  return number > 0 && size > 0 ? static_cast<uint64_t>(number) * static_cast<uint64_t>(size) : 0;
}

}  // namespace

uint32_t count() { return 1; }

Stream *create_stream(const tl_host &host, const char *device) {
  const std::string_view name = device;
  if (!name.empty() && name != "cpu" && name != "cuda" && name != "cuda:0") {
    throw Failure(TL_UNAVAILABLE, "create: no device \"" + std::string(name) +
                                      "\" here, expected cpu, cuda or cuda:0");
  }
  auto stream = std::make_unique<Stream>();
  stream->host = &host;
  stream->schedule = schedule_option(host);
  return stream.release();
}

void destroy_stream(Stream *stream) noexcept { delete stream; }

void *allocate(Stream &stream, const char *operation, size_t bytes) {
  void *block = stream.host->alloc(bytes);
  if (block == nullptr) {
    throw Failure(TL_OUT_OF_MEMORY,
                  std::string(operation) + ": no memory for " + std::to_string(bytes) + " bytes");
  }
  std::memset(block, garbage, bytes);
  return block;
}

void deallocate(Stream &stream, void *block, size_t bytes) noexcept {
  stream.host->free(block, bytes);
}

void copy_to_device(Stream &, const char *, void *to, const void *from, size_t bytes) {
  std::memcpy(to, from, bytes);
}

void copy_to_host(Stream &, const char *, void *to, const void *from, size_t bytes) {
  std::memcpy(to, from, bytes);
}

void copy_on_device(Stream &, const char *, void *to, const void *from, size_t bytes) {
  std::memcpy(to, from, bytes);
}

void clear(Stream &, const char *, void *block, size_t bytes) { std::memset(block, 0, bytes); }

void synchronize(Stream &, const char *) {}

void describe(Stream &, tl_device_properties &out) {
  std::strcpy(out.name, "emulated CUDA device");
  out.multiprocessor_count = multiprocessors;
  out.total_bytes = pages(_SC_PHYS_PAGES);
}

void memory_of_device(Stream &, uint64_t &out_free, uint64_t &out_total) {
  out_free = pages(_SC_AVPHYS_PAGES);
  out_total = pages(_SC_PHYS_PAGES);
}

uint32_t full_grid(const Stream &) { return 8 * multiprocessors; }

}  // namespace torchlean::cuda::device
