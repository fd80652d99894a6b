// Convolutions of groups with one or two target channels: lines of the result are sums of weighted
// lines of the source.
#include "blocks.hpp"
#include "convolution/correlation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace torchlean::cpu {
namespace {

// Bytes of a band that leave room for more in a first-level cache.
constexpr int64_t band_bytes = 1 << 14;
constexpr int64_t least_lines = 8;

// The lines that some neighbouring lines of the result are made of.
template <class T>
class LineSum {
 public:
  static constexpr int64_t most = WeighedLines<T>::most;

  LineSum(const Correlation<T> &at, const Phases &phase, const Band<T> &band, int64_t lines)
      : at_(at), phase_(phase), band_(band), lines_(lines), ahead_(ahead(phase[1])) {
    for (size_t i = 0; i < phase[2]->taps.size(); ++i)
      taps_.push_back({band.col_offsets()[i], phase[2]->taps[i].tap});
    for (int64_t c = 0; c < at.sources.count; ++c)
      for (size_t a = 0; a < phase[0]->taps.size(); ++a)
        add_terms(c * at.sources.kernel_stride, phase[0]->taps[a],
                  c * band.channel_stride() + band.plane_offsets()[a]);
  }

  // Lines of so many places from `band` on: to `to` and what lies to_stride behind.
  void add_up(const ConvolutionKernels<T> &kernels, const T *band, int64_t channel, T *to,
              int64_t to_stride, int64_t count) const {
    WeighedLines<T> work{band,
                         at_.kernel_of(channel),
                         terms_.data(),
                         static_cast<int64_t>(terms_.size()),
                         taps_.data(),
                         static_cast<int64_t>(taps_.size()),
                         at_.start_of(channel),
                         {},
                         count};
    for (int64_t i = 0; i < lines_; ++i) work.y[number(i)] = to + i * to_stride;
    kernels.weigh(work, lines_);
  }

 private:
  // How many taps along the second axis ahead a line is that reads the same as the next one; as
  // many as there are where they have nothing in common.
  static int64_t ahead(const Phase *axis) {
    const auto &taps = axis->taps;
    const auto count = static_cast<int64_t>(taps.size());
    const int64_t distance = count < 2 ? 0 : taps[1].offset - taps[0].offset;
    for (int64_t j = 2; j < count; ++j)
      if (taps[static_cast<size_t>(j)].offset - taps[static_cast<size_t>(j - 1)].offset != distance)
        return count;
    if (distance == 0 || axis->source_step % distance != 0) return count;
    return std::clamp(axis->source_step / distance, -count, count);
  }

  // Lines are numbered from the one that reads first.
  int64_t number(int64_t line) const { return ahead_ > 0 ? line : lines_ - 1 - line; }

  void add_terms(int64_t kernel, const AxisTap &plane, int64_t from) {
    const auto &taps = phase_[1]->taps;
    const auto count = static_cast<int64_t>(taps.size());
    const int64_t later = std::abs(ahead_);
    for (int64_t t = 0; t < count + (lines_ - 1) * later; ++t) {
      LineTerms terms{};
      bool is_empty = true;
      for (int64_t i = 0; i < lines_; ++i) {
        const int64_t j = t - i * later;
        if (j < 0 || j >= count) continue;
        const auto tap = static_cast<size_t>(j);
        if (is_empty) {
          terms.first = static_cast<int>(i);
          terms.from = from + number(i) * band_.line_stride() + band_.row_offsets()[tap];
        }
        is_empty = false;
        terms.last = static_cast<int>(i);
        terms.weights[i] = kernel + at_.tap_of(plane, taps[tap], {0, 0});
      }
      if (!is_empty) terms_.push_back(terms);
    }
  }

  const Correlation<T> &at_;
  const Phases &phase_;
  const Band<T> &band_;
  const int64_t lines_;
  const int64_t ahead_;
  std::vector<typename WeighedLines<T>::Tap> taps_;
  std::vector<LineTerms> terms_;
};

}  // namespace

template <class T>
void correlate_by_lines(const Correlation<T> &at, const Phases &phase) {
  const ConvolutionKernels<T> &kernels = convolution_kernels<T>(at.instance.target);
  const int64_t lines = phase[1]->count;
  const int64_t count = phase[2]->count;
  const int64_t line_bytes = Band<T>(kernels, phase, 1, count).channel_stride() * at.sources.count *
                             static_cast<int64_t>(sizeof(T));
  const int64_t fitting = std::max(least_lines, band_bytes / line_bytes);
  const int64_t strips = blocks_in(lines, fitting);  // that differ by a line at most
  const int64_t strip = blocks_in(lines, strips);
  const Band<T> band(kernels, phase, strip, count);
  const int64_t together = lines / strips >= LineSum<T>::most ? LineSum<T>::most : 1;

  const int64_t products = strip * count * at.targets.count * at.sources.count *
                           static_cast<int64_t>(band.taps().size());
  const int64_t tasks = at.batch * at.groups * phase[0]->count * strips;
  each_task(at.instance, tasks, products, [&](int64_t begin, int64_t end) {
    Result<T> scratch(at.instance,
                      static_cast<uint64_t>(at.sources.count * band.channel_stride() + band.slack));
    const bool in_order = phase[2]->step == 1;
    Result<T> sums(at.instance, in_order ? 0 : static_cast<uint64_t>(together * count));
    const LineSum<T> sum(at, phase, band, together);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task / strips % phase[0]->count;
      const int64_t sample_and_group = task / strips / phase[0]->count;
      const int64_t line = task % strips * lines / strips;
      const int64_t here = (task % strips + 1) * lines / strips - line;
      band.fill({first, line, here, 0, count}, at.source_of(sample_and_group), at.sources.count,
                scratch.begin());
      for (int64_t t = 0; t < at.targets.count; ++t) {
        const int64_t channel = sample_and_group * at.targets.count + t;
        // The last lines are computed twice rather than one by one.
        for (int64_t done = 0; done < here; done += together) {
          const int64_t i = std::min(done, here - together);
          const int64_t to_stride = phase[1]->step * at.windows[2].size[at.to];
          const T *const from = scratch.begin() + i * band.line_stride();
          if (in_order) {
            sum.add_up(kernels, from, channel, at.target_of(phase, channel, first, line + i, 0),
                       to_stride, count);
            continue;
          }
          sum.add_up(kernels, from, channel, sums.begin(), count, count);
          for (int64_t r = 0; r < together; ++r)
            at.put(phase, channel, first, line + i + r, 0, sums.begin() + r * count, count);
        }
      }
    }
  });
}

template void correlate_by_lines(const Correlation<float> &, const Phases &);
template void correlate_by_lines(const Correlation<double> &, const Phases &);

template <class T>
void correlate_by_taps(const Correlation<T> &at, const Phases &phase) {
  const auto add = gemm_kernels<T>(at.instance.target).add_rows;
  const Phase &first = *phase[0];
  const Phase &second = *phase[1];
  const Phase &third = *phase[2];
  const int64_t count = third.count;
  const int64_t lines = first.count * second.count;
  const int64_t products =
      count * at.sources.count *
      static_cast<int64_t>(first.taps.size() * second.taps.size() * third.taps.size());
  each_task(
      at.instance, at.batch * at.groups * at.targets.count * lines, products + count,
      [&](int64_t begin, int64_t end) {
        std::vector<T> sums(static_cast<size_t>(count));
        const auto add_line = [&](const T *line, T weight, const AxisTap &tap) {
          const int64_t i = third.first_inside(tap);
          const int64_t last = third.end_inside(tap);
          const T *const from = line + tap.offset;
          if (third.source_step == 1)
            add(&weight, from + i, 0, 1, sums.data() + i, last - i);
          else
            for (int64_t q = i; q < last; ++q)
              sums[static_cast<size_t>(q)] =
                  std::fma(weight, from[q * third.source_step], sums[static_cast<size_t>(q)]);
        };
        for (int64_t task = begin; task < end; ++task) {
          const int64_t channel = task / lines;
          const int64_t plane_of = task % lines / second.count;
          const int64_t row_of = task % second.count;
          std::fill(sums.begin(), sums.end(), at.start_of(channel));
          const T *const source = at.source_of(channel / at.targets.count);
          const T *const kernel = at.kernel_of(channel);
          for (int64_t c = 0; c < at.sources.count; ++c)
            for (const AxisTap &a : first.taps)
              for (const AxisTap &b : second.taps) {
                const int64_t read = line_read(phase, plane_of, a, row_of, b);
                if (read < 0) continue;
                const T *const line = source + c * at.source_size() + read * third.source_size;
                for (const AxisTap &tap : third.taps)
                  add_line(line, kernel[c * at.sources.kernel_stride + at.tap_of(a, b, tap)], tap);
              }
          at.put(phase, channel, plane_of, row_of, 0, sums.data(), count);
        }
      });
}

template void correlate_by_taps(const Correlation<float> &, const Phases &);
template void correlate_by_taps(const Correlation<double> &, const Phases &);

}  // namespace torchlean::cpu
