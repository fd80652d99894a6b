// The loops of Fourier transforms that have vectors in them.
#include "fourier_kernels.hpp"

#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fourier_kernels.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {
namespace {

// Constructors of its own: on Arm g++ gives those that it makes itself other instructions.
template <class V>
struct Complex {
  HWY_INLINE Complex() {}  // NOLINT(modernize-use-equals-default)
  HWY_INLINE Complex(V real, V imaginary) : re(real), im(imaginary) {}
  V re;
  V im;
};

template <class V>
HWY_INLINE Complex<V> add(Complex<V> a, Complex<V> b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}

template <class V>
HWY_INLINE Complex<V> subtract(Complex<V> a, Complex<V> b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}

template <class V>
HWY_INLINE Complex<V> times(Complex<V> a, Complex<V> b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
          hn::MulAdd(a.re, b.im, hn::Mul(a.im, b.re))};
}

template <class V>
HWY_INLINE Complex<V> times_minus_i(Complex<V> a) {
  return {a.im, hn::Neg(a.re)};
}

template <class D, class T>
HWY_INLINE Complex<hn::Vec<D>> load(D d, Planes<const T> x, int64_t at) {
  return {hn::LoadU(d, x.re + at), hn::LoadU(d, x.im + at)};
}

template <class D, class T>
HWY_INLINE void store(Complex<hn::Vec<D>> value, D d, Planes<T> y, int64_t at) {
  hn::StoreU(value.re, d, y.re + at);
  hn::StoreU(value.im, d, y.im + at);
}

template <class D, class T>
HWY_INLINE Complex<hn::Vec<D>> broadcast(D d, const T *pair) {
  return {hn::Set(d, pair[0]), hn::Set(d, pair[1])};
}

// Radices that are done as two smaller ones: the first of them; 1: as a whole.
constexpr int outer_radix(int radix) {
  return radix == 16 ? 4 : radix == 12 ? 4 : radix == 10 ? 2 : radix == 9 ? 3 : radix == 6 ? 2 : 1;
}

// The transform of `radix` numbers, in place; roots[2 * root_step * k]: exp(-2 pi i k/radix).
template <int radix, class D, class T, class V = hn::Vec<D>>
HWY_INLINE void transform_few(D d, Complex<V> *a, const T *roots, int root_step = 1) {
  constexpr int outer = outer_radix(radix);
  if constexpr (outer > 1) {
    // Number inner * i + j, and bin k + outer * l.
    constexpr int inner = radix / outer;
    Complex<V> parts[outer][inner];
#pragma GCC unroll 16
    for (int j = 0; j < inner; ++j) {
      Complex<V> column[outer];
#pragma GCC unroll 16
      for (int i = 0; i < outer; ++i) column[i] = a[inner * i + j];
      transform_few<outer>(d, column, roots, root_step * inner);
      parts[0][j] = column[0];
#pragma GCC unroll 16
      for (int k = 1; k < outer; ++k)
        parts[k][j] =
            j == 0 ? column[k] : times(column[k], broadcast(d, roots + 2 * root_step * j * k));
    }
#pragma GCC unroll 16
    for (int k = 0; k < outer; ++k) {
      transform_few<inner>(d, parts[k], roots, root_step * outer);
#pragma GCC unroll 16
      for (int l = 0; l < inner; ++l) a[k + outer * l] = parts[k][l];
    }
  } else if constexpr (radix == 2) {
    const Complex<V> sum = add(a[0], a[1]);
    a[1] = subtract(a[0], a[1]);
    a[0] = sum;
  } else if constexpr (radix == 4) {
    const Complex<V> even_sum = add(a[0], a[2]);
    const Complex<V> even_rest = subtract(a[0], a[2]);
    const Complex<V> odd_sum = add(a[1], a[3]);
    const Complex<V> odd_rest = times_minus_i(subtract(a[1], a[3]));
    a[0] = add(even_sum, odd_sum);
    a[1] = add(even_rest, odd_rest);
    a[2] = subtract(even_sum, odd_sum);
    a[3] = subtract(even_rest, odd_rest);
  } else if constexpr (radix == 8) {
    Complex<V> even[4] = {a[0], a[2], a[4], a[6]};
    Complex<V> odd[4] = {a[1], a[3], a[5], a[7]};
    transform_few<4>(d, even, roots, 2 * root_step);
    transform_few<4>(d, odd, roots, 2 * root_step);
    const V diagonal = hn::Set(d, roots[2 * root_step]);  // the cosine of an eighth of a turn
    odd[1] = {hn::Mul(diagonal, hn::Add(odd[1].re, odd[1].im)),
              hn::Mul(diagonal, hn::Sub(odd[1].im, odd[1].re))};
    odd[2] = times_minus_i(odd[2]);
    odd[3] = {hn::Mul(diagonal, hn::Sub(odd[3].im, odd[3].re)),
              hn::Neg(hn::Mul(diagonal, hn::Add(odd[3].re, odd[3].im)))};
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      a[k] = add(even[k], odd[k]);
      a[k + 4] = subtract(even[k], odd[k]);
    }
  } else {
    // Numbers j and radix - j meet conjugate roots: their sum meets cosines, their difference
    // sines.
    constexpr int half = (radix - 1) / 2;
    Complex<V> sums[half];
    Complex<V> rests[half];
    Complex<V> total = a[0];
#pragma GCC unroll 6
    for (int j = 0; j < half; ++j) {
      sums[j] = add(a[j + 1], a[radix - 1 - j]);
      rests[j] = subtract(a[j + 1], a[radix - 1 - j]);
      total = add(total, sums[j]);
    }
#pragma GCC unroll 6
    for (int k = 1; k <= half; ++k) {
      Complex<V> even = a[0];
      Complex<V> odd = {hn::Zero(d), hn::Zero(d)};
#pragma GCC unroll 6
      for (int j = 0; j < half; ++j) {
        const int root = (j + 1) * k % radix;
        const V cosine = hn::Set(d, roots[2 * root_step * root]);
        const V sine = hn::Set(d, roots[2 * root_step * root + 1]);  // of the negative angle
        even = {hn::MulAdd(cosine, sums[j].re, even.re), hn::MulAdd(cosine, sums[j].im, even.im)};
        odd = {hn::MulAdd(sine, rests[j].im, odd.re), hn::MulAdd(sine, rests[j].re, odd.im)};
      }
      // i * sine * rest
      a[k] = {hn::Sub(even.re, odd.re), hn::Add(even.im, odd.im)};
      a[radix - k] = {hn::Add(even.re, odd.re), hn::Sub(even.im, odd.im)};
    }
    a[0] = total;
  }
}

// Numbers [at, at + lanes) of the blocks of one p.
template <int radix, class D, class T>
HWY_INLINE void pass_vector(D d, Planes<const T> x, int64_t x_distance, Planes<T> y, int64_t run,
                            const T *twiddles, const T *roots, int64_t at) {
  using V = hn::Vec<D>;
  Complex<V> a[radix];
#pragma GCC unroll 16
  for (int i = 0; i < radix; ++i) a[i] = load(d, x, i * x_distance + at);
  transform_few<radix>(d, a, roots);
  store(a[0], d, y, at);
  if (twiddles == nullptr) {
#pragma GCC unroll 16
    for (int k = 1; k < radix; ++k) store(a[k], d, y, k * run + at);
  } else {
#pragma GCC unroll 16
    for (int k = 1; k < radix; ++k)
      store(times(a[k], broadcast(d, twiddles + 2 * (k - 1))), d, y, k * run + at);
  }
}

// The last vector of a block overlaps the one before.
template <int radix, class D, class T>
HWY_INLINE void pass_vectors(D d, const Pass<T> &pass) {
  constexpr int64_t lanes = hn::MaxLanes(d);
  const int64_t distance = pass.count * pass.x_step;
  const T *twiddles = pass.twiddles;
  for (int64_t p = 0; p < pass.count; ++p) {
    const Planes<const T> x = pass.x + p * pass.x_step;
    const Planes<T> y = pass.y + p * radix * pass.run;
    for (int64_t i = 0; i < pass.run; i += lanes)
      pass_vector<radix>(d, x, distance, y, pass.run, twiddles, pass.roots,
                         HWY_MIN(i, pass.run - lanes));
    if (twiddles != nullptr) twiddles += 2 * (radix - 1);
  }
}

template <class T, int radix>
void pass(const Pass<T> &pass) {
  const Lanes<T> d;
  if (pass.run >= static_cast<int64_t>(hn::MaxLanes(d)))
    pass_vectors<radix>(d, pass);
  else
    pass_vectors<radix>(hn::CappedTag<T, least_run>(), pass);
}

template <bool pairs, class D, class T>
HWY_INLINE Complex<hn::Vec<D>> load_numbers(D d, Planes<const T> x, int64_t at) {
  if constexpr (pairs) {
    Complex<hn::Vec<D>> numbers;
    hn::LoadInterleaved2(d, x.re + 2 * at, numbers.re, numbers.im);
    return numbers;
  } else {
    return load(d, x, at);
  }
}

// y[p * radix + k] = columns[k * line + p] for the p of a line.
template <int radix, class T>
HWY_INLINE void turn(const T *columns, T *y) {
  constexpr int64_t side = line<T>;
  if constexpr (radix == side) return transpose_square<false>(columns, y, radix);
  constexpr int64_t squares = (radix + side - 1) / side;
  HWY_ALIGN T rows[squares * side * side];
  for (int64_t i = 0; i < squares; ++i)
    transpose_square<false>(columns + i * side * side, rows + i * side, squares * side);
  for (int64_t p = 0; p < side; ++p)
    each_vector<T>(radix, [&](auto d, auto some, uint64_t k) HWY_ATTR {
      some.store(hn::Load(d, rows + p * squares * side + k), d, y + p * radix + k);
    });
}

// Squares of p and bins k are transposed, as wide as a line of the cache. The last of them overlap.
template <int radix, bool pairs, class T>
HWY_INLINE void first_pass_from(const Pass<T> &pass) {
  constexpr int64_t side = line<T>;
  constexpr int64_t squares = (radix + side - 1) / side;
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  HWY_ALIGN T re[squares * side * side];
  HWY_ALIGN T im[squares * side * side];
  const Planes<T> columns{re, im};
  for (int64_t next = 0; next < pass.count; next += side) {
    const int64_t first = HWY_MIN(next, pass.count - side);
    for (int64_t i = 0; i < side; i += lanes) {
      const int64_t p = first + i;
      Complex<Vec<T>> a[radix];
#pragma GCC unroll 16
      for (int k = 0; k < radix; ++k) a[k] = load_numbers<pairs>(d, pass.x, k * pass.count + p);
      transform_few<radix>(d, a, pass.roots);
      store(a[0], d, columns, i);
#pragma GCC unroll 16
      for (int k = 1; k < radix; ++k) {
        const T *const twiddles = pass.twiddles + 2 * (k - 1) * pass.count;
        const Planes<const T> factors{twiddles, twiddles + pass.count};
        store(times(a[k], load(d, factors, p)), d, columns, k * side + i);
      }
    }
    turn<radix>(re, pass.y.re + first * radix);
    turn<radix>(im, pass.y.im + first * radix);
  }
}

template <class T, int radix>
void first_pass(const Pass<T> &pass) {
  if (pass.x.are_pairs())
    first_pass_from<radix, true>(pass);
  else
    first_pass_from<radix, false>(pass);
}

template <bool pairs, class T>
HWY_INLINE void multiply_numbers(Planes<const T> x, Planes<const T> factors, int64_t count,
                                 Planes<T> y) {
  const Lanes<T> d;
  const hn::CappedTag<T, 1> one;
  constexpr int64_t lanes = hn::MaxLanes(d);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    store(times(load_numbers<pairs>(d, x, i), load(d, factors, i)), d, y, i);
  for (; i < count; ++i)
    store(times(load_numbers<pairs>(one, x, i), load(one, factors, i)), one, y, i);
}

template <class T>
void multiply(Planes<const T> x, Planes<const T> factors, int64_t count, Planes<T> y) {
  if (x.are_pairs())
    multiply_numbers<true>(x, factors, count, y);
  else
    multiply_numbers<false>(x, factors, count, y);
}

template <class T>
void multiply_blocks(Planes<const T> x, int64_t x_step, Planes<const T> factors, int64_t count,
                     int64_t run, Planes<T> y) {
  const Lanes<T> d;
  const hn::CappedTag<T, 1> one;
  constexpr int64_t lanes = hn::MaxLanes(d);
  for (int64_t k = 0; k < count; ++k) {
    const Complex<Vec<T>> factor = {hn::Set(d, factors.re[k]), hn::Set(d, factors.im[k])};
    int64_t i = 0;
    for (; i + lanes <= run; i += lanes)
      store(times(load(d, x, k * x_step + i), factor), d, y, k * run + i);
    for (; i < run; ++i)
      store(times(load(one, x, k * x_step + i), load(one, factors, k)), one, y, k * run + i);
  }
}

// Numbers k and count - k, of which the first meets `root`.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void split_two(D d, Complex<V> &a, Complex<V> &b, Complex<V> root) {
  const V half = hn::Set(d, hn::TFromD<D>(0.5));
  const Complex<V> mirror = {b.re, hn::Neg(b.im)};
  const Complex<V> even = add(a, mirror);
  const Complex<V> odd = times(times_minus_i(subtract(a, mirror)), root);
  const Complex<V> low = add(even, odd);
  const Complex<V> high = subtract(even, odd);
  a = {hn::Mul(half, low.re), hn::Mul(half, low.im)};
  b = {hn::Mul(half, high.re), hn::Neg(hn::Mul(half, high.im))};
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE void unsplit_two(Complex<V> &a, Complex<V> &b, Complex<V> root) {
  const Complex<V> mirror = {b.re, hn::Neg(b.im)};
  const Complex<V> even = add(a, mirror);
  // i * (a - mirror) / root, roots lying on the unit circle
  const Complex<V> rest = subtract(a, mirror);
  const Complex<V> odd =
      times(Complex<V>{hn::Neg(rest.im), rest.re}, Complex<V>{root.re, hn::Neg(root.im)});
  a = add(even, odd);
  const Complex<V> other = subtract(even, odd);
  b = {other.re, hn::Neg(other.im)};
}

// Numbers k and count - k of blocks, from k = first on, in lanes i and following.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void split_lanes(D d, Planes<const T> pairs, Planes<const T> roots, int64_t first,
                            int64_t count, int64_t run, int64_t i, T *spectrum) {
  using V = hn::Vec<D>;
  const Planes<T> bins{spectrum, spectrum + run};
  for (int64_t k = first; 2 * k <= count; ++k) {
    Complex<V> a = load(d, pairs, k * run + i);
    Complex<V> b = load(d, pairs, (count - k) * run + i);
    split_two(d, a, b, Complex<V>{hn::Set(d, roots.re[k]), hn::Set(d, roots.im[k])});
    store(a, d, bins, 2 * k * run + i);
    store(b, d, bins, 2 * (count - k) * run + i);
  }
  const Complex<V> zero = load(d, pairs, i);
  store(Complex<V>{hn::Add(zero.re, zero.im), hn::Zero(d)}, d, bins, i);
  store(Complex<V>{hn::Sub(zero.re, zero.im), hn::Zero(d)}, d, bins, 2 * count * run + i);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void unsplit_lanes(D d, const T *spectrum, Planes<const T> roots, int64_t first,
                              int64_t count, int64_t run, int64_t i, Planes<T> pairs) {
  using V = hn::Vec<D>;
  const Planes<const T> bins{spectrum, spectrum + run};
  for (int64_t k = first; 2 * k <= count; ++k) {
    Complex<V> a = load(d, bins, 2 * k * run + i);
    Complex<V> b = load(d, bins, 2 * (count - k) * run + i);
    unsplit_two<D>(a, b, Complex<V>{hn::Set(d, roots.re[k]), hn::Set(d, roots.im[k])});
    store(a, d, pairs, k * run + i);
    store(b, d, pairs, (count - k) * run + i);
  }
  const V zero = hn::LoadU(d, spectrum + i);
  const V last = hn::LoadU(d, spectrum + 2 * count * run + i);
  store(Complex<V>{hn::Add(zero, last), hn::Sub(zero, last)}, d, pairs, i);
}

template <class D, class V>
HWY_INLINE Complex<V> reversed(D d, Complex<V> a) {
  return {hn::Reverse(d, a.re), hn::Reverse(d, a.im)};
}

// Asks for lines that will be written, so many numbers ahead: of a row's results, which are seldom
// in a near cache. A quarter of the time of long rows.
template <class T>
constexpr int64_t ahead = 2048 / sizeof(T);

template <class T>
HWY_INLINE void ask_to_write(const T *y, int64_t count) {
  for (int64_t i = 0; i < count; i += line<T>) __builtin_prefetch(y + i, 1);
}

// In a single row vectors of numbers k and following meet those that end with count - k; the last
// few in the middle go one by one.
template <class T>
void split(Planes<const T> pairs, Planes<const T> roots, int64_t count, int64_t run, T *spectrum) {
  const Lanes<T> d;
  const hn::CappedTag<T, 1> one;
  constexpr int64_t lanes = hn::MaxLanes(d);
  if (run == 1) {
    int64_t k = 1;
    for (; 2 * (k + lanes) <= count + 1; k += lanes) {
      const int64_t mirror = count - k - lanes + 1;
      ask_to_write(spectrum + 2 * k + ahead<T>, 2 * lanes);
      ask_to_write(spectrum + 2 * mirror - ahead<T>, 2 * lanes);
      Complex<Vec<T>> a = load(d, pairs, k);
      Complex<Vec<T>> b = reversed(d, load(d, pairs, mirror));
      split_two(d, a, b, load(d, roots, k));
      b = reversed(d, b);
      hn::StoreInterleaved2(a.re, a.im, d, spectrum + 2 * k);
      hn::StoreInterleaved2(b.re, b.im, d, spectrum + 2 * mirror);
    }
    return split_lanes(one, pairs, roots, k, count, 1, 0, spectrum);
  }
  int64_t i = 0;
  for (; i + lanes <= run; i += lanes) split_lanes(d, pairs, roots, 1, count, run, i, spectrum);
  for (; i < run; ++i) split_lanes(one, pairs, roots, 1, count, run, i, spectrum);
}

template <class T>
void unsplit(const T *spectrum, Planes<const T> roots, int64_t count, int64_t run,
             Planes<T> pairs) {
  const Lanes<T> d;
  const hn::CappedTag<T, 1> one;
  constexpr int64_t lanes = hn::MaxLanes(d);
  if (run == 1) {
    int64_t k = 1;
    for (; 2 * (k + lanes) <= count + 1; k += lanes) {
      const int64_t mirror = count - k - lanes + 1;
      Complex<Vec<T>> a;
      Complex<Vec<T>> b;
      hn::LoadInterleaved2(d, spectrum + 2 * k, a.re, a.im);
      hn::LoadInterleaved2(d, spectrum + 2 * mirror, b.re, b.im);
      b = reversed(d, b);
      unsplit_two<Lanes<T>>(a, b, load(d, roots, k));
      store(a, d, pairs, k);
      store(reversed(d, b), d, pairs, mirror);
    }
    return unsplit_lanes(one, spectrum, roots, k, count, 1, 0, pairs);
  }
  int64_t i = 0;
  for (; i + lanes <= run; i += lanes) unsplit_lanes(d, spectrum, roots, 1, count, run, i, pairs);
  for (; i < run; ++i) unsplit_lanes(one, spectrum, roots, 1, count, run, i, pairs);
}

template <class T>
void scale_blocks(const T *x, int64_t x_step, T factor, int64_t count, int64_t run, T *y,
                  int64_t y_step) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  const Vec<T> by = hn::Set(d, factor);
  for (int64_t k = 0; k < count; ++k, x += x_step, y += y_step) {
    int64_t i = 0;
    for (; i + lanes <= run; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, x + i), by), d, y + i);
    for (; i < run; ++i) y[i] = x[i] * factor;
  }
}

template <class T>
void part(const T *x, int64_t count, Planes<T> y) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Complex<Vec<T>> value;
    hn::LoadInterleaved2(d, x + 2 * i, value.re, value.im);
    store(value, d, y, i);
  }
  for (; i < count; ++i) {
    y.re[i] = x[2 * i];
    y.im[i] = x[2 * i + 1];
  }
}

template <class T>
void join(Planes<const T> x, T factor, int64_t count, T *y) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  const Vec<T> by = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    ask_to_write(y + 2 * i + ahead<T>, 2 * lanes);
    hn::StoreInterleaved2(hn::Mul(hn::LoadU(d, x.re + i), by), hn::Mul(hn::LoadU(d, x.im + i), by),
                          d, y + 2 * i);
  }
  for (; i < count; ++i) {
    y[2 * i] = x.re[i] * factor;
    y[2 * i + 1] = x.im[i] * factor;
  }
}

template <class T, size_t... i, size_t... first>
constexpr void put_passes(FourierKernels<T> &loops, std::index_sequence<i...>,
                          std::index_sequence<first...>) {
  ((loops.pass[fourier_radices[i]] = pass<T, fourier_radices[i]>), ...);
  ((loops.first_pass[first_radices[first]] = first_pass<T, first_radices[first]>), ...);
}

template <class T>
constexpr FourierKernels<T> make_loops() {
  FourierKernels<T> loops{};
  put_passes(loops, std::make_index_sequence<std::size(fourier_radices)>(),
             std::make_index_sequence<std::size(first_radices)>());
  loops.multiply = multiply<T>;
  loops.multiply_blocks = multiply_blocks<T>;
  loops.split = split<T>;
  loops.unsplit = unsplit<T>;
  loops.scale_blocks = scale_blocks<T>;
  loops.part = part<T>;
  loops.join = join<T>;
  return loops;
}

template <class T>
constexpr FourierKernels<T> kernels = make_loops<T>();

}  // namespace
}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
TORCHLEAN_CPU_KERNELS(FourierKernels, fourier_kernels)
#endif
