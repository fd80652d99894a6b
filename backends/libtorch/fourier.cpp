// Real Fourier transforms: ATen's. In deterministic mode on the host a few rows at a time, each
// time on one thread, since MKL splits a long row as it has threads.
#include "kernels.hpp"
#include "libtorch.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/fft_irfft.h>
#include <ATen/ops/fft_rfft.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>

#include <vector>

namespace torchlean::libtorch {
namespace {

// Of a real signal the first bin is real, and the middle one of an even length: their imaginary
// parts are ignored. So does the host's transform, NaN or not; cuFFT calls the result undefined.
at::Tensor spectrum_of(const tl_instance &instance, const at::Tensor &bins, int64_t n) {
  if (!instance.composed) return at::view_as_complex(bins);
  const at::Tensor result = bins.clone();
  const at::Tensor imaginary = result.select(2, 1);
  imaginary.select(1, 0).zero_();
  if (n % 2 == 0) imaginary.select(1, n / 2).zero_();
  return at::view_as_complex(result);
}

at::Tensor transformed(const tl_instance &instance, tl_fourier_op op, const at::Tensor &x,
                       int64_t n) {
  switch (op) {
    case TL_FOURIER_RFFT: return at::view_as_real(at::fft_rfft(x, n));
    case TL_FOURIER_IRFFT: return at::fft_irfft(spectrum_of(instance, x, n), n);
    case TL_FOURIER_IRFFT_UNNORMALIZED:
      return at::fft_irfft(spectrum_of(instance, x, n), n, /*dim=*/-1, /*norm=*/"forward");
    default: throw unknown("op", op);
  }
}

// One thread for what the calling thread does, and another number of threads after that.
class OneThread {
 public:
  explicit OneThread(int afterwards) : afterwards_(afterwards) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(afterwards_); }
  OneThread(const OneThread &) = delete;
  OneThread &operator=(const OneThread &) = delete;

 private:
  int afterwards_;
};

at::Tensor transformed_by_rows(const tl_instance &instance, tl_fourier_op op, const at::Tensor &x,
                               int64_t n) {
  const int64_t batch = x.size(0);
  const int64_t rows = std::max<int64_t>(1, cheap_grain / n);
  const int64_t tasks = (batch + rows - 1) / rows;
  std::vector<at::Tensor> pieces(static_cast<size_t>(tasks));
  // ATen keeps the number of threads for new threads, too: all of them put the same one back.
  const int threads = at::get_num_threads();
  at::parallel_for(0, tasks, 1, [&](int64_t begin, int64_t end) {
    const c10::InferenceMode inference_mode;
    const OneThread one_thread(threads);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task * rows;
      pieces[static_cast<size_t>(task)] =
          transformed(instance, op, x.narrow(0, first, std::min(rows, batch - first)), n);
    }
  });
  return tasks == 1 ? pieces[0] : at::cat(pieces);
}

void transform(tl_instance &instance, tl_fourier_op op, const tl_operand *operand, uint64_t batch,
               uint64_t n, tl_flags, tl_storage **out) {
  if (op >= TL_FOURIER_OP_COUNT) throw unknown("op", op);
  if (n == 0) throw invalid("n is 0, expected at least 1");
  const int64_t rows = extent("batch", batch);
  const int64_t length = extent("n", n);
  const int64_t bins = length / 2 + 1;
  extent("batch * (n / 2 + 1) * 2", batch * static_cast<uint64_t>(bins) * 2);
  const at::Tensor tensor = native_tensor("x", operand);
  const at::Tensor x = op == TL_FOURIER_RFFT ? shaped("x", tensor, {rows, length})
                                             : shaped("x", tensor, {rows, bins, 2});
  if (rows == 0) return hand_out(out, tensor);
  const bool by_rows = instance.deterministic && x.is_cpu();
  hand_out(out, by_rows ? transformed_by_rows(instance, op, x, length)
                        : transformed(instance, op, x, length));
}

}  // namespace

const tl_fourier_table fourier_table = {
    .struct_size = sizeof(tl_fourier_table),
    .transform = entry<"transform", transform>,
};

}  // namespace torchlean::libtorch
