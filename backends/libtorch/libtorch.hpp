// What the families of the LibTorch backend share: instance, storages, checked arguments, entries.
//
// A kernel is a function `void kernel(tl_instance &, arguments of the entry...)`. It throws
// Failure, or whatever ATen throws, to end with a status.
#pragma once

#include <torchlean/backend.hpp>

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

// ---- The two types that backend.h leaves to a backend -------------------------------------------

// ATen on one device. Instances share ATen's process-wide state but for what is kept here.
struct tl_instance {
  std::atomic<bool> deterministic{false};
  std::atomic<int> threads{1};
  // Which CUDA device tensors live on; negative: on the host.
  std::atomic<c10::DeviceIndex> cuda_device{-1};
  // Whether operations that are loops over host memory are composed of ATen's instead
  // (composed.hpp): on CUDA always, on the host in the test-only backend libtorch-composed.
  bool composed = false;
  // A device error after which nothing works any more.
  std::atomic<bool> lost{false};

  bool is_on_cuda() const { return cuda_device.load(std::memory_order_relaxed) >= 0; }
  at::Device device() const {
    const c10::DeviceIndex index = cuda_device.load(std::memory_order_relaxed);
    return index < 0 ? at::Device(at::kCPU) : at::Device(at::kCUDA, index);
  }
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
extern const tl_indexing_table indexing_table;
extern const tl_matmul_table matmul_table;
extern const tl_normalization_table normalization_table;
extern const tl_loss_table loss_table;
extern const tl_fourier_table fourier_table;
extern const tl_scan_table scan_table;
extern const tl_convolution_table convolution_table;
extern const tl_pooling_table pooling_table;

// Host threads of the instance; 0 is as many as ATen would take by itself.
void set_threads(tl_instance &instance, uint32_t threads);

// ---- Errors -------------------------------------------------------------------------------------

// Ends an entry: the status of the exception under way, its text with the entry's name in front. Of
// an error of ATen's the text is the first line of its own message, without the backtrace, which
// goes to the log at debug level.
tl_status status_of(const char *entry) noexcept;

// The first line of the message of a c10::Error.
std::string first_line(const c10::Error &error);

// ---- Arguments ----------------------------------------------------------------------------------

// Fills the part of a caller's structure that the caller knows.
template <class Structure>
void hand_back(Structure *out, Structure values) {
  expect_given("out", out);
  values.struct_size = out->struct_size;
  std::memcpy(out, &values, std::min(out->struct_size, sizeof(Structure)));
}

template <class T>
inline constexpr at::ScalarType scalar_type = sizeof(T) == sizeof(float) ? at::kFloat : at::kDouble;

// Throws unless argument.member has the expected value. Its name is put together only then.
inline void expect_member(const char *argument, const char *member, uint64_t value,
                          uint64_t expected) {
  if (value != expected) expect_equal(std::string(argument) + "." + member, value, expected);
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
  expect_member(argument, "dtype", operand->dtype, native_dtype<T>);
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

// The tensor of an operand of that native dtype, in that shape.
at::Tensor native_as(const char *argument, const tl_operand *operand, tl_dtype dtype,
                     at::IntArrayRef shape);

// ---- Results ------------------------------------------------------------------------------------

// `count` elements of host memory without values.
inline at::Tensor empty(int64_t count, at::ScalarType type) {
  return at::detail::empty_cpu({count}, type);
}

// The last step of every kernel: out[0], out[1] ... receive the results, made flat. An empty result
// has no storage.
void hand_out(tl_storage **out, at::Tensor result);
void hand_out(tl_storage **out, at::ArrayRef<at::Tensor> results);

// ---- Entries ------------------------------------------------------------------------------------

// Sends ATen's warnings to the core's log instead of stderr.
class WarningsToLog final : public c10::WarningHandler {
 public:
  void process(const c10::Warning &warning) override;
};

// The instance of the calling thread's last call, or NULL. It is there until the call's status has
// been made.
inline constinit thread_local tl_instance *calling_instance = nullptr;

// What holds on the thread of every call: no autograd, ATen's warnings in our log, the instance's
// number of threads, its device.
class CallScope {
 public:
  explicit CallScope(tl_instance &instance);
  ~CallScope();
  CallScope(const CallScope &) = delete;
  CallScope &operator=(const CallScope &) = delete;

 private:
  WarningsToLog warnings_;
  c10::WarningUtils::WarningHandlerGuard warning_guard_{&warnings_};
  c10::InferenceMode inference_mode_;
  std::optional<c10::DeviceGuard> device_guard_;
  int programs_threads_ = 0;  // to be put back; 0: it is ours already
};

// The function of a family's table that runs Kernel.
template <EntryName name, auto Kernel>
inline constexpr auto entry = kernel_entry<name, Kernel, CallScope, &status_of>;

}  // namespace torchlean::libtorch
