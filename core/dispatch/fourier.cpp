// Fourier family: real transforms of the rows of (batch, n), complex numbers as pairs.
#include "dispatch/call.hpp"

namespace torchlean {
namespace {

tl_status transform(tl_operation operation, tl_fourier_op op, const char *argument,
                    const tl_buffer *x, std::uint64_t batch, std::uint64_t n, tl_buffer **out) {
  Call call(operation);
  call.check_positive("n", n);
  const tl_operand *operand = call.native(argument, x);
  const std::array<std::uint64_t, 2> real_dims = {batch, n};
  const std::array<std::uint64_t, 3> complex_dims = {batch, n / 2 + 1, 2};
  std::uint64_t from = call.product("batch and n", real_dims);
  std::uint64_t to = call.product("batch, n / 2 + 1, 2", complex_dims);
  const char *expectation = "batch * n";
  if (op != TL_FOURIER_RFFT) {
    std::swap(from, to);
    expectation = "batch * (n / 2 + 1) * 2";
  }
  call.check_count(argument, operand, from, expectation);
  return call.result(out, to, [&](Backend &backend, tl_storage **storage) {
    return backend.fourier.transform(backend.instance, op, operand, batch, n, 0, storage);
  });
}

}  // namespace
}  // namespace torchlean

using namespace torchlean;

extern "C" {

tl_status tl_rfft1d_packed(const tl_buffer *x, uint64_t batch, uint64_t n, tl_buffer **out) {
  return transform(TL_OP_rfft1d_packed, TL_FOURIER_RFFT, "x", x, batch, n, out);
}

tl_status tl_irfft1d_packed(const tl_buffer *spec, uint64_t batch, uint64_t n, tl_buffer **out) {
  return transform(TL_OP_irfft1d_packed, TL_FOURIER_IRFFT, "spec", spec, batch, n, out);
}

tl_status tl_irfft1d_packed_unnormalized(const tl_buffer *spec, uint64_t batch, uint64_t n,
                                         tl_buffer **out) {
  return transform(TL_OP_irfft1d_packed_unnormalized, TL_FOURIER_IRFFT_UNNORMALIZED, "spec", spec,
                   batch, n, out);
}

}  // extern "C"
