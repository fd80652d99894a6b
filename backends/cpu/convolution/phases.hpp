// Which values of a convolution meet, axis by axis.
#pragma once

#include <torchlean/backend_windows.hpp>

#include <vector>

namespace torchlean::cpu {

// Axes without a kernel join the last one, as far as it has none, too. Axes of one place come
// first.
WindowGrid merged(const WindowGrid &windows);

struct AxisTap {
  int64_t tap;
  int64_t offset;
};

// Results start, start + step ... of an axis; the q-th of them reads what lies `tap.offset` behind
// q * source_step.
struct Phase {
  int64_t count;
  int64_t start;
  int64_t step;
  int64_t source_step;
  int64_t source_size;
  std::vector<AxisTap> taps;

  // What place q reads for a tap, and whether that is not padding.
  int64_t read_by(int64_t q, const AxisTap &tap) const { return q * source_step + tap.offset; }
  bool is_inside(int64_t position) const { return position >= 0 && position < source_size; }

  // Keeps a tap that lies inside for some q.
  void add(int64_t tap, int64_t offset);

  // The places for which a tap lies inside.
  int64_t first_inside(const AxisTap &tap) const;
  int64_t end_inside(const AxisTap &tap) const;

  bool reaches_padding() const;
};

using Phases = std::array<const Phase *, 3>;
using AxisPhases = std::array<std::vector<Phase>, 3>;

// Which line of the source is read, for two taps, by line (first, second) of results; -1 in the
// padding.
int64_t line_read(const Phases &phase, int64_t first, const AxisTap &a, int64_t second,
                  const AxisTap &b);

// Every window in one go.
std::vector<Phase> phases_of_windows(const WindowAxis &axis);

// The same, with the taps that lie inside for no window.
Phase all_taps_of_windows(const WindowAxis &axis);

// Positions that lie a stride apart meet the same taps of neighbouring windows.
std::vector<Phase> phases_of_positions(const WindowAxis &axis);

}  // namespace torchlean::cpu
