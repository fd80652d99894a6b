// Storages of an instance, and the checks of arguments that every family shares.
#include "instance.hpp"

#include <limits>

void tl_instance::select(uint32_t index) {
  using namespace torchlean::cuda;
  const std::lock_guard lock(selecting_);
  for (const auto &known : streams_) {
    if (device::index_of(*known) == index) {
      stream = known.get();
      return;
    }
  }
  streams_.push_back(decltype(streams_)::value_type(device::create_stream(*host, index)));
  stream = streams_.back().get();
}

namespace torchlean::cuda {

namespace {

std::string text(const char *operation, const char *argument) {
  return std::string(operation) + ": " + argument;
}

}  // namespace

void release(tl_instance *, tl_storage *storage) noexcept {
  device::deallocate(*storage->stream, storage->block, storage->bytes);
  delete storage;
}

Result::Result(tl_instance &instance, const char *operation, uint64_t count, size_t width)
    : instance_(instance), storage_(nullptr) {
  if (count == 0 || count > std::numeric_limits<size_t>::max() / width) {
    throw Failure(TL_INVALID_ARGUMENT, text(operation, "count is ") + std::to_string(count) +
                                           ", expected 1 to 4294967295");
  }
  auto storage = std::make_unique<tl_storage>();
  storage->bytes = count * width;
  storage->stream = instance.stream;
  storage->block = device::allocate(*storage->stream, operation, storage->bytes);
  storage_ = storage.release();
}

Result::~Result() {
  if (storage_ != nullptr) {
    release(&instance_, storage_);
  }
}

void refuse_dtype(const char *operation, tl_dtype dtype) {
  throw Failure(TL_UNSUPPORTED, text(operation, "dtype is ") + std::to_string(dtype) +
                                    ", supported are float32 (0) and float64 (1)");
}

void refuse_enumerator(const char *entry_name, uint32_t enumerator) {
  throw Failure(TL_UNSUPPORTED, text(entry_name, "operation ") + std::to_string(enumerator) +
                                    " is not known to this backend");
}

void check_width(const char *operation, tl_dtype dtype, uint32_t width) {
  const bool right = dtype == TL_FLOAT32   ? width == sizeof(float)
                     : dtype == TL_FLOAT64 ? width == sizeof(double)
                                           : width >= 1 && width <= 32;
  if (dtype >= TL_DTYPE_COUNT) {
    throw Failure(TL_UNSUPPORTED,
                  text(operation, "dtype is ") + std::to_string(dtype) + ", supported are 0 to 2");
  }
  if (!right) {
    throw Failure(TL_INVALID_ARGUMENT, text(operation, "width is ") + std::to_string(width) +
                                           " bytes, which dtype " + std::to_string(dtype) +
                                           " cannot have");
  }
}

void check_operand(const char *operation, const char *argument, const tl_operand &operand,
                   tl_dtype dtype, uint64_t count) {
  if (operand.dtype != dtype) {
    throw Failure(TL_INVALID_ARGUMENT, text(operation, argument) + " has dtype " +
                                           std::to_string(operand.dtype) + ", expected " +
                                           std::to_string(dtype));
  }
  check_width(operation, operand.dtype, operand.width);
  if (operand.count != count) {
    throw Failure(TL_INVALID_ARGUMENT, text(operation, argument) + " has " +
                                           std::to_string(operand.count) + " elements, expected " +
                                           std::to_string(count));
  }
  const size_t held = operand.storage == nullptr ? 0 : operand.storage->bytes;
  if (held / operand.width != count || held % operand.width != 0) {
    throw Failure(TL_INVALID_ARGUMENT, text(operation, argument) + " holds " +
                                           std::to_string(held) + " bytes, expected " +
                                           std::to_string(count) + " elements of " +
                                           std::to_string(operand.width));
  }
}

void check_struct_size(const char *operation, size_t actual, size_t expected) {
  if (actual < expected) {
    throw Failure(TL_INVALID_ARGUMENT, text(operation, "parameters have ") +
                                           std::to_string(actual) + " bytes, expected at least " +
                                           std::to_string(expected));
  }
}

}  // namespace torchlean::cuda
