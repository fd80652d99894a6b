#include "fake_host.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <stdexcept>

namespace fake_host {
namespace {

constexpr size_t fence_size = 64;
constexpr int garbage = 0xA5;
constexpr int fence = 0x5C;
constexpr const char *cache_mebibytes = "64";

thread_local std::string error_text;
std::mutex debug_mutex;
std::string last_debug_line;
std::atomic<int64_t> blocks{0};
std::atomic<int64_t> allocation_count{0};
std::atomic<int64_t> fences_broken{0};
std::atomic<int64_t> failing_first{0};
std::atomic<int64_t> failing_last{-1};

void log(tl_log_level level, const char *text) {
  const std::lock_guard lock(debug_mutex);
  if (level == TL_LOG_DEBUG) last_debug_line = text;
}
void set_error(const char *text) { error_text = text; }
const char *option(const char *name) {
  return name == std::string("TORCHLEAN_HOST_CACHE") ? cache_mebibytes : nullptr;
}

void *alloc(size_t bytes) {
  const int64_t number = ++allocation_count;
  if (number >= failing_first && number <= failing_last) return nullptr;
  const size_t size = (bytes + fence_size + 63) / 64 * 64;
  auto *const block = static_cast<unsigned char *>(std::aligned_alloc(64, size));
  if (block == nullptr) return nullptr;
  ++blocks;
  std::memset(block, garbage, bytes);
  std::memset(block + bytes, fence, fence_size);
  return block;
}

void free_block(void *block, size_t bytes) {
  if (block == nullptr) return;
  const auto *const end = static_cast<const unsigned char *>(block) + bytes;
  for (size_t i = 0; i < fence_size; ++i)
    if (end[i] != fence) {
      ++fences_broken;
      break;
    }
  --blocks;
  std::free(block);
}

const tl_host host = [] {
  tl_host services{};
  services.struct_size = sizeof services;
  services.abi_version = TL_ABI_VERSION;
  services.log = log;
  services.set_error = set_error;
  services.option = option;
  services.alloc = alloc;
  services.free = free_block;
  return services;
}();

const BackendVTable &open() {
  const char *const asked = std::getenv("TL_TEST_BACKEND");
  void *file = dlopen(asked != nullptr ? asked : LIBTORCH_BACKEND, RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) throw std::runtime_error(dlerror());
  const auto entry = reinterpret_cast<tl_backend_entry_fn>(dlsym(file, "torchlean_backend_entry"));
  const BackendVTable *table = entry == nullptr ? nullptr : entry(&host);
  if (table == nullptr) throw std::runtime_error("no table: " + error_text);
  return *table;
}

}  // namespace

const BackendVTable &backend() {
  static const BackendVTable &table = open();
  return table;
}

std::string error() { return error_text; }
std::string debug_line() {
  const std::lock_guard lock(debug_mutex);
  return last_debug_line;
}
int64_t live_blocks() { return blocks; }
int64_t allocations() { return allocation_count; }
int64_t broken_fences() { return fences_broken; }

void fail_allocation(int64_t n, bool ever_after) {
  const int64_t first = n == 0 ? 0 : allocation_count + n;
  failing_first = first;
  failing_last = n == 0 ? -1 : ever_after ? INT64_MAX : first;
}

}  // namespace fake_host

using fake_host::backend;

void require_ok(tl_status status) {
  if (status != TL_OK) throw std::runtime_error(fake_host::error());
}

Session::Session(bool deterministic, uint32_t threads) {
  tl_create_options options{};
  options.struct_size = sizeof options;
  options.device = "";
  options.num_threads = threads;
  require_ok(backend().create(&options, &instance_));
  require_ok(backend().device->set_setting(instance_, TL_SETTING_DETERMINISTIC, deterministic));
}

Session::~Session() { backend().destroy(instance_); }

Buffer::~Buffer() {
  if (operand_.storage != nullptr) backend().memory->release(session_.get(), operand_.storage);
}

tl_storage *Buffer::upload(const Session &session, const void *words, uint64_t count,
                           tl_dtype dtype, uint32_t width) {
  tl_storage *storage = nullptr;
  if (count > 0)
    require_ok(
        backend().transfer->upload(session.get(), words, dtype, dtype, width, count, 0, &storage));
  return storage;
}

void Buffer::download(void *words) const {
  if (operand_.count > 0)
    require_ok(backend().transfer->download(session_.get(), &operand_, operand_.dtype, words));
}
