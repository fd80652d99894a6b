// Convolutions of many groups with one or two target channels, a group in each lane: good where
// lines are short, since no lane is lost at their ends.
#include "convolution_correlation.hpp"
#include "convolution_lane_kernels.hpp"

#include <algorithm>

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
        plane_(phase[1]->source_size * row_),
        channel_(phase[0]->source_size * plane_),
        places_(phase[0]->count * phase[1]->count * phase[2]->count),
        blocks_((at.groups + lanes_ - 1) / lanes_),
        weights_(at.instance, 0),
        starts_(at.instance, 0) {}

  // By lines, a line takes as long as two vectors more than it has, and twice that where places lie
  // apart. Here a place takes 1.7 times its share of a vector, what turning costs included, and
  // lanes without a group are lost (3 x 3, 14 to 224 places a line, Zen 4).
  bool is_worth() const {
    constexpr int64_t most_bytes = 4 << 20;
    const int64_t count = phase_[2]->count;
    const int64_t vectors = (count + lanes_ - 1) / lanes_ + 2;
    const auto by_lines = static_cast<double>((phase_[2]->source_step == 1 ? 1 : 2) * vectors);
    const auto by_lanes = 1.7 * static_cast<double>(count * blocks_);
    return lanes_ > 1 && by_lanes <= by_lines * static_cast<double>(at_.groups) &&
           at_.sources.count * channel_ * static_cast<int64_t>(sizeof(T)) <= most_bytes;
  }

  void run() {
    weights_ = zeros(blocks_ * at_.targets.count * weight_rows() * lanes_);
    starts_ = zeros(blocks_ * at_.targets.count * lanes_);
    for (const AxisTap &tap : phase_[2]->taps) cols_.push_back((before_ + tap.offset) * lanes_);
    for (int64_t i = 0; i < phase_[0]->count; ++i)
      for (int64_t j = 0; j < phase_[1]->count; ++j) add_line(i, j);
    const int64_t kernel_size = at_.targets.count * weight_rows();
    each_task(at_.instance, blocks_, lanes_ * kernel_size, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) gather_weights(block);
    });
    each_task(at_.instance, blocks_ * at_.batch, places_ * lanes_ * kernel_size,
              [&](int64_t begin, int64_t end) {
                Work work(*this);
                for (int64_t task = begin; task < end; ++task)
                  convolve(task / blocks_, task % blocks_, work);
              });
  }

 private:
  // What a thread needs.
  struct Work {
    explicit Work(const GroupLanes &of)
        : turned(of.zeros(of.at_.source_size() * of.lanes_)),
          x(of.zeros(of.at_.sources.count * of.channel_)),
          y(of.at_.instance, static_cast<uint64_t>(of.places_ * of.lanes_)),
          dense(of.at_.instance,
                of.in_order() ? 0 : static_cast<uint64_t>(of.places_ * of.lanes_)) {}
    Result<T> turned;
    Result<T> x;  // lines with zeros around them, of each source channel of a group
    Result<T> y;
    Result<T> dense;
  };

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

  int64_t groups_of(int64_t block) const { return std::min(lanes_, at_.groups - block * lanes_); }

  T *start_of(int64_t block, int64_t target) {
    return starts_.begin() + (block * at_.targets.count + target) * lanes_;
  }
  T *weights_of(int64_t block, int64_t target) {
    return weights_.begin() + (block * at_.targets.count + target) * weight_rows() * lanes_;
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

  void convolve(int64_t sample, int64_t block, Work &work) {
    const int64_t first = sample * at_.groups + block * lanes_;
    const int64_t groups = groups_of(block);
    const int64_t size = at_.source_size();
    for (int64_t c = 0; c < at_.sources.count; ++c) {
      kernels_.transpose(at_.source_of(first) + c * size, at_.sources.count * size,
                         work.turned.begin(), lanes_, size, groups);
      const T *from = work.turned.begin();
      T *to = work.x.begin() + c * channel_ + before_ * lanes_;
      const int64_t length = phase_[2]->source_size * lanes_;
      for (int64_t line = 0; line < phase_[0]->source_size * phase_[1]->source_size; ++line) {
        std::copy_n(from, length, to);
        from += length;
        to += row_;
      }
    }
    for (int64_t t = 0; t < at_.targets.count; ++t) {
      weigh(block, t, work);
      put(first * at_.targets.count + t, groups, work);
    }
  }

  // What a line of places is made of: nothing that lies above or below.
  void add_line(int64_t plane_of, int64_t row_of) {
    int64_t weights = 0;
    for (int64_t c = 0; c < at_.sources.count; ++c)
      for (const AxisTap &first : phase_[0]->taps)
        for (const AxisTap &second : phase_[1]->taps) {
          const int64_t plane = plane_of * phase_[0]->source_step + first.offset;
          const int64_t row = row_of * phase_[1]->source_step + second.offset;
          if (plane >= 0 && plane < phase_[0]->source_size && row >= 0 &&
              row < phase_[1]->source_size)
            terms_.push_back({c * channel_ + plane * plane_ + row * row_, weights});
          weights += static_cast<int64_t>(cols_.size()) * lanes_;
        }
    ends_.push_back(terms_.size());
  }

  void weigh(int64_t block, int64_t target, Work &work) {
    const int64_t count = phase_[2]->count;
    WeighedLanes<T> line{.x = work.x.begin(),
                         .x_step = phase_[2]->source_step * lanes_,
                         .weights = weights_of(block, target),
                         .terms = terms_.data(),
                         .term_count = 0,
                         .taps = cols_.data(),
                         .tap_count = static_cast<int64_t>(cols_.size()),
                         .start = start_of(block, target),
                         .y = work.y.begin(),
                         .count = count};
    for (const size_t end : ends_) {
      line.term_count = terms_.data() + end - line.terms;
      kernels_.weigh(line);
      line.terms += line.term_count;
      line.y += count * lanes_;
    }
  }

  void put(int64_t channel, int64_t groups, Work &work) const {
    const int64_t apart = at_.targets.count * at_.target_size();
    if (in_order()) {
      kernels_.transpose(work.y.begin(), lanes_, at_.target_of(phase_, channel, 0, 0, 0), apart,
                         groups, places_);
      return;
    }
    kernels_.transpose(work.y.begin(), lanes_, work.dense.begin(), places_, groups, places_);
    const T *from = work.dense.begin();
    for (int64_t lane = 0; lane < groups; ++lane)
      for (int64_t i = 0; i < phase_[0]->count; ++i)
        for (int64_t j = 0; j < phase_[1]->count; ++j) {
          T *const to = at_.target_of(phase_, channel + lane * at_.targets.count, i, j, 0);
          for (int64_t k = 0; k < phase_[2]->count; ++k) to[k * phase_[2]->step] = *from++;
        }
  }

  const Correlation<T> &at_;
  const Phases &phase_;
  const LaneKernels<T> &kernels_;
  const int64_t lanes_;
  const int64_t before_;  // zeros in front of a line
  const int64_t row_;     // elements of a line, of a plane and of a channel
  const int64_t plane_;
  const int64_t channel_;
  const int64_t places_;
  const int64_t blocks_;  // of groups
  Result<T> weights_;
  Result<T> starts_;
  std::vector<int64_t> cols_;
  std::vector<typename WeighedLanes<T>::Term> terms_;
  std::vector<size_t> ends_;  // of each line's terms
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
