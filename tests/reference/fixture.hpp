// A backend that is linked into the test, under a host of the test's own, called through its table
// alone.
#pragma once

#include <torchlean/backend.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace torchlean::test {

// ---- The host -----------------------------------------------------------------------------------

inline std::atomic<int64_t> live_bytes{0};
inline std::atomic<int64_t> allocations{0};
inline std::atomic<int64_t> failing_allocation{0};  // counted from 1; 0 is none
inline std::atomic<bool> fails_from_there_on{false};
inline thread_local std::string error_text;
inline std::map<std::string, std::string> options;  // what the host answers, where it has one

inline void *host_alloc(size_t bytes) {
  const int64_t number = ++allocations;
  const int64_t failing = failing_allocation;
  if (failing != 0 && (number == failing || (number > failing && fails_from_there_on)))
    return nullptr;
  live_bytes += static_cast<int64_t>(bytes);
  void *block = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  std::memset(block, 0xa5, bytes);  // a kernel that forgets an element shows
  return block;
}

inline void host_free(void *block, size_t bytes) {
  if (block != nullptr) live_bytes -= static_cast<int64_t>(bytes);
  std::free(block);
}

inline const tl_host test_host = {
    .struct_size = sizeof(tl_host),
    .abi_version = TL_ABI_VERSION,
    .reserved = 0,
    .log = [](tl_log_level, const char *) {},
    .set_error = [](const char *text) { error_text = text; },
    .option = [](const char *name) -> const char * {
      const auto found = options.find(name);
      return found == options.end() ? nullptr : found->second.c_str();
    },
    .alloc = host_alloc,
    .free = host_free,
};

// ---- The backend --------------------------------------------------------------------------------

struct Backend {
  Backend() {
    const tl_create_options how = {sizeof how, "cpu", 0, 0, nullptr};
    REQUIRE(table->create(&how, &instance) == TL_OK);
  }
  ~Backend() { table->destroy(instance); }
  Backend(const Backend &) = delete;
  Backend &operator=(const Backend &) = delete;

  void set_deterministic(bool on) {
    REQUIRE(table->device->set_setting(instance, TL_SETTING_DETERMINISTIC, on) == TL_OK);
  }

  const BackendVTable *table = torchlean_backend_entry(&test_host);
  tl_instance *instance = nullptr;
};

template <class T>
inline constexpr tl_dtype dtype_of = sizeof(T) == 4 ? TL_FLOAT32 : TL_FLOAT64;

// A storage of the backend and the operand that stands for it.
template <class T>
class Buffer {
 public:
  Buffer(Backend &backend, tl_storage *storage, uint64_t count)
      : backend_(backend), operand_{storage, count, dtype_of<T>, sizeof(T)} {}
  Buffer(Backend &backend, const std::vector<T> &values) : Buffer(backend, nullptr, values.size()) {
    if (!values.empty())
      REQUIRE(backend.table->transfer->upload(backend.instance, values.data(), dtype_of<T>,
                                              dtype_of<T>, sizeof(T), values.size(), 0,
                                              &operand_.storage) == TL_OK);
  }
  Buffer(Buffer &&other) noexcept
      : backend_(other.backend_), operand_(std::exchange(other.operand_, {})) {}
  ~Buffer() {
    if (operand_.storage != nullptr)
      backend_.table->memory->release(backend_.instance, operand_.storage);
  }

  const tl_operand *operand() const { return &operand_; }

  std::vector<T> values() const {
    std::vector<T> words(operand_.count);
    if (!words.empty())
      REQUIRE(backend_.table->transfer->download(backend_.instance, &operand_, operand_.dtype,
                                                 words.data()) == TL_OK);
    return words;
  }

 private:
  Backend &backend_;
  tl_operand operand_;
};

// The values of a kernel's results: call(out) makes as many as there are counts.
template <class T, class Call>
std::vector<std::vector<T>> results(Backend &backend, const std::vector<uint64_t> &counts,
                                    Call call) {
  std::vector<tl_storage *> storages(counts.size());
  const tl_status status = call(storages.data());
  INFO(error_text);
  REQUIRE(status == TL_OK);
  std::vector<std::vector<T>> values;
  for (size_t i = 0; i < counts.size(); ++i)
    values.push_back(Buffer<T>(backend, storages[i], counts[i]).values());
  return values;
}

// Of a kernel with one result.
template <class T, class Call>
std::vector<T> result(Backend &backend, uint64_t count, Call call) {
  return results<T>(backend, {count}, call).front();
}

inline constexpr tl_scalars no_scalars = {sizeof(tl_scalars), {0, 0}};

}  // namespace torchlean::test
