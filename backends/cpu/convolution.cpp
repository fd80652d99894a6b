// Convolutions, ordinary and transposed, and their gradients.
//
// Windows lie on positions: an ordinary convolution's windows are its results and lie on the input,
// a transposed one's are its input and lie on the results. So there are three products: from
// positions to windows, from windows to positions, and of both for the kernel. Each is a matrix
// product (gemm.hpp) whose right operand is packed straight from the image. With few channels in a
// group, and where a kernel that is not finite must not meet the padding, lines of the result are
// sums of weighted lines of the image instead.
#include "convolution_kernels.hpp"
#include "gemm.hpp"
#include "threads.hpp"

#include <torchlean/backend_windows.hpp>

#include <vector>

namespace torchlean::cpu {
namespace {

constexpr int64_t task_products = int64_t{1} << 16;

int64_t signed_of(uint64_t value) { return static_cast<int64_t>(value); }

// Calls body(begin, end) for pieces of [0, count), items of so many products each.
template <class Body>
void each_task(const tl_instance &instance, int64_t count, int64_t products, const Body &body) {
  const int64_t grain = std::max<int64_t>(1, task_products / std::max<int64_t>(1, products));
  parallel_for(instance, static_cast<uint64_t>(count), static_cast<uint64_t>(grain),
               [&](uint64_t begin, uint64_t end) { body(signed_of(begin), signed_of(end)); });
}

// ---- Which values meet --------------------------------------------------------------------------

// Axes without a kernel join the last one, as far as it has none, too.
WindowGrid merged(const WindowGrid &windows) {
  std::array<WindowAxis, 3> axes = {windows[0], windows[1], windows[2]};
  const auto is_plain = [](const WindowAxis &axis) {
    return axis.size[Side::tap] == 1 && axis.stride == 1 && axis.padding == 0 &&
           axis.size[Side::window] == axis.size[Side::position];
  };
  for (size_t i = 2; i-- > 0 && is_plain(axes[2]) && is_plain(axes[i]);)
    for (const Side side : {Side::window, Side::position})
      axes[2].size[side] *= std::exchange(axes[i].size[side], 1);
  return WindowGrid(axes);
}

struct AxisTap {
  int64_t tap;
  int64_t offset;
};

// Results start, start + step ... of an axis; the q-th of them reads what lies `tap.offset` behind
// q * source_step.
struct Phase {
  int64_t count;
  int64_t start;
  int64_t step;
  int64_t source_step;
  int64_t source_size;
  std::vector<AxisTap> taps;

  // Keeps a tap that lies inside for some q.
  void add(int64_t tap, int64_t offset) {
    const int64_t first = offset >= 0 ? 0 : (-offset + source_step - 1) / source_step;
    if (first < count && offset + first * source_step < source_size) taps.push_back({tap, offset});
  }

  bool reaches_padding() const {
    return std::any_of(taps.begin(), taps.end(), [&](const AxisTap &tap) {
      return tap.offset < 0 || tap.offset + (count - 1) * source_step >= source_size;
    });
  }
};

// Every window in one go.
std::vector<Phase> phases_of_windows(const WindowAxis &axis) {
  Phase phase{axis.size[Side::window], 0, 1, axis.stride, axis.size[Side::position], {}};
  for (int64_t k = 0; k < axis.size[Side::tap]; ++k) phase.add(k, k * axis.dilation - axis.padding);
  return {phase};
}

// Positions that lie a stride apart meet the same taps of neighbouring windows.
std::vector<Phase> phases_of_positions(const WindowAxis &axis) {
  const int64_t positions = axis.size[Side::position];
  std::vector<Phase> phases;
  for (int64_t start = 0; start < std::min(axis.stride, positions); ++start)
    phases.push_back({(positions - start - 1) / axis.stride + 1,
                      start,
                      axis.stride,
                      1,
                      axis.size[Side::window],
                      {}});
  for (int64_t k = 0; k < axis.size[Side::tap]; ++k) {
    const int64_t reach = k * axis.dilation - axis.padding;
    const int64_t start = (reach % axis.stride + axis.stride) % axis.stride;
    if (start < signed_of(phases.size()))
      phases[static_cast<size_t>(start)].add(k, (start - reach) / axis.stride);
  }
  return phases;
}

// ---- The image as a matrix ----------------------------------------------------------------------

// Rows are pairs of channel and tap, columns the places of a phase in every sample.
template <class T>
class ImageRight final : public RightOperand<T> {
 public:
  ImageRight(const ConvolutionKernels<T> &kernels, const TapView<T> &view, const T *image,
             int64_t sample_stride, const std::array<int64_t, 3> &counts,
             const std::array<int64_t, 3> &steps)
      : kernels_(kernels),
        view_(view),
        image_(image),
        sample_stride_(sample_stride),
        counts_(counts),
        steps_(steps) {}

  void pack(int64_t row, int64_t depth, int64_t col, int64_t cols, T *to,
            int64_t width) const override {
    std::array<Run<T>, most_cols> runs;
    int64_t count = 0;
    for (int64_t j = 0; j < cols;) {
      const int64_t at = col + j;
      const int64_t last = at % counts_[2];
      const int64_t rest = at / counts_[2];
      const int64_t middle = rest % counts_[1];
      const int64_t first = rest / counts_[1];
      const int64_t length = std::min(cols - j, counts_[2] - last);
      runs[static_cast<size_t>(count++)] = {
          image_ + first / counts_[0] * sample_stride_,
          {first % counts_[0] * steps_[0], middle * steps_[1], last * steps_[2]},
          j,
          length};
      j += length;
    }
    kernels_.pack(view_, runs.data(), count, row, depth, cols, to, width);
  }

  static constexpr int64_t most_cols = 512;

 private:
  const ConvolutionKernels<T> &kernels_;
  const TapView<T> view_;
  const T *const image_;
  const int64_t sample_stride_;
  const std::array<int64_t, 3> counts_;
  const std::array<int64_t, 3> steps_;
};

// The same with rows for columns.
template <class T>
class TransposedImageRight final : public RightOperand<T> {
 public:
  TransposedImageRight(const GemmKernels<T> &kernels, const ImageRight<T> &image, T *scratch)
      : kernels_(kernels), image_(image), scratch_(scratch) {}

  void pack(int64_t row, int64_t depth, int64_t col, int64_t cols, T *to,
            int64_t width) const override {
    image_.pack(col, cols, row, depth, scratch_, depth);
    kernels_.transpose(scratch_, depth, cols, depth, to, width);
  }

  static int64_t scratch_size(const GemmKernels<T> &kernels, int64_t depth) {
    return depth_block<T>(depth) * kernels.cols;
  }

 private:
  const GemmKernels<T> &kernels_;
  const ImageRight<T> &image_;
  T *const scratch_;
};

// ---- From windows to positions, and back --------------------------------------------------------

// Channels of one side, and how far apart they lie in the kernel.
struct Channels {
  int64_t count;  // of a group
  int64_t kernel_stride;
};

template <class T>
struct Correlation {
  tl_instance &instance;
  int64_t batch;
  int64_t groups;
  const WindowGrid &windows;
  Side from;
  Side to;
  Channels sources;
  Channels targets;
  int64_t group_stride;  // of the kernel
  const T *source;
  const T *kernel;
  const T *start;  // one for each target channel, or NULL
  T *target;

  void run() const {
    const auto phases = to == Side::window ? &phases_of_windows : &phases_of_positions;
    const std::vector<Phase> first = phases(windows[0]);
    const std::vector<Phase> second = phases(windows[1]);
    const std::vector<Phase> third = phases(windows[2]);
    for (const Phase &a : first)
      for (const Phase &b : second)
        for (const Phase &c : third) run({&a, &b, &c});
  }

 private:
  using Phases = std::array<const Phase *, 3>;

  std::array<int64_t, 3> sizes(Side side) const {
    return {windows[0].size[side], windows[1].size[side], windows[2].size[side]};
  }

  int64_t source_size() const { return signed_of(windows.count(from)); }
  int64_t target_size() const { return signed_of(windows.count(to)); }

  T start_of(int64_t channel) const { return start == nullptr ? T(0) : start[channel]; }

  void run(const Phases &phase) const {
    std::vector<TapOffset> offsets;
    std::vector<int64_t> taps;
    for (const AxisTap &a : phase[0]->taps)
      for (const AxisTap &b : phase[1]->taps)
        for (const AxisTap &c : phase[2]->taps) {
          offsets.push_back({{a.offset, b.offset, c.offset}});
          taps.push_back((a.tap * windows[1].size[Side::tap] + b.tap) * windows[2].size[Side::tap] +
                         c.tap);
        }
    const bool finite = !meets_padding_badly(phase);
    if (targets.count <= 2 || taps.empty() || !finite)
      by_lines(phase, finite);
    else
      by_products(phase, offsets, taps);
  }

  // Zeros in the padding times a weight that is not finite would be NaN.
  bool meets_padding_badly(const Phases &phase) const {
    if (std::none_of(phase.begin(), phase.end(),
                     [](const Phase *axis) { return axis->reaches_padding(); }))
      return false;
    const GemmKernels<T> &kernels = gemm_kernels<T>(instance.target);
    const Channels &outer = to == Side::window ? targets : sources;
    const Channels &inner = to == Side::window ? sources : targets;
    for (int64_t g = 0; g < groups; ++g)
      for (int64_t c = 0; c < outer.count; ++c)
        if (!kernels
                 .scale(kernel + g * group_stride + c * outer.kernel_stride, T(1),
                        inner.count * inner.kernel_stride, nullptr)
                 .finite)
          return true;
    return false;
  }

  // ---- By matrix products ----

  void by_products(const Phases &phase, const std::vector<TapOffset> &offsets,
                   const std::vector<int64_t> &taps) const {
    const GemmKernels<T> &kernels = gemm_kernels<T>(instance.target);
    const ConvolutionKernels<T> &loops = convolution_kernels<T>(instance.target);
    const int64_t rows = targets.count;
    const int64_t depth = sources.count * signed_of(taps.size());
    const std::array<int64_t, 3> counts = {phase[0]->count, phase[1]->count, phase[2]->count};
    const int64_t places = counts[0] * counts[1] * counts[2];
    const auto in = sizes(from);
    const TapView<T> view{{in[0], in[1], in[2]},
                          source_size(),
                          phase[2]->source_step,
                          offsets.data(),
                          signed_of(taps.size())};
    Result<T> gathered(instance, is_dense(taps) ? 0 : static_cast<uint64_t>(groups * rows * depth));
    if (!is_dense(taps)) gather(taps, gathered.begin());

    const int64_t group = group_cols(kernels);
    const int64_t blocks = (batch * places + group - 1) / group;
    const bool in_order =
        std::all_of(phase.begin(), phase.end(), [](const Phase *axis) { return axis->step == 1; });
    each_task(instance, groups * blocks, rows * depth * group, [&](int64_t begin, int64_t end) {
      Result<T> scratch(instance, static_cast<uint64_t>(columns_scratch(kernels, depth, group)));
      Result<T> dense(instance, static_cast<uint64_t>(rows * group));
      for (int64_t task = begin; task < end; ++task) {
        const int64_t g = task / blocks;
        const int64_t col = task % blocks * group;
        const int64_t cols = std::min(group, batch * places - col);
        const ImageRight<T> right(
            loops, view, source + g * sources.count * source_size(),
            groups * sources.count * source_size(), counts,
            {phase[0]->source_step, phase[1]->source_step, phase[2]->source_step});
        const Matrix<T> left = is_dense(taps)
                                   ? Matrix<T>{kernel + g * group_stride, targets.kernel_stride, 1}
                                   : Matrix<T>{gathered.begin() + g * rows * depth, depth, 1};
        const T *const begins = start == nullptr ? nullptr : start + g * rows;
        const int64_t sample = col / places;
        if (in_order && (col + cols - 1) / places == sample) {
          T *const to_first = target + (sample * groups + g) * rows * places + col % places;
          multiply_columns<T>(kernels, left, rows, depth, right, col, cols, to_first, places,
                              begins, scratch.begin());
        } else {
          multiply_columns<T>(kernels, left, rows, depth, right, col, cols, dense.begin(), cols,
                              begins, scratch.begin());
          scatter(phase, g, col, cols, dense.begin());
        }
      }
    });
  }

  // Is the kernel's block of a group the left operand as it lies there?
  bool is_dense(const std::vector<int64_t> &taps) const {
    return to == Side::window && taps.size() == windows.count(Side::tap);
  }

  void gather(const std::vector<int64_t> &taps, T *to_first) const {
    const int64_t depth = sources.count * signed_of(taps.size());
    each_task(instance, groups * targets.count, depth, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T *const block = kernel + row / targets.count * group_stride +
                               row % targets.count * targets.kernel_stride;
        T *out = to_first + row * depth;
        for (int64_t c = 0; c < sources.count; ++c)
          for (const int64_t tap : taps) *out++ = block[c * sources.kernel_stride + tap];
      }
    });
  }

  // Columns of a phase go where they belong.
  void scatter(const Phases &phase, int64_t g, int64_t col, int64_t cols, const T *dense) const {
    const auto out = sizes(to);
    for (int64_t j = 0; j < cols;) {
      const int64_t last = (col + j) % phase[2]->count;
      const int64_t rest = (col + j) / phase[2]->count;
      const int64_t length = std::min(cols - j, phase[2]->count - last);
      const int64_t middle = rest % phase[1]->count;
      const int64_t first = rest / phase[1]->count % phase[0]->count;
      const int64_t sample = rest / phase[1]->count / phase[0]->count;
      const int64_t place = ((phase[0]->start + first * phase[0]->step) * out[1] + phase[1]->start +
                             middle * phase[1]->step) *
                                out[2] +
                            phase[2]->start + last * phase[2]->step;
      for (int64_t r = 0; r < targets.count; ++r) {
        T *const line =
            target + ((sample * groups + g) * targets.count + r) * target_size() + place;
        const T *const from_first = dense + r * cols + j;
        for (int64_t i = 0; i < length; ++i) line[i * phase[2]->step] = from_first[i];
      }
      j += length;
    }
  }

  // ---- By lines ----

  // Where along the last axis the taps that lie inside change.
  static std::vector<int64_t> breaks(const Phase &phase) {
    std::vector<int64_t> all = {0, phase.count};
    for (const AxisTap &tap : phase.taps) {
      all.push_back(first_inside(phase, tap));
      all.push_back(end_inside(phase, tap));
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }
  static int64_t first_inside(const Phase &phase, const AxisTap &tap) {
    return tap.offset >= 0 ? 0 : (-tap.offset + phase.source_step - 1) / phase.source_step;
  }
  static int64_t end_inside(const Phase &phase, const AxisTap &tap) {
    if (tap.offset >= phase.source_size) return 0;
    return std::min(phase.count,
                    (phase.source_size - tap.offset + phase.source_step - 1) / phase.source_step);
  }

  // Lines of the image, perhaps with zeros on both sides.
  struct Lines {
    const T *first;
    int64_t width;
    int64_t left;  // zeros
    bool is_padded;
  };

  void by_lines(const Phases &phase, bool finite) const {
    const auto [planes, rows, cols] = sizes(from);
    const Phase &along = *phase[2];
    int64_t left = 0;
    int64_t end = cols;
    for (const AxisTap &tap : along.taps) {
      left = std::max(left, -tap.offset);
      end = std::max(end, tap.offset + (along.count - 1) * along.source_step + 1);
    }
    const int64_t width = left + end + WeighedLines<T>::slack;
    const bool pads = finite && (left > 0 || end > cols || along.source_step == 2) &&
                      width <= 4 * (cols + WeighedLines<T>::slack);
    const int64_t lines = batch * groups * sources.count * planes * rows;
    Result<T> padded(instance, pads ? static_cast<uint64_t>(lines * width) : 0);
    if (pads)
      each_task(instance, lines, width, [&, length = cols](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          T *const line = padded.begin() + i * width;
          std::fill_n(line, left, T(0));
          std::copy_n(source + i * length, length, line + left);
          std::fill_n(line + left + length, width - left - length, T(0));
        }
      });
    weigh_lines(phase,
                pads ? Lines{padded.begin(), width, left, true} : Lines{source, cols, 0, false});
  }

  void weigh_lines(const Phases &phase, const Lines &image) const {
    const auto out = sizes(to);
    const Phase &along = *phase[2];
    // In padded lines every tap lies inside everywhere.
    std::vector<Inside> inside;
    std::vector<int64_t> marks = {0, along.count};
    for (const AxisTap &tap : along.taps)
      inside.push_back({tap, image.is_padded ? 0 : first_inside(along, tap),
                        image.is_padded ? along.count : end_inside(along, tap)});
    if (!image.is_padded) marks = breaks(along);
    const int64_t lines = phase[0]->count * phase[1]->count;
    const size_t taps = phase[0]->taps.size() * phase[1]->taps.size() * along.taps.size();
    const int64_t products =
        along.count * std::max<int64_t>(1, sources.count) * signed_of(std::max<size_t>(1, taps));
    const auto weigh = convolution_kernels<T>(instance.target).weigh;
    each_task(instance, batch * groups * targets.count * lines, products,
              [&](int64_t begin, int64_t end) {
                Terms terms(static_cast<size_t>(sources.count) * taps);
                std::vector<T> sums(static_cast<size_t>(along.count));
                int64_t channel = begin / lines;  // of all samples
                int64_t first = begin % lines / phase[1]->count;
                int64_t second = begin % lines % phase[1]->count;
                const auto step_on = [&] {
                  if (++second < phase[1]->count) return;
                  second = 0;
                  if (++first < phase[0]->count) return;
                  first = 0;
                  ++channel;
                };
                for (int64_t i = begin; i < end; ++i, step_on()) {
                  T *const line = target + channel * target_size() +
                                  ((phase[0]->start + first * phase[0]->step) * out[1] +
                                   phase[1]->start + second * phase[1]->step) *
                                      out[2] +
                                  along.start;
                  const bool in_order = along.step == 1;
                  T *const to_first = in_order ? line : sums.data();
                  const T starts_at = start_of(channel % (groups * targets.count));
                  for (size_t k = 0; k + 1 < marks.size(); ++k) {
                    collect(phase, image, inside, channel, first, second, {marks[k], marks[k + 1]},
                            terms);
                    weigh({terms.lines.data(), terms.weights.data(), terms.count, along.source_step,
                           starts_at, marks[k + 1] - marks[k], image.is_padded},
                          to_first + marks[k]);
                  }
                  if (!in_order)
                    for (int64_t q = 0; q < along.count; ++q)
                      line[q * along.step] = sums[static_cast<size_t>(q)];
                }
              });
  }

  // For which places of a line a tap lies inside.
  struct Inside {
    AxisTap tap;
    int64_t first;
    int64_t end;
  };

  struct Terms {
    explicit Terms(size_t most) : lines(most), weights(most) {}
    std::vector<const T *> lines;
    std::vector<T> weights;
    int64_t count = 0;
  };

  // What the places from places.first to places.second of a line are the sum of.
  void collect(const Phases &phase, const Lines &lines, const std::vector<Inside> &inside,
               int64_t channel, int64_t first, int64_t second, std::pair<int64_t, int64_t> places,
               Terms &terms) const {
    const T **next_line = terms.lines.data();
    T *next_weight = terms.weights.data();
    const auto in = sizes(from);
    const int64_t sample_and_group = channel / targets.count;
    const T *const block = kernel + sample_and_group % groups * group_stride +
                           channel % targets.count * targets.kernel_stride;
    for (int64_t c = 0; c < sources.count; ++c) {
      const int64_t image = (sample_and_group * sources.count + c) * in[0] * in[1];
      for (const AxisTap &a : phase[0]->taps) {
        const int64_t plane = first * phase[0]->source_step + a.offset;
        if (plane < 0 || plane >= in[0]) continue;
        for (const AxisTap &b : phase[1]->taps) {
          const int64_t row = second * phase[1]->source_step + b.offset;
          if (row < 0 || row >= in[1]) continue;
          const T *const line = lines.first + (image + plane * in[1] + row) * lines.width +
                                lines.left + places.first * phase[2]->source_step;
          const T *const weights =
              block + c * sources.kernel_stride +
              (a.tap * windows[1].size[Side::tap] + b.tap) * windows[2].size[Side::tap];
          for (const Inside &one : inside) {
            if (one.first > places.first || one.end < places.second) continue;
            *next_line++ = line + one.tap.offset;
            *next_weight++ = weights[one.tap.tap];
          }
        }
      }
    }
    terms.count = next_line - terms.lines.data();
  }
};

// ---- Calls --------------------------------------------------------------------------------------

// A convolution's windows and positions, each a side of the same products.
template <class T>
class Products {
 public:
  Products(tl_instance &instance, const ConvolutionGeometry &at)
      : instance_(instance),
        at_(at),
        windows_(merged(at.windows)),
        batch_(signed_of(at.params.batch)),
        groups_(signed_of(at.params.groups)),
        on_windows_(signed_of(at.transposed ? at.params.in_channels : at.params.out_channels) /
                    groups_),
        on_positions_(signed_of(at.transposed ? at.params.out_channels : at.params.in_channels) /
                      groups_) {}

  // target = start + the sum of source * kernel over all that meets.
  void correlate(Side to, const T *source, const T *kernel, const T *start, T *target) const {
    const bool to_windows = to == Side::window;
    const int64_t row = groups_ * on_positions_ * taps();
    const Channels windows{on_windows_, row};
    const Channels positions{on_positions_, taps()};
    Correlation<T>{.instance = instance_,
                   .batch = batch_,
                   .groups = groups_,
                   .windows = windows_,
                   .from = to_windows ? Side::position : Side::window,
                   .to = to,
                   .sources = to_windows ? positions : windows,
                   .targets = to_windows ? windows : positions,
                   .group_stride = on_windows_ * row + on_positions_ * taps(),
                   .source = source,
                   .kernel = kernel,
                   .start = start,
                   .target = target}
        .run();
  }

  // d_kernel[window channel, position channel, tap]: the sum of products over all windows.
  void kernel_gradient(const T *on_windows, const T *on_positions, T *d_kernel) const;

 private:
  int64_t taps() const { return signed_of(at_.taps); }

  // Sums of products that never meet the padding.
  void kernel_gradient_by_taps(const T *on_windows, const T *on_positions, T *d_kernel) const;

  tl_instance &instance_;
  const ConvolutionGeometry &at_;
  const WindowGrid windows_;
  const int64_t batch_;
  const int64_t groups_;
  const int64_t on_windows_;  // channels of a group
  const int64_t on_positions_;
};

template <class T>
void Products<T>::kernel_gradient(const T *on_windows, const T *on_positions, T *d_kernel) const {
  const GemmKernels<T> &kernels = gemm_kernels<T>(instance_.target);
  const ConvolutionKernels<T> &loops = convolution_kernels<T>(instance_.target);
  const int64_t windows = signed_of(windows_.count(Side::window));
  const int64_t positions = signed_of(windows_.count(Side::position));
  if (!kernels.scale(on_windows, T(1), batch_ * groups_ * on_windows_ * windows, nullptr).finite)
    return kernel_gradient_by_taps(on_windows, on_positions, d_kernel);

  const int64_t row = groups_ * on_positions_ * taps();
  if (groups_ > 1) std::fill_n(d_kernel, groups_ * on_windows_ * row, T(0));
  std::vector<TapOffset> offsets;
  for (int64_t i = 0; i < windows_[0].size[Side::tap]; ++i)
    for (int64_t j = 0; j < windows_[1].size[Side::tap]; ++j)
      for (int64_t k = 0; k < windows_[2].size[Side::tap]; ++k)
        offsets.push_back({{i * windows_[0].dilation - windows_[0].padding,
                            j * windows_[1].dilation - windows_[1].padding,
                            k * windows_[2].dilation - windows_[2].padding}});
  const auto size = [&](size_t axis, Side side) { return windows_[axis].size[side]; };
  const TapView<T> view{{size(0, Side::position), size(1, Side::position), size(2, Side::position)},
                        positions,
                        windows_[2].stride,
                        offsets.data(),
                        taps()};

  const int64_t width = 2 * kernels.cols;
  const int64_t cols = on_positions_ * taps();
  const int64_t blocks = (cols + width - 1) / width;
  each_task(
      instance_, groups_ * blocks, on_windows_ * windows * width, [&](int64_t begin, int64_t end) {
        Result<T> scratch(instance_,
                          static_cast<uint64_t>(columns_scratch(kernels, windows, width)));
        Result<T> lines(instance_, static_cast<uint64_t>(
                                       TransposedImageRight<T>::scratch_size(kernels, windows)));
        Result<T> sums(instance_, batch_ > 1 ? static_cast<uint64_t>(on_windows_ * width) : 0);
        for (int64_t task = begin; task < end; ++task) {
          const int64_t g = task / blocks;
          const int64_t col = task % blocks * width;
          const int64_t here = std::min(width, cols - col);
          T *const block = d_kernel + g * (on_windows_ * row + cols) + col;
          for (int64_t n = 0; n < batch_; ++n) {
            const ImageRight<T> image(
                loops, view, on_positions + (n * groups_ + g) * on_positions_ * positions, 0,
                {size(0, Side::window), size(1, Side::window), size(2, Side::window)},
                {windows_[0].stride, windows_[1].stride, windows_[2].stride});
            const TransposedImageRight<T> right(kernels, image, lines.begin());
            const Matrix<T> left{on_windows + (n * groups_ + g) * on_windows_ * windows, windows,
                                 1};
            T *const to = n == 0 ? block : sums.begin();
            const int64_t to_row = n == 0 ? row : here;
            multiply_columns<T>(kernels, left, on_windows_, windows, right, col, here, to, to_row,
                                nullptr, scratch.begin());
            for (int64_t i = 0; n > 0 && i < on_windows_; ++i)
              for (int64_t j = 0; j < here; ++j) block[i * row + j] += to[i * to_row + j];
          }
        }
      });
}

template <class T>
void Products<T>::kernel_gradient_by_taps(const T *on_windows, const T *on_positions,
                                          T *d_kernel) const {
  const uint64_t windows = windows_.count(Side::window);
  const uint64_t positions = windows_.count(Side::position);
  const int64_t row = groups_ * on_positions_;
  each_task(instance_, groups_ * on_windows_ * row, taps() * signed_of(windows),
            [&](int64_t begin, int64_t end) {
              for (int64_t block = begin; block < end; ++block) {
                const int64_t w = block / row;
                const int64_t p = block % row;
                const bool meets = w / on_windows_ == p / on_positions_;
                for (uint64_t tap = 0; tap < at_.taps; ++tap) {
                  T sum = 0;
                  for (int64_t n = 0; meets && n < batch_; ++n) {
                    const T *const values =
                        on_windows + (n * groups_ * on_windows_ + w) * signed_of(windows);
                    const T *const image = on_positions + (n * row + p) * signed_of(positions);
                    windows_.each(Side::tap, tap, [&](const BySide<uint64_t> &met) {
                      sum += values[met[Side::window]] * image[met[Side::position]];
                    });
                  }
                  d_kernel[block * taps() + signed_of(tap)] = sum;
                }
              }
            });
}

void forward(tl_instance &instance, tl_convolution_op op, const tl_operand *input,
             const tl_operand *kernel, const tl_operand *bias, const tl_convolution_params *params,
             tl_flags, tl_storage **out) {
  const ConvolutionGeometry at(op, params);
  expect_given("input", input);
  with_native(input->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("input", input);
    const auto w = values_of<T>("kernel", kernel);
    const auto b = values_of<T>("bias", bias);
    expect_equal("input.count", x.size(), at.input_count());
    expect_equal("kernel.count", w.size(), at.kernel_count());
    expect_equal("bias.count", b.size(), at.params.out_channels);
    check_count(at.output_count());
    Result<T> y(instance, at.output_count());
    if (at.output_count() > 0)
      Products<T>(instance, at).correlate(at.out, x.data(), w.data(), b.data(), y.begin());
    hand_out(out, y);
  });
}

void backward(tl_instance &instance, tl_convolution_op op, const tl_operand *input,
              const tl_operand *kernel, const tl_operand *gradient,
              const tl_convolution_params *params, tl_flags, tl_storage **out) {
  const ConvolutionGeometry at(op, params);
  expect_given("input", input);
  with_native(input->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("input", input);
    const auto w = values_of<T>("kernel", kernel);
    const auto g = values_of<T>("gradient", gradient);
    expect_equal("input.count", x.size(), at.input_count());
    expect_equal("kernel.count", w.size(), at.kernel_count());
    expect_equal("gradient.count", g.size(), at.output_count());
    check_count(at.params.out_channels);
    Result<T> d_w(instance, w.size());
    Result<T> d_bias(instance, at.params.out_channels);
    Result<T> d_x(instance, x.size());
    const Products<T> products(instance, at);
    if (!w.empty())
      products.kernel_gradient(at.transposed ? x.data() : g.data(),
                               at.transposed ? g.data() : x.data(), d_w.begin());
    if (!x.empty()) products.correlate(at.in, g.data(), w.data(), nullptr, d_x.begin());
    const auto size = signed_of(at.out_size);
    for (uint64_t o = 0; o < at.params.out_channels; ++o) {
      T sum = 0;
      for (uint64_t n = 0; n < at.params.batch; ++n)
        sum += convolution_kernels<T>(instance.target).sum(g.data() + at.output(n, o, 0), size);
      d_bias[o] = sum;
    }
    hand_out(out, d_w, d_bias, d_x);
  });
}

}  // namespace

const tl_convolution_table convolution_table = {
    .struct_size = sizeof(tl_convolution_table),
    .forward = entry<"convolution forward", forward>,
    .backward = entry<"convolution backward", backward>,
};

}  // namespace torchlean::cpu
