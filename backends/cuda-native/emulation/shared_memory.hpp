// The shared memory of the block that runs: garbage when the block starts, and its bounds exact
// under the address sanitizer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torchlean::cuda::emulation {

// Fresh memory, of the device or shared, holds anything. These bytes make a NaN of either dtype,
// which spoils any result that an element was forgotten in.
inline constexpr int garbage = 0xFB;

// Of one block, static and dynamic together: what a kernel may use without asking for more.
inline constexpr size_t most_shared_bytes = 48 * 1024;

class SharedMemory {
 public:
  SharedMemory() = default;
  ~SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;

  // Fresh memory for the next block. Throws std::bad_alloc.
  void start_block(size_t dynamic_bytes);

  [[gnu::no_sanitize_thread]] void *dynamic() const { return mapping_ + dynamic_offset; }

  // The block's variable of this key (each statically sized one has its own), made at its first
  // use; nullptr if the block has no room for it.
  void *variable(const void *key, size_t bytes);

  // Addresses that stand for points of order within the block: number < most_tags.
  static constexpr size_t most_tags = 128;
  [[gnu::no_sanitize_thread]] void *tag(size_t number) const {
    return mapping_ + number * sizeof(uint64_t);
  }

 private:
  struct Variable {
    const void *key;
    size_t offset;
  };

  static constexpr size_t alignment = 256;  // and the least gap between two variables
  static constexpr size_t dynamic_offset = most_tags * sizeof(uint64_t);
  static constexpr size_t most_variables = 16;
  static constexpr size_t mapping_bytes =
      dynamic_offset + most_shared_bytes + 2 * alignment * (most_variables + 2);

  std::byte *mapping_ = nullptr;
  Variable variables_[most_variables] = {};  // plain: read and written unobserved
  size_t variable_count_ = 0;
  size_t used_bytes_ = 0;  // as the device counts them
  size_t next_offset_ = 0;
};

}  // namespace torchlean::cuda::emulation
