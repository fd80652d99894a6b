// The seam's host side: an emulated device whose memory is the core's host memory.
#include "../memory_account.hpp"
#include "executor.hpp"

#include <torchlean/host_system.hpp>

#include <charconv>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace torchlean::cuda::device {

namespace {

// A few multiprocessors, so that grids of middle-sized arrays already take more than one stride.
constexpr uint32_t multiprocessors = 4;

// In tail mode arrays are too large to touch them all: of a copy only the last bytes are moved, and
// fresh memory is left as the host gave it.
constexpr size_t copied_tail = size_t{1} << 20;

// A number of the core's table of variables; 0 where it is unset or the core does not have it.
uint64_t number_option(const tl_host &host, const char *name, uint64_t largest) {
  const char *text = host.option(name);
  if (text == nullptr || *text == '\0') {
    return 0;
  }
  uint64_t number = 0;
  const char *end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  if (error != std::errc() || stop != end || number > largest) {
    throw Failure(TL_INVALID_ARGUMENT, std::string("create: ") + name + " is \"" + text +
                                           "\", expected a number from 0 to " +
                                           std::to_string(largest));
  }
  return number;
}

void copy(const Stream &stream, void *to, const void *from, size_t bytes) {
  const size_t skipped = stream.tail_blocks == 0 || bytes <= copied_tail ? 0 : bytes - copied_tail;
  std::memcpy(static_cast<std::byte *>(to) + skipped,
              static_cast<const std::byte *>(from) + skipped, bytes - skipped);
}

// Of the one device.
MemoryAccount &account() {
  static auto &device = *new MemoryAccount;
  return device;
}

// As the core rounds host memory.
size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

uint32_t count() { return 1; }

uint32_t index_of(const tl_create_options &options) {
  const std::string_view name = options.device;
  if (!name.empty() && name != "cpu" && name != "cuda" && name != "cuda:0") {
    throw Failure(TL_UNAVAILABLE, "create: no device \"" + std::string(name) +
                                      "\" here, expected cpu, cuda or cuda:0");
  }
  return 0;
}

Stream *create_stream(const tl_host &host, uint32_t) {
  auto stream = std::make_unique<Stream>();
  stream->host = &host;
  stream->schedule = number_option(host, "TORCHLEAN_EMULATION_SCHEDULE", UINT64_MAX);
  stream->tail_blocks = static_cast<uint32_t>(
      number_option(host, "TORCHLEAN_EMULATION_TAIL_BLOCKS", emulation::most_blocks));
  return stream.release();
}

void destroy_stream(Stream *stream) noexcept { delete stream; }

uint32_t index_of(const Stream &) { return 0; }

void *allocate(Stream &stream, const char *operation, size_t bytes) {
  if (bytes > std::numeric_limits<size_t>::max() / 2) {
    throw Failure(TL_OUT_OF_MEMORY,
                  std::string(operation) + ": no memory for " + std::to_string(bytes) + " bytes");
  }
  account().take(operation, rounded(bytes));
  void *block = stream.host->alloc(bytes);
  if (block == nullptr) {
    account().give_back(rounded(bytes));
    throw Failure(TL_OUT_OF_MEMORY,
                  std::string(operation) + ": no memory for " + std::to_string(bytes) + " bytes");
  }
  if (stream.tail_blocks == 0) {
    std::memset(block, emulation::garbage, bytes);
  }
  return block;
}

void deallocate(Stream &stream, void *block, size_t bytes) noexcept {
  stream.host->free(block, bytes);
  account().give_back(rounded(bytes));
}

void copy_to_device(Stream &stream, const char *, void *to, const void *from, size_t bytes) {
  copy(stream, to, from, bytes);
}

void copy_to_host(Stream &stream, const char *, void *to, const void *from, size_t bytes) {
  copy(stream, to, from, bytes);
}

void copy_on_device(Stream &stream, const char *, void *to, const void *from, size_t bytes) {
  copy(stream, to, from, bytes);
}

void clear(Stream &, const char *, void *block, size_t bytes) { std::memset(block, 0, bytes); }

void synchronize(Stream &, const char *) {}

void describe(uint32_t, tl_device_properties &out) {
  std::strcpy(out.name, "emulated CUDA device");
  out.multiprocessor_count = multiprocessors;
  out.total_bytes = bytes_of_pages(_SC_PHYS_PAGES);
}

void memory_info(Stream &, tl_memory_info &out) {
  out.allocated_bytes = account().allocated();
  out.reserved_bytes = account().allocated();
  out.peak_allocated_bytes = account().peak();
  out.peak_reserved_bytes = account().peak();
  out.device_free_bytes = bytes_of_pages(_SC_AVPHYS_PAGES);
  out.device_total_bytes = bytes_of_pages(_SC_PHYS_PAGES);
}

void empty_cache(Stream &) {}

void set_memory_fraction(Stream &, double fraction) {
  account().set_cap(cap_of(fraction, bytes_of_pages(_SC_PHYS_PAGES)));
}

void versions(uint32_t &out_driver, uint32_t &out_runtime) { out_driver = out_runtime = 0; }

uint32_t full_grid(const Stream &stream) {
  return stream.tail_blocks == 0 ? 8 * multiprocessors : emulation::most_blocks;
}

}  // namespace torchlean::cuda::device
