// LibTorch's CUDA half and the CUDA runtime, opened at run time.
#include "cuda.hpp"

#include "cuda_library.hpp"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <charconv>
#include <mutex>

namespace torchlean::libtorch::cuda {
namespace {

// ---- The CUDA runtime ---------------------------------------------------------------------------

// Numbers of cudaDeviceAttr, which never change.
enum Attribute {
  clock_rate = 13,
  multiprocessors = 16,
  memory_clock_rate = 36,
  memory_bus_width = 37,
  capability_major = 75,
  capability_minor = 76,
};

constexpr int success = 0;

struct Runtime {
  int (*get_device_count)(int *) = nullptr;
  int (*get_attribute)(int *, int, int) = nullptr;
  int (*get_properties)(void *, int) = nullptr;
  int (*get_memory)(size_t *, size_t *) = nullptr;
  int (*get_device)(int *) = nullptr;
  int (*set_device)(int) = nullptr;
  int (*synchronize)() = nullptr;
  int (*get_last_error)() = nullptr;
  int (*get_driver_version)(int *) = nullptr;
  int (*get_runtime_version)(int *) = nullptr;
  const char *(*error_text)(int) = nullptr;

  // Its functions as libtorch_cuda.so finds them.
  explicit Runtime(const Library &library) {
    library.find("cudaGetDeviceCount", get_device_count);
    library.find("cudaDeviceGetAttribute", get_attribute);
    // CUDA 12 has the structure of today under a name of its own.
    if (!library.has("cudaGetDeviceProperties_v2", get_properties))
      library.find("cudaGetDeviceProperties", get_properties);
    library.find("cudaMemGetInfo", get_memory);
    library.find("cudaGetDevice", get_device);
    library.find("cudaSetDevice", set_device);
    library.find("cudaDeviceSynchronize", synchronize);
    library.find("cudaGetLastError", get_last_error);
    library.find("cudaDriverGetVersion", get_driver_version);
    library.find("cudaRuntimeGetVersion", get_runtime_version);
    library.find("cudaGetErrorString", error_text);
  }

  void check(const char *step, int status) const {
    if (status == success) return;
    get_last_error();  // it is told here
    throw Failure(TL_DEVICE_ERROR, std::string(step) + ": " + error_text(status));
  }
};

std::atomic<const Runtime *> opened{nullptr};

const Runtime &runtime() { return *opened.load(std::memory_order_acquire); }

uint32_t attribute(Attribute which, c10::DeviceIndex index) {
  int value = 0;
  runtime().check("cudaDeviceGetAttribute", runtime().get_attribute(&value, which, index));
  return static_cast<uint32_t>(value);
}

at::Device device(c10::DeviceIndex index) { return {at::kCUDA, index}; }

// ---- ATen's allocator ---------------------------------------------------------------------------

// How the class CUDAAllocator of c10/cuda/CUDACachingAllocator.h begins, whose header includes
// CUDA's. FindLibTorch.cmake makes sure that the header says the same.
class CudaAllocator : public c10::DeviceAllocator {
 public:
  virtual void *raw_alloc(size_t bytes) = 0;
  virtual void *raw_alloc_with_stream(size_t bytes, void *stream) = 0;
  virtual void raw_delete(void *block) = 0;
  virtual void init(int device_count) = 0;
  virtual double get_memory_fraction(c10::DeviceIndex index) = 0;
  virtual void set_memory_fraction(double fraction, c10::DeviceIndex index) = 0;
};

c10::DeviceAllocator &allocator() { return *c10::getDeviceAllocator(at::kCUDA); }

}  // namespace

c10::DeviceIndex index_of(std::string_view device) {
  c10::DeviceIndex index = 0;
  if (device == "cuda") return index;
  int number = -1;
  if (device.starts_with("cuda:")) {
    const char *const end = device.data() + device.size();
    const auto read = std::from_chars(device.data() + 5, end, number);
    if (read.ec != std::errc() || read.ptr != end) number = -1;
  }
  if (number < 0) throw Failure(TL_UNAVAILABLE, "expected \"cpu\", \"cuda\" or \"cuda:<index>\"");
  constexpr int most = std::numeric_limits<c10::DeviceIndex>::max();
  return static_cast<c10::DeviceIndex>(std::min(number, most));
}

void open(bool has_nvidia_driver) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (opened != nullptr) return;
  if (!has_nvidia_driver) throw Failure(TL_UNAVAILABLE, "no NVIDIA driver was found");
  auto found = std::make_unique<const Runtime>(Library());
  int devices = 0;
  const int status = found->get_device_count(&devices);
  if (status != success || devices == 0) {
    found->get_last_error();
    throw Failure(TL_UNAVAILABLE, "no CUDA device can be used: " +
                                      std::string(status == success ? "the driver has none"
                                                                    : found->error_text(status)));
  }
  opened.store(found.release(), std::memory_order_release);
}

uint32_t count() {
  int devices = 0;
  runtime().check("cudaGetDeviceCount", runtime().get_device_count(&devices));
  return static_cast<uint32_t>(devices);
}

void prepare(c10::DeviceIndex index) {
  const uint32_t devices = count();
  if (static_cast<uint32_t>(index) >= devices)
    throw Failure(TL_UNAVAILABLE,
                  "CUDA devices here: " + std::to_string(devices) + ", the first is 0");
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowTF32CuDNN(false);
  const c10::DeviceGuard guard(device(index));
  at::empty({1}, at::device(device(index)).dtype(at::kFloat));
}

tl_device_properties properties(c10::DeviceIndex index) {
  tl_device_properties values{};
  // The structure differs between versions of CUDA but for the name at its beginning.
  alignas(std::max_align_t) char structure[1 << 14] = {};
  runtime().check("cudaGetDeviceProperties", runtime().get_properties(structure, index));
  std::memcpy(values.name, structure, sizeof values.name - 1);
  values.is_cuda = 1;
  values.capability = 10 * attribute(capability_major, index) + attribute(capability_minor, index);
  values.multiprocessor_count = attribute(multiprocessors, index);
  values.clock_khz = attribute(clock_rate, index);
  values.memory_clock_khz = attribute(memory_clock_rate, index);
  values.memory_bus_width = attribute(memory_bus_width, index);
  values.total_bytes = memory_info(index).device_total_bytes;
  return values;
}

tl_memory_info memory_info(c10::DeviceIndex index) {
  constexpr auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto bytes = [](int64_t number) { return static_cast<uint64_t>(number); };
  tl_memory_info values{};
  const c10::DeviceGuard guard(device(index));
  size_t free = 0, total = 0;
  runtime().check("cudaMemGetInfo", runtime().get_memory(&free, &total));
  values.device_free_bytes = free;
  values.device_total_bytes = total;
  const auto stats = allocator().getDeviceStats(index);
  values.allocated_bytes = bytes(stats.allocated_bytes[all].current);
  values.peak_allocated_bytes = bytes(stats.allocated_bytes[all].peak);
  values.reserved_bytes = bytes(stats.reserved_bytes[all].current);
  values.peak_reserved_bytes = bytes(stats.reserved_bytes[all].peak);
  return values;
}

void empty_cache() { allocator().emptyCache(); }

void set_memory_fraction(c10::DeviceIndex index, double fraction) {
  if (!TL_LIBTORCH_CUDA_FRACTION)
    throw Failure(TL_UNSUPPORTED,
                  "LibTorch " TL_LIBTORCH_VERSION " has another allocator than this backend knows");
  static_cast<CudaAllocator &>(allocator()).set_memory_fraction(fraction, index);
}

void synchronize(c10::DeviceIndex index) {
  c10::impl::VirtualGuardImpl(at::kCUDA).synchronizeDevice(index);
}

uint32_t driver_version() {
  int version = 0;
  runtime().check("cudaDriverGetVersion", runtime().get_driver_version(&version));
  return static_cast<uint32_t>(version);
}

uint32_t runtime_version() {
  int version = 0;
  runtime().check("cudaRuntimeGetVersion", runtime().get_runtime_version(&version));
  return static_cast<uint32_t>(version);
}

void set_setting(tl_setting setting, bool enabled) {
  at::Context &context = at::globalContext();
  switch (setting) {
    case TL_SETTING_MATMUL_TF32: return context.setAllowTF32CuBLAS(enabled);
    case TL_SETTING_CONVOLUTION_TF32: return context.setAllowTF32CuDNN(enabled);
    case TL_SETTING_DETERMINISTIC: return context.setDeterministicCuDNN(enabled);
    case TL_SETTING_CUDNN_BENCHMARK: return context.setBenchmarkCuDNN(enabled);
    case TL_SETTING_FLASH_ATTENTION: return context.setSDPUseFlash(enabled);
    case TL_SETTING_MEMORY_EFFICIENT_ATTENTION: return context.setSDPUseMemEfficient(enabled);
    case TL_SETTING_MATH_ATTENTION: return context.setSDPUseMath(enabled);
    case TL_SETTING_CUDNN_ATTENTION: return context.setSDPUseCuDNN(enabled);
    case TL_SETTING_CUDNN: return context.setUserEnabledCuDNN(enabled);
    default: throw unknown("setting", setting);
  }
}

// A sticky error comes back from every call, forgotten or not.
bool is_lost(c10::DeviceIndex index) noexcept {
  const Runtime &all = runtime();
  int former = 0;
  all.get_device(&former);
  all.set_device(index);
  all.synchronize();
  all.get_last_error();
  const bool lost = all.synchronize() != success;
  all.set_device(former);
  return lost;
}

}  // namespace torchlean::libtorch::cuda
