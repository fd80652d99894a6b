// The seam's device side: the CUDA runtime, with a memory pool of our own on each device.
#include "device_stream.cuh"
#include "memory_account.hpp"

#include <charconv>
#include <map>
#include <string>
#include <string_view>

namespace torchlean::cuda::device {

// What all streams of one device share.
struct Pool {
  cudaMemPool_t blocks = nullptr;
  uint64_t total_bytes = 0;
  MemoryAccount account;
};

namespace {

// Blocks are whole multiples of this.
constexpr size_t granularity = 512;

size_t rounded(size_t bytes) { return (bytes + granularity - 1) / granularity * granularity; }

// After these the context is gone: no later call on it succeeds.
bool is_sticky(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorAssert:
    case cudaErrorLaunchTimeout:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorExternalDevice: return true;
    default: return false;
  }
}

tl_status status_of(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation: return TL_OUT_OF_MEMORY;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorDevicesUnavailable:
    case cudaErrorSystemDriverMismatch: return TL_UNAVAILABLE;
    default: return TL_DEVICE_ERROR;
  }
}

[[noreturn]] void throw_lost(const char *operation, cudaError_t status) {
  throw Failure(TL_DEVICE_LOST, std::string(operation) + ": from an earlier operation: " +
                                    cudaGetErrorString(status) + " (the device is lost)");
}

// The same where there is no stream yet that could be lost.
void check(const char *operation, const char *step, cudaError_t status) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // told here: the next call must not find it
  throw Failure(status_of(status),
                std::string(operation) + ": " + step + ": " + cudaGetErrorString(status));
}

uint32_t attribute(const char *operation, uint32_t device, cudaDeviceAttr which) {
  int value = 0;
  check(operation, "cudaDeviceGetAttribute",
        cudaDeviceGetAttribute(&value, which, static_cast<int>(device)));
  return static_cast<uint32_t>(value);
}

// Freed memory stays in the pool, for the next block, up to this many bytes.
void keep_freed_memory(const char *operation, Pool &pool, uint64_t bytes) {
  check(operation, "cudaMemPoolSetAttribute",
        cudaMemPoolSetAttribute(pool.blocks, cudaMemPoolAttrReleaseThreshold, &bytes));
}

std::unique_ptr<Pool> make_pool(int device) {
  if (attribute("create", static_cast<uint32_t>(device), cudaDevAttrMemoryPoolsSupported) == 0) {
    throw Failure(TL_UNAVAILABLE, "create: device " + std::to_string(device) +
                                      " has no memory pools, which this backend needs");
  }
  auto pool = std::make_unique<Pool>();
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  check("create", "cudaMemGetInfo", cudaMemGetInfo(&free_bytes, &total_bytes));
  pool->total_bytes = total_bytes;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {.type = cudaMemLocationTypeDevice, .id = device};
  check("create", "cudaMemPoolCreate", cudaMemPoolCreate(&pool->blocks, &properties));
  keep_freed_memory("create", *pool, std::numeric_limits<uint64_t>::max());
  return pool;
}

// Of the current device; made once and kept for good.
Pool &pool_of(int device) {
  static std::mutex mutex;
  static auto &pools = *new std::map<int, std::unique_ptr<Pool>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Pool> &pool = pools[device];
  if (pool == nullptr) {
    pool = make_pool(device);
  }
  return *pool;
}

uint64_t figure(const Stream &stream, cudaMemPoolAttr which) {
  uint64_t bytes = 0;
  check("memory_info", "cudaMemPoolGetAttribute",
        cudaMemPoolGetAttribute(stream.pool->blocks, which, &bytes));
  return bytes;
}

Failure unusable(const std::string &why) {
  return {TL_UNAVAILABLE, "create: present, loadable, no usable device (" + why + ")"};
}

}  // namespace

void check(Stream &stream, const char *operation, const char *step, cudaError_t status) {
  if (is_sticky(status)) {
    stream.lost = status;
    throw_lost(operation, status);
  }
  check(operation, step, status);
}

void make_current(Stream &stream, const char *operation) {
  if (const cudaError_t lost = stream.lost; lost != cudaSuccess) {
    throw_lost(operation, lost);
  }
  check(stream, operation, "cudaSetDevice", cudaSetDevice(stream.device));
}

uint32_t count() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess) {
    return static_cast<uint32_t>(devices);
  }
  cudaGetLastError();
  return 0;
}

uint32_t index_of(const tl_create_options &options) {
  const std::string_view name = options.device;
  uint32_t index = 0;
  bool is_known = name.empty() || name == "cuda";
  if (constexpr std::string_view prefix = "cuda:"; name.starts_with(prefix)) {
    const char *const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, index);
    is_known = error == std::errc() && stop == end;
  }
  if (!is_known) {
    throw Failure(TL_UNAVAILABLE, "create: device is \"" + std::string(name) +
                                      "\", expected \"cuda\" or \"cuda:<index>\"");
  }
  if (options.has_nvidia_driver == 0) {
    throw unusable("no NVIDIA driver");
  }
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess) {
    cudaGetLastError();
    throw unusable(cudaGetErrorString(status));
  }
  if (devices == 0) {
    throw unusable("the NVIDIA driver has none");
  }
  if (index >= static_cast<uint32_t>(devices)) {
    throw Failure(TL_UNAVAILABLE, "create: device is \"" + std::string(name) +
                                      "\", but CUDA devices here: " + std::to_string(devices) +
                                      ", the first is 0");
  }
  return index;
}

Stream *create_stream(const tl_host &, uint32_t index) {
  auto stream = std::make_unique<Stream>();
  stream->device = static_cast<int>(index);
  check("create", "cudaSetDevice", cudaSetDevice(stream->device));
  stream->multiprocessors = attribute("create", index, cudaDevAttrMultiProcessorCount);
  stream->pool = &pool_of(stream->device);
  check("create", "cudaStreamCreateWithFlags",
        cudaStreamCreateWithFlags(&stream->queue, cudaStreamNonBlocking));
  return stream.release();
}

void destroy_stream(Stream *stream) noexcept {
  cudaSetDevice(stream->device);
  cudaStreamSynchronize(stream->queue);
  stream->products.reset();
  stream->transforms.reset();
  cudaStreamDestroy(stream->queue);
  cudaGetLastError();
  delete stream;
}

uint32_t index_of(const Stream &stream) { return static_cast<uint32_t>(stream.device); }

void *allocate(Stream &stream, const char *operation, size_t bytes) {
  make_current(stream, operation);
  if (bytes > stream.pool->total_bytes) {
    throw Failure(TL_OUT_OF_MEMORY, std::string(operation) + ": no memory for " +
                                        std::to_string(bytes) + " bytes on a device of " +
                                        std::to_string(stream.pool->total_bytes));
  }
  MemoryAccount &account = stream.pool->account;
  const size_t size = rounded(bytes);
  account.take(operation, size);
  void *block = nullptr;
  const cudaError_t status =
      cudaMallocFromPoolAsync(&block, size, stream.pool->blocks, stream.queue);
  if (status != cudaSuccess) {
    account.give_back(size);
    check(stream, operation, ("no memory for " + std::to_string(bytes) + " bytes").c_str(), status);
  }
  return block;
}

void deallocate(Stream &stream, void *block, size_t bytes) noexcept {
  cudaSetDevice(stream.device);
  cudaFreeAsync(block, stream.queue);
  cudaGetLastError();  // of a lost device, which the next call tells
  stream.pool->account.give_back(rounded(bytes));
}

void copy_to_device(Stream &stream, const char *operation, void *to, const void *from,
                    size_t bytes) {
  make_current(stream, operation);
  check(stream, operation, "copy to the device",
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream.queue));
  synchronize(stream, operation);
}

void copy_to_host(Stream &stream, const char *operation, void *to, const void *from, size_t bytes) {
  make_current(stream, operation);
  check(stream, operation, "copy to the host",
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream.queue));
  synchronize(stream, operation);
}

void copy_on_device(Stream &stream, const char *operation, void *to, const void *from,
                    size_t bytes) {
  make_current(stream, operation);
  check(stream, operation, "copy on the device",
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream.queue));
}

void clear(Stream &stream, const char *operation, void *block, size_t bytes) {
  make_current(stream, operation);
  check(stream, operation, "cudaMemsetAsync", cudaMemsetAsync(block, 0, bytes, stream.queue));
}

void synchronize(Stream &stream, const char *operation) {
  make_current(stream, operation);
  check(stream, operation, "from an earlier operation", cudaStreamSynchronize(stream.queue));
}

void describe(uint32_t index, tl_device_properties &out) {
  cudaDeviceProp properties;
  check("properties", "cudaGetDeviceProperties",
        cudaGetDeviceProperties(&properties, static_cast<int>(index)));
  std::string_view(properties.name).copy(out.name, sizeof out.name - 1);
  out.is_cuda = 1;
  out.capability = static_cast<uint32_t>(10 * properties.major + properties.minor);
  out.multiprocessor_count = static_cast<uint32_t>(properties.multiProcessorCount);
  out.clock_khz = attribute("properties", index, cudaDevAttrClockRate);
  out.memory_clock_khz = attribute("properties", index, cudaDevAttrMemoryClockRate);
  out.memory_bus_width = attribute("properties", index, cudaDevAttrGlobalMemoryBusWidth);
  out.total_bytes = properties.totalGlobalMem;
}

void memory_info(Stream &stream, tl_memory_info &out) {
  make_current(stream, "memory_info");
  out.allocated_bytes = stream.pool->account.allocated();
  out.peak_allocated_bytes = stream.pool->account.peak();
  out.reserved_bytes = figure(stream, cudaMemPoolAttrReservedMemCurrent);
  out.peak_reserved_bytes = figure(stream, cudaMemPoolAttrReservedMemHigh);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  check(stream, "memory_info", "cudaMemGetInfo", cudaMemGetInfo(&free_bytes, &total_bytes));
  out.device_free_bytes = free_bytes;
  out.device_total_bytes = total_bytes;
}

void empty_cache(Stream &stream) {
  synchronize(stream, "empty_cache");  // blocks of work under way are still in use
  check(stream, "empty_cache", "cudaMemPoolTrimTo", cudaMemPoolTrimTo(stream.pool->blocks, 0));
}

// Freed memory over the cap goes back when the stream is waited for.
void set_memory_fraction(Stream &stream, double fraction) {
  make_current(stream, "set_memory_fraction");
  const uint64_t cap = cap_of(fraction, stream.pool->total_bytes);
  keep_freed_memory("set_memory_fraction", *stream.pool, cap);
  stream.pool->account.set_cap(cap);
}

void versions(uint32_t &out_driver, uint32_t &out_runtime) {
  int driver = 0;
  int runtime = 0;
  check("versions", "cudaDriverGetVersion", cudaDriverGetVersion(&driver));
  check("versions", "cudaRuntimeGetVersion", cudaRuntimeGetVersion(&runtime));
  out_driver = static_cast<uint32_t>(driver);
  out_runtime = static_cast<uint32_t>(runtime);
}

uint32_t full_grid(const Stream &stream) {
  constexpr uint32_t blocks_per_multiprocessor = 8;  // of 256 threads: the 2048 that reside there
  return stream.multiprocessors * blocks_per_multiprocessor;
}

}  // namespace torchlean::cuda::device
