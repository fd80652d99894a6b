// Optimizer steps: Adam and AdamW.
#include "arithmetic.cuh"
#include "instance.hpp"
#include "words.cuh"

namespace torchlean::cuda {

namespace {

// tl_adam_params in the dtype.
template <class T>
struct AdamScalars {
  T beta1;
  T one_minus_beta1;
  T beta2;
  T one_minus_beta2;
  T first_correction;
  T second_correction;
  T epsilon;
  T decay;
  T update_scale;
};

template <class T>
struct AdamState {
  T parameter;
  T first_moment;
  T second_moment;
};

// m' = fma(g, 1 - beta1, m beta1), v' = fma(g g, 1 - beta2, v beta2),
// u = (m' c1) / (sqrt(v' c2) + epsilon), p' = fma(u, scale, fma(p, decay, p))
template <class T>
__device__ AdamState<T> adam_step(T p, T g, T m, T v, const AdamScalars<T> &s) {
  const T first = fma_rn(g, s.one_minus_beta1, mul_rn(m, s.beta1));
  const T second = fma_rn(mul_rn(g, g), s.one_minus_beta2, mul_rn(v, s.beta2));
  const T root = sqrt_rn(mul_rn(second, s.second_correction));
  const T update = div_rn(mul_rn(first, s.first_correction), add_rn(root, s.epsilon));
  return {fma_rn(update, s.update_scale, fma_rn(p, s.decay, p)), first, second};
}

template <class T>
__global__ void adam_kernel(uint64_t items, uint64_t n, T *out_p, T *out_m, T *out_v, const T *p,
                            const T *g, const T *m, const T *v, AdamScalars<T> scalars) {
  for_words<widest_word<T>>(items, n, [&]<size_t width>(uint64_t i) {
    Word<T, width> ps = load_word<width>(p, i);
    const Word<T, width> gs = load_word<width>(g, i);
    Word<T, width> ms = load_word<width>(m, i);
    Word<T, width> vs = load_word<width>(v, i);
    for (size_t k = 0; k < width; ++k) {
      const AdamState<T> next =
          adam_step(ps.element[k], gs.element[k], ms.element[k], vs.element[k], scalars);
      ps.element[k] = next.parameter;
      ms.element[k] = next.first_moment;
      vs.element[k] = next.second_moment;
    }
    store_word(out_p, i, ps);
    store_word(out_m, i, ms);
    store_word(out_v, i, vs);
  });
}

template <class T>
AdamScalars<T> scalars_of(const tl_adam_params &params) {
  return {static_cast<T>(params.beta1),
          static_cast<T>(params.one_minus_beta1),
          static_cast<T>(params.beta2),
          static_cast<T>(params.one_minus_beta2),
          static_cast<T>(params.first_correction),
          static_cast<T>(params.second_correction),
          static_cast<T>(params.epsilon),
          static_cast<T>(params.decay),
          static_cast<T>(params.update_scale)};
}

void adam(tl_instance *instance, const tl_operand *parameters, const tl_operand *gradient,
          const tl_operand *first_moment, const tl_operand *second_moment,
          const tl_adam_params *params, tl_flags, tl_storage *out[3]) {
  constexpr const char *operation = "adam_step";
  with_native(operation, parameters->dtype, [&]<class T>() {
    const uint64_t n = parameters->count;
    check_struct_size(operation, params->struct_size, sizeof(tl_adam_params));
    check_operand(operation, "parameters", *parameters, native_dtype<T>, n);
    check_operand(operation, "gradient", *gradient, native_dtype<T>, n);
    check_operand(operation, "first moment", *first_moment, native_dtype<T>, n);
    check_operand(operation, "second moment", *second_moment, native_dtype<T>, n);
    Result new_p(*instance, operation, n, sizeof(T));
    Result new_m(*instance, operation, n, sizeof(T));
    Result new_v(*instance, operation, n, sizeof(T));
    launch_words<widest_word<T>>(
        *instance->stream, operation, n, &adam_kernel<T>, new_p.elements<T>(), new_m.elements<T>(),
        new_v.elements<T>(), elements<T>(*parameters), elements<T>(*gradient),
        elements<T>(*first_moment), elements<T>(*second_moment), scalars_of<T>(*params));
    out[0] = new_p.hand_over();
    out[1] = new_m.hand_over();
    out[2] = new_v.hand_over();
  });
}

}  // namespace

const tl_optimizer_table optimizer_table = {
    .struct_size = sizeof(tl_optimizer_table),
    .adam_step = entry<adam>,
};

}  // namespace torchlean::cuda
