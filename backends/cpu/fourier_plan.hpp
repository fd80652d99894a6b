// Complex Fourier transforms of any length: tables made once, and the order of passes.
//
// A length whose prime factors are small is a chain of passes of radices up to 16 (Stockham's
// order: no pass permutes). Any other length is a convolution with a chirp (Bluestein), done with
// transforms of such a length.
#pragma once

#include "fourier_kernels.hpp"
#include "gemm.hpp"

#include <memory>
#include <vector>

namespace torchlean::cpu {

// Numbers in memory, real and imaginary parts apart.
template <class T>
struct Numbers {
  explicit Numbers(int64_t count = 0)
      : re(static_cast<size_t>(count)), im(static_cast<size_t>(count)) {}
  Planes<const T> planes() const { return {re.data(), im.data()}; }
  Planes<T> planes() { return {re.data(), im.data()}; }

  std::vector<T> re;
  std::vector<T> im;
};

// Arrays that a pass walks along at once lie a few lines of the cache apart beside their lengths,
// which are often powers of two: what is a multiple of 4096 bytes apart shares lines of the cache.
template <class T>
constexpr int64_t gap = 5 * 64 / sizeof(T);

// Working memory for planes of so many numbers; `which` of those in use at the same time it is.
template <class T>
class WorkingPlanes {
 public:
  WorkingPlanes(tl_instance &instance, int64_t count, int64_t which)
      : offset_(2 * which * gap<T>),
        distance_(count + gap<T>),
        values_(instance, static_cast<uint64_t>(offset_ + distance_ + count)) {}
  Planes<T> planes() {
    T *const re = values_.begin() + offset_;
    return {re, re + distance_};
  }

 private:
  int64_t offset_;
  int64_t distance_;
  Result<T> values_;
};

// exp(-2 pi i k/n) for k < count <= n.
template <class T>
Numbers<T> roots_of_unity(int64_t n, int64_t count);

// How numbers lie that are transformed at a time: those of as many rows as a vector has lanes side
// by side, or of one row, in order, whole or as a matrix.
enum class Layout { SideBySide, Row, Matrix };

// The chain of passes for a length without large prime factors.
template <class T>
class Passes {
 public:
  // is_row: for the numbers of a single row, if there are passes for that.
  Passes(int64_t length, bool is_row);

  // The transforms of `width` numbers side by side: number k of each lies in the block at
  // x + k * x_step; in a row, which may be pairs, `width` is 1. The result, blocks without gaps, is
  // in `one` or `other`; each holds length * width numbers. x may be `other`.
  Planes<T> run(const FourierKernels<T> &kernels, Planes<const T> x, int64_t x_step, int64_t width,
                Planes<T> one, Planes<T> other) const;

  int64_t length() const { return length_; }

 private:
  struct Stage {
    int64_t radix;
    int64_t count;
    std::vector<T> twiddles;
    std::vector<T> roots;
  };

  int64_t length_;
  bool is_row_;
  std::vector<Stage> stages_;
};

// Tables for one length.
template <class T>
class ComplexTransform {
 public:
  // span: indices of results less those of operands lie in a range of so many numbers. 2 * length -
  // 1 would do always; a real signal and the half of its spectrum have 3/2 * length.
  ComplexTransform(tl_instance &instance, int64_t length, int64_t span, Layout layout);

  // The transform of `width` numbers side by side, or of a row, which may be pairs; the first
  // `outputs` bins of it at least. The result is in `one` or `other`, which have room for length *
  // width numbers; x may be `other`.
  Planes<T> run(tl_instance &instance, Planes<const T> x, int64_t x_step, int64_t width,
                int64_t outputs, Planes<T> one, Planes<T> other) const;

  // The backward transform of numbers that are mirrored, conjugate, at the other end, for an odd
  // length: the first half of them is in `numbers`, where there is room for all. The result's real
  // parts are in one.re or numbers.re.
  Planes<T> run_mirrored(tl_instance &instance, Planes<T> numbers, int64_t width,
                         Planes<T> one) const;

  // The length of what passes are run on.
  static int64_t inner_length(int64_t length, int64_t span);

 private:
  bool is_chirped() const { return inner_ != length_; }
  // Bluestein's convolution, for results of indices [-before, after); those below 0 lie at the end.
  void convolve(tl_instance &instance, Planes<const T> x, int64_t x_step, int64_t width,
                int64_t inputs, int64_t before, int64_t after, Planes<T> y) const;
  Planes<T> run_inner(tl_instance &instance, Planes<const T> x, int64_t x_step, int64_t width,
                      Planes<T> one, Planes<T> other) const;
  void run_as_matrix(tl_instance &instance, Planes<const T> x, Planes<T> y) const;

  int64_t length_;
  int64_t inner_;
  std::unique_ptr<Passes<T>> whole_;  // unless as a matrix
  std::unique_ptr<Passes<T>> columns_;
  std::unique_ptr<Passes<T>> rows_;
  Numbers<T> twist_;
  // Of Bluestein's convolution; empty where there is none.
  Numbers<T> chirp_;  // exp(-pi i k^2/length) for k from -length/2 up
  Numbers<T> spectrum_;
};

// What a real transform of a length needs.
template <class T>
struct RealPlan {
  RealPlan(tl_instance &instance, int64_t length, Layout layout);

  const int64_t n;
  const int64_t rows;                   // that are transformed at a time
  const ComplexTransform<T> transform;  // of half the length, if it is even
  const Numbers<T> roots;
};

// The plan for transforms of so many rows, from the process's bounded cache.
template <class T>
std::shared_ptr<const RealPlan<T>> real_plan(tl_instance &instance, int64_t n, int64_t batch);

}  // namespace torchlean::cpu
