// Softmax over any axis, and of rows under a mask.
//
// A line is read twice, the second time from the caches: for its sum (softmax_row.cuh) and for the
// results. Where lines are too few to keep the device busy, the sums are folded from chunks
// (folds.cuh) before any result is computed.
#include "folds.cuh"
#include "softmax.hpp"
#include "softmax_row.cuh"

namespace torchlean::cuda {

namespace {

template <class T>
struct Score {
  T x;
  bool is_allowed;
};

// The scores, of which a mask, where there is one, allows those where it is not 0: NaN allows.
template <class T>
struct Scores {
  const T *x;
  const T *mask;
  __device__ Score<T> at(uint64_t place, uint64_t = 0) const {
    return {x[place], mask == nullptr || mask[place] != T(0)};
  }
};

template <class T>
struct AllowedWeights : RowWeights<T> {
  __device__ void add(const Score<T> &score) {
    if (score.is_allowed) {
      RowWeights<T>::add(score.x);
    }
  }
};

// Blocked ones are +0.
template <class T>
__device__ T result(const SoftmaxLine<T> &line, const Score<T> &score) {
  return score.is_allowed ? line.probability(score.x) : T(0);
}

// ---- Kernels -----------------------------------------------------------------------------------

template <class Threads, class T>
__global__ void softmax_kernel(uint64_t count, MiddleLines lines, uint64_t n, Scores<T> scores,
                               T *y) {
  for (uint64_t i = Threads::first_row(); i < count; i += Threads::row_stride()) {
    const uint64_t first = lines.first(i);
    const auto load = [&](uint64_t k) { return scores.at(lines.place(first, k)); };
    AllowedWeights<T> weights;
    for_own<Threads>(n, load, [&](uint64_t, const Score<T> &score) { weights.add(score); });
    const SoftmaxLine<T> line(weights.template of_all<Threads>());
    for_own<Threads>(n, load, [&](uint64_t k, const Score<T> &score) {
      y[lines.place(first, k)] = result(line, score);
    });
  }
}

template <class T>
__global__ void result_kernel(uint64_t count, Divisor line_block, Divisor inner, Scores<T> scores,
                              const SoftmaxLine<T> *lines, T *y) {
  for (uint64_t i = first_element(); i < count; i += element_stride()) {
    const uint64_t line = line_block.divide(i).quotient * inner.value() + inner.divide(i).remainder;
    y[i] = result(lines[line], scores.at(i));
  }
}

// ---- Entries -----------------------------------------------------------------------------------

template <class T>
void run(tl_instance &instance, const char *operation, const Scores<T> &scores, uint64_t outer,
         uint64_t n, uint64_t inner, T *y) {
  device::Stream &stream = *instance.stream;
  const uint64_t count = outer * inner;
  const MiddleLines lines(n, inner);
  with_row_threads(lines.are_near() ? n : 1, [&]<class Threads>() {
    if (chunk_length<Threads>(stream, count, n) == n) {
      return launch_rows<Threads>(stream, operation, count, &softmax_kernel<Threads, T>, lines, n,
                                  scores, y);
    }
    const Result of_lines(instance, operation, count, sizeof(SoftmaxLine<T>));
    SoftmaxLine<T> *const made = of_lines.elements<SoftmaxLine<T>>();
    fold_lines<AllowedWeights<T>>(instance, operation, count, n, lines, scores,
                                  ToSoftmaxLines<T>{made});
    launch(stream, operation, count * n, &result_kernel<T>, Divisor(n * inner), Divisor(inner),
           scores, made, y);
  });
}

}  // namespace

void softmax(tl_instance *instance, const tl_operand *x, uint64_t outer, uint64_t n, uint64_t inner,
             tl_flags, tl_storage **out) {
  constexpr const char *operation = "softmax";
  with_native(operation, x->dtype, [&]<class T>() {
    check_operand(operation, "x", *x, native_dtype<T>, product({outer, n, inner}));
    Result y(*instance, operation, x->count, sizeof(T));
    const Scores<T> scores = {elements<T>(*x), nullptr};
    run(*instance, operation, scores, outer, n, inner, y.elements<T>());
    *out = y.hand_over();
  });
}

void masked_softmax(tl_instance *instance, const tl_operand *scores, const tl_operand *mask,
                    uint64_t rows, uint64_t cols, tl_flags, tl_storage **out) {
  constexpr const char *operation = "hard_masked_softmax_by_row";
  with_native(operation, scores->dtype, [&]<class T>() {
    check_operand(operation, "scores", *scores, native_dtype<T>, product({rows, cols}));
    check_operand(operation, "mask", *mask, native_dtype<T>, scores->count);
    Result y(*instance, operation, scores->count, sizeof(T));
    const Scores<T> allowed = {elements<T>(*scores), elements<T>(*mask)};
    run(*instance, operation, allowed, rows, cols, 1, y.elements<T>());
    *out = y.hand_over();
  });
}

}  // namespace torchlean::cuda
