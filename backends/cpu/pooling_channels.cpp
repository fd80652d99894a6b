// Pools with a channel in each lane: an entry's values in as many channels are a vector.
#include "blocks.hpp"
#include "gemm.hpp"
#include "pooling.hpp"
#include "threads.hpp"

#include <numeric>

namespace torchlean::cpu {
namespace {

// As many channels as a vector has lanes, turned so that channels run fastest.
template <class T>
class ChannelBlock {
 public:
  ChannelBlock(tl_instance &instance, const Pool &pool, T beta)
      : matrices_(gemm_kernels<T>(instance.target)),
        kernels_(pooling_kernels<T>(instance.target)),
        pool_(pool),
        beta_(beta),
        lanes_(matrices_.lanes),
        x_(instance, static_cast<uint64_t>(pool.in_size * lanes_)),
        y_(instance, static_cast<uint64_t>(pool.out_size * lanes_)),
        entries_(instance, static_cast<uint64_t>(pool.in_size * lanes_)) {}

  void forward(const T *x, int64_t channels, T *y) {
    matrices_.transpose(x, pool_.in_size, channels, pool_.in_size, x_.begin(), lanes_);
    each_window([&](int64_t w) {
      T *const result = y_.begin() + w * lanes_;
      if (pool_.op == TL_POOLING_SMOOTH_MAX) {
        kernels_.smooth(smooth_windows(), result);
        return;
      }
      (pool_.op == TL_POOLING_MAX ? kernels_.fold_max : kernels_.fold_sum)(
          lines_.data(), line_count(), false, lanes_, result);
      if (pool_.op == TL_POOLING_AVERAGE)
        kernels_.divide(static_cast<T>(pool_.volume), lanes_, result);
    });
    matrices_.transpose(y_.begin(), lanes_, pool_.out_size, channels, y, pool_.out_size);
  }

  void maximum_gradient(const T *x, const T *g, int64_t channels, T *d_x) {
    matrices_.transpose(x, pool_.in_size, channels, pool_.in_size, x_.begin(), lanes_);
    std::vector<GradientSums<T>> sums;
    for (int64_t c = 0; c < channels; ++c) sums.emplace_back(pool_, d_x + c * pool_.in_size);
    if (places_.empty())
      for (int64_t i = 0; i < pool_.in_size; ++i)
        places_.insert(places_.end(), static_cast<size_t>(lanes_), static_cast<PlaceOf<T>>(i));
    std::vector<const PlaceOf<T> *> lines_at;
    std::vector<PlaceOf<T>> at(static_cast<size_t>(lanes_));
    each_window([&](int64_t w) {
      lines_at.clear();
      for (const int64_t i : inside_) lines_at.push_back(places_.data() + i * lanes_);
      kernels_.fold_max_at(lines_.data(), lines_at.data(), line_count(), false, lanes_,
                           entries_.begin(), at.data());
      for (int64_t c = 0; c < channels; ++c)
        sums[static_cast<size_t>(c)].add(signed_of(at[static_cast<size_t>(c)]),
                                         g[c * pool_.out_size + w]);
    });
    for (GradientSums<T> &channel : sums) channel.finish();
  }

  // Of averages and smooth maxima; an average does not look at x.
  void shared_gradient(const T *x, const T *g, int64_t channels, T *d_x) {
    matrices_.transpose(g, pool_.out_size, channels, pool_.out_size, y_.begin(), lanes_);
    if (x != nullptr)
      matrices_.transpose(x, pool_.in_size, channels, pool_.in_size, x_.begin(), lanes_);
    std::vector<T> sums(static_cast<size_t>(pool_.in_size * lanes_));
    each_window([&](int64_t w) {
      T *const gradient = y_.begin() + w * lanes_;
      const bool is_average = pool_.op == TL_POOLING_AVERAGE;
      if (is_average)
        kernels_.divide(static_cast<T>(pool_.volume), lanes_, gradient);
      else
        kernels_.smooth_shares(smooth_windows(), gradient);
      const T *share = is_average ? gradient : entries_.begin();
      for (const int64_t i : inside_) {
        kernels_.fold_sum(&share, 1, true, lanes_, sums.data() + i * lanes_);
        if (!is_average) share += lanes_;
      }
    });
    matrices_.transpose(sums.data(), lanes_, pool_.in_size, channels, d_x, pool_.in_size);
  }

 private:
  int64_t line_count() const { return signed_of(lines_.size()); }

  // Calls visit(window), inside_ and lines_ being its entries.
  template <class Visit>
  void each_window(Visit visit) {
    const auto &[planes, rows, cols] = pool_.axes;
    int64_t w = 0;
    for (int64_t first = 0; first < planes.windows; ++first)
      for (int64_t second = 0; second < rows.windows; ++second)
        for (int64_t third = 0; third < cols.windows; ++third, ++w) {
          const Range plane = planes.positions_of(first);
          const Range row = rows.positions_of(second);
          const Range col = cols.positions_of(third);
          inside_.clear();
          lines_.clear();
          for (int64_t d = plane.begin; d < plane.end; ++d)
            for (int64_t h = row.begin; h < row.end; ++h)
              for (int64_t k = col.begin; k < col.end; ++k) {
                inside_.push_back((d * rows.positions + h) * cols.positions + k);
                lines_.push_back(x_.begin() + inside_.back() * lanes_);
              }
          visit(w);
        }
  }

  // A copy of the window's entries; what is left of its volume is padding.
  SmoothWindows<T> smooth_windows() {
    T *to = entries_.begin();
    for (const T *const line : lines_) to = std::copy_n(line, lanes_, to);
    const double padding = pool_.volume - static_cast<double>(lines_.size());
    return {entries_.begin(), line_count(), lanes_, lanes_, static_cast<T>(padding), beta_};
  }

  const GemmKernels<T> &matrices_;
  const PoolingKernels<T> &kernels_;
  const Pool &pool_;
  const T beta_;
  const int64_t lanes_;
  Result<T> x_;
  Result<T> y_;
  Result<T> entries_;
  std::vector<int64_t> inside_;
  std::vector<const T *> lines_;
  std::vector<PlaceOf<T>> places_;  // of each entry, in every lane
};

// Calls body(block, first channel, channels) for blocks of channels.
template <class T, class Body>
void each_block(tl_instance &instance, const Pool &pool, T beta, const Body &body) {
  const int64_t lanes = gemm_kernels<T>(instance.target).lanes;
  const auto blocks = static_cast<uint64_t>(blocks_in(pool.channels, lanes));
  parallel_for(instance, blocks, pool.grain(blocks, 4), [&](uint64_t begin, uint64_t end) {
    ChannelBlock<T> block(instance, pool, beta);
    for (int64_t c = signed_of(begin) * lanes; c < std::min(pool.channels, signed_of(end) * lanes);
         c += lanes)
      body(block, c, std::min(lanes, pool.channels - c));
  });
}

}  // namespace

template <class T>
bool suits_channels(const tl_instance &instance, const Pool &pool) {
  constexpr int64_t most_entries = 4096;
  const int64_t lanes = gemm_kernels<T>(instance.target).lanes;
  return 2 * pool.axes[2].windows <= lanes && 2 * pool.channels >= lanes &&
         pool.in_size <= most_entries;
}

template <class T>
void pool_channels(tl_instance &instance, const Pool &pool, T beta, const T *x, T *y) {
  each_block(instance, pool, beta, [&](ChannelBlock<T> &block, int64_t c, int64_t channels) {
    block.forward(x + c * pool.in_size, channels, y + c * pool.out_size);
  });
}

template <class T>
void pool_channels_gradient(tl_instance &instance, const Pool &pool, T beta, const T *x, const T *g,
                            T *d_x) {
  each_block(instance, pool, beta, [&](ChannelBlock<T> &block, int64_t c, int64_t channels) {
    const T *const entries = x == nullptr ? nullptr : x + c * pool.in_size;
    const T *const gradient = g + c * pool.out_size;
    T *const to = d_x + c * pool.in_size;
    if (pool.op == TL_POOLING_MAX)
      block.maximum_gradient(entries, gradient, channels, to);
    else
      block.shared_gradient(entries, gradient, channels, to);
  });
}

template bool suits_channels<float>(const tl_instance &, const Pool &);
template bool suits_channels<double>(const tl_instance &, const Pool &);
template void pool_channels(tl_instance &, const Pool &, float, const float *, float *);
template void pool_channels(tl_instance &, const Pool &, double, const double *, double *);
template void pool_channels_gradient(tl_instance &, const Pool &, float, const float *,
                                     const float *, float *);
template void pool_channels_gradient(tl_instance &, const Pool &, double, const double *,
                                     const double *, double *);

}  // namespace torchlean::cpu
