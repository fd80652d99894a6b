// One result per element: arithmetic as IEEE 754 defines it, each step rounded in the dtype.
#include "map.hpp"

#include <array>
#include <utility>

#define HWY_TARGET_INCLUDE "elementwise.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "elementwise_ops-inl.h"
#include "map-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {

// The loops by their enumerators.
template <template <uint32_t> class Op, class T, size_t... op>
constexpr std::array<MapLoop<T>, sizeof...(op)> loops_of(std::index_sequence<op...>) {
  return {map_loop<Op<op>, T>...};
}

template <class T>
constexpr auto unary_loops = loops_of<Unary, T>(std::make_index_sequence<TL_UNARY_OP_COUNT>());
template <class T>
constexpr auto binary_loops = loops_of<Binary, T>(std::make_index_sequence<TL_BINARY_OP_COUNT>());
template <class T>
constexpr auto select_bwd_loops =
    loops_of<SelectBwd, T>(std::make_index_sequence<TL_SELECT_BWD_OP_COUNT>());

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlean::cpu {
namespace {

Cost cost_of_unary(tl_unary_op op) {
  const bool has_steps = op >= TL_UNARY_EXP && op <= TL_UNARY_GELU;
  return has_steps ? costs_steps : costs_memory;
}

Cost cost_of_binary(tl_binary_op op) {
  const bool has_steps = op == TL_BINARY_GELU_BWD || op == TL_BINARY_SCALED_PROD_EXP;
  return has_steps ? costs_steps : costs_memory;
}

// The arguments with the scalars that the caller gave.
template <class T>
MapArguments<T> with_scalars(const tl_scalars *scalars) {
  const tl_scalars known = known_part("scalars", scalars);
  MapArguments<T> arguments{};
  for (size_t k = 0; k < std::size(known.scalar); ++k)
    arguments.scalar[k] = static_cast<T>(known.scalar[k]);
  return arguments;
}

void unary(tl_instance &instance, tl_unary_op op, const tl_operand *operand,
           const tl_scalars *scalars, tl_flags, tl_storage **out) {
  expect_given("x", operand);
  if (op >= TL_UNARY_OP_COUNT) throw unknown("op", op);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    auto arguments = with_scalars<T>(scalars);
    Result<T> y(instance, x.size());
    arguments.in = {x.data()};
    arguments.out = {y.begin()};
    run_map(instance, TORCHLEAN_CPU_CHOOSE(instance.target, unary_loops<T>)[op], cost_of_unary(op),
            arguments, x.size());
    hand_out(out, y);
  });
}

void binary(tl_instance &instance, tl_binary_op op, const tl_operand *first,
            const tl_operand *second, const tl_scalars *scalars, tl_flags, tl_storage **out) {
  expect_given("a", first);
  if (op >= TL_BINARY_OP_COUNT) throw unknown("op", op);
  with_native(first->dtype, [&]<class T>(T) {
    const auto a = values_of<T>("a", first);
    const auto b = values_of<T>("b", second);
    expect_equal("b.count", b.size(), a.size());
    auto arguments = with_scalars<T>(scalars);
    Result<T> y(instance, a.size());
    arguments.in = {a.data(), b.data()};
    arguments.out = {y.begin()};
    run_map(instance, TORCHLEAN_CPU_CHOOSE(instance.target, binary_loops<T>)[op],
            cost_of_binary(op), arguments, a.size());
    hand_out(out, y);
  });
}

void select_bwd(tl_instance &instance, tl_select_bwd_op op, const tl_operand *first,
                const tl_operand *second, const tl_operand *gradient, tl_flags, tl_storage **out) {
  expect_given("a", first);
  if (op >= TL_SELECT_BWD_OP_COUNT) throw unknown("op", op);
  with_native(first->dtype, [&]<class T>(T) {
    const auto a = values_of<T>("a", first);
    const auto b = values_of<T>("b", second);
    const auto g = values_of<T>("gradient", gradient);
    expect_equal("b.count", b.size(), a.size());
    expect_equal("gradient.count", g.size(), a.size());
    Result<T> da(instance, a.size());
    Result<T> db(instance, a.size());
    MapArguments<T> arguments{};
    arguments.in = {a.data(), b.data(), g.data()};
    arguments.out = {da.begin(), db.begin()};
    run_map(instance, TORCHLEAN_CPU_CHOOSE(instance.target, select_bwd_loops<T>)[op], costs_memory,
            arguments, a.size());
    hand_out(out, da, db);
  });
}

}  // namespace

const tl_elementwise_table elementwise_table = {
    .struct_size = sizeof(tl_elementwise_table),
    .unary = entry<"unary", unary>,
    .binary = entry<"binary", binary>,
    .select_bwd = entry<"select_bwd", select_bwd>,
};

}  // namespace torchlean::cpu

#endif  // HWY_ONCE
