// Convolutions, ordinary and transposed, and their gradients.
//
// Windows lie on positions: an ordinary convolution's windows are its results and lie on the input,
// a transposed one's are its input and lie on the results. So there are three products: from
// positions to windows, from windows to positions (convolution/correlation.hpp), and of both for
// the kernel.
#include "convolution/correlation.hpp"

#include <torchlean/backend_windows.hpp>

namespace torchlean::cpu {
namespace {

int64_t signed_of(uint64_t value) { return static_cast<int64_t>(value); }

template <class T>
bool is_finite(const tl_instance &instance, const T *x, int64_t count) {
  return gemm_kernels<T>(instance.target).scale(x, T(1), count, nullptr).finite;
}

template <class T>
bool has_finite_kernel(const Correlation<T> &at) {
  const Channels &outer = at.to == Side::window ? at.targets : at.sources;
  const Channels &inner = at.to == Side::window ? at.sources : at.targets;
  for (int64_t g = 0; g < at.groups; ++g)
    for (int64_t c = 0; c < outer.count; ++c)
      if (!is_finite(at.instance, at.kernel + g * at.group_stride + c * outer.kernel_stride,
                     inner.count * inner.kernel_stride))
        return false;
  return true;
}

// By the best way; without padding by one that has none.
template <class T>
void correlate(const Correlation<T> &at, const Phases &phase, bool with_padding) {
  const bool is_empty =
      at.sources.count == 0 ||
      std::any_of(phase.begin(), phase.end(), [](const Phase *axis) { return axis->taps.empty(); });
  if (is_empty || !with_padding) return correlate_by_taps(at, phase);
  if (correlate_by_group_lanes(at, phase)) return;
  if (at.targets.count <= 2) return correlate_by_lines(at, phase);
  if (!correlate_by_bands(at, phase)) correlate_by_products(at, phase);
}

// Zeros in the padding times a weight that is not finite are NaN. Whether there are such weights is
// seen in the kernel or, where that is larger, in the results, which are then computed once more.
template <class T>
void correlate(const Correlation<T> &at) {
  const auto phases = at.to == Side::window ? &phases_of_windows : &phases_of_positions;
  const AxisPhases axes = {phases(at.windows[0]), phases(at.windows[1]), phases(at.windows[2])};
  if (at.targets.count > 2 && correlate_by_channel_lanes(at, axes)) return;
  const auto each = [&](bool with_padding) {
    for (const Phase &a : axes[0])
      for (const Phase &b : axes[1])
        for (const Phase &c : axes[2]) correlate(at, {&a, &b, &c}, with_padding);
  };
  bool reaches_padding = false;
  for (const std::vector<Phase> &axis : axes)
    for (const Phase &phase : axis) reaches_padding |= phase.reaches_padding();
  const int64_t target_count = at.batch * at.groups * at.targets.count * at.target_size();
  const int64_t kernel_count = at.groups * at.group_stride;
  const bool looks_first = reaches_padding && kernel_count <= target_count;
  const bool with_padding = !looks_first || has_finite_kernel(at);
  each(with_padding);
  if (reaches_padding && !looks_first && !is_finite(at.instance, at.target, target_count) &&
      !has_finite_kernel(at))
    each(false);
}

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
    cpu::correlate(Correlation<T>{.instance = instance_,
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
                                  .target = target});
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
  const KernelGradient<T> gradient{.instance = instance_,
                                   .batch = batch_,
                                   .groups = groups_,
                                   .windows = windows_,
                                   .window_channels = on_windows_,
                                   .position_channels = on_positions_,
                                   .on_windows = on_windows,
                                   .on_positions = on_positions,
                                   .d_kernel = d_kernel};
  if (gradient.run_in_lanes()) return;
  const int64_t count = batch_ * groups_ * on_windows_ * signed_of(windows_.count(Side::window));
  if (is_finite(instance_, on_windows, count))
    gradient.run();
  else
    kernel_gradient_by_taps(on_windows, on_positions, d_kernel);
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
