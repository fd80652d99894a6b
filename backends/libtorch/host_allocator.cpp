// ATen's host memory, taken from the core.
#include "host_allocator.hpp"

#include "libtorch.hpp"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <mutex>

namespace torchlean::libtorch {
namespace {

std::atomic<uint64_t> allocated{0};
std::atomic<uint64_t> peak{0};

// The core wants the size back on free. A header in front of the block would hide underruns from
// the core's guard pages, so the size lies apart.
struct Block {
  void *data;
  size_t bytes;

  static void release(void *context) {
    const auto *block = static_cast<Block *>(context);
    host->free(block->data, block->bytes);
    allocated.fetch_sub(block->bytes, std::memory_order_relaxed);
    delete block;
  }
};

class HostAllocator final : public at::Allocator {
 public:
  at::DataPtr allocate(size_t bytes) override {
    const at::Device device(at::kCPU);
    if (bytes == 0) return {nullptr, nullptr, nullptr, device};
    auto block = std::make_unique<Block>(Block{nullptr, bytes});
    block->data = host->alloc(bytes);
    TORCH_CHECK_WITH(OutOfMemoryError, block->data != nullptr, "host memory is exhausted: ", bytes,
                     " bytes were asked for");
    const uint64_t now = allocated.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    uint64_t highest = peak.load(std::memory_order_relaxed);
    while (now > highest && !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
    }
    void *const data = block->data;
    return {data, block.release(), &Block::release, device};
  }

  void copy_data(void *destination, const void *source, size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }
};

}  // namespace

void install_host_allocator() {
  // Never destroyed: tensors outlive static destructors.
  static auto *const allocator = new HostAllocator;
  static std::once_flag once;
  std::call_once(once, [] { c10::SetCPUAllocator(allocator, /*priority=*/100); });
}

uint64_t allocated_bytes() { return allocated.load(std::memory_order_relaxed); }
uint64_t peak_allocated_bytes() { return peak.load(std::memory_order_relaxed); }

}  // namespace torchlean::libtorch
