#include "shared_memory.hpp"

#include "sanitizers.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace torchlean::cuda::emulation {

namespace {

constexpr size_t rounded_up(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

}  // namespace

SharedMemory::~SharedMemory() {
  if (mapping_ != nullptr) {
    sanitizer::allow(mapping_, mapping_bytes);
    munmap(mapping_, mapping_bytes);
  }
}

void SharedMemory::start_block(size_t dynamic_bytes) {
  // For the thread sanitizer each block has a mapping of its own: what is known of the last block's
  // accesses, which no barrier orders before this one's, goes with the old one.
  if (mapping_ != nullptr && sanitizer::finds_races) {
    munmap(mapping_, mapping_bytes);
    mapping_ = nullptr;
  }
  if (mapping_ == nullptr) {
    void *mapping =
        mmap(nullptr, mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) {
      throw std::bad_alloc();
    }
    mapping_ = static_cast<std::byte *>(mapping);
  }
  std::byte *const cells = mapping_ + dynamic_offset;
  constexpr size_t cell_bytes = mapping_bytes - dynamic_offset;
  sanitizer::allow(cells, cell_bytes);
  std::memset(cells, garbage, cell_bytes);
  sanitizer::forbid(cells, cell_bytes);
  sanitizer::allow(cells, dynamic_bytes);
  used_bytes_ = dynamic_bytes;
  next_offset_ = rounded_up(dynamic_offset + dynamic_bytes + alignment, alignment);
  variable_count_ = 0;
}

[[gnu::no_sanitize_thread]] void *SharedMemory::variable(const void *key, size_t bytes) {
  for (size_t i = 0; i < variable_count_; ++i) {
    if (variables_[i].key == key) {
      return mapping_ + variables_[i].offset;
    }
  }
  if (variable_count_ == most_variables || bytes > most_shared_bytes - used_bytes_) {
    return nullptr;
  }
  variables_[variable_count_] = {key, next_offset_};
  std::byte *const address = mapping_ + next_offset_;
  sanitizer::allow(address, bytes);
  ++variable_count_;
  used_bytes_ += bytes;
  next_offset_ = rounded_up(next_offset_ + bytes + alignment, alignment);
  return address;
}

}  // namespace torchlean::cuda::emulation
