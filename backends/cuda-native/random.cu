// Random numbers: element i is a function of key + i alone.
#include "elementary.cuh"
#include "instance.hpp"
#include "launch.cuh"
#include "operation_names.hpp"

namespace torchlean::cuda {

namespace {

// ---- Formulas: key and i as in the specification, the others host scalars -----------------------

// The low 32 bits of SplitMix64's finalizer.
__device__ uint32_t random_bits(uint64_t key, uint64_t i) {
  uint64_t z = key + i + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<uint32_t>(z ^ (z >> 31));
}

// u / 2^32 in binary64, then rounded
template <class T>
__device__ T uniform(uint64_t key, uint64_t i) {
  return convert<T>(mul_rn(static_cast<double>(random_bits(key, i)), 0x1p-32));
}

// u1 = (u(2i) + 1) / (2^32 + 1), u2 = u(2i + 1) / 2^32; r = sqrt(fmax(+0, -2 ln u1));
// fma(std r, cos(2 pi u2), mean)
template <class T>
__device__ T normal(uint64_t key, uint64_t i, T mean, T standard_deviation) {
  const double above_zero = add_rn(static_cast<double>(random_bits(key, 2 * i)), 1.0);
  const T u1 = convert<T>(div_rn(above_zero, 0x1p32 + 1.0));
  const T u2 = uniform<T>(key, 2 * i + 1);
  const T r = sqrt_rn(maximum(T(0), mul_rn(T(-2), elementary::log(u1))));
  const T angle = mul_rn(T(6.283185307179586), u2);
  return fma_rn(mul_rn(standard_deviation, r), elementary::cos(angle), mean);
}

// A probability of NaN is never exceeded, so it gives 0.
template <class T>
__device__ T bernoulli(uint64_t key, uint64_t i, T probability) {
  return probability >= T(1) || uniform<T>(key, i) < probability ? T(1) : T(0);
}

// ---- Kernel and entry ---------------------------------------------------------------------------

template <auto value_of, class T, class... Scalars>
__global__ void random_kernel(uint64_t n, T *out, uint64_t key, Scalars... scalars) {
  for (uint64_t i = first_element(); i < n; i += element_stride()) {
    out[i] = value_of(key, i, scalars...);
  }
}

constexpr auto names = operation_names<TL_RANDOM_OP_COUNT>("generate");

void generate(tl_instance *instance, tl_random_op op, tl_dtype dtype, uint64_t count, uint64_t key,
              const tl_scalars *scalars, tl_flags, tl_storage **out) {
  const char *operation = name_of(names, "generate", op);
  with_native(operation, dtype, [&]<class T>() {
    check_struct_size(operation, scalars->struct_size, sizeof(tl_scalars));
    Result result(*instance, operation, count, sizeof(T));
    const auto fill = [&](auto kernel, auto... rounded) {
      launch(*instance->stream, operation, count, kernel, result.elements<T>(), key, rounded...);
    };
    const T first = static_cast<T>(scalars->scalar[0]);
    const T second = static_cast<T>(scalars->scalar[1]);
    switch (op) {
      case TL_RANDOM_UNIFORM: fill(&random_kernel<uniform<T>, T>); break;
      case TL_RANDOM_NORMAL: fill(&random_kernel<normal<T>, T, T, T>, first, second); break;
      case TL_RANDOM_BERNOULLI: fill(&random_kernel<bernoulli<T>, T, T>, first); break;
      default: refuse_enumerator("generate", op);
    }
    *out = result.hand_over();
  });
}

}  // namespace

const tl_random_table random_table = {
    .struct_size = sizeof(tl_random_table),
    .generate = entry<generate>,
};

}  // namespace torchlean::cuda
