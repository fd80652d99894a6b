// The loops of convolutions that have a channel in each lane.
#pragma once

#include "blocks.hpp"
#include "cpu.hpp"

#include <algorithm>

namespace torchlean::cpu {

// What the terms of a sum begin with, in x and in the weights.
struct LaneTerm {
  int64_t from;
  int64_t weights;
};

// y[t * y_step + i] = start[t] + sum over all terms and taps of weights[t * weights_step +
// term.weights + j] * x[i * x_step + term.from + taps[j]] for targets t and places i, of vectors:
// steps, from and taps are elements.
template <class T>
struct WeighedLanes {
  const T *x;
  int64_t x_step;
  const T *weights;  // a vector for each tap
  int64_t weights_step;
  const LaneTerm *terms;
  int64_t term_count;
  const int64_t *taps;
  int64_t tap_count;
  const T *start;  // a vector for each target
  int64_t targets;
  T *y;
  int64_t y_step;
  int64_t count;
};

// y[i * y_step + j] += the sum over all terms and k < depth of x[i * x_step + term.from + k *
// depth_step] * weights[term.weights + k * weights_step + j], term after term.
template <class T>
struct LaneProducts {
  const T *x;
  int64_t x_step;
  int64_t depth_step;
  const T *weights;
  int64_t weights_step;
  const LaneTerm *terms;
  int64_t term_count;
  int64_t depth;
  T *y;
  int64_t y_step;
};

template <class T>
struct LaneKernels {
  static constexpr int64_t most_places = 8;
  static constexpr int64_t most_vectors = 3;

  int64_t lanes;
  int64_t places;  // that are multiplied together at most

  // multiply[depth_step != 1][places - 1][vectors - 1]: a step that is not known costs 1 to 7 %.
  void (*multiply[2][most_places][most_vectors])(const LaneProducts<T> &);

  // to[i * to_stride + j] = from[j * from_stride + i] for i < rows, j < cols.
  void (*transpose)(const T *from, int64_t from_stride, T *to, int64_t to_stride, int64_t rows,
                    int64_t cols);

  int64_t targets;  // that `weigh` takes at most
  void (*weigh)(const WeighedLanes<T> &);
};

template <class T>
const LaneKernels<T> &lane_kernels(Target target);

// Channels in panels of whole vectors, nearly alike and few enough to be multiplied together.
template <class T>
class Panels {
 public:
  Panels(int64_t channels, int64_t lanes)
      : channels_(channels),
        lanes_(lanes),
        vectors_(blocks_in(channels, lanes)),
        count_(blocks_in(vectors_, LaneKernels<T>::most_vectors)) {}

  int64_t count() const { return count_; }
  // Of all panels, lanes behind the last channel included.
  int64_t width() const { return vectors_ * lanes_; }

  // The first channel of a panel, and how many it has with those lanes and without.
  int64_t first(int64_t panel) const { return panel * vectors_ / count_ * lanes_; }
  int64_t width(int64_t panel) const { return first(panel + 1) - first(panel); }
  int64_t used(int64_t panel) const { return std::min(width(panel), channels_ - first(panel)); }

 private:
  int64_t channels_;
  int64_t lanes_;
  int64_t vectors_;
  int64_t count_;
};

}  // namespace torchlean::cpu
