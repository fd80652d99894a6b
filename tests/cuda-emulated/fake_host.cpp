#include "fake_host.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>

namespace fake_host {

namespace {

thread_local std::string error_text;
std::atomic<int64_t> blocks{0};
std::atomic<int64_t> allocation_count{0};
std::atomic<int64_t> failing_first{0};
std::atomic<int64_t> failing_last{0};
std::map<std::string, std::string, std::less<>> options;

void log(tl_log_level, const char *) {}
void set_error(const char *text) { error_text = text; }

const char *option(const char *name) {
  const auto found = options.find(name);
  return found == options.end() || found->second.empty() ? nullptr : found->second.c_str();
}

// Blocks of this size are mappings that take memory only where they are touched.
constexpr size_t sparse_bytes = size_t{1} << 30;

void *alloc(size_t bytes) {
  const int64_t number = ++allocation_count;
  if (number >= failing_first && number <= failing_last) {
    return nullptr;
  }
  ++blocks;
  if (bytes < sparse_bytes) {
    return std::calloc(1, bytes);  // zeros, as in a mapping, for what tail mode leaves out
  }
  void *mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return mapping == MAP_FAILED ? nullptr : mapping;
}

void free_block(void *block, size_t bytes) {
  if (block == nullptr) {
    return;
  }
  --blocks;
  if (bytes < sparse_bytes) {
    std::free(block);
  } else {
    munmap(block, bytes);
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

std::string error() { return error_text; }
int64_t live_blocks() { return blocks; }
int64_t allocations() { return allocation_count; }

void fail_allocation(int64_t n, bool ever_after) {
  const int64_t first = n == 0 ? 0 : allocation_count + n;
  failing_first = first;
  failing_last = n == 0 ? -1 : ever_after ? INT64_MAX : first;
}

void set_schedule(const std::string &text) { options["TORCHLEAN_EMULATION_SCHEDULE"] = text; }
void set_tail_blocks(const std::string &text) { options["TORCHLEAN_EMULATION_TAIL_BLOCKS"] = text; }

}  // namespace fake_host

const BackendVTable &backend() {
  static const BackendVTable &table = fake_host::open();
  return table;
}

Session::Session(const std::string &schedule, const std::string &tail_blocks) {
  fake_host::set_schedule(schedule);
  fake_host::set_tail_blocks(tail_blocks);
  tl_create_options options{};
  options.struct_size = sizeof options;
  options.device = "";
  if (backend().create(&options, &instance_) != TL_OK) {
    throw std::runtime_error(fake_host::error());
  }
}

Session::~Session() { backend().destroy(instance_); }

Buffer::~Buffer() {
  if (operand_.storage != nullptr) {
    backend().memory->release(session_.instance(), operand_.storage);
  }
}

tl_storage *Buffer::upload(const Session &session, const void *words, uint64_t count,
                           tl_dtype dtype, uint32_t width) {
  tl_storage *storage = nullptr;
  if (count > 0 && backend().transfer->upload(session.instance(), words, dtype, dtype, width, count,
                                              0, &storage) != TL_OK) {
    throw std::runtime_error(fake_host::error());
  }
  return storage;
}

void Buffer::download(void *words) const {
  if (operand_.count > 0 && backend().transfer->download(session_.instance(), &operand_,
                                                         operand_.dtype, words) != TL_OK) {
    throw std::runtime_error(fake_host::error());
  }
}
