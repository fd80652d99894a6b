// What the families of the LibTorch backend share: instance, storages, checked arguments, entries.
//
// A kernel is a function `void kernel(tl_instance &, arguments of the entry...)`. It throws
// Failure, or whatever ATen throws, to end with a status.
#pragma once

#include <torchlean/backend.hpp>

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>

// ---- The two types that backend.h leaves to a backend -------------------------------------------

// ATen on the host. Instances share ATen's process-wide state but for what is kept here.
struct tl_instance {
  std::atomic<bool> deterministic{false};
  std::atomic<int> threads{1};
};

// A flat, contiguous tensor; bytes where the elements are encoded words.
struct tl_storage {
  explicit tl_storage(at::Tensor flat) : tensor(std::move(flat)) {}
  at::Tensor tensor;
};

namespace torchlean::libtorch {

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
extern const tl_matmul_table matmul_table;

// Host threads of the instance; 0 is as many as ATen would take by itself.
void set_threads(tl_instance &instance, uint32_t threads);

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

// Ends an entry: the status of the exception under way, its text with the entry's name in front. Of
// an error of ATen's the text is the first line of its own message, without the backtrace, which
// goes to the log at debug level.
tl_status status_of(const char *entry) noexcept;

// The first line of the message of a c10::Error.
std::string first_line(const c10::Error &error);

// ---- Arguments ----------------------------------------------------------------------------------

// A caller's structure, whose form may be newer than this backend. Throws where it is older.
template <class Structure>
const Structure &known_part(const char *argument, const Structure *given) {
  expect_given(argument, given);
  if (given->struct_size < sizeof(Structure))
    throw invalid(std::string(argument) + ".struct_size is " + std::to_string(given->struct_size) +
                  ", expected at least " + std::to_string(sizeof(Structure)));
  return *given;
}

// Fills the part of a caller's structure that the caller knows.
template <class Structure>
void hand_back(Structure *out, Structure values) {
  expect_given("out", out);
  values.struct_size = out->struct_size;
  std::memcpy(out, &values, std::min(out->struct_size, sizeof(Structure)));
}

template <class T>
inline constexpr at::ScalarType scalar_type = sizeof(T) == sizeof(float) ? at::kFloat : at::kDouble;

// Calls kernel(T()) with the C++ type of a native dtype.
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

// A size for ATen, which takes negative ones for placeholders.
int64_t extent(const char *argument, uint64_t value);

// The tensor of an operand of any dtype, empty for count 0; throws where it contradicts itself.
at::Tensor tensor_of(const char *argument, const tl_operand *operand);

// The tensor of an operand of a native dtype.
at::Tensor native_tensor(const char *argument, const tl_operand *operand);

// The elements of an operand of the native type T; throws where it is not one.
template <class T>
const T *values_of(const char *argument, const tl_operand *operand) {
  const at::Tensor tensor = native_tensor(argument, operand);
  expect_equal(std::string(argument) + ".dtype", operand->dtype,
               scalar_type<T> == at::kFloat ? TL_FLOAT32 : TL_FLOAT64);
  return tensor.const_data_ptr<T>();
}

// Runs a view function of ATen's on an operand. Whether the view fits is left to ATen: its error
// becomes one of the caller's, in ATen's words.
template <class View>
at::Tensor viewed(const char *argument, View view) {
  try {
    return view();
  } catch (const c10::Error &error) {
    host->log(TL_LOG_DEBUG, error.what());
    throw invalid(std::string(argument) + ": " + first_line(error));
  }
}

inline at::Tensor shaped(const char *argument, const at::Tensor &tensor, at::IntArrayRef shape) {
  return viewed(argument, [&] { return tensor.view(shape); });
}

// ---- Results ------------------------------------------------------------------------------------

// `count` elements without values.
inline at::Tensor empty(int64_t count, at::ScalarType type) {
  return at::detail::empty_cpu({count}, type);
}

// The last step of every kernel: out[0], out[1] ... receive the results, made flat. An empty result
// has no storage.
void hand_out(tl_storage **out, std::initializer_list<at::Tensor> results);

inline void hand_out(tl_storage **out, const at::Tensor &result) { hand_out(out, {result}); }

// ---- Entries ------------------------------------------------------------------------------------

// Sends ATen's warnings to the core's log instead of stderr.
class WarningsToLog final : public c10::WarningHandler {
 public:
  void process(const c10::Warning &warning) override;
};

// What holds on the thread of every call: no autograd, ATen's warnings in our log, and the
// instance's number of threads.
class CallScope {
 public:
  explicit CallScope(const tl_instance &instance);

 private:
  WarningsToLog warnings_;
  c10::WarningUtils::WarningHandlerGuard warning_guard_{&warnings_};
  c10::InferenceMode inference_mode_;
};

template <size_t size>
struct EntryName {
  consteval EntryName(const char (&name)[size]) { std::copy_n(name, size, text); }
  char text[size];
};

template <EntryName name, auto Kernel>
struct Entry;

template <EntryName name, class... Arguments, void (*Kernel)(tl_instance &, Arguments...)>
struct Entry<name, Kernel> {
  static void run(tl_instance *instance, Arguments... arguments) {
    expect_given("instance", instance);
    const CallScope scope(*instance);
    Kernel(*instance, arguments...);
  }

  static tl_status status() noexcept { return status_of(name.text); }
};

// The function of a family's table that runs Kernel.
template <EntryName name, auto Kernel>
inline constexpr auto entry = guarded<&Entry<name, Kernel>::run, &Entry<name, Kernel>::status>;

}  // namespace torchlean::libtorch
