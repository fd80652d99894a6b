// Moves of whole elements.
#include "walk.hpp"

#include <torchlean/backend_arguments.hpp>

namespace torchlean::reference {

std::vector<Axis> broadcast_axes(const tl_broadcast_params *params, uint64_t small_count) {
  const tl_broadcast_params known = known_broadcast(params, small_count);
  std::vector<Axis> axes(known.rank);
  uint64_t large_stride = 1;
  for (uint32_t i = known.rank; i-- > 0;) {
    axes[i] = {known.dims[i], large_stride, known.strides[i]};
    large_stride *= known.dims[i];
  }
  return axes;
}

namespace {

void concat(tl_instance &instance, const tl_operand *first, const tl_operand *second, tl_flags,
            tl_storage **out) {
  const auto a = bytes_of("a", first);
  const auto b = bytes_of("b", second);
  expect_equal("b.dtype", second->dtype, first->dtype);
  expect_equal("b.width", second->width, first->width);
  check_count(sum({first->count, second->count}));
  Result<std::byte> y(instance, a.size() + b.size());
  std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), y.begin()));
  hand_out(out, y);
}

void slice(tl_instance &instance, const tl_operand *operand, uint64_t start, uint64_t length,
           tl_flags, tl_storage **out) {
  const auto part = part_of("x", operand, start, length);
  Result<std::byte> y(instance, part.size());
  std::copy(part.begin(), part.end(), y.begin());
  hand_out(out, y);
}

void broadcast(tl_instance &instance, const tl_operand *operand, const tl_broadcast_params *params,
               tl_flags, tl_storage **out) {
  expect_given("x", operand);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    const auto axes = broadcast_axes(params, x.size());
    Result<T> y(instance, large_count(axes));
    walk(axes, 0, 0, [&](uint64_t large, uint64_t small) { y[large] = x[small]; });
    hand_out(out, y);
  });
}

void swap(tl_instance &instance, const tl_operand *operand, uint64_t outer, uint64_t first,
          uint64_t second, uint64_t inner, tl_flags, tl_storage **out) {
  expect_given("x", operand);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    expect_equal("x.count", x.size(), product({outer, first, second, inner}));
    Result<T> y(instance, x.size());
    for (uint64_t o = 0; o < outer; ++o)
      for (uint64_t f = 0; f < first; ++f)
        for (uint64_t s = 0; s < second; ++s)
          for (uint64_t i = 0; i < inner; ++i)
            y[((o * second + s) * first + f) * inner + i] =
                x[((o * first + f) * second + s) * inner + i];
    hand_out(out, y);
  });
}

}  // namespace

const tl_view_table view_table = {
    .struct_size = sizeof(tl_view_table),
    .concat = entry<"concat", concat>,
    .slice = entry<"slice", slice>,
    .broadcast = entry<"broadcast", broadcast>,
    .swap = entry<"swap", swap>,
};

}  // namespace torchlean::reference
