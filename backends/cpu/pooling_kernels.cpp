// The loops of pools that have vectors in them.
#include "pooling_kernels.hpp"

#include <limits>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pooling_kernels.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "elementary-inl.h"
#include "vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {
namespace {

struct Sum {
  template <class D, class V>
  HWY_INLINE V operator()(D, V so_far, V next) const {
    return hn::Add(so_far, next);
  }
};

template <class V>
HWY_INLINE auto beats(V next, V best) {
  return hn::Or(hn::Gt(next, best), hn::IsNaN(next));
}

struct Max {
  template <class D, class V>
  HWY_INLINE V operator()(D, V so_far, V next) const {
    return hn::IfThenElse(beats(next, so_far), next, so_far);
  }
};

// Windows [i, i + lanes) of a slide, which lie a stride of 1 or 2 apart.
template <class Op, class D, class T>
HWY_INLINE hn::Vec<D> slide_vector(D d, const T *x, int64_t taps, int64_t stride) {
  const Op join;
  hn::Vec<D> sum;
  if (stride == 1) {
    sum = hn::LoadU(d, x);
    for (int64_t t = 1; t < taps; ++t) sum = join(d, sum, hn::LoadU(d, x + t));
    return sum;
  }
  hn::Vec<D> even;
  hn::Vec<D> odd;
  hn::LoadInterleaved2(d, x, even, odd);
  sum = even;
  for (int64_t t = 1; t < taps; t += 2) {
    sum = join(d, sum, odd);
    if (t + 1 == taps) break;
    hn::LoadInterleaved2(d, x + t + 1, even, odd);
    sum = join(d, sum, even);
  }
  return sum;
}

template <class Op, class T>
void slide(const Slide<T> &line, T *y) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  int64_t i = 0;
  if (line.stride <= 2) {
    // The last load may bring one element that no window has.
    const int64_t reach = (lanes - 1) * line.stride + line.taps + (line.stride == 2 ? 1 : 0);
    for (; i + lanes <= line.count && i * line.stride + reach <= line.readable; i += lanes)
      hn::StoreU(slide_vector<Op>(d, line.x + i * line.stride, line.taps, line.stride), d, y + i);
  }
  const hn::CappedTag<T, 1> one;
  const Op join;
  for (; i < line.count; ++i) {
    const T *const x = line.x + i * line.stride;
    auto sum = hn::Set(one, x[0]);
    for (int64_t t = 1; t < line.taps; ++t) sum = join(one, sum, hn::Set(one, x[t]));
    y[i] = hn::GetLane(sum);
  }
}

template <class T>
void slide_max_at(const Slide<T> &line, PlaceOf<T> first, T *y, PlaceOf<T> *at) {
  const Lanes<T> d;
  const hn::RebindToUnsigned<Lanes<T>> places;
  constexpr int64_t lanes = hn::MaxLanes(d);
  using Place = PlaceOf<T>;
  int64_t i = 0;
  if (line.stride == 1) {
    for (; i + lanes <= line.count; i += lanes) {
      Vec<T> best = hn::LoadU(d, line.x + i);
      auto here = hn::Iota(places, static_cast<Place>(first + static_cast<Place>(i)));
      auto best_place = here;
      for (int64_t t = 1; t < line.taps; ++t) {
        const Vec<T> next = hn::LoadU(d, line.x + i + t);
        here = hn::Add(here, hn::Set(places, Place(1)));
        const auto wins = beats(next, best);
        best = hn::IfThenElse(wins, next, best);
        best_place = hn::IfThenElse(hn::RebindMask(places, wins), here, best_place);
      }
      hn::StoreU(best, d, y + i);
      hn::StoreU(best_place, places, at + i);
    }
  }
  for (; i < line.count; ++i) {
    const T *const x = line.x + i * line.stride;
    T best = x[0];
    int64_t place = 0;
    for (int64_t t = 1; t < line.taps; ++t)
      if (x[t] > best || std::isnan(x[t])) {
        best = x[t];
        place = t;
      }
    y[i] = best;
    at[i] = first + static_cast<Place>(i * line.stride + place);
  }
}

template <class Op, class T>
void fold(const T *const *lines, int64_t line_count, bool joins, int64_t count, T *y) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  const Op join;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Vec<T> sum = hn::LoadU(d, (joins ? y : lines[0]) + i);
    for (int64_t k = joins ? 0 : 1; k < line_count; ++k)
      sum = join(d, sum, hn::LoadU(d, lines[k] + i));
    hn::StoreU(sum, d, y + i);
  }
  if (i < count) {
    Vec<T> sum = load_first(d, (joins ? y : lines[0]) + i, count - i);
    for (int64_t k = joins ? 0 : 1; k < line_count; ++k)
      sum = join(d, sum, load_first(d, lines[k] + i, count - i));
    store_first(sum, d, y + i, count - i);
  }
}

template <class T>
void fold_max_at(const T *const *lines, const PlaceOf<T> *const *lines_at, int64_t line_count,
                 bool joins, int64_t count, T *y, PlaceOf<T> *at) {
  const Lanes<T> d;
  const hn::RebindToUnsigned<Lanes<T>> places;
  constexpr int64_t lanes = hn::MaxLanes(d);
  for (int64_t i = 0; i < count; i += lanes) {
    const bool whole = i + lanes <= count;
    const auto load = [&](const auto tag, const auto *from) HWY_ATTR {
      return whole ? hn::LoadU(tag, from + i) : load_first(tag, from + i, count - i);
    };
    Vec<T> best = load(d, joins ? y : lines[0]);
    auto best_place = load(places, joins ? at : lines_at[0]);
    for (int64_t k = joins ? 0 : 1; k < line_count; ++k) {
      const Vec<T> next = load(d, lines[k]);
      const auto wins = beats(next, best);
      best = hn::IfThenElse(wins, next, best);
      best_place =
          hn::IfThenElse(hn::RebindMask(places, wins), load(places, lines_at[k]), best_place);
    }
    if (whole) {
      hn::StoreU(best, d, y + i);
      hn::StoreU(best_place, places, at + i);
    } else {
      store_first(best, d, y + i, count - i);
      store_first(best_place, places, at + i, count - i);
    }
  }
}

template <class T>
void fill(T value, int64_t count, T *y) {
  each_vector<T>(static_cast<uint64_t>(count), [=](auto d, auto lanes, uint64_t i) HWY_ATTR {
    lanes.store(hn::Set(d, value), d, y + i);
  });
}

template <class T>
void divide(T divisor, int64_t count, T *y) {
  each_vector<T>(static_cast<uint64_t>(count), [=](auto d, auto lanes, uint64_t i) HWY_ATTR {
    lanes.store(hn::Div(lanes.load(d, y + i), hn::Set(d, divisor)), d, y + i);
  });
}

// Of windows from i on: the entry that maximises beta times an entry, and the sum of exponentials
// exp(beta * (entry - pivot)). They are added 32 at a time, and these sums 32 at a time.
template <class T>
HWY_INLINE void pivot_and_sum(const SmoothWindows<T> &windows, int64_t i, Vec<T> &pivot,
                              Vec<T> &sum) {
  const Lanes<T> d;
  const Vec<T> beta = hn::Set(d, windows.beta);
  const bool is_padded = windows.padding > 0;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  pivot = hn::Set(d, is_padded ? T(0) : windows.beta > 0 ? -infinity : infinity);
  const T *const first = windows.entries + i;
  for (int64_t j = 0; j < windows.rows; ++j) {
    const Vec<T> entry = hn::LoadU(d, first + j * windows.width);
    const auto beyond = windows.beta > 0 ? hn::Gt(entry, pivot) : hn::Lt(entry, pivot);
    pivot = hn::IfThenElse(hn::Or(beyond, hn::IsNaN(entry)), entry, pivot);
  }
  sum = hn::Zero(d);
  if (is_padded)
    sum =
        hn::Mul(hn::Set(d, windows.padding), exp_of(d, hn::Mul(beta, hn::Sub(hn::Zero(d), pivot))));
  constexpr int64_t block = 32;
  for (int64_t j = 0; j < windows.rows; j += block * block) {
    Vec<T> large = hn::Zero(d);
    const int64_t large_end = HWY_MIN(windows.rows, j + block * block);
    for (int64_t k = j; k < large_end; k += block) {
      Vec<T> small = hn::Zero(d);
      const int64_t end = HWY_MIN(large_end, k + block);
      for (int64_t l = k; l < end; ++l) {
        const Vec<T> entry = hn::LoadU(d, first + l * windows.width);
        small = hn::Add(small, exp_of(d, hn::Mul(beta, hn::Sub(entry, pivot))));
      }
      large = hn::Add(large, small);
    }
    sum = hn::Add(sum, large);
  }
}

// An infinite pivot is the value: finite entries add nothing to it.
template <class T>
void smooth(const SmoothWindows<T> &windows, T *y) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  for (int64_t i = 0; i < windows.count; i += lanes) {
    Vec<T> pivot;
    Vec<T> sum;
    pivot_and_sum(windows, i, pivot, sum);
    const Vec<T> finite = hn::Add(pivot, hn::Div(log_of(d, sum), hn::Set(d, windows.beta)));
    const auto is_infinite = hn::Eq(hn::Abs(pivot), hn::Inf(d));
    const Vec<T> value = hn::IfThenElse(is_infinite, pivot, finite);
    if (i + lanes <= windows.count)
      hn::StoreU(value, d, y + i);
    else
      store_first(value, d, y + i, windows.count - i);
  }
}

template <class T>
void smooth_shares(const SmoothWindows<T> &windows, const T *gradient) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  const Vec<T> beta = hn::Set(d, windows.beta);
  for (int64_t i = 0; i < windows.count; i += lanes) {
    Vec<T> pivot;
    Vec<T> sum;
    pivot_and_sum(windows, i, pivot, sum);
    const Vec<T> g = i + lanes <= windows.count ? hn::LoadU(d, gradient + i)
                                                : load_first(d, gradient + i, windows.count - i);
    for (int64_t j = 0; j < windows.rows; ++j) {
      T *const at = windows.entries + j * windows.width + i;
      const Vec<T> exponential = exp_of(d, hn::Mul(beta, hn::Sub(hn::LoadU(d, at), pivot)));
      hn::StoreU(hn::Mul(hn::Div(exponential, sum), g), d, at);
    }
  }
}

template <class T>
constexpr PoolingKernels<T> kernels = {
    slide<Sum, T>,  slide<Max, T>, slide_max_at<T>, fold<Sum, T>, fold<Max, T>,
    fold_max_at<T>, fill<T>,       divide<T>,       smooth<T>,    smooth_shares<T>};

}  // namespace
}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
TORCHLEAN_CPU_KERNELS(PoolingKernels, pooling_kernels)
#endif
