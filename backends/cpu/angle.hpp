// Arguments of sin and cos that are too large, or too close to a multiple of pi/2, for the vector
// code. One at a time, on every target by the same instructions.
#pragma once

#include <cstdint>

namespace torchlean::cpu {

// x = quadrant * pi/2 + radians modulo 2 pi, |radians| <= pi/4, within 0.6 ulp.
struct Angle {
  uint32_t quadrant;
  double radians;
};

// x >= 0; NaN for infinity.
Angle reduced_angle(double x);

}  // namespace torchlean::cpu
