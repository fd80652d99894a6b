// Walks along neighbouring elements, vector by vector, the last of which may be a part of one.
//
// Included once per target, like Highway's own headers.
#if defined(TORCHLEAN_CPU_VECTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLEAN_CPU_VECTORS_INL
#undef TORCHLEAN_CPU_VECTORS_INL
#else
#define TORCHLEAN_CPU_VECTORS_INL
#endif

#include "simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {

// The native vector, but no longer than a cache line.
template <class T>
using LineTag = hn::CappedTag<T, 64 / sizeof(T)>;

// How a vector is read and written: all of it, or the first lanes alone.
struct WholeVector {
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D> *p) const {
    return hn::LoadU(d, p);
  }
  template <class D>
  HWY_INLINE void store(hn::Vec<D> v, D d, hn::TFromD<D> *p) const {
    hn::StoreU(v, d, p);
  }
};

struct FirstLanes {
  uint64_t count;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D> *p) const {
    return load_first(d, p, count);
  }
  template <class D>
  HWY_INLINE void store(hn::Vec<D> v, D d, hn::TFromD<D> *p) const {
    store_first(v, d, p, count);
  }
};

// body(d, lanes, i) for the vectors that start at i = 0, ... of `count` elements of T.
template <class T, class Body>
HWY_INLINE void each_vector(uint64_t count, const Body &body) {
  const LineTag<T> d;
  uint64_t i = 0;
  for (; i + hn::MaxLanes(d) <= count; i += hn::MaxLanes(d)) body(d, WholeVector(), i);
  if (i < count) body(d, FirstLanes{count - i}, i);
}

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TORCHLEAN_CPU_VECTORS_INL
