// The loops of convolutions that have vectors in them.
#include "convolution/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convolution/kernels.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {
namespace {

// Elements a step of 2 or more apart. Up to a vector more is written.
template <class T>
HWY_INLINE void copy_apart(const T *from, int64_t step, int64_t count, T *to) {
#if HWY_TARGET != HWY_SCALAR
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  if (step == 2) {
    int64_t left = 2 * count - 1;
    for (; left >= 2 * lanes; left -= 2 * lanes, from += 2 * lanes, to += lanes)
      hn::StoreU(hn::ConcatEven(d, hn::LoadU(d, from + lanes), hn::LoadU(d, from)), d, to);
    if (left >= lanes) {
      const Vec<T> rest = load_first(d, from + lanes, left - lanes);
      hn::StoreU(hn::ConcatEven(d, rest, hn::LoadU(d, from)), d, to);
    } else if (left > 0) {
      hn::StoreU(hn::ConcatEven(d, hn::Zero(d), load_first(d, from, left)), d, to);
    }
    return;
  }
#endif
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
}

template <class T>
void pad(const T *from, int64_t step, int64_t zeros, int64_t count, T *to, int64_t width) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  for (int64_t i = 0; i < zeros; i += lanes) hn::StoreU(hn::Zero(d), d, to + i);
  to += zeros;
  width -= zeros;
  int64_t i = 0;
  if (step == 1) {
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    if (i < count) {
      hn::StoreU(load_first(d, from + i, count - i), d, to + i);
      i += lanes;
    }
  } else {
    copy_apart(from, step, count, to);
    i = count;
  }
  for (; i < width; i += lanes) hn::StoreU(hn::Zero(d), d, to + i);
}

template <class T>
void pack(const TapView<T> &view, const Run *runs, int64_t run_count, int64_t first, int64_t depth,
          T *to, int64_t width) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  const T *channel = view.band + first / view.tap_count * view.channel_stride;
  int64_t tap = first % view.tap_count;
  for (int64_t k = 0; k < depth; ++k, to += width) {
    const T *const line = channel + view.taps[tap];
    // What a run writes too much, the next one or the next row writes over.
    for (int64_t r = 0; r < run_count; ++r) {
      const T *const from = line + runs[r].from;
      T *const out = to + runs[r].first;
      for (int64_t i = 0; i < runs[r].length; i += lanes)
        hn::StoreU(hn::LoadU(d, from + i), d, out + i);
    }
    if (++tap == view.tap_count) {
      tap = 0;
      channel += view.channel_stride;
    }
  }
}

// Lines from `first` to `last` get what one line of the band gives them.
template <int first, int last, int lines, int vectors, class T>
HWY_INLINE void weigh_line(const WeighedLines<T> &work, const LineTerms &terms, const T *line,
                           Vec<T> (&sum)[lines][vectors]) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  const T *weights[last - first + 1];
#pragma GCC unroll 4
  for (int r = first; r <= last; ++r) weights[r - first] = work.kernel + terms.weights[r];
  for (int64_t j = 0; j < work.tap_count; ++j) {
    const auto tap = work.taps[j];
    Vec<T> values[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) values[v] = hn::LoadU(d, line + tap.from + v * lanes);
#pragma GCC unroll 4
    for (int r = first; r <= last; ++r) {
      const Vec<T> factor = hn::Set(d, weights[r - first][tap.weight]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[r][v] = hn::MulAdd(factor, values[v], sum[r][v]);
    }
  }
}

// Some vectors of results from `at` on, of the last one `used` lanes.
template <int lines, int vectors, class T>
void weigh_some(const WeighedLines<T> &work, int64_t at, int64_t used) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  Vec<T> sum[lines][vectors];
#pragma GCC unroll 4
  for (int r = 0; r < lines; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) sum[r][v] = hn::Set(d, work.start);
  for (int64_t i = 0; i < work.term_count; ++i) {
    const LineTerms &terms = work.terms[i];
    const T *const line = work.band + terms.from + at;
    if constexpr (lines == 1) {
      weigh_line<0, 0>(work, terms, line, sum);
    } else {
      switch (4 * terms.first + terms.last) {
        case 0: weigh_line<0, 0>(work, terms, line, sum); break;
        case 1: weigh_line<0, 1>(work, terms, line, sum); break;
        case 2: weigh_line<0, 2>(work, terms, line, sum); break;
        case 3: weigh_line<0, 3>(work, terms, line, sum); break;
        case 5: weigh_line<1, 1>(work, terms, line, sum); break;
        case 6: weigh_line<1, 2>(work, terms, line, sum); break;
        case 7: weigh_line<1, 3>(work, terms, line, sum); break;
        case 10: weigh_line<2, 2>(work, terms, line, sum); break;
        case 11: weigh_line<2, 3>(work, terms, line, sum); break;
        default: weigh_line<3, 3>(work, terms, line, sum);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < lines; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      T *const to = work.y[r] + at + v * lanes;
      if (v + 1 < vectors || used == lanes)
        hn::StoreU(sum[r][v], d, to);
      else
        store_first(sum[r][v], d, to, used);
    }
}

// Each sum is a chain, so several of them keep a processor busy: four lines of two vectors, or one
// of four.
template <class T>
void weigh(const WeighedLines<T> &work, int64_t line_count) {
  constexpr int64_t lanes = hn::MaxLanes(Lanes<T>());
  const int64_t most = line_count == 1 ? 4 : 2;
  for (int64_t i = 0; i < work.count; i += most * lanes) {
    const int64_t here = HWY_MIN(most * lanes, work.count - i);
    const int64_t vectors = (here + lanes - 1) / lanes;
    const int64_t used = here - (vectors - 1) * lanes;
    if (line_count == 1) {
      switch (vectors) {
        case 1: weigh_some<1, 1>(work, i, used); break;
        case 2: weigh_some<1, 2>(work, i, used); break;
        case 3: weigh_some<1, 3>(work, i, used); break;
        default: weigh_some<1, 4>(work, i, used);
      }
    } else if (vectors == 1) {
      weigh_some<4, 1>(work, i, used);
    } else {
      weigh_some<4, 2>(work, i, used);
    }
  }
}

template <class T>
T sum(const T *x, int64_t count) {
  const Lanes<T> d;
  constexpr int64_t lanes = hn::MaxLanes(d);
  Vec<T> sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes)
    for (int64_t v = 0; v < 4; ++v) sums[v] = hn::Add(sums[v], hn::LoadU(d, x + i + v * lanes));
  for (; i + lanes <= count; i += lanes) sums[0] = hn::Add(sums[0], hn::LoadU(d, x + i));
  if (i < count) sums[1] = hn::Add(sums[1], load_first(d, x + i, count - i));
  return hn::GetLane(
      hn::SumOfLanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))));
}

template <class T>
constexpr ConvolutionKernels<T> kernels = {pad<T>, pack<T>, weigh<T>, sum<T>};

}  // namespace
}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
TORCHLEAN_CPU_KERNELS(ConvolutionKernels, convolution_kernels)
#endif
