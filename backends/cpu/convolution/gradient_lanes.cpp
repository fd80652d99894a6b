// The gradient of a convolution's kernel with a window channel in each lane: nothing is packed but
// what lies on the windows, and what meets the padding is left out.
#include "blocks.hpp"
#include "convolution/correlation.hpp"
#include "convolution/lane_kernels.hpp"

#include <algorithm>

namespace torchlean::cpu {
namespace {

template <class T>
class GradientLanes {
 public:
  explicit GradientLanes(const KernelGradient<T> &at)
      : at_(at),
        kernels_(lane_kernels<T>(at.instance.target)),
        lanes_(kernels_.lanes),
        axes_{all_taps_of_windows(at.windows[0]), all_taps_of_windows(at.windows[1]),
              all_taps_of_windows(at.windows[2])},
        places_(static_cast<int64_t>(at.windows.count(Side::window))),
        positions_(static_cast<int64_t>(at.windows.count(Side::position))),
        taps_(static_cast<int64_t>(at.windows.count(Side::tap))),
        row_(at.groups * at.position_channels * taps_),
        panels_(at.window_channels, lanes_),
        turned_(at.instance, 0) {}

  // The other way packs the image for some 10 window channels' worth of time, and multiplies with
  // the padding; it does as well where a tile would be low, and where the products of a single tap
  // are few (1 to 512 channels, 1 to 7 taps a side, Zen 4). Every tap has a list of lines.
  bool is_worth() const {
    constexpr int64_t least_channels = 4;
    constexpr int64_t least_places = 400;
    constexpr int64_t most_terms = 1 << 20;
    const int64_t lines = axes_[0].count * axes_[1].count;
    return at_.position_channels >= least_channels && places_ >= (taps_ == 1 ? least_places : 1) &&
           lines * taps_ <= most_terms;
  }

  void run() {
    turn();
    if (at_.groups > 1) std::fill_n(at_.d_kernel, at_.groups * at_.window_channels * row_, T(0));
    const int64_t high = kernels_.places;
    const int64_t tiles = blocks_in(at_.position_channels, high);
    each_task(at_.instance, at_.groups * panels_.count() * tiles,
              at_.batch * places_ * high * taps_ * most_vectors * lanes_,
              [&](int64_t begin, int64_t end) {
                Result<T> y(at_.instance,
                            static_cast<uint64_t>(high * taps_ * most_vectors * lanes_));
                std::vector<Tap> taps;
                std::vector<LaneTerm> terms;
                for (int64_t task = begin; task < end; ++task) {
                  const int64_t channel = task % tiles * high;
                  const int64_t channels = std::min(high, at_.position_channels - channel);
                  const int64_t panel = task / tiles % panels_.count();
                  if (task == begin || task % tiles == 0)
                    list_terms(panels_.width(panel), taps, terms);
                  multiply(task / tiles / panels_.count(), panel, channel, channels, taps, terms,
                           y.begin());
                }
              });
  }

 private:
  static constexpr int64_t most_vectors = LaneKernels<T>::most_vectors;

  // Lines that a tap meets, so many places of each.
  struct Tap {
    int64_t first_term;
    int64_t term_count;
    int64_t depth;
  };

  // Of a panel of a group in a sample.
  T *turned_of(int64_t sample_and_group, int64_t panel) {
    return turned_.begin() + (sample_and_group * panels_.width() + panels_.first(panel)) * places_;
  }

  // Copies what lies on the windows so that the channels of a panel lie together.
  void turn() {
    const int64_t count = at_.batch * at_.groups;
    const int64_t size = panels_.width() * places_;
    turned_ = Result<T>(at_.instance, static_cast<uint64_t>(count * size));
    // Lanes behind the last channel are multiplied, too.
    if (at_.window_channels % lanes_ != 0) std::fill_n(turned_.begin(), count * size, T(0));
    each_task(at_.instance, count * panels_.count(), 2 * most_vectors * lanes_ * places_,
              [&](int64_t begin, int64_t end) {
                for (int64_t task = begin; task < end; ++task) {
                  const int64_t panel = task % panels_.count();
                  const int64_t i = task / panels_.count();
                  const int64_t channel = i * at_.window_channels + panels_.first(panel);
                  kernels_.transpose(at_.on_windows + channel * places_, places_,
                                     turned_of(i, panel), panels_.width(panel), places_,
                                     panels_.used(panel));
                }
              });
  }

  void list_terms(int64_t width, std::vector<Tap> &taps, std::vector<LaneTerm> &terms) const {
    const auto &[planes, rows, cols] = axes_;
    const Phases phase = {&planes, &rows, &cols};
    taps.clear();
    terms.clear();
    for (const AxisTap &first : planes.taps)
      for (const AxisTap &second : rows.taps)
        for (const AxisTap &third : cols.taps) {
          const int64_t begin = cols.first_inside(third);
          const auto before = static_cast<int64_t>(terms.size());
          const int64_t depth = std::max<int64_t>(0, cols.end_inside(third) - begin);
          for (int64_t i = planes.first_inside(first); i < planes.end_inside(first); ++i)
            for (int64_t j = rows.first_inside(second); j < rows.end_inside(second); ++j) {
              const int64_t line = line_read(phase, i, first, j, second);
              terms.push_back({line * cols.source_size + cols.read_by(begin, third),
                               ((i * rows.count + j) * cols.count + begin) * width});
            }
          taps.push_back({before, static_cast<int64_t>(terms.size()) - before, depth});
        }
  }

  void multiply(int64_t group, int64_t panel, int64_t channel, int64_t channels,
                const std::vector<Tap> &taps, const std::vector<LaneTerm> &terms, T *y) {
    const int64_t wide = panels_.width(panel);
    std::fill_n(y, channels * taps_ * wide, T(0));
    for (int64_t n = 0; n < at_.batch; ++n) {
      const int64_t i = n * at_.groups + group;
      LaneProducts<T> product{
          .x = at_.on_positions + (i * at_.position_channels + channel) * positions_,
          .x_step = positions_,
          .depth_step = axes_[2].source_step,
          .weights = turned_of(i, panel),
          .weights_step = wide,
          .terms = nullptr,
          .term_count = 0,
          .depth = 0,
          .y = y,
          .y_step = taps_ * wide};
      const auto add_product =
          kernels_.multiply[product.depth_step == 1 ? 0 : 1][channels - 1][wide / lanes_ - 1];
      for (const Tap &tap : taps) {
        product.terms = terms.data() + tap.first_term;
        product.term_count = tap.term_count;
        product.depth = tap.depth;
        add_product(product);
        product.y += wide;
      }
    }
    kernels_.transpose(y, wide,
                       at_.d_kernel + (group * at_.window_channels + panels_.first(panel)) * row_ +
                           (group * at_.position_channels + channel) * taps_,
                       row_, panels_.used(panel), channels * taps_);
  }

  const KernelGradient<T> &at_;
  const LaneKernels<T> &kernels_;
  const int64_t lanes_;
  const std::array<Phase, 3> axes_;
  const int64_t places_;
  const int64_t positions_;
  const int64_t taps_;
  const int64_t row_;       // of d_kernel
  const Panels<T> panels_;  // of window channels
  Result<T> turned_;
};

}  // namespace

template <class T>
bool KernelGradient<T>::run_in_lanes() const {
  GradientLanes<T> lanes(*this);
  if (!lanes.is_worth()) return false;
  lanes.run();
  return true;
}

template bool KernelGradient<float>::run_in_lanes() const;
template bool KernelGradient<double>::run_in_lanes() const;

}  // namespace torchlean::cpu
