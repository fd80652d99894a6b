// What every kernel file needs beside Highway: a true fused multiply-add on every target, and the
// first few lanes of a vector in memory.
//
// Included once per target, like Highway's own headers.
#if defined(TORCHLEAN_CPU_SIMD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLEAN_CPU_SIMD_INL
#undef TORCHLEAN_CPU_SIMD_INL
#else
#define TORCHLEAN_CPU_SIMD_INL
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Lanes = hn::ScalableTag<T>;

// The native vector of T.
template <class T>
using Vec = hn::Vec<Lanes<T>>;

// f(lane) of every lane, for what a target has no instruction for.
template <class D, class V, class F>
HWY_INLINE V each_lane(D d, V v, F f) {
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = f(lanes[i], i);
  return hn::Load(d, lanes);
}

// a * b + c rounded once, on every target: results are the same at every vector width. Highway's
// MulAdd rounds twice where there is no instruction for it.
template <class V>
HWY_INLINE V fma(V a, V b, V c) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(a, b, c);
#else
  const hn::DFromV<V> d;
  using T = hn::TFromD<decltype(d)>;
  HWY_ALIGN T y[hn::MaxLanes(d)];
  HWY_ALIGN T z[hn::MaxLanes(d)];
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  return each_lane(d, a, [&](T x, size_t i) { return std::fma(x, y[i], z[i]); });
#endif
}

// The first `count` < Lanes(d) elements at p, zeros after them; nothing beyond is touched.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T *p, size_t count) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_HAVE_SCALABLE
  return hn::MaskedLoad(hn::FirstN(d, count), d, p);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
  for (size_t i = 0; i < count; ++i) lanes[i] = p[i];
  return hn::Load(d, lanes);
#endif
}

// Writes the first `count` < Lanes(d) lanes to p, and nothing beyond.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T *p, size_t count) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_HAVE_SCALABLE
  hn::BlendedStore(v, hn::FirstN(d, count), d, p);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < count; ++i) p[i] = lanes[i];
#endif
}

// The elements at p in lanes [first, first + count), zeros in others; nothing else is touched.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_some(D d, const T *p, size_t first, size_t count) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::MaskedLoad(hn::AndNot(hn::FirstN(d, first), hn::FirstN(d, first + count)), d,
                        p - first);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
  for (size_t i = 0; i < count; ++i) lanes[first + i] = p[i];
  return hn::Load(d, lanes);
#endif
}

// Writes lanes [first, first + count) to p, and nothing else.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_some(hn::Vec<D> v, D d, T *p, size_t first, size_t count) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  hn::BlendedStore(v, hn::AndNot(hn::FirstN(d, first), hn::FirstN(d, first + count)), d, p - first);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (size_t i = 0; i < count; ++i) p[i] = lanes[first + i];
#endif
}

// Asks the nearest cache for what lies a page behind `from`, the one operand of results that are
// written past the caches: processors do not look beyond a page themselves (47 rather than 41 GB/s
// read and written). Where several operands are read it costs a tenth.
HWY_INLINE void ask_a_page_ahead(const void *from) {
  constexpr uintptr_t page = 4096;
  __builtin_prefetch(reinterpret_cast<const void *>(reinterpret_cast<uintptr_t>(from) + page));
}

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TORCHLEAN_CPU_SIMD_INL
