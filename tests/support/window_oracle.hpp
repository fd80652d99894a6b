// Windows of convolutions and pools, found by trying every window, tap and position.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace torchlean::test {

struct OracleAxis {
  int64_t windows, taps, positions, stride, dilation, padding;
};

// A tap of a window that lies on a position; flat row-major indices.
struct Meeting {
  uint64_t window, tap, position;
};

// All of them, by window, then by tap.
inline std::vector<Meeting> meetings(const std::array<OracleAxis, 3> &axes) {
  std::vector<Meeting> all = {{0, 0, 0}};
  for (const OracleAxis &axis : axes) {
    std::vector<Meeting> longer;
    for (const Meeting &m : all)
      for (int64_t w = 0; w < axis.windows; ++w)
        for (int64_t k = 0; k < axis.taps; ++k)
          for (int64_t p = 0; p < axis.positions; ++p)
            if (w * axis.stride + k * axis.dilation == p + axis.padding)
              longer.push_back({m.window * axis.windows + w, m.tap * axis.taps + k,
                                m.position * axis.positions + p});
    all = longer;
  }
  std::stable_sort(all.begin(), all.end(), [](const Meeting &a, const Meeting &b) {
    return a.window != b.window ? a.window < b.window : a.tap < b.tap;
  });
  return all;
}

// floor((in + before + after - d (k - 1) - 1) / s) + 1
inline int64_t window_count(int64_t in, int64_t k, int64_t s, int64_t before, int64_t after,
                            int64_t d) {
  const auto room = static_cast<double>(in + before + after - d * (k - 1) - 1);
  return std::max<int64_t>(0, static_cast<int64_t>(std::floor(room / static_cast<double>(s))) + 1);
}

inline uint64_t volume(const int64_t (&dims)[3]) {
  return static_cast<uint64_t>(dims[0] * dims[1] * dims[2]);
}

inline int64_t pick(std::mt19937_64 &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

// Numbers whose sums and products are exact in every dtype.
template <class T>
std::vector<T> small_integers(std::mt19937_64 &random, uint64_t n) {
  std::vector<T> values(n);
  for (T &value : values) value = static_cast<T>(pick(random, -9, 9));
  return values;
}

}  // namespace torchlean::test
