#include "fake_host.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace fake_host {

namespace {

thread_local std::string error_text;
std::atomic<int64_t> blocks{0};
std::atomic<int64_t> allocation_count{0};
std::atomic<int64_t> failing_first{0};
std::atomic<int64_t> failing_last{0};
std::string schedule;

void log(tl_log_level, const char *) {}
void set_error(const char *text) { error_text = text; }

const char *option(const char *name) {
  const bool known = std::strcmp(name, "TORCHLEAN_EMULATION_SCHEDULE") == 0 && !schedule.empty();
  return known ? schedule.c_str() : nullptr;
}

void *alloc(size_t bytes) {
  const int64_t number = ++allocation_count;
  if (number >= failing_first && number <= failing_last) {
    return nullptr;
  }
  ++blocks;
  return std::malloc(bytes);
}

void free_block(void *block, size_t) {
  if (block != nullptr) {
    --blocks;
    std::free(block);
  }
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
  void *file = dlopen(CUDA_EMULATED, RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) {
    throw std::runtime_error(dlerror());
  }
  const auto entry = reinterpret_cast<tl_backend_entry_fn>(dlsym(file, "torchlean_backend_entry"));
  const BackendVTable *table = entry == nullptr ? nullptr : entry(&host);
  if (table == nullptr) {
    throw std::runtime_error("no table: " + error_text);
  }
  return *table;
}

}  // namespace

const BackendVTable &backend() {
  static const BackendVTable &table = open();
  return table;
}

std::string error() { return error_text; }
int64_t live_blocks() { return blocks; }
int64_t allocations() { return allocation_count; }

void fail_allocation(int64_t n, bool ever_after) {
  const int64_t first = n == 0 ? 0 : allocation_count + n;
  failing_first = first;
  failing_last = n == 0 ? -1 : ever_after ? INT64_MAX : first;
}

void set_schedule(const std::string &text) { schedule = text; }

}  // namespace fake_host

Session::Session(const std::string &schedule) {
  fake_host::set_schedule(schedule);
  tl_create_options options{};
  options.struct_size = sizeof options;
  options.device = "";
  if (fake_host::backend().create(&options, &instance_) != TL_OK) {
    throw std::runtime_error(fake_host::error());
  }
}

Session::~Session() { fake_host::backend().destroy(instance_); }

Buffer::~Buffer() {
  if (operand_.storage != nullptr) {
    fake_host::backend().memory->release(session_.instance(), operand_.storage);
  }
}

tl_storage *Buffer::upload(const Session &session, const void *words, uint64_t count,
                           tl_dtype dtype, uint32_t width) {
  tl_storage *storage = nullptr;
  if (count > 0 && fake_host::backend().transfer->upload(session.instance(), words, dtype, dtype,
                                                         width, count, 0, &storage) != TL_OK) {
    throw std::runtime_error(fake_host::error());
  }
  return storage;
}

void Buffer::download(void *words) const {
  if (operand_.count > 0 && fake_host::backend().transfer->download(
                                session_.instance(), &operand_, operand_.dtype, words) != TL_OK) {
    throw std::runtime_error(fake_host::error());
  }
}
