// The shapes, and cutting pieces out of cases.
#include "compare/shapes.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace torchlean::tools {
namespace {

using Sizes = std::vector<std::uint64_t>;

std::vector<std::size_t> all_axes(std::size_t rank) {
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return axes;
}

Extents elementwise_extents(const Case &one) {
  return {{one.inputs.empty() ? 0 : one.inputs[0].size()},
          std::vector<std::vector<std::size_t>>(one.inputs.size(), {0})};
}

// For each axis of `dims` the axis of out_dims that reads it; dims of 1 have an extent of their
// own, behind the others, which stays.
Extents broadcast_extents(const Case &one) {
  Extents extents{one.out_dims, {{}}};
  for (std::size_t a = 0; a < one.dims.size(); ++a) {
    const auto reader = std::find(one.axis_map.begin(), one.axis_map.end(), a + 1);
    if (one.dims[a] == 1 || reader == one.axis_map.end()) {
      extents.axes[0].push_back(extents.sizes.size());
      extents.sizes.push_back(1);
    } else {
      extents.axes[0].push_back(static_cast<std::size_t>(reader - one.axis_map.begin()));
    }
  }
  return extents;
}

void resize_broadcast(Case &one, const Sizes &sizes) {
  const Extents extents = broadcast_extents(one);
  for (std::size_t a = 0; a < one.dims.size(); ++a) one.dims[a] = sizes[extents.axes[0][a]];
  std::copy_n(sizes.begin(), one.out_dims.size(), one.out_dims.begin());
}

Extents adjoint_extents(const Case &one) {
  Extents extents = broadcast_extents(one);
  extents.axes = {all_axes(one.out_dims.size())};
  return extents;
}

Extents matmul_extents(const Case &one) {
  const MatmulShape &s = one.matmul;
  using Axes = std::vector<std::size_t>;
  return {{s.batch, s.m, s.n, s.p},
          {s.transpose_a ? Axes{0, 2, 1} : Axes{0, 1, 2},
           s.transpose_b ? Axes{0, 3, 2} : Axes{0, 2, 3}}};
}

// rows, cols and the number of indices.
Extents index_extents(const Case &one, std::vector<std::vector<std::size_t>> axes) {
  return {{one.dims[0], one.dims[1], one.indices.size()}, std::move(axes), 1, 2, 0};
}

void resize_matrix(Case &one, const Sizes &sizes) { one.dims = {sizes[0], sizes[1]}; }

// Time and state; coefficients and h0 come first, then what has both.
Extents scan_extents(const Case &one, const std::vector<std::size_t> &coefficient) {
  Extents extents{one.dims, std::vector<std::vector<std::size_t>>(one.inputs.size(), {0, 1})};
  extents.axes[0] = extents.axes[1] = coefficient;
  extents.axes[3] = {1};
  return extents;
}

// The indices that are left: without a piece of them, or of what they point into. Those into the
// piece point at nothing.
void cut_indices(Case &one, const Extents &extents, std::size_t extent, std::uint64_t first,
                 std::uint64_t count) {
  if (extents.indices == extent) {
    const auto begin = one.indices.begin() + static_cast<std::ptrdiff_t>(first);
    one.indices.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
  } else if (extents.indexed == extent) {
    for (std::uint32_t &index : one.indices) {
      if (index >= first + count) {
        if (index < extents.sizes[extent]) index -= static_cast<std::uint32_t>(count);
      } else if (index >= first) {
        index = UINT32_MAX;
      }
    }
  }
}

// The array of the given dims without a piece of one axis.
Array cut(const Array &array, const Sizes &dims, std::uint64_t words, std::size_t axis,
          std::uint64_t first, std::uint64_t count) {
  std::uint64_t inner = words;
  for (std::size_t a = axis + 1; a < dims.size(); ++a) inner *= dims[a];
  Array rest{array.dtype, array.format, {}};
  for (std::uint64_t i = 0; i < array.size(); ++i) {
    const std::uint64_t coordinate = i / inner % dims[axis];
    if (coordinate < first || coordinate >= first + count) rest.bits.push_back(array.bits[i]);
  }
  return rest;
}

}  // namespace

const Shape elementwise_shape = {elementwise_extents, [](Case &, const Sizes &) {}};

const Shape length_shape = {[](const Case &one) {
                              return Extents{{one.length}, {}};
                            },
                            [](Case &one, const Sizes &sizes) { one.length = sizes[0]; }};

const Shape counted_shape = {[](const Case &one) {
                               return Extents{{one.inputs[0].size(), one.number}, {{0}}};
                             },
                             [](Case &one, const Sizes &sizes) { one.number = sizes[1]; }};

const Shape dims_shape = {[](const Case &one) {
                            return Extents{one.dims,
                                           std::vector<std::vector<std::size_t>>(
                                               one.inputs.size(), all_axes(one.dims.size()))};
                          },
                          [](Case &one, const Sizes &sizes) { one.dims = sizes; }};

const Shape row_vector_shape = {[](const Case &one) {
                                  return Extents{one.dims, {{0}}};
                                },
                                [](Case &one, const Sizes &sizes) { one.dims = sizes; }};

const Shape broadcast_shape = {broadcast_extents, resize_broadcast};

const Shape adjoint_shape = {adjoint_extents, resize_broadcast};

const Shape concatenated_shape = {[](const Case &one) {
                                    Extents extents;
                                    for (std::size_t k = 0; k < one.inputs.size(); ++k) {
                                      extents.sizes.push_back(one.inputs[k].size());
                                      extents.axes.push_back({k});
                                    }
                                    return extents;
                                  },
                                  [](Case &, const Sizes &) {}};

const Shape slice_shape = {elementwise_extents, [](Case &one, const Sizes &sizes) {
                             one.number = std::min(one.number, sizes[0]);
                             one.length = std::min(one.length, sizes[0] - one.number);
                           }};

const Shape matmul_shape = {matmul_extents, [](Case &one, const Sizes &sizes) {
                              one.matmul.batch = sizes[0];
                              one.matmul.m = sizes[1];
                              one.matmul.n = sizes[2];
                              one.matmul.p = sizes[3];
                            }};

const Shape gather_shape = {[](const Case &one) {
                              return index_extents(one, {{0, 1}});
                            },
                            resize_matrix};

const Shape scatter_shape = {[](const Case &one) {
                               return index_extents(one, {{0, 1}, {2, 1}});
                             },
                             resize_matrix};

const Shape layer_norm_shape = {[](const Case &one) {
                                  return Extents{one.dims, {{0, 1}, {1}, {1}}};
                                },
                                resize_matrix};

const Shape layer_norm_bwd_shape = {[](const Case &one) {
                                      return Extents{one.dims, {{0, 1}, {0, 1}, {0}, {1}}};
                                    },
                                    resize_matrix};

const Shape signal_shape = {[](const Case &one) {
                              return Extents{one.dims, {{0, 1}}};
                            },
                            resize_matrix};

// The length stays odd or even.
const Shape spectrum_shape = {[](const Case &one) {
                                return Extents{{one.dims[0], one.dims[1] / 2 + 1}, {{0, 1}}, 2};
                              },
                              [](Case &one, const Sizes &sizes) {
                                const std::uint64_t n = 2 * (sizes[1] - 1) + one.dims[1] % 2;
                                one.dims = {sizes[0], std::max<std::uint64_t>(n, 1)};
                              }};

const Shape scan_shape = {[](const Case &one) { return scan_extents(one, {1}); }, resize_matrix};

const Shape varying_scan_shape = {[](const Case &one) {
                                    return scan_extents(one, {0, 1});
                                  },
                                  resize_matrix};

Case without(const Case &one, const Shape &shape, std::size_t extent, std::uint64_t first,
             std::uint64_t count) {
  const Extents extents = shape.extents(one);
  Case smaller = one;
  for (std::size_t k = 0; k < extents.axes.size(); ++k) {
    const std::vector<std::size_t> &axes = extents.axes[k];
    Sizes dims;
    for (const std::size_t a : axes) dims.push_back(extents.sizes[a]);
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      if (axes[axis] != extent) continue;
      smaller.inputs[k] = cut(smaller.inputs[k], dims, extents.words, axis, first, count);
      dims[axis] -= count;
    }
  }
  cut_indices(smaller, extents, extent, first, count);
  Sizes sizes = extents.sizes;
  sizes[extent] -= count;
  shape.resize(smaller, sizes);
  return smaller;
}

}  // namespace torchlean::tools
