// Arrays of more than 2^31 elements for kernels in tail mode: the last blocks of each launch alone,
// on memory that exists only where it is touched.
#pragma once

#include "fake_host.hpp"

#include <sys/mman.h>

#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>
#include <string>

// A host array that takes memory only where it is touched: zeros at first.
template <class T>
class Sparse {
 public:
  explicit Sparse(uint64_t count) : count_(count) {
    void *mapping = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
      throw std::runtime_error("no sparse mapping of " + std::to_string(count * sizeof(T)) +
                               " bytes");
    }
    elements_ = static_cast<T *>(mapping);
  }
  ~Sparse() { munmap(elements_, count_ * sizeof(T)); }
  Sparse(const Sparse &) = delete;
  Sparse &operator=(const Sparse &) = delete;

  T &operator[](uint64_t i) { return elements_[i]; }
  T *data() { return elements_; }

 private:
  uint64_t count_;
  T *elements_;
};

// The last elements of every array here are not 0.
inline constexpr uint64_t tail = 700;

// What three blocks of 256 threads cover, the last of them with what is left over.
constexpr uint64_t covered_of(uint64_t count) {
  return 2 * 256 + (count % 256 == 0 ? 256 : count % 256);
}

// The same where a thread moves `width` elements at once, and the last ones, fewer, one by one.
constexpr uint64_t covered_in_words(uint64_t count, uint64_t width) {
  const uint64_t rest = count % width;
  return (covered_of(count / width + rest) - rest) * width + rest;
}
inline constexpr uint64_t most_covered_in_words = 3 * 256 * 4;

inline constexpr uint64_t many = (uint64_t{1} << 31) + 12345;

// Rows that take a thread each, with more elements together.
inline constexpr uint64_t many_rows = (uint64_t{1} << 29) + 77;
inline constexpr uint64_t row_length = 5;
inline constexpr uint64_t many_rows_covered = covered_of(many_rows);
static_assert(many_rows * row_length > (uint64_t{1} << 31) && many_rows_covered < tail);

// An array of `count` zeros on the device, but for the last elements: value(i) of each place i.
template <class T, class Value>
Buffer with_tail(const Session &session, uint64_t count, Value value, uint64_t length = tail) {
  Sparse<T> words(count);
  for (uint64_t i = count - length; i < count; ++i) {
    words[i] = static_cast<T>(value(i));
  }
  tl_storage *out = nullptr;
  REQUIRE(backend().transfer->upload(session.instance(), words.data(), dtype_of<T>, dtype_of<T>,
                                     sizeof(T), count, 0, &out) == TL_OK);
  return {session, out, count, dtype_of<T>, sizeof(T)};
}

// Whether the last `checked` elements of the result are value(i) and, before the last `written`,
// nothing was written: then the right elements were written and no others.
template <class T, class Value>
void check_tail(const Session &session, tl_storage *out, uint64_t count, uint64_t checked,
                uint64_t written, Value value) {
  const Buffer result(session, out, count, dtype_of<T>, sizeof(T));
  Sparse<T> words(count);
  REQUIRE(backend().transfer->download(session.instance(), result.operand(), dtype_of<T>,
                                       words.data()) == TL_OK);
  uint64_t wrong = 0;
  for (uint64_t i = count - checked; i < count; ++i) {
    wrong += words[i] == static_cast<T>(value(i)) ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(words[count - 1 - written] == T(0));
}

inline double numbered(uint64_t i) { return static_cast<double>(i % 1009) + 1; }
