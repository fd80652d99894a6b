// The loop of operations whose result i depends on elements i of the operands alone.
//
// Included once per target, like Highway's own headers.
#if defined(TORCHLEAN_CPU_MAP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLEAN_CPU_MAP_INL
#undef TORCHLEAN_CPU_MAP_INL
#else
#define TORCHLEAN_CPU_MAP_INL
#endif

#include "map.hpp"
#include "simd-inl.h"

#include <hwy/cache_control.h>

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {

// A MapLoop<T>. Op says how many `operands` and `results` it has and computes a vector of each:
//
//   template <class D, class T, class V>
//   static void apply(D d, const T *scalar, const V *x, V *y);
//
// The last elements go through the same steps as all others, in a vector that they do not fill.
template <class Op, class T>
void map_loop(const MapArguments<T> &arguments, uint64_t begin, uint64_t end) {
  const MapArguments<T> given = arguments;  // which no result can overlap
  const Lanes<T> d;
  const size_t lanes = hn::Lanes(d);
  for (uint64_t i = begin; i < end; i += lanes) {
    const bool is_whole = end - i >= lanes;
    if (Op::operands == 1 && given.past_caches) ask_a_page_ahead(given.in[0] + i);
    Vec<T> x[Op::operands];
    Vec<T> y[Op::results];
#pragma GCC unroll 4  // else the vectors go through memory
    for (int k = 0; k < Op::operands; ++k) {
      const T *const from = given.in[k] + i;
      x[k] = is_whole ? hn::LoadU(d, from) : load_first(d, from, end - i);
    }
    Op::apply(d, given.scalar.data(), x, y);
#pragma GCC unroll 4
    for (int k = 0; k < Op::results; ++k) {
      T *const to = given.out[k] + i;
      if (!is_whole) {
        store_first(y[k], d, to, end - i);
      } else if (given.past_caches) {
        hn::Stream(y[k], d, to);
      } else {
        hn::StoreU(y[k], d, to);
      }
    }
  }
  if (given.past_caches) hwy::FlushStream();
}

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TORCHLEAN_CPU_MAP_INL
