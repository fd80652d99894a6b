// Random numbers: element i is a function of key + i alone.
#include "composed.hpp"
#include "kernels.hpp"
#include "libtorch.hpp"

#include <numbers>

namespace torchlean::libtorch {
namespace {

// The low half of SplitMix64's finalizer.
inline uint32_t random_bits(uint64_t counter) {
  uint64_t z = counter + 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<uint32_t>(z ^ (z >> 31));
}

constexpr double two_to_32 = 4294967296.0;

template <class T>
T uniform(uint64_t counter) {
  return static_cast<T>(random_bits(counter) / two_to_32);
}

// Box and Muller; u1 is never 0.
template <class T>
T normal(uint64_t counter, T mean, T deviation) {
  const T u1 = static_cast<T>((random_bits(counter) + 1.0) / (two_to_32 + 1.0));
  const T u2 = uniform<T>(counter + 1);
  const T square = T(-2) * std::log(u1);
  const T radius = std::sqrt(square > 0 ? square : T(0));
  const T angle = static_cast<T>(2 * std::numbers::pi) * u2;
  return std::fma(deviation * radius, std::cos(angle), mean);
}

template <class T>
at::Tensor values(tl_random_op op, int64_t n, uint64_t key, const tl_scalars &scalars) {
  at::Tensor result = empty(n, scalar_type<T>);
  T *const y = result.mutable_data_ptr<T>();
  switch (op) {
    case TL_RANDOM_UNIFORM:
      each(n, [=](int64_t i) { y[i] = uniform<T>(key + static_cast<uint64_t>(i)); });
      return result;
    case TL_RANDOM_NORMAL: {
      const T mean = static_cast<T>(scalars.scalar[0]);
      const T deviation = static_cast<T>(scalars.scalar[1]);
      each(n, costly_grain, [=](int64_t i) {
        y[i] = normal<T>(key + 2 * static_cast<uint64_t>(i), mean, deviation);
      });
      return result;
    }
    case TL_RANDOM_BERNOULLI: {
      // float32's uniform can be 1, so p >= 1 is a case of its own; a NaN is below nothing.
      const T p = static_cast<T>(scalars.scalar[0]);
      const bool always = p >= 1;
      each(n, [=](int64_t i) {
        y[i] = always || uniform<T>(key + static_cast<uint64_t>(i)) < p ? T(1) : T(0);
      });
      return result;
    }
    default: throw unknown("op", op);
  }
}

void generate(tl_instance &instance, tl_random_op op, tl_dtype dtype, uint64_t count, uint64_t key,
              const tl_scalars *scalars, tl_flags, tl_storage **out) {
  const tl_scalars &known = known_part("scalars", scalars);
  const int64_t n = extent("count", count);
  with_native(dtype, [&]<class T>(T) {
    hand_out(out, instance.composed ? composed::random(op, instance.device(), dtype, n, key,
                                                       static_cast<T>(known.scalar[0]),
                                                       static_cast<T>(known.scalar[1]))
                                    : values<T>(op, n, key, known));
  });
}

}  // namespace

const tl_random_table random_table = {
    .struct_size = sizeof(tl_random_table),
    .generate = entry<"generate", generate>,
};

}  // namespace torchlean::libtorch
