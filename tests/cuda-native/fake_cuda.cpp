#include "fake_cuda.hpp"

#include <cstdlib>
#include <cstring>

using fake_cuda::machine;

namespace fake_cuda {

Machine &machine() {
  static Machine only;
  return only;
}

void reset() {
  Machine fresh;
  fresh.blocks = machine().blocks;
  fresh.pools = machine().pools;
  machine() = fresh;
}

}  // namespace fake_cuda

namespace {

// Counts a call and answers what the test wants; as CUDA does, it keeps a failure as last error.
cudaError_t answer(const char *function) {
  ++machine().calls[function];
  cudaError_t status = cudaSuccess;
  if (const auto wanted = machine().next.find(function); wanted != machine().next.end()) {
    status = wanted->second;
    machine().next.erase(wanted);
  }
  if (status != cudaSuccess) machine().last_error = status;
  return status;
}

}  // namespace

// The headers name parameters otherwise.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

cudaError_t cudaGetDeviceCount(int *count) {
  *count = machine().devices;
  if (machine().device_count != cudaSuccess) machine().last_error = machine().device_count;
  return machine().device_count;
}

cudaError_t cudaSetDevice(int device) {
  machine().current_device = device;
  return answer("cudaSetDevice");
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMemoryPoolsSupported ? int{machine().has_pools} : 7;
  return answer("cudaDeviceGetAttribute");
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
  *properties = {};
  std::strcpy(properties->name, device == 0 ? "first" : "second");
  properties->major = 9;
  properties->minor = 1;
  properties->multiProcessorCount = 7;
  properties->totalGlobalMem = machine().total_bytes;
  return answer("cudaGetDeviceProperties");
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
  *free_bytes = machine().total_bytes / 2;
  *total_bytes = machine().total_bytes;
  return answer("cudaMemGetInfo");
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *) {
  *pool = reinterpret_cast<cudaMemPool_t>(static_cast<uintptr_t>(++machine().pools));
  return answer("cudaMemPoolCreate");
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void *value) {
  if (attribute == cudaMemPoolAttrReleaseThreshold)
    machine().release_threshold = *static_cast<uint64_t *>(value);
  return answer("cudaMemPoolSetAttribute");
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void *value) {
  *static_cast<uint64_t *>(value) = attribute == cudaMemPoolAttrReservedMemCurrent ? 4096 : 8192;
  return answer("cudaMemPoolGetAttribute");
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return answer("cudaMemPoolTrimTo"); }

cudaError_t cudaMallocFromPoolAsync(void **block, size_t bytes, cudaMemPool_t, cudaStream_t) {
  const cudaError_t status = answer("cudaMallocFromPoolAsync");
  if (status == cudaSuccess) {
    *block = std::aligned_alloc(512, bytes);
    machine().blocks[*block] = bytes;
  }
  return status;
}

cudaError_t cudaFreeAsync(void *block, cudaStream_t) {
  const cudaError_t status = answer("cudaFreeAsync");
  machine().blocks.erase(block);
  std::free(block);
  return status;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  std::memcpy(to, from, bytes);
  return answer("cudaMemcpyAsync");
}

cudaError_t cudaMemsetAsync(void *block, int value, size_t bytes, cudaStream_t) {
  std::memset(block, value, bytes);
  return answer("cudaMemsetAsync");
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(uintptr_t{64});
  return answer("cudaStreamCreateWithFlags");
}

cudaError_t cudaStreamSynchronize(cudaStream_t) {
  const cudaError_t status = answer("cudaStreamSynchronize");
  return machine().fault != cudaSuccess ? machine().fault : status;
}

cudaError_t cudaStreamDestroy(cudaStream_t) { return answer("cudaStreamDestroy"); }

cudaError_t cudaGetLastError() {
  const cudaError_t status = machine().last_error;
  machine().last_error = cudaSuccess;
  return status;
}

const char *cudaGetErrorString(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorInsufficientDriver: return "driver too old";
    case cudaErrorInvalidValue: return "invalid argument";
    default: return "some error";
  }
}

cudaError_t cudaDriverGetVersion(int *version) {
  *version = 13010;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = 13000;
  return cudaSuccess;
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
