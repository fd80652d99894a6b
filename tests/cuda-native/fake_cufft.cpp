// Stands in for cuFFT: transforms by their definition, on host memory.
#include "fake_libraries.hpp"

#pragma GCC visibility push(default)
#include <cufft.h>
#pragma GCC visibility pop

#include <cmath>
#include <complex>
#include <map>
#include <numbers>

namespace {

FakeCufft state;

struct Plan {
  long long n, in_distance, out_distance, batch;
  cufftType type;
};

std::map<cufftHandle, Plan> plans;

cufftResult answer() {
  const auto status = static_cast<cufftResult>(state.answer);
  state.answer = 0;
  return status;
}

std::complex<double> root(long long k, long long n) {
  return std::polar(1.0,
                    2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n));
}

template <class T>
cufftResult forward(cufftHandle handle, const T *in, T *out) {
  const Plan &plan = plans.at(handle);
  for (long long s = 0; s < plan.batch; ++s)
    for (long long k = 0; k <= plan.n / 2; ++k) {
      std::complex<double> sum = 0;
      for (long long j = 0; j < plan.n; ++j)
        sum += static_cast<double>(in[s * plan.in_distance + j]) * std::conj(root(j * k, plan.n));
      out[2 * (s * plan.out_distance + k)] = static_cast<T>(sum.real());
      out[2 * (s * plan.out_distance + k) + 1] = static_cast<T>(sum.imag());
    }
  return answer();
}

template <class T>
cufftResult inverse(cufftHandle handle, T *in, T *out) {
  const Plan &plan = plans.at(handle);
  for (long long s = 0; s < plan.batch; ++s)
    for (long long j = 0; j < plan.n; ++j) {
      double sum = 0;
      for (long long k = 0; k < plan.n; ++k) {
        const T *bin = in + 2 * (s * plan.in_distance + (k <= plan.n / 2 ? k : plan.n - k));
        const std::complex<double> value(bin[0], k <= plan.n / 2 ? bin[1] : -bin[1]);
        sum += (value * root(j * k, plan.n)).real();
      }
      out[s * plan.out_distance + j] = static_cast<T>(sum);
    }
  return answer();
}

}  // namespace

#pragma GCC visibility push(default)
// The headers name parameters otherwise.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

FakeCufft *fake_cufft_state() { return &state; }

cufftResult cufftCreate(cufftHandle *handle) {
  ++state.plans;
  *handle = ++state.made;
  return CUFFT_SUCCESS;
}
cufftResult cufftDestroy(cufftHandle handle) {
  --state.plans;
  return plans.erase(handle) == 1 ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}
cufftResult cufftSetStream(cufftHandle, cudaStream_t) { return CUFFT_SUCCESS; }
cufftResult cufftSetAutoAllocation(cufftHandle, int is_automatic) {
  return is_automatic == 0 ? CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
}
cufftResult cufftSetWorkArea(cufftHandle, void *workspace) {
  state.workspace = workspace;
  return CUFFT_SUCCESS;
}
cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long *n, long long *in_shape,
                                long long in_stride, long long in_distance, long long *out_shape,
                                long long out_stride, long long out_distance, cufftType type,
                                long long batch, size_t *workspace) {
  if (rank != 1 || in_shape == nullptr || out_shape == nullptr || in_stride != 1 || out_stride != 1)
    return CUFFT_INVALID_VALUE;
  plans[handle] = {*n, in_distance, out_distance, batch, type};
  *workspace = state.workspace_bytes;
  return CUFFT_SUCCESS;
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal *in, cufftComplex *out) {
  return plans.at(plan).type == CUFFT_R2C ? forward(plan, in, reinterpret_cast<float *>(out))
                                          : CUFFT_INVALID_TYPE;
}
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex *in, cufftReal *out) {
  return plans.at(plan).type == CUFFT_C2R ? inverse(plan, reinterpret_cast<float *>(in), out)
                                          : CUFFT_INVALID_TYPE;
}
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal *in, cufftDoubleComplex *out) {
  return plans.at(plan).type == CUFFT_D2Z ? forward(plan, in, reinterpret_cast<double *>(out))
                                          : CUFFT_INVALID_TYPE;
}
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleReal *out) {
  return plans.at(plan).type == CUFFT_Z2D ? inverse(plan, reinterpret_cast<double *>(in), out)
                                          : CUFFT_INVALID_TYPE;
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
#pragma GCC visibility pop
