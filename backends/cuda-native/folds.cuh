// Many terms folded to few results: sums, maxima, first maxima.
//
// A result's terms are a line through an array. Short lines take a thread each, longer ones a warp
// or a block; where lines are too few to keep the device busy they are cut, and the chunks' results
// are folded in turn. So each shape has one order of additions on a device.
#pragma once

#include "accumulator.cuh"
#include "division.cuh"
#include "instance.hpp"
#include "row_threads.cuh"

#include <algorithm>
#include <limits>

namespace torchlean::cuda {

// ---- Lines: lines.place(lines.first(r), k) is where term k of result r lies --------------------

// Along the middle axis of an array (outer, n, inner); the results are (outer, inner).
class MiddleLines {
 public:
  MiddleLines(uint64_t n, uint64_t inner) : n_(n), inner_(inner), are_near_(inner < warp_threads) {}

  // Whether the terms of a line lie closer together than neighbouring lines' do, for the caches.
  bool are_near() const { return are_near_; }

  __device__ uint64_t first(uint64_t result) const {
    const Divided where = inner_.divide(result);
    return where.quotient * n_ * inner_.value() + where.remainder;
  }
  __device__ uint64_t place(uint64_t first, uint64_t k) const { return first + k * inner_.value(); }

 private:
  uint64_t n_;
  Divisor inner_;
  bool are_near_;
};

// ---- Folds: a thread adds terms; of_all<Threads>() is what all threads of a line make ----------

// A sum. Between kernels it stays in double.
template <class T>
struct SumOf {
  using Value = double;
  using OfValues = SumOf<double>;
  Accumulator<T> sum;

  __device__ void add(T term) { sum.add(term); }
  template <class Threads>
  __device__ Value of_all() const {
    return Threads::fold(sum.value(), Add());
  }
};

// The largest number; -Inf where all are NaN.
template <class T>
struct MaximumOf {
  using Value = T;
  using OfValues = MaximumOf<T>;
  T largest = -std::numeric_limits<T>::infinity();

  __device__ void add(T term) { largest = Larger()(largest, term); }
  template <class Threads>
  __device__ Value of_all() const {
    return Threads::fold(largest, Larger());
  }
};

// ---- The kernel --------------------------------------------------------------------------------

// Terms that are the elements of an array.
template <class T>
struct Elements {
  const T *x;
  __device__ T at(uint64_t place, uint64_t) const { return x[place]; }
};

// Where values between kernels go.
template <class Value>
struct Kept {
  Value *values;
  __device__ void put(uint64_t i, Value value) const { values[i] = value; }
};

// Lines of `count` terms cut into chunks of `length`, the last one shorter. Parts are numbered in
// the order of an array (chunks, results).
struct Cut {
  Divisor results;
  uint64_t count;
  uint64_t length;
};

template <class Threads, class Fold, class Lines, class Terms, class Sink>
__global__ void fold_kernel(uint64_t parts, Cut cut, Lines lines, Terms terms, Sink sink) {
  for (uint64_t part = Threads::first_row(); part < parts; part += Threads::row_stride()) {
    const Divided where = cut.results.divide(part);
    const uint64_t start = where.quotient * cut.length;
    const uint64_t left = cut.count - start;
    const uint64_t first = lines.first(where.remainder);
    Fold fold;
    for_own<Threads>(
        left < cut.length ? left : cut.length,
        [&](uint64_t k) { return terms.at(lines.place(first, start + k), start + k); },
        [&](uint64_t, const auto &term) { fold.add(term); });
    const auto value = fold.template of_all<Threads>();
    if (Threads::index() == 0) {
      sink.put(part, value);
    }
  }
}

// The length of chunks that keep the device busy and pay for a second kernel.
template <class Threads>
uint64_t chunk_length(const device::Stream &stream, uint64_t lines, uint64_t count) {
  constexpr uint64_t shortest = std::is_same_v<Threads, ThreadPerRow> ? 64 : 2048;
  const uint64_t busy = uint64_t{device::full_grid(stream)} * Threads::rows_per_block;
  const uint64_t wanted = std::clamp<uint64_t>(busy / lines, 1, (count - 1) / shortest + 1);
  return (count - 1) / wanted + 1;
}

// sink.put(r, the fold of count > 0 terms) for each of results > 0.
template <class Fold, class Lines, class Terms, class Sink>
void fold_lines(tl_instance &instance, const char *operation, uint64_t results, uint64_t count,
                const Lines &lines, const Terms &terms, const Sink &sink) {
  device::Stream &stream = *instance.stream;
  with_row_threads(lines.are_near() ? count : 1, [&]<class Threads>() {
    const uint64_t length = chunk_length<Threads>(stream, results, count);
    const uint64_t chunks = (count - 1) / length + 1;
    const Cut cut = {Divisor(results), count, length};
    if (chunks == 1) {
      return launch_rows<Threads>(stream, operation, results,
                                  &fold_kernel<Threads, Fold, Lines, Terms, Sink>, cut, lines,
                                  terms, sink);
    }
    using Value = typename Fold::Value;
    const Result of_chunks(instance, operation, product({chunks, results}), sizeof(Value));
    Value *const values = of_chunks.elements<Value>();
    launch_rows<Threads>(stream, operation, chunks * results,
                         &fold_kernel<Threads, Fold, Lines, Terms, Kept<Value>>, cut, lines, terms,
                         Kept<Value>{values});
    fold_lines<typename Fold::OfValues>(instance, operation, results, chunks,
                                        MiddleLines(chunks, results), Elements<Value>{values},
                                        sink);
  });
}

}  // namespace torchlean::cuda
