// Elements that are moved together, up to the 16 bytes that a thread loads or stores at once.
//
// Storages begin at a word's address: device memory is aligned to 256 bytes, host memory to 64.
#pragma once

#include "launch.cuh"

#include <cstddef>

namespace torchlean::cuda {

// The address of one is a multiple of its size.
template <class T, size_t count>
struct alignas(count * sizeof(T)) Word {
  T element[count];
};

// As many as fit into 16 bytes.
template <class T>
inline constexpr size_t widest_word = 16 / sizeof(T);

// Word i of an array that begins at a word's address.
template <size_t width, class T>
__device__ Word<T, width> load_word(const T *array, uint64_t i) {
  return reinterpret_cast<const Word<T, width> *>(array)[i];
}
template <class T, size_t width>
__device__ void store_word(T *array, uint64_t i, const Word<T, width> &word) {
  reinterpret_cast<Word<T, width> *>(array)[i] = word;
}

// n elements as words, and the last elements, fewer than a word, as words of one. The kernel, which
// launch_words runs, calls for each of a thread's items visit.operator()<width>(i) for word i, or
// visit.operator()<1>(i) for element i.
template <size_t width, class Visit>
__device__ void for_words(uint64_t items, uint64_t n, Visit visit) {
  const uint64_t words = n / width;
  for (uint64_t i = first_element(); i < items; i += element_stride()) {
    if (i < words) {
      visit.template operator()<width>(i);
    } else {
      visit.template operator()<1>(words * width + (i - words));
    }
  }
}

// Runs kernel(items, n, arguments...) for n > 0 elements.
template <size_t width, class... Parameters, class... Arguments>
void launch_words(device::Stream &stream, const char *operation, uint64_t n,
                  void (*kernel)(uint64_t, uint64_t, Parameters...), Arguments... arguments) {
  launch(stream, operation, n / width + n % width, kernel, n, arguments...);
}

}  // namespace torchlean::cuda
