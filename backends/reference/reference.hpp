// What the families of the reference backend share: instance, storages, checked arguments, entries.
//
// A kernel is a function `void kernel(tl_instance &, arguments of the entry...)`. It throws Failure
// to end with a status; results that are not handed out yet are freed on the way.
#pragma once

#include <torchlean/backend.hpp>

#include <array>
#include <atomic>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>

static_assert(FLT_EVAL_METHOD == 0, "every step must be rounded in its own type");

// ---- The two types that backend.h leaves to a backend -------------------------------------------

struct tl_instance {
  std::atomic<bool> deterministic{false};
  std::atomic<uint64_t> allocated_bytes{0};
  std::atomic<uint64_t> peak_bytes{0};
};

// A block of host memory. Throws TL_OUT_OF_MEMORY where the host has none left. bytes > 0.
struct tl_storage {
  tl_storage(tl_instance &instance, size_t size);
  ~tl_storage();
  tl_storage(const tl_storage &) = delete;
  tl_storage &operator=(const tl_storage &) = delete;

  tl_instance &owner;
  const size_t bytes;
  void *const data;
};

namespace torchlean::reference {

// The services of the process; set by the entry point before anything else runs.
extern const tl_host *host;

extern const tl_device_table device_table;
extern const tl_memory_table memory_table;
extern const tl_transfer_table transfer_table;
extern const tl_random_table random_table;
extern const tl_elementwise_table elementwise_table;
extern const tl_optimizer_table optimizer_table;
extern const tl_reduction_table reduction_table;
extern const tl_view_table view_table;
extern const tl_indexing_table indexing_table;
extern const tl_matmul_table matmul_table;
extern const tl_normalization_table normalization_table;
extern const tl_loss_table loss_table;
extern const tl_fourier_table fourier_table;
extern const tl_scan_table scan_table;
extern const tl_convolution_table convolution_table;
extern const tl_pooling_table pooling_table;

// ---- Arguments ----------------------------------------------------------------------------------

// Largest number of elements of a buffer.
inline constexpr uint64_t max_count = UINT32_MAX;

inline void check_count(uint64_t count) {
  if (count > max_count)
    throw invalid("count is " + std::to_string(count) + ", expected at most 2^32 - 1");
}

// The product of dimensions, UINT64_MAX (which no buffer has) where it leaves 64 bits.
inline uint64_t product(std::span<const uint64_t> dims) {
  uint64_t result = 1;
  for (const uint64_t dim : dims)
    if (__builtin_mul_overflow(result, dim, &result)) result = UINT64_MAX;
  return result;
}

inline uint64_t product(std::initializer_list<uint64_t> dims) {
  return product(std::span(dims.begin(), dims.size()));
}

// The sum of counts, saturated in the same way.
inline uint64_t sum(std::initializer_list<uint64_t> counts) {
  uint64_t result = 0;
  for (const uint64_t count : counts)
    if (__builtin_add_overflow(result, count, &result)) result = UINT64_MAX;
  return result;
}

// Throws unless elements of dtype may be `width` bytes wide.
void check_width(tl_dtype dtype, uint32_t width);

// The bytes of an operand of any dtype; throws where it contradicts itself.
std::span<const std::byte> bytes_of(const char *argument, const tl_operand *operand);

// The elements of an operand of the native type T; throws where it is not one.
template <class T>
std::span<const T> values_of(const char *argument, const tl_operand *operand) {
  const std::span<const std::byte> bytes = bytes_of(argument, operand);
  expect_equal(std::string(argument) + ".dtype", operand->dtype, native_dtype<T>);
  return {reinterpret_cast<const T *>(bytes.data()), operand->count};
}

// ---- Results ------------------------------------------------------------------------------------

// `count` elements of a fresh storage, freed unless it is handed out; no storage if it is empty.
template <class T>
class Result {
 public:
  Result(tl_instance &instance, uint64_t count) : count_(count) {
    if (count > 0) storage_ = std::make_unique<tl_storage>(instance, count * sizeof(T));
  }
  T *begin() { return storage_ ? static_cast<T *>(storage_->data) : nullptr; }
  T *end() { return begin() + count_; }
  T &operator[](uint64_t index) { return begin()[index]; }
  tl_storage *release() noexcept { return storage_.release(); }

 private:
  uint64_t count_;
  std::unique_ptr<tl_storage> storage_;
};

// The last step of every kernel: out[0], out[1] ... receive the results.
template <class... Results>
void hand_out(tl_storage **out, Results &...results) {
  expect_given("out", out);
  ((*out++ = results.release()), ...);
}

// ---- Entries ------------------------------------------------------------------------------------

// What lives as long as a call: nothing.
struct Scope {
  explicit Scope(const tl_instance &) {}
};

inline tl_status status_of(const char *entry) noexcept {
  return status_of_current_exception(*host, entry);
}

// The function of a family's table that runs Kernel.
template <EntryName name, auto Kernel>
inline constexpr auto entry = kernel_entry<name, Kernel, Scope, &status_of>;

}  // namespace torchlean::reference
