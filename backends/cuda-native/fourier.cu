// Real Fourier transforms: the library's, between kernels that see to the conventions.
#include "arithmetic.cuh"
#include "instance.hpp"
#include "launch.cuh"
#include "libraries.hpp"
#include "operation_names.hpp"

namespace torchlean::cuda {

namespace {

// The bins of real signals of length n: those of 0 and, for even n, of n/2 are real, whatever their
// imaginary parts say.
template <class T>
__global__ void real_bins_kernel(uint64_t words, T *out, const T *in, uint64_t n) {
  const uint64_t row = 2 * (n / 2 + 1);
  for (uint64_t i = first_element(); i < words; i += element_stride()) {
    const uint64_t word = i % row;
    const bool is_zero = word % 2 == 1 && (word == 1 || word == n + 1);
    out[i] = is_zero ? T(0) : in[i];
  }
}

template <class T>
__global__ void divide_kernel(uint64_t count, T *x, T divisor) {
  for (uint64_t i = first_element(); i < count; i += element_stride()) {
    x[i] = div_rn(x[i], divisor);
  }
}

// Without the library's own scale: the plain transform, then each element / n.
template <class T>
void inverse(tl_instance &instance, const char *operation, bool is_normalized, uint64_t batch,
             uint64_t n, const T *bins, T *signal) {
  device::Stream &stream = *instance.stream;
  const uint64_t words = batch * 2 * (n / 2 + 1);
  const Result real_bins(instance, operation, words, sizeof(T));
  launch(stream, operation, words, &real_bins_kernel<T>, real_bins.elements<T>(), bins, n);
  device::transform_inverse(stream, operation, batch, n, real_bins.elements<T>(), signal);
  if (is_normalized) {
    launch(stream, operation, batch * n, &divide_kernel<T>, signal, static_cast<T>(n));
  }
}

constexpr auto names = operation_names<TL_FOURIER_OP_COUNT>("transform");

void transform(tl_instance *instance, tl_fourier_op op, const tl_operand *x, uint64_t batch,
               uint64_t n, tl_flags, tl_storage **out) {
  const char *operation = name_of(names, "transform", op);
  with_native(operation, x->dtype, [&]<class T>() {
    if (n == 0 || n > UINT32_MAX) {
      throw Failure(TL_INVALID_ARGUMENT, std::string(operation) + ": n is " + std::to_string(n) +
                                             ", expected 1 to 4294967295");
    }
    const bool to_bins = op == TL_FOURIER_RFFT;
    const uint64_t signal = product({batch, n});
    const uint64_t bins = product({batch, n / 2 + 1, 2});
    check_operand(operation, "x", *x, native_dtype<T>, to_bins ? signal : bins);
    Result result(*instance, operation, to_bins ? bins : signal, sizeof(T));
    if (to_bins) {
      device::transform_forward(*instance->stream, operation, batch, n, elements<T>(*x),
                                result.elements<T>());
    } else {
      inverse(*instance, operation, op == TL_FOURIER_IRFFT, batch, n, elements<T>(*x),
              result.elements<T>());
    }
    *out = result.hand_over();
  });
}

}  // namespace

const tl_fourier_table fourier_table = {
    .struct_size = sizeof(tl_fourier_table),
    .transform = entry<transform>,
};

}  // namespace torchlean::cuda
