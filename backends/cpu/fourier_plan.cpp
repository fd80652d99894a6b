// Complex Fourier transforms of any length: tables made once, and the order of passes.
#include "fourier_plan.hpp"

#include "../host/root_of_unity.hpp"
#include "blocks.hpp"
#include "threads.hpp"

#include <complex>
#include <limits>
#include <list>
#include <mutex>
#include <span>

namespace torchlean::cpu {
namespace {

// Tables are computed wider than they are kept.
template <class T>
using Wide = std::conditional_t<sizeof(T) == sizeof(float), double, long double>;

// What is left of n without its small prime factors.
int64_t without_small_primes(int64_t n) {
  for (const int64_t p : {2, 3, 5, 7, 11, 13})
    while (n % p == 0) n /= p;
  return n;
}

// What a pass costs, in moves of all numbers: large radices do not fit into registers.
double cost_of_pass(int64_t radix) {
  return radix <= 8 ? 1 : 1 + 0.04 * static_cast<double>(radix - 8);
}

// The passes of a length without large prime factors, and what they cost; infinity: there are none.
struct Chain {
  double cost = std::numeric_limits<double>::infinity();
  std::vector<int64_t> radices;
};

// The best of those that begin with one of `radices` up to `largest`, with `rest_of` the others.
template <class RestOf>
Chain best_chain(int64_t length, std::span<const int> radices, int64_t largest,
                 const RestOf &rest_of) {
  Chain best;
  for (const int64_t radix : radices) {
    if (radix > largest || length % radix != 0) continue;
    Chain chain = rest_of(length / radix, radix);
    chain.cost += cost_of_pass(radix);
    if (chain.cost >= best.cost) continue;
    chain.radices.insert(chain.radices.begin(), radix);
    best = std::move(chain);
  }
  return best;
}

// From the largest radix to the smallest.
Chain falling_chain(int64_t length, int64_t largest) {
  if (length == 1) return {0, {}};
  return best_chain(length, fourier_radices, largest, falling_chain);
}

Chain chain_of(int64_t length) { return falling_chain(length, length); }

// For a single row: the first radix is the run of the next pass, best a line of the cache.
template <class T>
Chain row_chain_of(int64_t length) {
  constexpr int64_t line = 64 / sizeof(T);
  const int64_t most = length / least_first_count<T>;
  return best_chain(length, first_radices, most, [](int64_t rest, int64_t radix) {
    Chain chain = chain_of(rest);
    if (radix != line) chain.cost += 0.4;
    return chain;
  });
}

// The cheapest of the next lengths that passes can do: a power of two, or 3, 5, 9 or 15 times one.
int64_t smooth_length(int64_t least) {
  int64_t best = std::numeric_limits<int64_t>::max();
  for (const int64_t odd : {1, 3, 5, 9, 15}) {
    int64_t length = odd;
    while (length < least) length *= 2;
    best = std::min(best, length);
  }
  return best;
}

// The divisor next to the square root of a length without large prime factors.
int64_t middle_divisor(int64_t length) {
  int64_t best = 1;
  for (int64_t d = 1; d * d <= length; ++d)
    if (length % d == 0) best = d;
  return best;
}

template <class T>
Planes<const T> as_const(Planes<T> planes) {
  return {planes.re, planes.im};
}

// Columns of a long row's matrix that are transformed at a time.
constexpr int64_t strip_columns = 128;

template <class T>
int64_t rows_at_a_time(Target target, Layout layout) {
  return layout == Layout::SideBySide ? gemm_kernels<T>(target).lanes : 1;
}

// In shorter rows too few lanes have a number.
template <class T>
constexpr int64_t least_row = 16 * least_first_count<T>;

// A longer row is given to several threads, as a matrix, if there is no other; or is too long for
// the cache of one thread.
constexpr int64_t longest_row = 8192;
constexpr int64_t longest_of_rows = 65536;

}  // namespace

template <class T>
Numbers<T> roots_of_unity(int64_t n, int64_t count) {
  using W = Wide<T>;
  Numbers<T> roots(count);
  // k = high * step + low: two short tables, and one product for each root.
  int64_t step = 1;
  while (step * step < count) step *= 2;
  std::vector<std::complex<W>> low;
  for (int64_t k = 0; k < std::min(step, n); ++k)
    low.push_back(root_of_unity<W>(static_cast<uint64_t>(k), static_cast<uint64_t>(n)));
  std::complex<W> high;
  for (int64_t k = 0; k < count; ++k) {
    if (k % step == 0) high = root_of_unity<W>(static_cast<uint64_t>(k), static_cast<uint64_t>(n));
    const std::complex<W> &by = low[static_cast<size_t>(k % step)];
    const auto at = static_cast<size_t>(k);
    roots.re[at] = static_cast<T>(high.real() * by.real() - high.imag() * by.imag());
    roots.im[at] = static_cast<T>(high.real() * by.imag() + high.imag() * by.real());
  }
  return roots;
}

// ---- Passes -------------------------------------------------------------------------------------

template <class T>
Passes<T>::Passes(int64_t length, bool is_row) : length_(length), is_row_(is_row) {
  const std::vector<int64_t> radices =
      is_row ? row_chain_of<T>(length).radices : chain_of(length).radices;
  int64_t rest = length;
  const Numbers<T> roots = roots_of_unity<T>(length, length);
  const auto re = [&](int64_t k) { return roots.re[static_cast<size_t>(k)]; };
  const auto im = [&](int64_t k) { return roots.im[static_cast<size_t>(k)]; };
  for (const int64_t radix : radices) {
    Stage stage{radix, rest / radix, {}, {}};
    const int64_t step = length / rest;
    if (is_row && rest == length) {
      for (int64_t k = 1; k < radix; ++k) {
        for (int64_t p = 0; p < stage.count; ++p) stage.twiddles.push_back(re(p * k * step));
        for (int64_t p = 0; p < stage.count; ++p) stage.twiddles.push_back(im(p * k * step));
      }
    } else if (stage.count > 1) {
      for (int64_t p = 0; p < stage.count; ++p)
        for (int64_t k = 1; k < radix; ++k) {
          stage.twiddles.push_back(re(p * k * step));
          stage.twiddles.push_back(im(p * k * step));
        }
    }
    for (int64_t k = 0; k < radix; ++k) {
      stage.roots.push_back(re(k * (length / radix)));
      stage.roots.push_back(im(k * (length / radix)));
    }
    stages_.push_back(std::move(stage));
    rest /= radix;
  }
}

template <class T>
Planes<T> Passes<T>::run(const FourierKernels<T> &kernels, Planes<const T> x, int64_t x_step,
                         int64_t width, Planes<T> one, Planes<T> other) const {
  if (stages_.empty()) {
    std::copy_n(x.re, width, one.re);
    std::copy_n(x.im, width, one.im);
    return one;
  }
  int64_t run = width;
  for (const Stage &stage : stages_) {
    const bool is_first = is_row_ && run == 1;
    const T *const twiddles = stage.twiddles.empty() ? nullptr : stage.twiddles.data();
    const auto &pass = is_first ? kernels.first_pass : kernels.pass;
    pass[stage.radix]({x, x_step, one, run, stage.count, twiddles, stage.roots.data()});
    run *= stage.radix;
    x = as_const(one);
    x_step = run;
    std::swap(one, other);
  }
  return other;
}

// ---- Any length ---------------------------------------------------------------------------------

template <class T>
int64_t ComplexTransform<T>::inner_length(int64_t length, int64_t span) {
  return without_small_primes(length) == 1 ? length : smooth_length(span);
}

template <class T>
ComplexTransform<T>::ComplexTransform(tl_instance &instance, int64_t length, int64_t span,
                                      Layout layout)
    : length_(length), inner_(inner_length(length, span)) {
  if (layout != Layout::Matrix) {
    whole_ = std::make_unique<Passes<T>>(inner_, layout == Layout::Row);
  } else {
    const int64_t columns = middle_divisor(inner_);
    const int64_t width = inner_ / columns;
    columns_ = std::make_unique<Passes<T>>(columns, false);
    rows_ = std::make_unique<Passes<T>>(width, false);
    const Numbers<T> roots = roots_of_unity<T>(inner_, inner_);
    twist_ = Numbers<T>(inner_);
    for (int64_t i = 0; i < columns; ++i)
      for (int64_t j = 0; j < width; ++j) {
        const auto to = static_cast<size_t>(i * width + j);
        twist_.re[to] = roots.re[static_cast<size_t>(i * j)];
        twist_.im[to] = roots.im[static_cast<size_t>(i * j)];
      }
  }
  if (!is_chirped()) return;
  // With c[k] = exp(-pi i k^2/n) and jk = (j^2 + k^2 - (k - j)^2)/2, the transform is
  // y[k] = c[k] * sum over j of (x[j] c[j]) * conj(c[k - j]): a convolution.
  const Numbers<T> roots = roots_of_unity<T>(2 * length, 2 * length);
  const int64_t half = length / 2;
  chirp_ = Numbers<T>(half + length);
  Numbers<T> kernel(inner_);
  const T scale = T(1) / static_cast<T>(inner_);
  for (int64_t k = 0, square = 0; k < length; square = (square + 2 * k + 1) % (2 * length), ++k) {
    const T re = roots.re[static_cast<size_t>(square)];
    const T im = roots.im[static_cast<size_t>(square)];
    const auto put = [](Numbers<T> &to, int64_t at, T real, T imaginary) {
      to.re[static_cast<size_t>(at)] = real;
      to.im[static_cast<size_t>(at)] = imaginary;
    };
    put(chirp_, half + k, re, im);
    if (k <= half) put(chirp_, half - k, re, im);
    // Index k of the kernel, as far as the span goes, and -k.
    if (k <= span - length) put(kernel, k, re * scale, -im * scale);
    if (k > 0) put(kernel, inner_ - k, re * scale, -im * scale);
  }
  // As many times as there are numbers side by side.
  const int64_t width = rows_at_a_time<T>(instance.target, layout);
  Numbers<T> one(inner_ * width);
  Numbers<T> other(inner_ * width);
  for (int64_t i = 0; i < inner_ * width; ++i) {
    other.re[static_cast<size_t>(i)] = kernel.re[static_cast<size_t>(i / width)];
    other.im[static_cast<size_t>(i)] = kernel.im[static_cast<size_t>(i / width)];
  }
  const Planes<T> result = run_inner(instance, std::as_const(other).planes(), width, width,
                                     one.planes(), other.planes());
  spectrum_ = Numbers<T>(inner_);
  for (int64_t i = 0; i < inner_; ++i) {
    spectrum_.re[static_cast<size_t>(i)] = result.re[i * width];
    spectrum_.im[static_cast<size_t>(i)] = result.im[i * width];
  }
}

template <class T>
Planes<T> ComplexTransform<T>::run(tl_instance &instance, Planes<const T> x, int64_t x_step,
                                   int64_t width, int64_t outputs, Planes<T> one,
                                   Planes<T> other) const {
  if (!is_chirped()) return run_inner(instance, x, x_step, width, one, other);
  convolve(instance, x, x_step, width, length_, 0, outputs, one);
  return one;
}

template <class T>
Planes<T> ComplexTransform<T>::run_mirrored(tl_instance &instance, Planes<T> numbers, int64_t width,
                                            Planes<T> one) const {
  const int64_t half = length_ / 2;
  if (!is_chirped()) {
    for (int64_t k = 1; k <= half; ++k)
      for (int64_t i = 0; i < width; ++i) {
        numbers.re[(length_ - k) * width + i] = numbers.re[k * width + i];
        numbers.im[(length_ - k) * width + i] = -numbers.im[k * width + i];
      }
    return run_inner(instance, as_const(numbers.swapped()), width, width, one.swapped(),
                     numbers.swapped())
        .swapped();
  }
  // The real parts of what the mirrored numbers add are those of the numbers themselves.
  for (int64_t i = width; i < (half + 1) * width; ++i) {
    numbers.re[i] *= 2;
    numbers.im[i] *= 2;
  }
  convolve(instance, as_const(numbers.swapped()), width, width, half + 1, half, half + 1,
           one.swapped());
  return one;
}

template <class T>
void ComplexTransform<T>::convolve(tl_instance &instance, Planes<const T> x, int64_t x_step,
                                   int64_t width, int64_t inputs, int64_t before, int64_t after,
                                   Planes<T> y) const {
  const FourierKernels<T> &kernels = fourier_kernels<T>(instance.target);
  WorkingPlanes<T> first(instance, inner_ * width, 0);
  WorkingPlanes<T> second(instance, inner_ * width, 1);
  const Planes<T> one = first.planes();
  const Planes<T> other = second.planes();
  const auto multiply = [&](Planes<const T> from, int64_t step, Planes<const T> factors,
                            int64_t count, Planes<T> to) {
    if (width == 1)
      kernels.multiply(from, factors, count, to);
    else
      kernels.multiply_blocks(from, step, factors, count, width, to);
  };
  const Planes<const T> chirp = chirp_.planes() + length_ / 2;
  multiply(x, x_step, chirp, inputs, one);
  std::fill(one.re + inputs * width, one.re + inner_ * width, T(0));
  std::fill(one.im + inputs * width, one.im + inner_ * width, T(0));
  const Planes<T> sums = run_inner(instance, as_const(one), width, width, other, one);
  multiply(as_const(sums), width, spectrum_.planes(), inner_, sums);
  const Planes<T> values = run_inner(instance, as_const(sums.swapped()), width, width,
                                     (sums.re == one.re ? other : one).swapped(), sums.swapped())
                               .swapped();
  multiply(as_const(values), width, chirp, after, y);
  multiply(as_const(values + (inner_ - before) * width), width, chirp + -before, before,
           y + (length_ - before) * width);
}

template <class T>
Planes<T> ComplexTransform<T>::run_inner(tl_instance &instance, Planes<const T> x, int64_t x_step,
                                         int64_t width, Planes<T> one, Planes<T> other) const {
  const FourierKernels<T> &kernels = fourier_kernels<T>(instance.target);
  if (whole_ != nullptr) return whole_->run(kernels, x, x_step, width, one, other);
  if (x.are_pairs()) {
    kernels.part(x.re, inner_, other);
    x = as_const(other);
  }
  run_as_matrix(instance, x, one);
  return one;
}

// x[i * width + j] with output index k = k1 + columns * k2: transforms along i for every j, times
// exp(-2 pi i k1 j/n), transforms along j for every k1.
template <class T>
void ComplexTransform<T>::run_as_matrix(tl_instance &instance, Planes<const T> x,
                                        Planes<T> y) const {
  const FourierKernels<T> &kernels = fourier_kernels<T>(instance.target);
  const GemmKernels<T> &matrices = gemm_kernels<T>(instance.target);
  const int64_t columns = columns_->length();
  const int64_t width = rows_->length();
  const int64_t middle_row = columns + 64 / static_cast<int64_t>(sizeof(T));
  WorkingPlanes<T> twisted(instance, width * middle_row, 2);
  const Planes<T> middle = twisted.planes();
  const auto each_strip = [&](int64_t length, int64_t count, const auto &body) {
    const int64_t strips = blocks_in(count, strip_columns);
    const int64_t wide = blocks_in(count, strips);
    const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 13) / (length * wide));
    parallel_for(instance, static_cast<uint64_t>(strips), static_cast<uint64_t>(grain),
                 [&](uint64_t begin, uint64_t end) {
                   WorkingPlanes<T> one(instance, length * wide, 3);
                   WorkingPlanes<T> other(instance, length * wide, 4);
                   for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); ++i) {
                     const int64_t first = i * count / strips;
                     body(first, (i + 1) * count / strips - first, one.planes(), other.planes());
                   }
                 });
  };
  each_strip(columns, width, [&](int64_t first, int64_t here, Planes<T> one, Planes<T> other) {
    const Planes<T> part = columns_->run(kernels, x + first, width, here, one, other);
    for (int64_t i = 0; i < columns; ++i)
      kernels.multiply(as_const(part + i * here), twist_.planes() + (i * width + first), here,
                       part + i * here);
    matrices.transpose(part.re, here, columns, here, middle.re + first * middle_row, middle_row);
    matrices.transpose(part.im, here, columns, here, middle.im + first * middle_row, middle_row);
  });
  each_strip(width, columns, [&](int64_t first, int64_t here, Planes<T> one, Planes<T> other) {
    const Planes<T> part =
        rows_->run(kernels, as_const(middle + first), middle_row, here, one, other);
    kernels.scale_blocks(part.re, here, T(1), width, here, y.re + first, columns);
    kernels.scale_blocks(part.im, here, T(1), width, here, y.im + first, columns);
  });
}

// ---- Real lengths -------------------------------------------------------------------------------

// A real signal of odd length is not taken as pairs, but has only half a spectrum.
int64_t complex_length(int64_t n) { return n % 2 == 0 ? n / 2 : n; }
int64_t span_of(int64_t n) { return n % 2 == 0 ? n - 1 : n + n / 2; }

template <class T>
RealPlan<T>::RealPlan(tl_instance &instance, int64_t length, Layout layout)
    : n(length),
      rows(rows_at_a_time<T>(instance.target, layout)),
      transform(instance, complex_length(length), span_of(length), layout),
      roots(length % 2 == 0 ? roots_of_unity<T>(length, length / 2) : Numbers<T>()) {}

namespace {

// How many rows there are: enough to fill lanes, if each goes into one of them?
enum class Batch { One, Few, Many };

template <class T>
Layout layout_of(int64_t n, Batch batch) {
  const int64_t length = ComplexTransform<T>::inner_length(complex_length(n), span_of(n));
  if (length < least_row<T>) return Layout::SideBySide;
  const bool is_short = length <= (batch == Batch::One ? longest_row : longest_of_rows);
  if (is_short && !row_chain_of<T>(length).radices.empty()) return Layout::Row;
  const bool is_narrow = middle_divisor(length) < least_run;  // 7 * 49 is the longest
  return is_narrow || (length <= 4096 && batch == Batch::Many) ? Layout::SideBySide
                                                               : Layout::Matrix;
}

// The last plans that were used, as far as they hold few numbers together.
template <class T>
class PlanCache {
 public:
  using Plan = std::shared_ptr<const RealPlan<T>>;

  Plan find(tl_instance &instance, int64_t n, Batch batch) {
    if (Plan plan = held(instance.target, n, batch)) return plan;
    auto plan = std::make_shared<const RealPlan<T>>(instance, n, layout_of<T>(n, batch));
    const std::lock_guard lock(mutex_);
    entries_.push_front({instance.target, batch, plan});
    int64_t numbers = 0;
    size_t kept = 0;
    for (const Entry &entry : entries_) {
      numbers += entry.plan->n;
      if (kept > 0 && (kept == most_plans || numbers > most_numbers)) break;
      ++kept;
    }
    entries_.resize(kept);
    return plan;
  }

 private:
  struct Entry {
    Target target;
    Batch batch;
    Plan plan;
  };
  static constexpr size_t most_plans = 64;
  static constexpr int64_t most_numbers = int64_t{1} << 22;

  Plan held(Target target, int64_t n, Batch batch) {
    const std::lock_guard lock(mutex_);
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
      if (it->plan->n == n && it->batch == batch && it->target == target) {
        entries_.splice(entries_.begin(), entries_, it);
        return it->plan;
      }
    return nullptr;
  }

  std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace

template <class T>
std::shared_ptr<const RealPlan<T>> real_plan(tl_instance &instance, int64_t n, int64_t batch) {
  static auto *const cache = new PlanCache<T>;  // never destroyed: calls may run until the end
  const int64_t lanes = gemm_kernels<T>(instance.target).lanes;
  const Batch rows = batch == 1 ? Batch::One : 2 * batch < lanes ? Batch::Few : Batch::Many;
  return cache->find(instance, n, rows);
}

template Numbers<float> roots_of_unity(int64_t, int64_t);
template Numbers<double> roots_of_unity(int64_t, int64_t);
template class Passes<float>;
template class Passes<double>;
template class ComplexTransform<float>;
template class ComplexTransform<double>;
template struct RealPlan<float>;
template struct RealPlan<double>;
template std::shared_ptr<const RealPlan<float>> real_plan(tl_instance &, int64_t, int64_t);
template std::shared_ptr<const RealPlan<double>> real_plan(tl_instance &, int64_t, int64_t);

}  // namespace torchlean::cpu
