// What the families of the reference backend share: instance, storages, checked arguments, entries.
//
// A kernel is a function `void kernel(tl_instance &, arguments of the entry...)`. It throws Failure
// to end with a status; results that are not handed out yet are freed on the way.
#pragma once

#include <torchlean/backend.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cfenv>
#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

// ---- Errors -------------------------------------------------------------------------------------

inline Failure invalid(std::string text) { return {TL_INVALID_ARGUMENT, std::move(text)}; }

inline Failure unknown(const char *argument, uint64_t value) {
  return {TL_UNSUPPORTED,
          std::string(argument) + " " + std::to_string(value) + " is not known here"};
}

inline void expect_equal(const std::string &what, uint64_t value, uint64_t expected) {
  if (value != expected)
    throw invalid(what + " is " + std::to_string(value) + ", expected " + std::to_string(expected));
}

inline void expect_given(const char *argument, const void *pointer) {
  if (pointer == nullptr) throw invalid(std::string(argument) + " is NULL");
}

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

template <class T>
inline constexpr tl_dtype dtype_of = sizeof(T) == sizeof(float) ? TL_FLOAT32 : TL_FLOAT64;

// Calls kernel with a zero of the C++ type of a native dtype.
template <class Kernel>
void with_native(tl_dtype dtype, Kernel kernel) {
  switch (dtype) {
    case TL_FLOAT32: return kernel(0.0F);
    case TL_FLOAT64: return kernel(0.0);
    default: throw unknown("dtype", dtype);
  }
}

// Throws unless elements of dtype may be `width` bytes wide.
void check_width(tl_dtype dtype, uint32_t width);

// The bytes of an operand of any dtype; throws where it contradicts itself.
std::span<const std::byte> bytes_of(const char *argument, const tl_operand *operand);

// The elements of an operand of the native type T; throws where it is not one.
template <class T>
std::span<const T> values_of(const char *argument, const tl_operand *operand) {
  const std::span<const std::byte> bytes = bytes_of(argument, operand);
  expect_equal(std::string(argument) + ".dtype", operand->dtype, dtype_of<T>);
  return {reinterpret_cast<const T *>(bytes.data()), operand->count};
}

// A caller's structure, whose form may be older (missing members read as zero) or newer (members
// that are not known here are ignored). Throws where it is smaller than its first form.
template <class Structure>
Structure known_part(const char *argument, const Structure *given,
                     size_t first_form = sizeof(Structure)) {
  expect_given(argument, given);
  if (given->struct_size < first_form)
    throw invalid(std::string(argument) + ".struct_size is " + std::to_string(given->struct_size) +
                  ", expected at least " + std::to_string(first_form));
  Structure known{};
  std::memcpy(&known, given, std::min(given->struct_size, sizeof(Structure)));
  return known;
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

// Rounding to nearest, subnormals kept, no traps; the caller's state comes back at the end.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&callers_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&callers_); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment &) = delete;
  DefaultFloatEnvironment &operator=(const DefaultFloatEnvironment &) = delete;

 private:
  std::fenv_t callers_;
};

template <size_t size>
struct EntryName {
  consteval EntryName(const char (&name)[size]) { std::copy_n(name, size, text); }
  char text[size];
};

template <EntryName name, auto Kernel>
struct Boundary;

template <EntryName name, class... Arguments, void (*Kernel)(tl_instance &, Arguments...)>
struct Boundary<name, Kernel> {
  static void run(tl_instance *instance, Arguments... arguments) {
    expect_given("instance", instance);
    const DefaultFloatEnvironment environment;
    Kernel(*instance, arguments...);
  }

  // The status of the exception under way, whose text gets the entry's name in front.
  static tl_status status() noexcept {
    try {
      try {
        throw;
      } catch (const Failure &failure) {
        throw Failure(failure.status(), std::string(name.text) + ": " + failure.what());
      }
    } catch (...) {
      return status_of_current_exception(*host);
    }
  }
};

// The function of a family's table that runs Kernel.
template <EntryName name, auto Kernel>
inline constexpr auto entry =
    guarded<&Boundary<name, Kernel>::run, &Boundary<name, Kernel>::status>;

}  // namespace torchlean::reference
