// Moves of whole elements: ATen's copies of ATen's views.
#include "libtorch.hpp"

#include <ATen/ops/cat.h>

namespace torchlean::libtorch {
namespace {

void concat(tl_instance &, const tl_operand *a, const tl_operand *b, tl_flags, tl_storage **out) {
  const at::Tensor first = tensor_of("a", a);
  const at::Tensor second = tensor_of("b", b);
  expect_equal("b.dtype", b->dtype, a->dtype);
  expect_equal("b.width", b->width, a->width);
  extent("count", a->count + b->count);
  hand_out(out, at::cat({first, second}));
}

void slice(tl_instance &, const tl_operand *x, uint64_t start, uint64_t length, tl_flags,
           tl_storage **out) {
  const at::Tensor tensor = tensor_of("x", x);
  const int64_t words = x->dtype == TL_ENCODED ? x->width : 1;
  const int64_t begin = extent("start", start) * words;
  const int64_t size = extent("length", length) * words;
  hand_out(out, viewed("x", [&] { return tensor.narrow(0, begin, size); }).clone());
}

void broadcast(tl_instance &, const tl_operand *x, const tl_broadcast_params *params, tl_flags,
               tl_storage **out) {
  const at::Tensor tensor = native_tensor("x", x);
  const tl_broadcast_params &known = known_part("params", params);
  if (known.rank > TL_MAX_RANK) throw unknown("rank", known.rank);
  std::array<int64_t, TL_MAX_RANK> dims;
  std::array<int64_t, TL_MAX_RANK> strides;
  uint64_t count = 1;
  for (uint32_t axis = 0; axis < known.rank; ++axis) {
    dims[axis] = extent("dims", known.dims[axis]);
    strides[axis] = extent("strides", known.strides[axis]);
    count = static_cast<uint64_t>(extent("product of dims", count * known.dims[axis]));
  }
  const at::Tensor view = viewed("x", [&] {
    return tensor.as_strided(at::IntArrayRef(dims.data(), known.rank),
                             at::IntArrayRef(strides.data(), known.rank));
  });
  hand_out(out, view.clone(at::MemoryFormat::Contiguous));
}

void swap(tl_instance &, const tl_operand *x, uint64_t outer, uint64_t first, uint64_t second,
          uint64_t inner, tl_flags, tl_storage **out) {
  const at::Tensor tensor = shaped("x", native_tensor("x", x),
                                   {extent("outer", outer), extent("first", first),
                                    extent("second", second), extent("inner", inner)});
  hand_out(out, tensor.transpose(1, 2).clone(at::MemoryFormat::Contiguous));
}

}  // namespace

const tl_view_table view_table = {
    .struct_size = sizeof(tl_view_table),
    .concat = entry<"concat", concat>,
    .slice = entry<"slice", slice>,
    .broadcast = entry<"broadcast", broadcast>,
    .swap = entry<"swap", swap>,
};

}  // namespace torchlean::libtorch
