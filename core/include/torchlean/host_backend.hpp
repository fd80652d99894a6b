// Helpers for backends whose storages are blocks of host memory: the storage itself, checked
// operands, results. The reference and the cpu backend share them, so that both refuse the same
// arguments with the same words.
//
// Header only, like backend.hpp. A backend that includes it defines tl_instance, and how a storage
// gets its block and gives it back.
#pragma once

#include <torchlean/backend_arguments.hpp>

#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

static_assert(FLT_EVAL_METHOD == 0, "every step must be rounded in its own type");

// A block of host memory. Throws TL_OUT_OF_MEMORY where the host has none left. bytes > 0.
struct tl_storage {
  tl_storage(tl_instance &instance, size_t size);
  ~tl_storage();
  tl_storage(const tl_storage &) = delete;
  tl_storage &operator=(const tl_storage &) = delete;

  tl_instance &owner;
  const size_t bytes;
  void *const data;
};

namespace torchlean {

// ---- Arguments ----------------------------------------------------------------------------------

// Throws unless argument.member has the expected value. Its name is put together only then.
inline void expect_member(const char *argument, const char *member, uint64_t value,
                          uint64_t expected) {
  if (value != expected) expect_equal(std::string(argument) + "." + member, value, expected);
}

// Throws unless elements of dtype may be `width` bytes wide.
inline void check_width(tl_dtype dtype, uint32_t width) {
  switch (dtype) {
    case TL_FLOAT32: return expect_equal("width", width, sizeof(float));
    case TL_FLOAT64: return expect_equal("width", width, sizeof(double));
    case TL_ENCODED:
      if (width < 1 || width > 32)
        throw invalid("width is " + std::to_string(width) + ", expected 1 to 32 bytes");
      return;
    default: throw unknown("dtype", dtype);
  }
}

// The bytes of an operand of any dtype; throws where it contradicts itself.
inline std::span<const std::byte> bytes_of(const char *argument, const tl_operand *operand) {
  expect_given(argument, operand);
  check_width(operand->dtype, operand->width);
  const uint64_t held = operand->storage == nullptr ? 0 : operand->storage->bytes;
  expect_member(argument, "count * width", product({operand->count, operand->width}), held);
  if (held == 0) return {};
  return {static_cast<const std::byte *>(operand->storage->data), held};
}

// The elements of an operand of the native type T; throws where it is not one.
template <class T>
std::span<const T> values_of(const char *argument, const tl_operand *operand) {
  const std::span<const std::byte> bytes = bytes_of(argument, operand);
  expect_member(argument, "dtype", operand->dtype, native_dtype<T>);
  return {reinterpret_cast<const T *>(bytes.data()), operand->count};
}

// The elements [start, start + length) of an operand of any dtype, as bytes.
inline std::span<const std::byte> part_of(const char *argument, const tl_operand *operand,
                                          uint64_t start, uint64_t length) {
  const std::span<const std::byte> bytes = bytes_of(argument, operand);
  if (start > operand->count || length > operand->count - start)
    throw invalid("start is " + std::to_string(start) + " and length " + std::to_string(length) +
                  ", expected a part of " + std::to_string(operand->count) + " elements");
  return bytes.subspan(start * operand->width, length * operand->width);
}

// ---- Results ------------------------------------------------------------------------------------

// `count` elements of a fresh storage, freed unless it is handed out; no storage if it is empty.
template <class T>
class Result {
 public:
  Result(tl_instance &instance, uint64_t count) : count_(count) {
    if (count > 0) storage_ = std::make_unique<tl_storage>(instance, count * sizeof(T));
  }
  T *begin() { return storage_ ? static_cast<T *>(storage_->data) : nullptr; }
  T *end() { return begin() + count_; }
  T &operator[](uint64_t index) { return begin()[index]; }
  tl_storage *release() noexcept { return storage_.release(); }

 private:
  uint64_t count_;
  std::unique_ptr<tl_storage> storage_;
};

// The last step of every kernel: out[0], out[1] ... receive the results.
template <class... Results>
void hand_out(tl_storage **out, Results &...results) {
  expect_given("out", out);
  ((*out++ = results.release()), ...);
}

// ---- The host as a device -----------------------------------------------------------------------

// A host backend has one device.
inline void check_index(uint32_t index) {
  if (index != 0) throw invalid("index is " + std::to_string(index) + ", expected 0");
}

}  // namespace torchlean
