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

// An element of each of a tile's rows, `row` elements apart. Four rows share an address, so that
// addresses stay in registers (8 by 1 vectors: a seventh faster than with one for each).
template <class T, int rows>
class TileRows {
 public:
  HWY_INLINE TileRows(const T *first, int64_t row) : row_(row) {
#pragma GCC unroll 4
    for (int r = 0; r < rows; r += together) first_[r / together] = first + r * row;
  }

  HWY_INLINE const T &operator[](int r) const { return first_[r / together][r % together * row_]; }

  HWY_INLINE void advance(int64_t step) {
#pragma GCC unroll 4
    for (int r = 0; r < rows; r += together) first_[r / together] += step;
  }

 private:
  static constexpr int together = 4;

  const T *first_[(rows + together - 1) / together];
  const int64_t row_;
};

// sum[r][v] += left[r] * the v-th vector at `right`
template <int rows, int vectors, class T>
HWY_INLINE void add_products(const TileRows<T, rows> &left, const T *right,
                             Vec<T> (&sum)[rows][vectors]) {
  const Lanes<T> d;
  Vec<T> row[vectors];
#pragma GCC unroll 3
  for (int v = 0; v < vectors; ++v) row[v] = hn::LoadU(d, right + v * hn::MaxLanes(d));
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    const Vec<T> factor = hn::Set(d, left[r]);
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) sum[r][v] = hn::MulAdd(factor, row[v], sum[r][v]);
  }
}

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TORCHLEAN_CPU_TILE_INL
