// The gradient of a convolution's kernel: what lies on the windows times the image, turned round.
#include "blocks.hpp"
#include "convolution/correlation.hpp"
#include "convolution/image.hpp"

namespace torchlean::cpu {

template <class T>
void KernelGradient<T>::run() const {
  const GemmKernels<T> &kernels = gemm_kernels<T>(instance.target);
  const std::array<Phase, 3> axes = {all_taps_of_windows(windows[0]),
                                     all_taps_of_windows(windows[1]),
                                     all_taps_of_windows(windows[2])};
  const Phases phase = {&axes[0], &axes[1], &axes[2]};
  const auto count = static_cast<int64_t>(windows.count(Side::window));
  const auto positions = static_cast<int64_t>(windows.count(Side::position));
  const auto taps = static_cast<int64_t>(windows.count(Side::tap));
  const int64_t row = groups * position_channels * taps;
  if (groups > 1 || count == 0) std::fill_n(d_kernel, groups * window_channels * row, T(0));
  if (count == 0) return;

  const int64_t width = 2 * kernels.cols;
  const int64_t cols = position_channels * taps;
  const int64_t blocks = blocks_in(cols, width);
  const auto left = [&](int64_t sample_and_group) {
    return Matrix<T>{on_windows + sample_and_group * window_channels * count, count, 1};
  };
  // What several tasks take is packed once.
  const bool is_packed = blocks > 1;
  const int64_t panels_size = window_channels * count;
  Result<T> panels(instance, is_packed ? static_cast<uint64_t>(batch * groups * panels_size) : 0);
  if (is_packed)
    for (int64_t i = 0; i < batch * groups; ++i)
      pack_rows(instance, left(i), window_channels, count, panels.begin() + i * panels_size);

  each_task(
      instance, groups * blocks, window_channels * count * width, [&](int64_t begin, int64_t end) {
        ImageRight<T> image(convolution_kernels<T>(instance.target), phase, std::min(width, cols),
                            depth_block<T>(count));
        Result<T> band(instance, static_cast<uint64_t>(image.scratch_size()));
        Result<T> lines(
            instance, static_cast<uint64_t>(TransposedImageRight<T>::scratch_size(kernels, count)));
        Result<T> scratch(instance, static_cast<uint64_t>(columns_scratch(kernels, count, width)));
        Result<T> sums(instance, batch > 1 ? static_cast<uint64_t>(window_channels * width) : 0);
        TransposedImageRight<T> right(kernels, image, lines.begin());
        for (int64_t task = begin; task < end; ++task) {
          const int64_t g = task / blocks;
          const int64_t col = task % blocks * width;
          const int64_t here = std::min(width, cols - col);
          T *const block = d_kernel + g * (window_channels * row + cols) + col;
          for (int64_t n = 0; n < batch; ++n) {
            const int64_t i = n * groups + g;
            image.look_at(on_positions + i * position_channels * positions, 0, band.begin());
            const Left<T> factor{left(i), is_packed ? panels.begin() + i * panels_size : nullptr,
                                 window_channels, 0, window_channels};
            T *const to = n == 0 ? block : sums.begin();
            const int64_t to_row = n == 0 ? row : here;
            multiply_columns<T>(kernels, factor, count, right, col, here, to, to_row, nullptr,
                                scratch.begin());
            for (int64_t r = 0; n > 0 && r < window_channels; ++r)
              for (int64_t j = 0; j < here; ++j) block[r * row + j] += to[r * to_row + j];
          }
        }
      });
}

template void KernelGradient<float>::run() const;
template void KernelGradient<double>::run() const;

}  // namespace torchlean::cpu
