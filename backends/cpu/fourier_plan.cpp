// Complex Fourier transforms of any length: tables made once, and the order of passes.
#include "fourier_plan.hpp"

#include "../host/root_of_unity.hpp"
#include "threads.hpp"

#include <complex>
#include <list>
#include <mutex>

namespace torchlean::cpu {
namespace {

constexpr int64_t largest_prime = FourierKernels<float>::largest_radix;

// Tables are computed wider than they are kept.
template <class T>
using Wide = std::conditional_t<sizeof(T) == sizeof(float), double, long double>;

// What is left of n without its small prime factors.
int64_t without_small_primes(int64_t n) {
  for (const int64_t p : {2, 3, 5, 7, 11, 13})
    while (n % p == 0) n /= p;
  return n;
}

// The passes of a length without large prime factors, as few as there can be.
std::vector<int64_t> radices_of(int64_t length) {
  std::vector<int64_t> radices;
  int64_t twos = 0;
  for (; length % 2 == 0; length /= 2) ++twos;
  for (; twos % 3 != 0 && twos > 1; twos -= 2) radices.push_back(4);
  for (; twos >= 3; twos -= 3) radices.push_back(8);
  if (twos == 1) radices.push_back(2);
  for (const int64_t radix : {3, 5, 7, 11, 13})
    for (; length % radix == 0; length /= radix) radices.push_back(radix);
  return radices;
}

// The cheapest of the next lengths that passes can do: a power of two, or 3, 5, 9 or 15 times one.
int64_t smooth_length(int64_t least) {
  int64_t best = 1;
  while (best < least) best *= 2;
  for (const int64_t odd : {3, 5, 9, 15}) {
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
Passes<T>::Passes(int64_t length) : length_(length) {
  const std::vector<int64_t> radices = radices_of(length);
  int64_t rest = length;
  const Numbers<T> roots = roots_of_unity<T>(length, length);
  const auto put = [&](std::vector<T> &pairs, int64_t k) {
    pairs.push_back(roots.re[static_cast<size_t>(k)]);
    pairs.push_back(roots.im[static_cast<size_t>(k)]);
  };
  for (const int64_t radix : radices) {
    Stage stage{radix, rest / radix, {}, {}};
    const int64_t step = length / rest;
    for (int64_t p = 0; p < stage.count; ++p)
      for (int64_t k = 1; k < radix; ++k) put(stage.twiddles, p * k * step);
    for (int64_t k = 0; k < radix; ++k) put(stage.roots, k * (length / radix));
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
  }
  int64_t run = width;
  for (const Stage &stage : stages_) {
    kernels.pass[stage.radix](
        {x, x_step, one, run, stage.count, stage.twiddles.data(), stage.roots.data()});
    run *= stage.radix;
    x = as_const(one);
    x_step = run;
    std::swap(one, other);
  }
  return stages_.empty() ? one : other;
}

// ---- Any length ---------------------------------------------------------------------------------

template <class T>
int64_t ComplexTransform<T>::inner_length(int64_t length) {
  return without_small_primes(length) == 1 ? length : smooth_length(2 * length - 1);
}

template <class T>
ComplexTransform<T>::ComplexTransform(tl_instance &instance, int64_t length, bool side_by_side)
    : length_(length), inner_(inner_length(length)) {
  if (side_by_side) {
    whole_ = std::make_unique<Passes<T>>(inner_);
  } else {
    const int64_t columns = middle_divisor(inner_);
    const int64_t width = inner_ / columns;
    columns_ = std::make_unique<Passes<T>>(columns);
    rows_ = std::make_unique<Passes<T>>(width);
    const Numbers<T> roots = roots_of_unity<T>(inner_, inner_);
    twist_ = Numbers<T>(inner_);
    for (int64_t i = 0; i < columns; ++i)
      for (int64_t j = 0; j < width; ++j) {
        const auto to = static_cast<size_t>(i * width + j);
        twist_.re[to] = roots.re[static_cast<size_t>(i * j)];
        twist_.im[to] = roots.im[static_cast<size_t>(i * j)];
      }
  }
  if (inner_ == length_) return;
  // With c[k] = exp(-pi i k^2/n) and jk = (j^2 + k^2 - (k - j)^2)/2, the transform is
  // y[k] = c[k] * sum over j of (x[j] c[j]) * conj(c[k - j]): a convolution.
  const Numbers<T> roots = roots_of_unity<T>(2 * length, 2 * length);
  chirp_ = Numbers<T>(length);
  Numbers<T> kernel(inner_);
  const T scale = T(1) / static_cast<T>(inner_);
  for (int64_t k = 0, square = 0; k < length; square = (square + 2 * k + 1) % (2 * length), ++k) {
    const auto at = static_cast<size_t>(k);
    chirp_.re[at] = roots.re[static_cast<size_t>(square)];
    chirp_.im[at] = roots.im[static_cast<size_t>(square)];
    const auto mirror = static_cast<size_t>(k == 0 ? 0 : inner_ - k);
    kernel.re[at] = kernel.re[mirror] = chirp_.re[at] * scale;
    kernel.im[at] = kernel.im[mirror] = -chirp_.im[at] * scale;
  }
  spectrum_ = Numbers<T>(inner_);
  run_inner(instance, std::as_const(kernel).planes(), 1, 1, spectrum_.planes());
}

template <class T>
void ComplexTransform<T>::run(tl_instance &instance, Planes<const T> x, int64_t x_step,
                              int64_t width, Planes<T> y) const {
  if (inner_ == length_) return run_inner(instance, x, x_step, width, y);
  const FourierKernels<T> &kernels = fourier_kernels<T>(instance.target);
  WorkingPlanes<T> one(instance, inner_ * width, 0);
  WorkingPlanes<T> other(instance, inner_ * width, 1);
  const Planes<T> values = one.planes();
  const Planes<T> sums = other.planes();
  const auto multiply = [&](Planes<const T> from, int64_t step, const Numbers<T> &factors,
                            int64_t count, Planes<T> to) {
    if (width == 1 && step == 1)
      kernels.multiply(from, factors.planes(), count, to);
    else
      kernels.multiply_blocks(from, step, factors.planes(), count, width, to);
  };
  multiply(x, x_step, chirp_, length_, values);
  std::fill(values.re + length_ * width, values.re + inner_ * width, T(0));
  std::fill(values.im + length_ * width, values.im + inner_ * width, T(0));
  run_inner(instance, as_const(values), width, width, sums);
  multiply(as_const(sums), width, spectrum_, inner_, sums);
  run_inner(instance, as_const(sums.swapped()), width, width, values.swapped());
  multiply(as_const(values), width, chirp_, length_, y);
}

template <class T>
void ComplexTransform<T>::run_inner(tl_instance &instance, Planes<const T> x, int64_t x_step,
                                    int64_t width, Planes<T> y) const {
  if (whole_ == nullptr) return run_as_matrix(instance, x, y);
  const FourierKernels<T> &kernels = fourier_kernels<T>(instance.target);
  WorkingPlanes<T> other(instance, inner_ * width, 2);
  const Planes<T> result = whole_->run(kernels, x, x_step, width, y, other.planes());
  if (result.re == y.re) return;
  std::copy_n(result.re, inner_ * width, y.re);
  std::copy_n(result.im, inner_ * width, y.im);
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
    const int64_t wide = std::min(strip_columns, count);
    const int64_t strips = (count + wide - 1) / wide;
    const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 13) / (length * wide));
    parallel_for(instance, static_cast<uint64_t>(strips), static_cast<uint64_t>(grain),
                 [&](uint64_t begin, uint64_t end) {
                   WorkingPlanes<T> one(instance, length * wide, 3);
                   WorkingPlanes<T> other(instance, length * wide, 4);
                   for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); ++i)
                     body(i * wide, std::min(wide, count - i * wide), one.planes(), other.planes());
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

template <class T>
RealPlan<T>::RealPlan(tl_instance &instance, int64_t length, bool is_side_by_side)
    : n(length),
      side_by_side(is_side_by_side),
      transform(instance, length % 2 == 0 ? length / 2 : length, is_side_by_side),
      roots(length % 2 == 0 ? roots_of_unity<T>(length, length / 2) : Numbers<T>()) {}

namespace {

// The last plans that were used, as far as they hold few numbers together.
template <class T>
class PlanCache {
 public:
  using Plan = std::shared_ptr<const RealPlan<T>>;

  Plan find(tl_instance &instance, int64_t n, bool side_by_side) {
    if (Plan plan = held(instance.target, n, side_by_side)) return plan;
    auto plan = std::make_shared<const RealPlan<T>>(instance, n, side_by_side);
    const std::lock_guard lock(mutex_);
    entries_.push_front({instance.target, plan});
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
    Plan plan;
  };
  static constexpr size_t most_plans = 64;
  static constexpr int64_t most_numbers = int64_t{1} << 22;

  Plan held(Target target, int64_t n, bool side_by_side) {
    const std::lock_guard lock(mutex_);
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
      if (it->plan->n == n && it->plan->side_by_side == side_by_side && it->target == target) {
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
  const int64_t inner = ComplexTransform<T>::inner_length(n % 2 == 0 ? n / 2 : n);
  const int64_t lanes = gemm_kernels<T>(instance.target).lanes;
  // A matrix whose sides are whole vectors is as good as few rows side by side.
  const int64_t side = middle_divisor(inner);
  const bool fits = side % lanes == 0 && inner / side % lanes == 0;
  const bool side_by_side =
      inner < 256 || (fits ? inner <= 2048 && batch >= lanes : inner <= 4096 && 2 * batch >= lanes);
  return cache->find(instance, n, side_by_side);
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
