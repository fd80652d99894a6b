// Tiles of matrix products in vector registers.
//
// Included once per target, like Highway's own headers.
#if defined(TORCHLEAN_CPU_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLEAN_CPU_TILE_INL
#undef TORCHLEAN_CPU_TILE_INL
#else
#define TORCHLEAN_CPU_TILE_INL
#endif

#include "simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {

// The largest ones, which leave registers for a row of the right factor and an element of the left.
inline constexpr int64_t tile_rows = HWY_TARGET == HWY_AVX3 ? 8 : 4;
inline constexpr int64_t tile_vectors = 3;

// sum[r][v] += left[r][at] * the v-th vector at `right`
template <int rows, int vectors, class T>
HWY_INLINE void add_products(const T *const (&left)[rows], int64_t at, const T *right,
                             Vec<T> (&sum)[rows][vectors]) {
  const Lanes<T> d;
  Vec<T> row[vectors];
#pragma GCC unroll 3
  for (int v = 0; v < vectors; ++v) row[v] = hn::LoadU(d, right + v * hn::MaxLanes(d));
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    const Vec<T> factor = hn::Set(d, left[r][at]);
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) sum[r][v] = hn::MulAdd(factor, row[v], sum[r][v]);
  }
}

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TORCHLEAN_CPU_TILE_INL
