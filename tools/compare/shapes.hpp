// How the shape of a case hangs together: what must change along when one extent gets smaller.
#pragma once

#include "compare/cases.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace torchlean::tools {

// The independent extents of a case, and for each input the extents of its axes, row-major. What an
// input reads with an extent of another input shrinks with it.
struct Extents {
  std::vector<std::uint64_t> sizes;
  std::vector<std::vector<std::size_t>> axes;  // of each input: indices into `sizes`
  std::uint64_t words = 1;                     // of each entry: 2 of a complex number
  std::optional<std::size_t> indices = {};     // as many as this extent ...
  std::optional<std::size_t> indexed = {};     // ... into that one
  std::size_t derived = 0;                     // so many sizes, the last, follow from the others
};

struct Shape {
  Extents (*extents)(const Case &);
  // Writes new sizes into the shape members of the case; its inputs are cut already.
  void (*resize)(Case &, const std::vector<std::uint64_t> &sizes);
};

extern const Shape elementwise_shape;   // n, of all inputs
extern const Shape length_shape;        // `length`, no inputs
extern const Shape counted_shape;       // n of the input, `number` of the result
extern const Shape dims_shape;          // every input has `dims`
extern const Shape row_vector_shape;    // the input has dims[0]
extern const Shape broadcast_shape;     // the input has `dims`, the result out_dims
extern const Shape adjoint_shape;       // the input has out_dims, the result `dims`
extern const Shape concatenated_shape;  // every input has its own length
extern const Shape slice_shape;         // n, with start `number` and `length`
extern const Shape matmul_shape;        // batch, m, n, p
extern const Shape gather_shape;        // dims = rows, cols; indices into the rows
extern const Shape scatter_shape;       // with values (k, cols)
extern const Shape layer_norm_shape;    // dims = rows, cols; gamma and beta have cols
extern const Shape layer_norm_bwd_shape;
extern const Shape signal_shape;        // dims = batch, n
extern const Shape spectrum_shape;      // n / 2 + 1 complex numbers
extern const Shape scan_shape;          // dims = time, state; coefficients per state
extern const Shape varying_scan_shape;  // per time and state
extern const Shape conv_shape;          // windows: input, kernel, bias
extern const Shape conv_bwd_shape;      // input, kernel, gradient
extern const Shape convtranspose_shape;
extern const Shape convtranspose_bwd_shape;
extern const Shape pool_shape;         // windows: input
extern const Shape pool_bwd_shape;     // input, gradient
extern const Shape avgpool_bwd_shape;  // gradient

// The case with the elements [first, first + count) of one extent taken away.
Case without(const Case &one, const Shape &shape, std::size_t extent, std::uint64_t first,
             std::uint64_t count);

}  // namespace torchlean::tools
