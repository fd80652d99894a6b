// Random numbers: element i is a function of key + i alone.
#include "map.hpp"

#define HWY_TARGET_INCLUDE "random.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {

using Words = Lanes<uint64_t>;

// a * factor modulo 2^64.
HWY_INLINE Vec<uint64_t> product_of(Vec<uint64_t> a, uint64_t factor) {
#if HWY_TARGET == HWY_AVX3
  return Vec<uint64_t>{_mm512_mullo_epi64(a.raw, hn::Set(Words(), factor).raw)};
#elif HWY_TARGET == HWY_SCALAR
  return Vec<uint64_t>(a.raw * factor);
#else
  const Words d;
  const hn::Repartition<uint32_t, Words> halves;
  const auto low = hn::BitCast(halves, a);
  const auto high = hn::BitCast(halves, hn::ShiftRight<32>(a));
  const auto factor_low = hn::BitCast(halves, hn::Set(d, factor));
  const auto factor_high = hn::BitCast(halves, hn::Set(d, factor >> 32));
  const auto crossed = hn::Add(hn::MulEven(high, factor_low), hn::MulEven(low, factor_high));
  return hn::Add(hn::MulEven(low, factor_low), hn::ShiftLeft<32>(crossed));
#endif
}

// The low 32 bits of SplitMix64's finalizer, as doubles.
HWY_INLINE Vec<double> random_numbers(Vec<uint64_t> index) {
  const Words d;
  const Lanes<double> wide;
  auto z = hn::Add(index, hn::Set(d, uint64_t{0x9E3779B97F4A7C15}));
  z = product_of(hn::Xor(z, hn::ShiftRight<30>(z)), 0xBF58476D1CE4E5B9);
  z = product_of(hn::Xor(z, hn::ShiftRight<27>(z)), 0x94D049BB133111EB);
  z = hn::And(hn::Xor(z, hn::ShiftRight<31>(z)), hn::Set(d, uint64_t{0xFFFFFFFF}));
  // In the mantissa of 2^52 they are a number.
  const auto exponent = hn::Set(wide, 0x1p52);
  return hn::Sub(hn::Or(hn::BitCast(wide, z), exponent), exponent);
}

// Vectors of T with as many lanes as there are words.
template <class T>
using Narrow = hn::Rebind<T, Words>;

// The doubles, rounded to T.
template <class T>
HWY_INLINE hn::Vec<Narrow<T>> rounded(Vec<double> x) {
  if constexpr (sizeof(T) == sizeof(double)) {
    return x;
  } else {
    return hn::DemoteTo(Narrow<T>(), x);
  }
}

template <class T>
HWY_INLINE hn::Vec<Narrow<T>> uniform(Vec<uint64_t> index) {
  const Lanes<double> wide;
  return rounded<T>(hn::Mul(random_numbers(index), hn::Set(wide, 0x1p-32)));
}

template <class T>
HWY_INLINE hn::Vec<Narrow<T>> normal(Vec<uint64_t> index, T mean, T standard_deviation) {
  const Narrow<T> d;
  const Words words;
  const Lanes<double> wide;
  const auto u = hn::Add(random_numbers(index), hn::Set(wide, 1.0));
  const auto u1 = rounded<T>(hn::Div(u, hn::Set(wide, 0x1p32 + 1.0)));
  const auto u2 = uniform<T>(hn::Add(index, hn::Set(words, uint64_t{1})));
  const auto square = hn::Mul(hn::Set(d, T(-2)), log_of(d, u1));
  const auto r = hn::Sqrt(hn::IfThenElseZero(hn::Gt(square, hn::Zero(d)), square));
  const auto angle = hn::Mul(hn::Set(d, static_cast<T>(6.283185307179586)), u2);
  return fma(hn::Mul(hn::Set(d, standard_deviation), r), cos_of(d, angle), hn::Set(d, mean));
}

// A probability of NaN is never exceeded, so it gives 0.
template <class T>
HWY_INLINE hn::Vec<Narrow<T>> bernoulli(Vec<uint64_t> index, T probability) {
  const Narrow<T> d;
  const auto one = hn::Set(d, T(1));
  if (probability >= 1) return one;
  return hn::IfThenElseZero(hn::Lt(uniform<T>(index), hn::Set(d, probability)), one);
}

// y[i] for begin <= i < end.
template <tl_random_op op, class T>
void generate(uint64_t key, T first, T second, T *y, uint64_t begin, uint64_t end) {
  const Words words;
  const Narrow<T> d;
  constexpr uint64_t numbers = op == TL_RANDOM_NORMAL ? 2 : 1;  // that an element takes
  const auto own = product_of(hn::Iota(words, 0), numbers);
  for (uint64_t i = begin; i < end; i += hn::Lanes(words)) {
    const auto index = hn::Add(own, hn::Set(words, key + numbers * i));
    hn::Vec<Narrow<T>> values;
    if constexpr (op == TL_RANDOM_UNIFORM) values = uniform<T>(index);
    if constexpr (op == TL_RANDOM_NORMAL) values = normal<T>(index, first, second);
    if constexpr (op == TL_RANDOM_BERNOULLI) values = bernoulli<T>(index, first);
    if (end - i >= hn::Lanes(words)) {
      hn::StoreU(values, d, y + i);
    } else {
      store_first(values, d, y + i, end - i);
    }
  }
}

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlean::cpu {
namespace {

template <class T>
using Generate = void (*)(uint64_t key, T first, T second, T *y, uint64_t begin, uint64_t end);

template <class T>
Generate<T> generator(Target target, tl_random_op op) {
  switch (op) {
    case TL_RANDOM_UNIFORM: return TORCHLEAN_CPU_CHOOSE(target, generate<TL_RANDOM_UNIFORM, T>);
    case TL_RANDOM_NORMAL: return TORCHLEAN_CPU_CHOOSE(target, generate<TL_RANDOM_NORMAL, T>);
    case TL_RANDOM_BERNOULLI: return TORCHLEAN_CPU_CHOOSE(target, generate<TL_RANDOM_BERNOULLI, T>);
    default: throw unknown("op", op);
  }
}

void generate_all(tl_instance &instance, tl_random_op op, tl_dtype dtype, uint64_t count,
                  uint64_t key, const tl_scalars *scalars, tl_flags, tl_storage **out) {
  const tl_scalars known = known_part("scalars", scalars);
  check_count(count);
  with_native(dtype, [&]<class T>(T) {
    const Generate<T> loop = generator<T>(instance.target, op);
    Result<T> y(instance, count);
    const uint64_t grain = count < costs_steps.shared_from ? count : costs_steps.grain;
    parallel_for(instance, count, grain, [&](uint64_t begin, uint64_t end) {
      loop(key, static_cast<T>(known.scalar[0]), static_cast<T>(known.scalar[1]), y.begin(), begin,
           end);
    });
    hand_out(out, y);
  });
}

}  // namespace

const tl_random_table random_table = {
    .struct_size = sizeof(tl_random_table),
    .generate = entry<"generate", generate_all>,
};

}  // namespace torchlean::cpu

#endif  // HWY_ONCE
