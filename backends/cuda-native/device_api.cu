// The seam's device side: the CUDA runtime, on its default memory pool.
#include "device_stream.cuh"

#include <cstring>
#include <memory>
#include <string>

namespace torchlean::cuda::device {

namespace {

// The current device belongs to the thread, so every entry sets it anew.
cudaStream_t current(const Stream &stream, const char *operation) {
  check(operation, "cudaSetDevice", cudaSetDevice(stream.device));
  return stream.queue;
}

// After these the context is gone: no later call on it succeeds.
bool is_sticky(cudaError_t status) {
  return status == cudaErrorIllegalAddress || status == cudaErrorLaunchFailure ||
         status == cudaErrorHardwareStackError || status == cudaErrorIllegalInstruction ||
         status == cudaErrorMisalignedAddress || status == cudaErrorInvalidAddressSpace ||
         status == cudaErrorInvalidPc || status == cudaErrorAssert ||
         status == cudaErrorLaunchTimeout || status == cudaErrorECCUncorrectable;
}

tl_status status_of(cudaError_t status) {
  if (status == cudaErrorMemoryAllocation) {
    return TL_OUT_OF_MEMORY;
  }
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) {
    return TL_UNAVAILABLE;
  }
  return is_sticky(status) ? TL_DEVICE_LOST : TL_DEVICE_ERROR;
}

int index_of(const std::string &name) {
  if (name.empty() || name == "cuda") {
    return 0;
  }
  int index = 0;
  if (name.rfind("cuda:", 0) == 0 && name.size() > 5 && name.size() < 10 &&
      name.find_first_not_of("0123456789", 5) == std::string::npos) {
    index = std::stoi(name.substr(5));
  } else {
    throw Failure(TL_UNAVAILABLE, "create: no device \"" + name + "\" here, expected cuda[:index]");
  }
  if (static_cast<uint32_t>(index) >= count()) {
    throw Failure(TL_UNAVAILABLE, "create: device \"" + name + "\", but there are " +
                                      std::to_string(count()) + " CUDA devices");
  }
  return index;
}

}  // namespace

void check(const char *operation, const char *step, cudaError_t status) {
  if (status != cudaSuccess) {
    throw Failure(status_of(status),
                  std::string(operation) + ": " + step + ": " + cudaGetErrorString(status));
  }
}

uint32_t count() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess ? static_cast<uint32_t>(devices) : 0;
}

Stream *create_stream(const tl_host &, const char *device) {
  auto stream = std::make_unique<Stream>();
  stream->device = index_of(device);
  check("create", "cudaSetDevice", cudaSetDevice(stream->device));
  int multiprocessors = 0;
  check("create", "cudaDeviceGetAttribute",
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, stream->device));
  stream->multiprocessors = static_cast<uint32_t>(multiprocessors);
  check("create", "cudaStreamCreateWithFlags",
        cudaStreamCreateWithFlags(&stream->queue, cudaStreamNonBlocking));
  return stream.release();
}

void destroy_stream(Stream *stream) noexcept {
  cudaStreamDestroy(stream->queue);
  delete stream;
}

void *allocate(Stream &stream, const char *operation, size_t bytes) {
  void *block = nullptr;
  check(operation, "allocation", cudaMallocAsync(&block, bytes, current(stream, operation)));
  return block;
}

void deallocate(Stream &stream, void *block, size_t) noexcept {
  cudaSetDevice(stream.device);
  cudaFreeAsync(block, stream.queue);
}

void copy_to_device(Stream &stream, const char *operation, void *to, const void *from,
                    size_t bytes) {
  check(operation, "copy to the device",
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, current(stream, operation)));
  synchronize(stream, operation);
}

void copy_to_host(Stream &stream, const char *operation, void *to, const void *from, size_t bytes) {
  check(operation, "copy to the host",
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, current(stream, operation)));
  synchronize(stream, operation);
}

void copy_on_device(Stream &stream, const char *operation, void *to, const void *from,
                    size_t bytes) {
  check(operation, "copy on the device",
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, current(stream, operation)));
}

void clear(Stream &stream, const char *operation, void *block, size_t bytes) {
  check(operation, "cudaMemsetAsync", cudaMemsetAsync(block, 0, bytes, current(stream, operation)));
}

void synchronize(Stream &stream, const char *operation) {
  check(operation, "from an earlier operation", cudaStreamSynchronize(current(stream, operation)));
}

void describe(Stream &stream, tl_device_properties &out) {
  cudaDeviceProp properties;
  check("properties", "cudaGetDeviceProperties",
        cudaGetDeviceProperties(&properties, stream.device));
  std::memcpy(out.name, properties.name, sizeof out.name);
  out.is_cuda = 1;
  out.capability = static_cast<uint32_t>(10 * properties.major + properties.minor);
  out.multiprocessor_count = stream.multiprocessors;
  out.memory_bus_width = static_cast<uint32_t>(properties.memoryBusWidth);
  out.total_bytes = properties.totalGlobalMem;
}

void memory_of_device(Stream &stream, uint64_t &out_free, uint64_t &out_total) {
  current(stream, "memory_info");
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  check("memory_info", "cudaMemGetInfo", cudaMemGetInfo(&free_bytes, &total_bytes));
  out_free = free_bytes;
  out_total = total_bytes;
}

uint32_t full_grid(const Stream &stream) {
  constexpr uint32_t blocks_per_multiprocessor = 8;  // of 256 threads: the 2048 that reside there
  return stream.multiprocessors * blocks_per_multiprocessor;
}

}  // namespace torchlean::cuda::device
