// Opening the file, and the services.
#include "compare/direct/session.hpp"

#include <torchlean/runtime.hpp>

#include <fmt/format.h>

#include <dlfcn.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace torchlean::tools {
namespace {

// Bytes around every block, which must stay as they are.
constexpr std::size_t fence = 4096;
constexpr unsigned char fence_byte = 0xFE;
constexpr unsigned char garbage_byte = 0xA5;

std::atomic<std::int64_t> live_bytes{0};
std::atomic<std::uint64_t> damages{0};
thread_local std::string error_text;

void *allocate(std::size_t bytes) {
  const std::size_t whole = (2 * fence + bytes + 63) / 64 * 64;
  auto *memory = static_cast<unsigned char *>(std::aligned_alloc(64, whole));
  if (memory == nullptr) return nullptr;
  std::memset(memory, fence_byte, whole);
  std::memset(memory + fence, garbage_byte, bytes);
  live_bytes += static_cast<std::int64_t>(bytes);
  return memory + fence;
}

void release(void *block, std::size_t bytes) {
  if (block == nullptr) return;
  auto *memory = static_cast<unsigned char *>(block) - fence;
  const auto is_whole = [](unsigned char byte) { return byte == fence_byte; };
  if (!std::all_of(memory, memory + fence, is_whole) ||
      !std::all_of(memory + fence + bytes, memory + 2 * fence + bytes, is_whole)) {
    ++damages;
  }
  live_bytes -= static_cast<std::int64_t>(bytes);
  std::free(memory);
}

const char *option(const char *name) {
  for (const tl_variable &variable : variables()) {
    if (name != nullptr && std::strcmp(variable.name, name) == 0) return variable.value;
  }
  return nullptr;
}

constexpr tl_host services = {
    .struct_size = sizeof(tl_host),
    .abi_version = TL_ABI_VERSION,
    .reserved = 0,
    .log = [](tl_log_level, const char *) {},
    .set_error = [](const char *text) { error_text = text == nullptr ? "" : text; },
    .option = option,
    .alloc = allocate,
    .free = release,
};

}  // namespace

Session::Session(const std::string &path) {
  void *file = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) throw std::runtime_error(dlerror());
  const auto entry = reinterpret_cast<tl_backend_entry_fn>(dlsym(file, "torchlean_backend_entry"));
  table_ = entry == nullptr ? nullptr : entry(&services);
  if (table_ == nullptr) throw std::runtime_error(path + " gives no table: " + error_text);
  const char *device = option("TORCHLEAN_DEVICE");
  const tl_create_options options = {
      .struct_size = sizeof options,
      .device = device == nullptr ? "" : device,
      .num_threads = 0,
      .has_nvidia_driver = std::filesystem::exists("/proc/driver/nvidia/version") ? 1U : 0U,
      .reason = nullptr,
  };
  if (table_->create(&options, &instance_) != TL_OK || instance_ == nullptr) {
    throw std::runtime_error(path + " brings up no instance: " + error_text);
  }
}

Session::~Session() { table_->destroy(instance_); }

HostRecord host_record() { return {live_bytes, damages, error_text}; }

void forget_host_error() { error_text.clear(); }

DirectBuffer::DirectBuffer(const Session &session, tl_dtype dtype, std::uint64_t count)
    : session_(session) {
  const std::array<std::uint32_t, TL_DTYPE_COUNT> widths = {4, 8, 2};
  operand_ = {nullptr, count, dtype, widths.at(dtype)};
  if (count == 0) return;
  // Neither equal nor simple, and not too large for any kernel.
  std::vector<double> values;
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(1.0 / (3.0 + static_cast<double>(i)));
  const tl_dtype source = dtype == TL_ENCODED ? TL_ENCODED : TL_FLOAT64;
  const tl_transfer_table *transfer = session.table().transfer;
  if (transfer == nullptr || transfer->upload == nullptr ||
      transfer->upload(session.instance(), values.data(), source, dtype, operand_.width, count, 0,
                       &operand_.storage) != TL_OK) {
    throw std::runtime_error("no operand: " + error_text);
  }
}

DirectBuffer::~DirectBuffer() {
  if (operand_.storage != nullptr) {
    session_.table().memory->release(session_.instance(), operand_.storage);
  }
}

DirectBuffer::DirectBuffer(DirectBuffer &&other) noexcept
    : session_(other.session_), operand_(std::exchange(other.operand_, {})) {}

}  // namespace torchlean::tools
