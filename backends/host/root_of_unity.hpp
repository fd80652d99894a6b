// Roots of unity for Fourier transforms.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <utility>

namespace torchlean {

// exp(-2 pi i k/n) for k <= n <= 2^33, computed in W. Folding k/n to the first eighth of a turn is
// exact.
template <class W>
std::complex<W> root_of_unity(uint64_t k, uint64_t n) {
  uint64_t angle = 8 * k;  // in units of 1/(8 n) turn
  const bool below = angle > 4 * n;
  if (below) angle = 8 * n - angle;
  const bool left = angle > 2 * n;
  if (left) angle = 4 * n - angle;
  const bool steep = angle > n;
  if (steep) angle = 2 * n - angle;
  const W radians = std::numbers::pi_v<W> * static_cast<W>(angle) / static_cast<W>(4 * n);
  W cosine = std::cos(radians);
  W sine = std::sin(radians);
  if (steep) std::swap(cosine, sine);
  return {left ? -cosine : cosine, below ? sine : -sine};
}

}  // namespace torchlean
