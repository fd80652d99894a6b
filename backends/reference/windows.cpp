// The lengths of axes that windows slide over, and their checks.
#include "windows.hpp"

#include "exact_sum.hpp"

#include <limits>

namespace torchlean::reference {
namespace {

// From the first tap of the first window to the last of the last; windows > 0.
int128 span_of(int64_t windows, int64_t taps, int64_t stride, int64_t dilation) {
  return (int128{windows} - 1) * stride + (int128{taps} - 1) * dilation + 1;
}

// Every index of the axis is computed in 64 bits.
int64_t checked(int128 length) {
  if (length > std::numeric_limits<int64_t>::max())
    throw invalid("params describe an axis whose padded length leaves 64 bits");
  return static_cast<int64_t>(length);
}

}  // namespace

WindowAxis windows_in(int64_t positions, int64_t taps, int64_t stride, int64_t dilation,
                      int64_t before, int64_t after) {
  const int64_t padded = checked(int128{positions} + before + after);
  const int128 room = padded - span_of(1, taps, stride, dilation);
  const int64_t windows = room < 0 ? 0 : static_cast<int64_t>(room / stride) + 1;
  return {{{windows, taps, positions}}, stride, dilation, before};
}

WindowAxis positions_under(int64_t windows, int64_t taps, int64_t stride, int64_t dilation,
                           int64_t before, int64_t after) {
  const int128 span = span_of(windows, taps, stride, dilation);
  const int128 rest = span - before - after;
  const int64_t positions = rest < 0 ? 0 : checked(rest);
  if (windows > 0) {
    checked(span);
    checked(int128{positions} + before);
  }
  return {{{windows, taps, positions}}, stride, dilation, before};
}

void expect_at_least(const char *member, size_t axis, int64_t value, int64_t least) {
  if (value < least)
    throw invalid("params." + std::string(member) + "[" + std::to_string(axis) + "] is " +
                  std::to_string(value) + ", expected at least " + std::to_string(least));
}

void expect_length(size_t axis, int64_t out, int64_t expected) {
  if (out != expected)
    throw invalid("params.out[" + std::to_string(axis) + "] is " + std::to_string(out) +
                  ", expected " + std::to_string(expected));
}

}  // namespace torchlean::reference
