// Row-major indices, and which elements belong together.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace torchlean::conformance {

using Dims = std::vector<std::uint64_t>;

inline std::uint64_t product(const Dims &dims) {
  return std::accumulate(dims.begin(), dims.end(), std::uint64_t{1}, std::multiplies<>());
}

inline std::string text_of(const Dims &dims) {
  std::string text = "(";
  for (const std::uint64_t dim : dims) text += (text.size() > 1 ? "," : "") + std::to_string(dim);
  return text + ")";
}

// The coordinates of a flat row-major index.
inline Dims coordinates(std::uint64_t index, const Dims &dims) {
  Dims at(dims.size());
  for (std::size_t axis = dims.size(); axis-- > 0; index /= dims[axis])
    at[axis] = index % dims[axis];
  return at;
}

inline std::uint64_t flat(const Dims &at, const Dims &dims) {
  std::uint64_t index = 0;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) index = index * dims[axis] + at[axis];
  return index;
}

// The lists of broadcast_to, and the input element that an output element reads.
struct Broadcast {
  Dims in, out, map;

  std::uint64_t source(std::uint64_t out_index) const {
    const Dims at = coordinates(out_index, out);
    Dims from(in.size());
    for (std::size_t axis = 0; axis < out.size(); ++axis)
      if (map[axis] != 0 && in[map[axis] - 1] != 1) from[map[axis] - 1] = at[axis];
    return flat(from, in);
  }
};

// For each output element the input elements that it is made of, in row-major order.
using Groups = std::vector<std::vector<std::size_t>>;

// Along the middle axis of (outer, n, inner).
inline Groups axis_groups(std::size_t outer, std::size_t n, std::size_t inner) {
  Groups groups(outer * inner);
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t i = 0; i < inner; ++i)
        groups[o * inner + i].push_back((o * n + k) * inner + i);
  return groups;
}

inline Groups broadcast_groups(const Broadcast &b) {
  Groups groups(product(b.in));
  for (std::size_t i = 0; i < product(b.out); ++i) groups[b.source(i)].push_back(i);
  return groups;
}

}  // namespace torchlean::conformance
