// ATen's host memory, taken from the core.
#include "host_allocator.hpp"

#include "libtorch.hpp"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <unordered_map>

namespace torchlean::libtorch {
namespace {

// The core wants a block's size back on free, and parts of ATen (oneDNN's) free a block by nothing
// but its address. A header in front of the block would hide underruns from the core's guard pages.
class Sizes {
 public:
  void add(void *block, size_t bytes) {
    Part &part = part_of(block);
    const std::lock_guard lock(part.mutex);
    part.sizes.emplace(block, bytes);
  }

  // 0 for a block that is not here.
  size_t remove(void *block) {
    Part &part = part_of(block);
    const std::lock_guard lock(part.mutex);
    const auto node = part.sizes.extract(block);
    return node.empty() ? 0 : node.mapped();
  }

 private:
  // Threads seldom meet in one part.
  struct alignas(64) Part {
    std::mutex mutex;
    std::unordered_map<void *, size_t> sizes;
  };

  Part &part_of(void *block) {
    return parts_[(reinterpret_cast<uintptr_t>(block) >> 6) % std::size(parts_)];
  }

  Part parts_[64];
};

// Below this size the core's own allocator is as fast.
constexpr size_t smallest_kept = size_t{128} << 10;

class HostAllocator final : public at::Allocator {
 public:
  explicit HostAllocator(at::Allocator &former)
      : blocks(*host, host_cache_limit(*host), smallest_kept), former_(former) {}

  // Never destroyed: tensors outlive static destructors.
  static HostAllocator &instance();

  at::DataPtr allocate(size_t bytes) override {
    void *const block = bytes == 0 ? nullptr : taken(bytes);
    return {block, block, &release, at::Device(at::kCPU)};
  }

  at::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void *destination, const void *source, size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }

  HostBlocks blocks;
  Gauge allocated;

 private:
  void *taken(size_t bytes) {
    void *const block = blocks.alloc(bytes);
    TORCH_CHECK_WITH(OutOfMemoryError, block != nullptr, "host memory is exhausted: ", bytes,
                     " bytes were asked for");
    try {
      sizes_.add(block, bytes);
    } catch (...) {
      blocks.free(block, bytes);
      throw;
    }
    allocated.add(bytes);
    return block;
  }

  static void release(void *block) {
    if (block == nullptr) return;
    HostAllocator &all = instance();
    const size_t bytes = all.sizes_.remove(block);
    if (bytes == 0) return all.former_.raw_deallocate(block);  // older than this allocator
    all.blocks.free(block, bytes);
    all.allocated.subtract(bytes);
  }

  at::Allocator &former_;
  Sizes sizes_;
};

HostAllocator &HostAllocator::instance() {
  static auto *const allocator = new HostAllocator(*c10::GetCPUAllocator());
  return *allocator;
}

}  // namespace

void install_host_allocator() {
  static std::once_flag once;
  std::call_once(once, [] { c10::SetCPUAllocator(&HostAllocator::instance(), /*priority=*/100); });
}

HostBlocks &host_blocks() { return HostAllocator::instance().blocks; }
const Gauge &allocated_bytes() { return HostAllocator::instance().allocated; }

}  // namespace torchlean::libtorch
