// Convolutions with a target channel in each lane: good where much of the windows is padding, since
// what lies in it is left out.
#include "blocks.hpp"
#include "convolution/correlation.hpp"
#include "convolution/lane_kernels.hpp"

#include <algorithm>

namespace torchlean::cpu {
namespace {

template <class T>
class ChannelLanes {
 public:
  ChannelLanes(const Correlation<T> &at, const AxisPhases &axes)
      : at_(at),
        axes_(axes),
        kernels_(lane_kernels<T>(at.instance.target)),
        lanes_(kernels_.lanes),
        taps_(static_cast<int64_t>(at.windows.count(Side::tap))),
        block_(block_of(at.sources.count, taps_)),
        panels_(at.targets.count, lanes_),
        most_places_(axes[2].front().count),
        turned_(at.instance, 0) {}

  // By the other ways a product with padding takes as long as any, and some two places are lost at
  // the end of each line. Here a product takes 5 % longer, and lanes behind the last channel are
  // lost: those of a whole cache line on every target, since bits follow from the way. Few source
  // channels do not repay what each sum costs (1 to 5 taps a side, 4 to 56 places a line, 3 to 256
  // channels, Zen 4).
  bool is_worth() const {
    constexpr int64_t least_channels = 8;
    constexpr int64_t most_size = 1 << 14;  // larger images have little padding
    constexpr int64_t line = 64 / sizeof(T);
    if (at_.sources.count < least_channels || at_.target_size() > most_size) return false;
    double all = 1;
    double inside = 1;
    for (const std::vector<Phase> &axis : axes_) {
      int64_t all_of = 0;
      int64_t inside_of = 0;
      for (const Phase &phase : axis)
        for (const AxisTap &tap : phase.taps) {
          all_of += phase.count;
          inside_of += phase.end_inside(tap) - phase.first_inside(tap);
        }
      all *= static_cast<double>(all_of);
      inside *= static_cast<double>(inside_of);
    }
    const int64_t channels = round_up(at_.targets.count, line);
    const double ends = 1 + 2 / static_cast<double>(most_places_);
    // Where the copy leaves the caches, an element of it takes as long as some products.
    constexpr int64_t most_cached = (16 << 20) / sizeof(T);
    const int64_t copied = at_.source_size();
    const bool is_cached = at_.batch * at_.groups * at_.sources.count * copied <= most_cached;
    const auto copying = static_cast<double>(is_cached ? 0 : 3 * line / 2 * copied);
    return 1.05 * inside * static_cast<double>(channels) + copying <=
           ends * all * static_cast<double>(at_.targets.count);
  }

  void run() {
    for (const Phase &a : axes_[0])
      for (const Phase &b : axes_[1])
        for (const Phase &c : axes_[2])
          for (int64_t plane = 0; plane < a.count; ++plane)
            for (int64_t row = 0; row < b.count; ++row)
              sample_.push_back({{&a, &b, &c}, plane, row});
    turn();
    const int64_t lines = at_.batch * lines_of_sample();
    const int64_t chunks = chunks_of(lines);
    const int64_t most_lines = blocks_in(lines, chunks);
    const int64_t products =
        most_lines * most_places_ * most_vectors * lanes_ * at_.sources.count * taps_;
    each_task(at_.instance, at_.groups * chunks * panels_.count(), products,
              [&](int64_t begin, int64_t end) {
                Work work(*this, most_lines * most_places_);
                for (int64_t task = begin; task < end; ++task) {
                  const int64_t chunk = task / panels_.count() % chunks;
                  multiply({.group = task / panels_.count() / chunks,
                            .panel = task % panels_.count(),
                            .line = chunk * lines / chunks,
                            .end = (chunk + 1) * lines / chunks},
                           work);
                }
              });
  }

 private:
  static constexpr int64_t most_vectors = LaneKernels<T>::most_vectors;

  // Neighbouring places of a phase.
  struct Line {
    Phases phase;
    int64_t plane;
    int64_t row;
    int64_t count() const { return phase[2]->count; }
  };

  // Some target channels of a group, in lines numbered through all samples.
  struct Piece {
    int64_t group;
    int64_t panel;
    int64_t line;
    int64_t end;
  };

  // What a thread needs.
  struct Work {
    Work(const ChannelLanes &of, int64_t places)
        : weights(of.at_.instance,
                  static_cast<uint64_t>(of.block_ * of.taps_ * most_vectors * of.lanes_)),
          y(of.at_.instance, static_cast<uint64_t>(places * most_vectors * of.lanes_)),
          dense(of.at_.instance,
                of.in_order() ? 0 : static_cast<uint64_t>(places * most_vectors * of.lanes_)) {
      // Lanes behind the last channel are multiplied, too.
      if (of.at_.targets.count % of.lanes_ != 0) std::fill(weights.begin(), weights.end(), T(0));
    }
    Result<T> weights;
    Result<T> y;
    Result<T> dense;
    std::vector<LaneTerm> terms;
  };

  // Source channels of a block, whose weights for a panel stay in a second-level cache.
  static int64_t block_of(int64_t channels, int64_t taps) {
    constexpr int64_t most_depth = 1152;
    const int64_t blocks = std::max<int64_t>(1, blocks_in(channels * taps, most_depth));
    return std::max<int64_t>(1, blocks_in(channels, blocks));
  }

  int64_t lines_of_sample() const { return static_cast<int64_t>(sample_.size()); }
  const Line &line_of(int64_t number) const {
    return sample_[static_cast<size_t>(number % lines_of_sample())];
  }

  // How many parts lines are shared out in: few, since each packs weights, which takes as long as
  // the products of some ten places; but enough for the threads.
  int64_t chunks_of(int64_t lines) const {
    constexpr int64_t most_places = 3200;
    constexpr int64_t least_places = 100;
    const int64_t places = at_.batch * at_.target_size();
    const int64_t threads = at_.instance.threads.load(std::memory_order_relaxed);
    const int64_t others = at_.groups * panels_.count();
    const int64_t wanted = threads == 1 ? 1 : blocks_in(4 * threads, others);
    const int64_t least = blocks_in(places, most_places);
    const int64_t most = std::max<int64_t>(1, places / least_places);
    return std::min(lines, std::max(least, std::min(wanted, most)));
  }

  bool in_order() const {
    return std::all_of(axes_.begin(), axes_.end(),
                       [](const auto &axis) { return axis.front().step == 1; });
  }

  int64_t block_size(int64_t channel) const {
    return std::min(block_, at_.sources.count - channel);
  }

  // Channels [channel, ...) of a group in a sample.
  T *turned_of(int64_t sample_and_group, int64_t channel) {
    const int64_t size = at_.source_size();
    return turned_.begin() + at_.batch * at_.groups * channel * size +
           sample_and_group * size * block_size(channel);
  }

  // Copies the source so that the channels of a block lie together.
  void turn() {
    const int64_t size = at_.source_size();
    const int64_t blocks = blocks_in(at_.sources.count, block_);
    turned_ = Result<T>(at_.instance,
                        static_cast<uint64_t>(at_.batch * at_.groups * at_.sources.count * size));
    each_task(at_.instance, at_.batch * at_.groups * blocks, 2 * block_ * size,
              [&](int64_t begin, int64_t end) {
                for (int64_t task = begin; task < end; ++task) {
                  const int64_t channel = task % blocks * block_;
                  const int64_t i = task / blocks;
                  const int64_t here = block_size(channel);
                  kernels_.transpose(at_.source_of(i) + channel * size, size, turned_of(i, channel),
                                     here, size, here);
                }
              });
  }

  void multiply(const Piece &piece, Work &work) {
    start(piece, work);
    for (int64_t channel = 0; channel < at_.sources.count; channel += block_) {
      pack(piece, channel, work);
      T *y = work.y.begin();
      for (int64_t line = piece.line; line < piece.end; ++line) {
        multiply_line(piece, channel, line, y, work);
        y += line_of(line).count() * panels_.width(piece.panel);
      }
    }
    put(piece, work);
  }

  void start(const Piece &piece, Work &work) const {
    const int64_t width = panels_.width(piece.panel);
    std::vector<T> starts(static_cast<size_t>(width));
    for (int64_t j = 0; j < panels_.used(piece.panel); ++j)
      starts[static_cast<size_t>(j)] =
          at_.start_of(piece.group * at_.targets.count + panels_.first(piece.panel) + j);
    T *y = work.y.begin();
    for (int64_t line = piece.line; line < piece.end; ++line)
      for (int64_t i = 0; i < line_of(line).count(); ++i, y += width)
        std::copy_n(starts.data(), width, y);
  }

  // Weights of a block: rows are pairs of channel and tap, columns target channels.
  void pack(const Piece &piece, int64_t channel, Work &work) const {
    const T *const kernel =
        at_.kernel_of(piece.group * at_.targets.count + panels_.first(piece.panel)) +
        channel * at_.sources.kernel_stride;
    const int64_t width = panels_.width(piece.panel);
    const int64_t here = block_size(channel);
    if (at_.targets.kernel_stride == 1) {
      for (int64_t c = 0; c < here; ++c)
        std::copy_n(kernel + c * at_.sources.kernel_stride, panels_.used(piece.panel),
                    work.weights.begin() + c * width);
      return;
    }
    // Neighbouring source channels may lie together.
    const bool are_rows = at_.sources.kernel_stride == taps_;
    const int64_t together = are_rows ? here : 1;
    for (int64_t c = 0; c < here; c += together)
      kernels_.transpose(kernel + c * at_.sources.kernel_stride, at_.targets.kernel_stride,
                         work.weights.begin() + c * taps_ * width, width, together * taps_,
                         panels_.used(piece.panel));
  }

  void multiply_line(const Piece &piece, int64_t channel, int64_t line, T *y, Work &work) {
    const auto &[phase, plane_of, row_of] = line_of(line);
    const Phase &planes = *phase[0], &rows = *phase[1], &cols = *phase[2];
    const int64_t width = panels_.width(piece.panel);
    const int64_t here = block_size(channel);
    // Of each column of taps those that lie inside.
    work.terms.clear();
    for (const AxisTap &third : cols.taps)
      for (const AxisTap &first : planes.taps)
        for (const AxisTap &second : rows.taps) {
          const int64_t read = line_read(phase, plane_of, first, row_of, second);
          if (read >= 0)
            work.terms.push_back({(read * cols.source_size + third.offset) * here,
                                  at_.tap_of(first, second, third) * width});
        }
    if (work.terms.empty()) return;
    const auto count = static_cast<int64_t>(cols.taps.size());
    const int64_t term_count = static_cast<int64_t>(work.terms.size()) / count;
    const T *const x = turned_of(line / lines_of_sample() * at_.groups + piece.group, channel);
    const int64_t tiles = blocks_in(cols.count, kernels_.places);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t begin = tile * cols.count / tiles;
      const int64_t end = (tile + 1) * cols.count / tiles;
      const auto range = [&](int64_t tap) {
        const AxisTap &at = cols.taps[static_cast<size_t>(tap)];
        return std::pair{std::max(begin, cols.first_inside(at)),
                         std::min(end, cols.end_inside(at))};
      };
      for (int64_t tap = 0; tap < count;) {
        const auto [from, to] = range(tap);
        int64_t alike = 1;
        while (tap + alike < count && range(tap + alike) == std::pair{from, to}) ++alike;
        if (from < to)
          kernels_.multiply[0][to - from - 1][width / lanes_ - 1](
              {.x = x + from * cols.source_step * here,
               .x_step = cols.source_step * here,
               .depth_step = 1,
               .weights = work.weights.begin(),
               .weights_step = taps_ * width,
               .terms = work.terms.data() + tap * term_count,
               .term_count = alike * term_count,
               .depth = here,
               .y = y + from * width,
               .y_step = width});
        tap += alike;
      }
    }
  }

  // Lines of one phase and sample go together.
  void put(const Piece &piece, Work &work) const {
    const int64_t width = panels_.width(piece.panel);
    const T *y = work.y.begin();
    for (int64_t line = piece.line; line < piece.end;) {
      const Line &first = line_of(line);
      const int64_t plane_lines = first.phase[1]->count;
      const int64_t left = (first.phase[0]->count - first.plane) * plane_lines - first.row;
      const int64_t lines = std::min(piece.end - line, left);
      const int64_t places = lines * first.count();
      const int64_t channel =
          (line / lines_of_sample() * at_.groups + piece.group) * at_.targets.count +
          panels_.first(piece.panel);
      if (in_order()) {
        kernels_.transpose(y, width, at_.target_of(first.phase, channel, first.plane, first.row, 0),
                           at_.target_size(), panels_.used(piece.panel), places);
      } else {
        kernels_.transpose(y, width, work.dense.begin(), places, panels_.used(piece.panel), places);
        scatter(work.dense.begin(), channel, panels_.used(piece.panel), line, lines);
      }
      y += places * width;
      line += lines;
    }
  }

  void scatter(const T *from, int64_t channel, int64_t channels, int64_t line,
               int64_t lines) const {
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t j = 0; j < lines; ++j) {
        const auto &[phase, plane, row] = line_of(line + j);
        at_.put(phase, channel + c, plane, row, 0, from, phase[2]->count);
        from += phase[2]->count;
      }
  }

  const Correlation<T> &at_;
  const AxisPhases &axes_;
  const LaneKernels<T> &kernels_;
  const int64_t lanes_;
  const int64_t taps_;
  const int64_t block_;        // source channels
  const Panels<T> panels_;     // of target channels
  const int64_t most_places_;  // of a line
  std::vector<Line> sample_;   // its lines, phase after phase
  Result<T> turned_;
};

}  // namespace

template <class T>
bool correlate_by_channel_lanes(const Correlation<T> &at, const AxisPhases &axes) {
  ChannelLanes<T> channels(at, axes);
  if (!channels.is_worth()) return false;
  channels.run();
  return true;
}

template bool correlate_by_channel_lanes(const Correlation<float> &, const AxisPhases &);
template bool correlate_by_channel_lanes(const Correlation<double> &, const AxisPhases &);

}  // namespace torchlean::cpu
