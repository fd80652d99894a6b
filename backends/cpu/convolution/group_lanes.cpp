// Convolutions of groups with few target channels, a group of a sample in each lane: good where
// lines are short, since no lane is lost at their ends.
#include "blocks.hpp"
#include "convolution/correlation.hpp"
#include "convolution/lane_kernels.hpp"

#include <algorithm>
#include <numeric>

namespace torchlean::cpu {
namespace {

template <class T>
class GroupLanes {
 public:
  GroupLanes(const Correlation<T> &at, const Phases &phase)
      : at_(at),
        phase_(phase),
        kernels_(lane_kernels<T>(at.instance.target)),
        lanes_(kernels_.lanes),
        before_(-std::min<int64_t>(0, by_offset(phase[2]->taps).first->offset)),
        row_((before_ + std::max(phase[2]->source_size, end_of_reading())) * lanes_),
        channel_(phase[0]->source_size * phase[1]->source_size * row_),
        places_(phase[0]->count * phase[1]->count * phase[2]->count),
        blocks_(blocks_in(at.batch * at.groups, lanes_)),
        period_(std::min(blocks_, at.groups / std::gcd(at.groups, lanes_))),
        weights_(at.instance, 0),
        starts_(at.instance, 0) {}

  // Baseline code has one lane.
  bool is_worth() const {
    return lanes_ > 1 && (at_.targets.count <= 2 ? beats_lines() : beats_products());
  }

  void run() {
    weights_ = zeros(period_ * at_.targets.count * weight_rows() * lanes_);
    starts_ = zeros(period_ * at_.targets.count * lanes_);
    for (const AxisTap &tap : phase_[2]->taps) cols_.push_back((before_ + tap.offset) * lanes_);
    begins_.push_back(0);
    for (int64_t i = 0; i < phase_[0]->count; ++i)
      for (int64_t j = 0; j < phase_[1]->count; ++j) add_line(i, j);
    const int64_t kernel_size = at_.targets.count * weight_rows();
    each_task(at_.instance, period_, lanes_ * kernel_size, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) gather_weights(block);
    });
    const int64_t lines = phase_[0]->count * phase_[1]->count;
    const int64_t threads = at_.instance.threads.load(std::memory_order_relaxed);
    if (threads == 1 || blocks_ >= 2 * threads) {
      each_task(at_.instance, blocks_, places_ * lanes_ * kernel_size,
                [&](int64_t begin, int64_t end) {
                  Result<T> turned = turned_channel();
                  Result<T> x = zeros(at_.sources.count * channel_);
                  Sums sums(*this, lines);
                  for (int64_t block = begin; block < end; ++block) {
                    for (int64_t c = 0; c < at_.sources.count; ++c)
                      turn(block, c, turned.begin(), x.begin());
                    sum(block, 0, lines, x.begin(), sums);
                  }
                });
      return;
    }
    // All threads share a block.
    const int64_t strips = std::min(lines, 4 * threads);
    Result<T> x = zeros(at_.sources.count * channel_);
    for (int64_t block = 0; block < blocks_; ++block) {
      each_task(at_.instance, at_.sources.count, at_.source_size() * lanes_,
                [&](int64_t begin, int64_t end) {
                  Result<T> turned = turned_channel();
                  for (int64_t c = begin; c < end; ++c) turn(block, c, turned.begin(), x.begin());
                });
      each_task(at_.instance, strips, places_ * lanes_ * kernel_size / strips,
                [&](int64_t begin, int64_t end) {
                  Sums sums(*this, blocks_in(lines, strips));
                  for (int64_t i = begin; i < end; ++i)
                    sum(block, i * lines / strips, (i + 1) * lines / strips, x.begin(), sums);
                });
    }
  }

 private:
  // What a block reads, in cache lines where those are its vectors.
  int64_t read_places() const { return at_.sources.count * channel_ / lanes_; }

  // By lines, a line takes as long as two vectors more than it has, and twice that where places lie
  // apart. Here a place takes 1.7 times its share of a vector, what turning costs included, and
  // lanes without a group are lost (3 x 3, 14 to 224 places a line, Zen 4).
  bool beats_lines() const {
    constexpr int64_t most_places = 1 << 16;
    const int64_t count = phase_[2]->count;
    const int64_t vectors = blocks_in(count, lanes_) + 2;
    const auto by_lines = static_cast<double>((phase_[2]->source_step == 1 ? 1 : 2) * vectors);
    const auto by_lanes = 1.7 * static_cast<double>(count * blocks_);
    return read_places() <= most_places &&
           by_lanes <= by_lines * static_cast<double>(at_.batch * at_.groups);
  }

  // By bands or packed products, some six places are lost at the end of a line; here a product
  // takes 15 % longer, if what is read stays in a second-level cache. The sums have another order
  // there, so that lanes are counted in cache lines: bits must not hang on the target (3 x 3 and 5
  // x 5, 3 to 8 channels, 7 to 56 places a line, Zen 4).
  bool beats_products() const {
    constexpr int64_t most_targets = 8;
    constexpr int64_t most_places = 1 << 14;
    constexpr int64_t line = 64 / sizeof(T);
    const int64_t groups = at_.batch * at_.groups;
    const int64_t lanes = round_up(groups, line);
    return at_.targets.count <= most_targets && read_places() <= most_places &&
           1.15 * static_cast<double>(lanes) <=
               (1 + 6 / static_cast<double>(phase_[2]->count)) * static_cast<double>(groups);
  }

  // Where a thread puts the results of some lines.
  struct Sums {
    Sums(const GroupLanes &of, int64_t lines)
        : y(of.at_.instance, static_cast<uint64_t>(of.kernels_.targets * of.elements(lines))),
          dense(of.at_.instance, of.in_order() ? 0 : static_cast<uint64_t>(of.elements(lines))) {}
    Result<T> y;
    Result<T> dense;
  };

  // Of so many lines of results.
  int64_t elements(int64_t lines) const { return lines * phase_[2]->count * lanes_; }

  Result<T> turned_channel() const {
    return Result<T>(at_.instance, static_cast<uint64_t>(at_.source_size() * lanes_));
  }

  Result<T> zeros(int64_t count) const {
    Result<T> memory(at_.instance, static_cast<uint64_t>(count));
    std::fill_n(memory.begin(), count, T(0));
    return memory;
  }

  static auto by_offset(const std::vector<AxisTap> &taps) {
    const auto below = [](const AxisTap &a, const AxisTap &b) { return a.offset < b.offset; };
    const auto [first, last] = std::minmax_element(taps.begin(), taps.end(), below);
    return std::pair{first, last};
  }

  int64_t end_of_reading() const {
    return by_offset(phase_[2]->taps).second->offset +
           (phase_[2]->count - 1) * phase_[2]->source_step + 1;
  }

  bool in_order() const {
    return std::all_of(phase_.begin(), phase_.end(),
                       [](const Phase *axis) { return axis->step == 1; });
  }

  // Vectors of weights that a result is made of.
  int64_t weight_rows() const {
    return at_.sources.count *
           static_cast<int64_t>(phase_[0]->taps.size() * phase_[1]->taps.size() *
                                phase_[2]->taps.size());
  }

  int64_t groups_of(int64_t block) const {
    return std::min(lanes_, at_.batch * at_.groups - block * lanes_);
  }

  T *start_of(int64_t block, int64_t target) {
    return starts_.begin() + (block % period_ * at_.targets.count + target) * lanes_;
  }
  T *weights_of(int64_t block, int64_t target) {
    return weights_.begin() +
           (block % period_ * at_.targets.count + target) * weight_rows() * lanes_;
  }

  void gather_weights(int64_t block) {
    for (int64_t lane = 0; lane < groups_of(block); ++lane)
      for (int64_t t = 0; t < at_.targets.count; ++t) {
        const int64_t channel = (block * lanes_ + lane) * at_.targets.count + t;
        const T *const kernel = at_.kernel_of(channel);
        T *to = weights_of(block, t) + lane;
        for (int64_t c = 0; c < at_.sources.count; ++c)
          for (const AxisTap &first : phase_[0]->taps)
            for (const AxisTap &second : phase_[1]->taps)
              for (const AxisTap &third : phase_[2]->taps) {
                *to = kernel[c * at_.sources.kernel_stride + at_.tap_of(first, second, third)];
                to += lanes_;
              }
        start_of(block, t)[lane] = at_.start_of(channel);
      }
  }

  // A source channel of a block's groups, with zeros around each line.
  void turn(int64_t block, int64_t channel, T *turned, T *x) const {
    const int64_t size = at_.source_size();
    kernels_.transpose(at_.source_of(block * lanes_) + channel * size, at_.sources.count * size,
                       turned, lanes_, size, groups_of(block));
    const int64_t length = phase_[2]->source_size * lanes_;
    T *to = x + channel * channel_ + before_ * lanes_;
    for (int64_t line = 0; line < phase_[0]->source_size * phase_[1]->source_size; ++line) {
      std::copy_n(turned, length, to);
      turned += length;
      to += row_;
    }
  }

  // Lines [begin, end) of a block's results.
  void sum(int64_t block, int64_t begin, int64_t end, const T *x, Sums &sums) {
    const int64_t size = elements(end - begin);
    for (int64_t t = 0; t < at_.targets.count; t += kernels_.targets) {
      const int64_t targets = std::min(kernels_.targets, at_.targets.count - t);
      WeighedLanes<T> line{.x = x,
                           .x_step = phase_[2]->source_step * lanes_,
                           .weights = weights_of(block, t),
                           .weights_step = weight_rows() * lanes_,
                           .terms = nullptr,
                           .term_count = 0,
                           .taps = cols_.data(),
                           .tap_count = static_cast<int64_t>(cols_.size()),
                           .start = start_of(block, t),
                           .targets = targets,
                           .y = sums.y.begin(),
                           .y_step = size,
                           .count = phase_[2]->count};
      for (int64_t i = begin; i < end; ++i) {
        line.terms = terms_.data() + begins_[static_cast<size_t>(i)];
        line.term_count = begins_[static_cast<size_t>(i + 1)] - begins_[static_cast<size_t>(i)];
        kernels_.weigh(line);
        line.y += elements(1);
      }
      for (int64_t i = 0; i < targets; ++i)
        put(sums.y.begin() + i * size, block, t + i, begin, end, sums.dense.begin());
    }
  }

  // What a line of places is made of: nothing that lies above or below.
  void add_line(int64_t plane_of, int64_t row_of) {
    int64_t weights = 0;
    for (int64_t c = 0; c < at_.sources.count; ++c)
      for (const AxisTap &first : phase_[0]->taps)
        for (const AxisTap &second : phase_[1]->taps) {
          const int64_t line = line_read(phase_, plane_of, first, row_of, second);
          if (line >= 0) terms_.push_back({c * channel_ + line * row_, weights});
          weights += static_cast<int64_t>(cols_.size()) * lanes_;
        }
    begins_.push_back(static_cast<int64_t>(terms_.size()));
  }

  void put(const T *y, int64_t block, int64_t target, int64_t begin, int64_t end, T *dense) const {
    const int64_t count = phase_[2]->count;
    const int64_t rows = phase_[1]->count;
    const int64_t groups = groups_of(block);
    const int64_t places = (end - begin) * count;
    const int64_t first = block * lanes_ * at_.targets.count + target;
    if (in_order()) {
      kernels_.transpose(y, lanes_, at_.target_of(phase_, first, begin / rows, begin % rows, 0),
                         at_.targets.count * at_.target_size(), groups, places);
      return;
    }
    kernels_.transpose(y, lanes_, dense, places, groups, places);
    for (int64_t lane = 0; lane < groups; ++lane)
      for (int64_t line = begin; line < end; ++line, dense += count)
        at_.put(phase_, first + lane * at_.targets.count, line / rows, line % rows, 0, dense,
                count);
  }

  const Correlation<T> &at_;
  const Phases &phase_;
  const LaneKernels<T> &kernels_;
  const int64_t lanes_;
  const int64_t before_;  // zeros in front of a line
  const int64_t row_;     // elements of a line, and of a channel
  const int64_t channel_;
  const int64_t places_;
  const int64_t blocks_;  // of groups, numbered through all samples
  const int64_t period_;  // blocks after which weights repeat
  Result<T> weights_;
  Result<T> starts_;
  std::vector<int64_t> cols_;
  std::vector<LaneTerm> terms_;
  std::vector<int64_t> begins_;  // of each line's terms, and the end
};

}  // namespace

template <class T>
bool correlate_by_group_lanes(const Correlation<T> &at, const Phases &phase) {
  GroupLanes<T> groups(at, phase);
  if (!groups.is_worth()) return false;
  groups.run();
  return true;
}

template bool correlate_by_group_lanes(const Correlation<float> &, const Phases &);
template bool correlate_by_group_lanes(const Correlation<double> &, const Phases &);

}  // namespace torchlean::cpu
