// What every file of this backend shares: the instance, its storages, argument checks, entries.
#pragma once

#include "device_api.hpp"

#include <torchlean/backend_arguments.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

struct tl_instance {
  std::atomic<torchlean::cuda::device::Stream *> stream{nullptr};  // of the selected device
  std::atomic<bool> deterministic{false};                          // TL_SETTING_DETERMINISTIC
  std::atomic<bool> tf32_products{false};                          // TL_SETTING_MATMUL_TF32

  // Makes a device the selected one. index < device::count().
  void select(uint32_t index);

 private:
  struct Destroy {
    void operator()(torchlean::cuda::device::Stream *stream) const noexcept {
      torchlean::cuda::device::destroy_stream(stream);
    }
  };
  // One of each device that was ever selected.
  std::vector<std::unique_ptr<torchlean::cuda::device::Stream, Destroy>> streams_;
  std::mutex selecting_;
};

// One block of device memory.
struct tl_storage {
  void *block = nullptr;
  size_t bytes = 0;
  torchlean::cuda::device::Stream *stream = nullptr;  // that it was allocated on
};

namespace torchlean::cuda {

// The core's services, set once by the entry point before anything else runs.
inline const tl_host *host = nullptr;

// ---- Storages ----------------------------------------------------------------------------------

// Gives the block and the storage back.
void release(tl_instance *instance, tl_storage *storage) noexcept;

// A storage that is still ours: freed again unless handed over.
class Result {
 public:
  // count * width > 0 bytes; throws, naming `operation`, if they cannot be had.
  Result(tl_instance &instance, const char *operation, uint64_t count, size_t width);
  ~Result();
  Result(Result &&other) noexcept : instance_(other.instance_), storage_(other.hand_over()) {}
  Result &operator=(Result &&) = delete;

  template <class T>
  T *elements() const {
    return static_cast<T *>(storage_->block);
  }
  tl_storage *hand_over() { return std::exchange(storage_, nullptr); }

 private:
  tl_instance &instance_;
  tl_storage *storage_;
};

// NULL where the operand is empty.
template <class T>
const T *elements(const tl_operand &operand) {
  return operand.storage == nullptr ? nullptr : static_cast<const T *>(operand.storage->block);
}

// ---- Arguments ----------------------------------------------------------------------------------

[[noreturn]] void refuse_dtype(const char *operation, tl_dtype dtype);
[[noreturn]] void refuse_enumerator(const char *entry, uint32_t enumerator);

// Calls visitor.operator()<float or double>(); any other dtype is TL_UNSUPPORTED.
template <class Visitor>
void with_native(const char *operation, tl_dtype dtype, Visitor &&visitor) {
  switch (dtype) {
    case TL_FLOAT32: return visitor.template operator()<float>();
    case TL_FLOAT64: return visitor.template operator()<double>();
    default: refuse_dtype(operation, dtype);
  }
}

// The bytes of one element; a width that the dtype cannot have is TL_INVALID_ARGUMENT.
void check_width(const char *operation, tl_dtype dtype, uint32_t width);

// The operand must be of this dtype and count, and its storage as large as it says.
void check_operand(const char *operation, const char *argument, const tl_operand &operand,
                   tl_dtype dtype, uint64_t count);

// Parameter structures only grow: at least `expected` bytes must be there.
void check_struct_size(const char *operation, size_t actual, size_t expected);

// ---- Entries ------------------------------------------------------------------------------------

inline tl_status translate() noexcept { return status_of_current_exception(*host); }

namespace detail {

template <auto Function>
struct Given;

// Every pointer that an entry takes must lead somewhere.
template <class... Arguments, void (*Function)(Arguments...)>
struct Given<Function> {
  static void call(Arguments... arguments) {
    int number = 0;
    (check(++number, arguments), ...);
    Function(arguments...);
  }
  template <class Argument>
  static void check(int number, Argument argument) {
    if constexpr (std::is_pointer_v<Argument>) {
      if (argument == nullptr) {
        throw Failure(TL_INVALID_ARGUMENT,
                      "argument " + std::to_string(number) + " of the entry is NULL");
      }
    }
  }
};

}  // namespace detail

// The table's entry for a `void Function(arguments...)` that reports failure by throwing.
template <auto Function>
inline constexpr auto entry = guarded<&detail::Given<Function>::call, &translate>;

// ---- Families, each in the file of its name ----------------------------------------------------

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
extern const tl_fourier_table fourier_table;
extern const tl_normalization_table normalization_table;
extern const tl_loss_table loss_table;
extern const tl_scan_table scan_table;
extern const tl_convolution_table convolution_table;
extern const tl_pooling_table pooling_table;

}  // namespace torchlean::cuda
