// The loops of Fourier transforms that have vectors in them.
#pragma once

#include "cpu.hpp"

#include <iterator>

namespace torchlean::cpu {

// Complex numbers whose real and imaginary parts lie apart.
template <class T>
struct Planes {
  T *re;
  T *im;

  operator Planes<const T>() const { return {re, im}; }  // NOLINT: as pointers convert
  Planes operator+(int64_t offset) const { return {re + offset, im + offset}; }
  // Of swapped numbers the forward transform is the swapped backward one.
  Planes swapped() const { return {im, re}; }
  // Real and imaginary parts that lie side by side after all.
  bool are_pairs() const { return im == re + 1; }
};

// Radices that there are passes of, and those that a single row can begin with.
inline constexpr int fourier_radices[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16};
inline constexpr int first_radices[] = {8, 9, 10, 12, 16};

// Blocks in a pass hold so many numbers at least, or as many as a vector of the target.
inline constexpr int64_t least_run = 8;

// One pass of a transform. Blocks of `run` numbers each: x has radix * count of them, `x_step`
// apart, y as many, one behind the other. Block r * p + k of y is the sum over i of block
// p + i * count of x times exp(-2 pi i k/r), all times twiddle[p * (r - 1) + k - 1] for k > 0.
template <class T>
struct Pass {
  Planes<const T> x;
  int64_t x_step;
  Planes<T> y;
  int64_t run;
  int64_t count;
  const T *twiddles;  // pairs; null: all of them 1
  const T *roots;     // pairs: exp(-2 pi i k/radix) for k < radix
};

// The first pass of a single row (x_step and run 1) has neighbouring p in the lanes of a vector.
// Here the twiddles of k > 0 are all real parts, then all imaginary ones: twiddles[2 * (k - 1) *
// count + p] and [... + count + p]. There must be this many p.
template <class T>
inline constexpr int64_t least_first_count = 64 / sizeof(T);

template <class T>
struct FourierKernels {
  static constexpr int largest_radix = fourier_radices[std::size(fourier_radices) - 1];

  // By radix.
  void (*pass[largest_radix + 1])(const Pass<T> &);
  void (*first_pass[largest_radix + 1])(const Pass<T> &);  // x may be pairs

  // y = x * factors, number by number. x may be pairs.
  void (*multiply)(Planes<const T> x, Planes<const T> factors, int64_t count, Planes<T> y);

  // Block k of y = block k of x times factors[k], for blocks of `run`.
  void (*multiply_blocks)(Planes<const T> x, int64_t x_step, Planes<const T> factors, int64_t count,
                          int64_t run, Planes<T> y);

  // The spectrum of a real signal of 2 * count numbers from that of its pairs, and back (times 2).
  // Blocks of `run`; those of the spectrum, count + 1, are `run` real parts and as many imaginary
  // ones. roots: exp(-2 pi i k/(2 * count)).
  void (*split)(Planes<const T> pairs, Planes<const T> roots, int64_t count, int64_t run,
                T *spectrum);
  void (*unsplit)(const T *spectrum, Planes<const T> roots, int64_t count, int64_t run,
                  Planes<T> pairs);

  // Block k of y = block k of x times the factor, for blocks of `run` that lie a step apart.
  void (*scale_blocks)(const T *x, int64_t x_step, T factor, int64_t count, int64_t run, T *y,
                       int64_t y_step);

  // Pairs of neighbours, apart; and together again, times the factor.
  void (*part)(const T *x, int64_t count, Planes<T> y);
  void (*join)(Planes<const T> x, T factor, int64_t count, T *y);
};

template <class T>
const FourierKernels<T> &fourier_kernels(Target target);

}  // namespace torchlean::cpu
