// Pools: the largest entry of a window, the average, the smooth maximum; and their gradients.
//
// A window is pooled line by line: first along the last axis, where neighbouring windows share
// vectors, then across lines. Pooled lines are kept for the windows that need them again. In this
// order the first of several equal maxima of a window stays the first in row-major order.
#include "pooling.hpp"

#include "blocks.hpp"
#include "convolution/kernels.hpp"
#include "threads.hpp"

namespace torchlean::cpu {
namespace {

// Calls slide(Slide, index of its first window) for the windows of a line, the inner ones in one
// go.
template <class T, class Visit>
void along(const PoolAxis &axis, const T *x, Visit slide) {
  const Range inner = axis.inner();
  for (int64_t w = 0; w < axis.windows; ++w) {
    if (w == inner.begin && inner.size() > 0) {
      const int64_t start = axis.start(w);
      slide(Slide<T>{x + start, axis.positions - start, axis.taps, axis.stride, inner.size()}, w);
      w = inner.end;
      if (w == axis.windows) break;
    }
    const Range inside = axis.positions_of(w);
    slide(Slide<T>{x + inside.begin, inside.size(), inside.size(), axis.stride, 1}, w);
  }
}

// ---- Maxima and averages ------------------------------------------------------------------------

// Pools lines of windows, remembering pooled lines of the input.
template <class T, bool with_places>
class LinePool {
 public:
  LinePool(const tl_instance &instance, const Pool &pool)
      : kernels_(pooling_kernels<T>(instance.target)), pool_(pool) {
    const auto &[planes, rows, cols] = pool.axes;
    planes_ = std::min(planes.taps, planes.positions);
    rows_ = std::min(rows.taps, rows.positions);
    const int64_t most = std::max<int64_t>(1, (int64_t{1} << 16) / cols.windows);
    remembers_ = planes_ <= most / rows_;
    const auto slots = static_cast<size_t>(remembers_ ? planes_ * rows_ : most);
    held_.assign(slots, -1);
    values_.resize(slots * static_cast<size_t>(cols.windows));
    if (with_places) places_.resize(values_.size());
  }

  // Windows (first, second, *) of the channel whose entries x points to.
  void run(const T *x, int64_t channel, int64_t first, int64_t second, T *y, PlaceOf<T> *at) {
    const auto &[planes, rows, cols] = pool_.axes;
    const Range plane = planes.positions_of(first);
    const Range row = rows.positions_of(second);
    bool joins = false;
    lines_.clear();
    lines_at_.clear();
    if (plane.size() * row.size() == 1) {
      pool_line(x, plane.begin * rows.positions + row.begin, y, at);
    } else {
      for (int64_t d = plane.begin; d < plane.end; ++d)
        for (int64_t h = row.begin; h < row.end; ++h) {
          if (lines_.size() == held_.size() && !remembers_) {
            fold(joins, y, at);
            joins = true;
            lines_.clear();
            lines_at_.clear();
          }
          const size_t slot =
              remembers_ ? static_cast<size_t>(d % planes_ * rows_ + h % rows_) : lines_.size();
          const size_t begin = slot * static_cast<size_t>(cols.windows);
          T *const values = values_.data() + begin;
          PlaceOf<T> *const places = with_places ? places_.data() + begin : nullptr;
          const int64_t line = d * rows.positions + h;
          const int64_t id = channel * planes.positions * rows.positions + line;
          if (!remembers_ || held_[slot] != id) pool_line(x, line, values, places);
          held_[slot] = id;
          lines_.push_back(values);
          lines_at_.push_back(places);
        }
      fold(joins, y, at);
    }
    if (pool_.op == TL_POOLING_AVERAGE)
      kernels_.divide(static_cast<T>(pool_.volume), cols.windows, y);
  }

 private:
  void pool_line(const T *x, int64_t line, T *y, PlaceOf<T> *at) {
    const PoolAxis &cols = pool_.axes[2];
    const T *const from = x + line * cols.positions;
    along(cols, from, [&](const Slide<T> &slide, int64_t w) {
      if constexpr (with_places)
        kernels_.slide_max_at(slide, static_cast<PlaceOf<T>>(slide.x - x), y + w, at + w);
      else
        (pool_.op == TL_POOLING_MAX ? kernels_.slide_max : kernels_.slide_sum)(slide, y + w);
    });
  }

  void fold(bool joins, T *y, PlaceOf<T> *at) {
    const int64_t count = pool_.axes[2].windows;
    const auto lines = static_cast<int64_t>(lines_.size());
    if constexpr (with_places)
      kernels_.fold_max_at(lines_.data(), lines_at_.data(), lines, joins, count, y, at);
    else
      (pool_.op == TL_POOLING_MAX ? kernels_.fold_max : kernels_.fold_sum)(lines_.data(), lines,
                                                                           joins, count, y);
  }

  const PoolingKernels<T> &kernels_;
  const Pool &pool_;
  int64_t planes_;
  int64_t rows_;
  bool remembers_;
  std::vector<int64_t> held_;  // which line of which channel a slot has
  std::vector<T> values_;
  std::vector<PlaceOf<T>> places_;
  std::vector<const T *> lines_;
  std::vector<const PlaceOf<T> *> lines_at_;
};

// Calls body(i, channel, first, second) for the lines of windows i in [begin, end).
template <class Body>
void each_line(const Pool &pool, int64_t begin, int64_t end, const Body &body) {
  const int64_t rows = pool.axes[1].windows;
  const int64_t lines = pool.axes[0].windows * rows;
  for (int64_t i = begin; i < end; ++i) body(i, i / lines, i % lines / rows, i % rows);
}

template <class T>
void pool_lines(const tl_instance &instance, const Pool &pool, const T *x, T *y) {
  const auto lines =
      static_cast<uint64_t>(pool.channels * pool.axes[0].windows * pool.axes[1].windows);
  parallel_for(instance, lines, pool.grain(lines), [&](uint64_t begin, uint64_t end) {
    LinePool<T, false> line_pool(instance, pool);
    each_line(pool, signed_of(begin), signed_of(end),
              [&](int64_t i, int64_t channel, int64_t first, int64_t second) {
                line_pool.run(x + channel * pool.in_size, channel, first, second,
                              y + i * pool.axes[2].windows, nullptr);
              });
  });
}

// ---- Gradients ----------------------------------------------------------------------------------

template <class T>
void maximum_gradient(const tl_instance &instance, const Pool &pool, const T *x, const T *g,
                      T *d_x) {
  const int64_t lines = pool.axes[0].windows * pool.axes[1].windows;
  const int64_t cols = pool.axes[2].windows;
  const auto channels = static_cast<uint64_t>(pool.channels);
  parallel_for(instance, channels, pool.grain(channels), [&](uint64_t begin, uint64_t end) {
    LinePool<T, true> line_pool(instance, pool);
    std::vector<T> best(static_cast<size_t>(cols));
    std::vector<PlaceOf<T>> at(static_cast<size_t>(cols));
    for (auto c = signed_of(begin); c < signed_of(end); ++c) {
      GradientSums<T> sums(pool, d_x + c * pool.in_size);
      each_line(pool, c * lines, (c + 1) * lines,
                [&](int64_t i, int64_t, int64_t first, int64_t second) {
                  line_pool.run(x + c * pool.in_size, c, first, second, best.data(), at.data());
                  const T *const gradient = g + i * cols;
                  for (int64_t w = 0; w < cols; ++w)
                    sums.add(signed_of(at[static_cast<size_t>(w)]), gradient[w]);
                });
      sums.finish();
    }
  });
}

// Each line of entries gets the sum of the lines of windows over it, spread along the last axis.
template <class T>
void average_gradient(const tl_instance &instance, const Pool &pool, const T *g, T *d_x) {
  const PoolingKernels<T> &kernels = pooling_kernels<T>(instance.target);
  const PoolAxis &planes = pool.axes[0];
  const PoolAxis &rows = pool.axes[1];
  const PoolAxis &cols = pool.axes[2];
  const int64_t lines = planes.positions * rows.positions;
  const auto all_lines = static_cast<uint64_t>(pool.channels * lines);
  parallel_for(instance, all_lines, pool.grain(all_lines), [&](uint64_t begin, uint64_t end) {
    std::vector<const T *> over;
    std::vector<T> sums(static_cast<size_t>(cols.windows));
    for (auto i = signed_of(begin); i < signed_of(end); ++i) {
      T *const line = d_x + i * cols.positions;
      const Range plane = planes.windows_over(i % lines / rows.positions);
      const Range row = rows.windows_over(i % rows.positions);
      over.clear();
      for (int64_t d = plane.begin; d < plane.end; ++d)
        for (int64_t h = row.begin; h < row.end; ++h)
          over.push_back(g + i / lines * pool.out_size + (d * rows.windows + h) * cols.windows);
      std::fill_n(line, cols.positions, T(0));
      if (over.empty()) continue;
      kernels.fold_sum(over.data(), signed_of(over.size()), false, cols.windows, sums.data());
      kernels.divide(static_cast<T>(pool.volume), cols.windows, sums.data());
      if (cols.stride == 1) {
        // A position's windows are themselves neighbours.
        along(PoolAxis(cols.positions, cols.taps, cols.windows, cols.taps - 1 - cols.padding),
              sums.data(),
              [&](const Slide<T> &slide, int64_t w) { kernels.slide_sum(slide, line + w); });
        continue;
      }
      for (int64_t w = 0; w < cols.windows; ++w) {
        const Range inside = cols.positions_of(w);
        for (int64_t k = inside.begin; k < inside.end; ++k) line[k] += sums[static_cast<size_t>(w)];
      }
    }
  });
}

// Whether no entry has two windows, and at least a cache line of neighbours has the same one.
template <class T>
bool is_filled_by_runs(const Pool &pool) {
  const auto &[planes, rows, cols] = pool.axes;
  int64_t run = cols.positions_of(0).size();
  if (run == cols.positions) run *= rows.positions_of(0).size();
  return pool.overlap() == 1 && run * signed_of(sizeof(T)) >= 64;
}

// Each window's share is written to its entries.
template <class T>
void fill_average_gradient(const tl_instance &instance, const Pool &pool, const T *g, T *d_x) {
  const PoolingKernels<T> &kernels = pooling_kernels<T>(instance.target);
  const PoolAxis &planes = pool.axes[0];
  const PoolAxis &rows = pool.axes[1];
  const PoolAxis &cols = pool.axes[2];
  const auto channels = static_cast<uint64_t>(pool.channels);
  parallel_for(instance, channels, pool.grain(channels), [&](uint64_t begin, uint64_t end) {
    kernels.fill(T(0), signed_of(end - begin) * pool.in_size, d_x + begin * pool.in_size);
    const T *share = g + begin * pool.out_size;
    for (uint64_t c = begin; c < end; ++c)
      for (int64_t first = 0; first < planes.windows; ++first)
        for (int64_t second = 0; second < rows.windows; ++second)
          for (int64_t third = 0; third < cols.windows; ++third, ++share) {
            // + 0: the sum of one share, of which -0 is none.
            const T value = *share / static_cast<T>(pool.volume) + T(0);
            const Range plane = planes.positions_of(first);
            const Range row = rows.positions_of(second);
            const Range col = cols.positions_of(third);
            for (int64_t d = plane.begin; d < plane.end; ++d) {
              T *const lines = d_x + c * pool.in_size + d * rows.positions * cols.positions;
              if (col.size() == cols.positions) {
                kernels.fill(value, row.size() * cols.positions,
                             lines + row.begin * cols.positions);
                continue;
              }
              for (int64_t h = row.begin; h < row.end; ++h)
                kernels.fill(value, col.size(), lines + h * cols.positions + col.begin);
            }
          }
  });
}

// ---- Smooth maxima ------------------------------------------------------------------------------

// The entries of a line of windows, a few windows at a time, as the columns of a matrix.
template <class T>
class SmoothLines {
 public:
  SmoothLines(const tl_instance &instance, const Pool &pool, T beta)
      : kernels_(pooling_kernels<T>(instance.target)),
        loops_(convolution_kernels<T>(instance.target)),
        pool_(pool),
        beta_(beta) {}

  void values(const T *x, int64_t first, int64_t second, T *y) {
    each_piece(x, first, second, [&](const SmoothWindows<T> &windows, int64_t w) {
      kernels_.smooth(windows, y + w);
    });
  }

  void gradient(const T *x, const T *g, int64_t first, int64_t second, GradientSums<T> &sums) {
    const PoolAxis &rows = pool_.axes[1];
    const PoolAxis &cols = pool_.axes[2];
    each_piece(x, first, second, [&](const SmoothWindows<T> &windows, int64_t w) {
      kernels_.smooth_shares(windows, g + w);
      const T *share = windows.entries;
      for (const auto &[d, h, k] : taps_) {
        const int64_t line = (d * rows.positions + h) * cols.positions;
        int64_t at = cols.start(w) + k;
        for (int64_t i = 0; i < windows.count; ++i, at += cols.stride)
          if (at >= 0 && at < cols.positions) sums.add(line + at, share[i]);
        share += windows.width;
      }
    });
  }

 private:
  // Zeros in the padding count, so that those beside a line may be packed with it.
  template <class Visit>
  void each_piece(const T *x, int64_t first, int64_t second, Visit visit) {
    const auto &[planes, rows, cols] = pool_.axes;
    const Range plane = planes.positions_of(first);
    const Range row = rows.positions_of(second);
    constexpr int64_t unit = 64 / sizeof(T);  // the lanes of the widest target
    constexpr int64_t most = 4 * unit;
    for (int64_t w = 0; w < cols.windows; w += most) {
      const int64_t count = std::min(most, cols.windows - w);
      const int64_t begin = std::max<int64_t>(0, -cols.start(w + count - 1));
      const int64_t end = std::min(cols.taps, cols.positions - cols.start(w));
      taps_.clear();
      for (int64_t d = plane.begin; d < plane.end; ++d)
        for (int64_t h = row.begin; h < row.end; ++h)
          for (int64_t k = begin; k < end; ++k) taps_.push_back({d, h, k});
      const auto taps = signed_of(taps_.size());
      const int64_t width = round_up(count, unit);
      entries_.resize(static_cast<size_t>(taps * width + unit));
      T *to = entries_.data();
      for (const auto &[d, h, k] : taps_) {
        const int64_t at = cols.start(w) + k;
        const int64_t zeros = at >= 0 ? 0 : (-at + cols.stride - 1) / cols.stride;
        const int64_t inside =
            std::min(count, (cols.positions - at + cols.stride - 1) / cols.stride);
        loops_.pad(x + (d * rows.positions + h) * cols.positions + at + zeros * cols.stride,
                   cols.stride, zeros, inside - zeros, to, width);
        to += width;
      }
      const double padding = pool_.volume - static_cast<double>(taps);
      visit(SmoothWindows<T>{entries_.data(), taps, width, count, static_cast<T>(padding), beta_},
            w);
    }
  }

  const PoolingKernels<T> &kernels_;
  const ConvolutionKernels<T> &loops_;
  const Pool &pool_;
  const T beta_;
  std::vector<std::array<int64_t, 3>> taps_;  // of the kernel
  std::vector<T> entries_;
};

template <class T>
void smooth_maxima(const tl_instance &instance, const Pool &pool, T beta, const T *x, T *y) {
  const auto lines =
      static_cast<uint64_t>(pool.channels * pool.axes[0].windows * pool.axes[1].windows);
  parallel_for(instance, lines, 1, [&](uint64_t begin, uint64_t end) {
    SmoothLines<T> smooth(instance, pool, beta);
    each_line(pool, signed_of(begin), signed_of(end),
              [&](int64_t i, int64_t channel, int64_t first, int64_t second) {
                smooth.values(x + channel * pool.in_size, first, second,
                              y + i * pool.axes[2].windows);
              });
  });
}

template <class T>
void smooth_gradient(const tl_instance &instance, const Pool &pool, T beta, const T *x, const T *g,
                     T *d_x) {
  const int64_t lines = pool.axes[0].windows * pool.axes[1].windows;
  parallel_for(instance, static_cast<uint64_t>(pool.channels), 1,
               [&](uint64_t begin, uint64_t end) {
                 SmoothLines<T> smooth(instance, pool, beta);
                 for (auto c = signed_of(begin); c < signed_of(end); ++c) {
                   GradientSums<T> sums(pool, d_x + c * pool.in_size);
                   each_line(pool, c * lines, (c + 1) * lines,
                             [&](int64_t i, int64_t, int64_t first, int64_t second) {
                               smooth.gradient(x + c * pool.in_size, g + i * pool.axes[2].windows,
                                               first, second, sums);
                             });
                   sums.finish();
                 }
               });
}

// ---- Entries ------------------------------------------------------------------------------------

void forward(tl_instance &instance, tl_pooling_op op, const tl_operand *input,
             const tl_pooling_params *params, tl_flags, tl_storage **out) {
  const PoolingGeometry geometry(op, params);
  expect_given("input", input);
  with_native(input->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("input", input);
    expect_equal("input.count", x.size(), geometry.input_count());
    check_count(geometry.output_count());
    const T beta = checked_beta<T>(op, geometry.params.beta);
    Result<T> y(instance, geometry.output_count());
    const Pool pool(geometry, op);
    if (geometry.output_count() > 0) {
      if (suits_channels<T>(instance, pool))
        pool_channels(instance, pool, beta, x.data(), y.begin());
      else if (op == TL_POOLING_SMOOTH_MAX)
        smooth_maxima(instance, pool, beta, x.data(), y.begin());
      else
        pool_lines(instance, pool, x.data(), y.begin());
    }
    hand_out(out, y);
  });
}

void backward(tl_instance &instance, tl_pooling_op op, const tl_operand *input,
              const tl_operand *gradient, const tl_pooling_params *params, tl_flags,
              tl_storage **out) {
  const PoolingGeometry geometry(op, params);
  expect_given("gradient", gradient);
  with_native(gradient->dtype, [&]<class T>(T) {
    const auto g = values_of<T>("gradient", gradient);
    expect_equal("gradient.count", g.size(), geometry.output_count());
    std::span<const T> x;
    if (op != TL_POOLING_AVERAGE) {
      x = values_of<T>("input", input);
      expect_equal("input.count", x.size(), geometry.input_count());
    }
    check_count(geometry.input_count());
    const T beta = checked_beta<T>(op, geometry.params.beta);
    Result<T> d_x(instance, geometry.input_count());
    const Pool pool(geometry, op);
    if (g.empty()) {
      std::fill(d_x.begin(), d_x.end(), T(0));
    } else if (op == TL_POOLING_AVERAGE && is_filled_by_runs<T>(pool)) {
      fill_average_gradient(instance, pool, g.data(), d_x.begin());
    } else if (suits_channels<T>(instance, pool) && pool.overlap() <= GradientSums<T>::most_plain) {
      pool_channels_gradient(instance, pool, beta, x.data(), g.data(), d_x.begin());
    } else {
      switch (op) {
        case TL_POOLING_MAX:
          maximum_gradient(instance, pool, x.data(), g.data(), d_x.begin());
          break;
        case TL_POOLING_AVERAGE: average_gradient(instance, pool, g.data(), d_x.begin()); break;
        default: smooth_gradient(instance, pool, beta, x.data(), g.data(), d_x.begin());
      }
    }
    hand_out(out, d_x);
  });
}

}  // namespace

const tl_pooling_table pooling_table = {
    .struct_size = sizeof(tl_pooling_table),
    .forward = entry<"pooling forward", forward>,
    .backward = entry<"pooling backward", backward>,
};

}  // namespace torchlean::cpu
