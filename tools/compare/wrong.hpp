// Calls with wrong arguments that many operations have in common (rule T6).
#pragma once

#include "compare/cases.hpp"

#include <functional>

namespace torchlean::tools {

struct OperandRules {
  bool takes_encoded = false;
  bool has_fixed_length = true;  // the other arguments say how long each operand is
};

// Every way in which an operand itself can be wrong: released, of another dtype, encoded, too long,
// too short. `right` makes a call without a fault.
void wrong_operands(const Generator &generator, const std::function<void(Case &, Random &)> &right,
                    const OperandRules &rules = {});

// Several operands of five elements, no other argument.
template <std::size_t operands>
void wrong_elementwise(const Generator &generator) {
  wrong_operands(generator,
                 [](Case &one, Random &random) {
                   for (std::size_t k = 0; k < operands; ++k) {
                     one.inputs.push_back(ordinary_values(random, one.dtype, 5));
                   }
                   one.scalars.assign(9, 0.5);
                 },
                 {.has_fixed_length = operands > 1});
}

// A matrix (3, 5) whose rows and columns are told: products that do not fit, or leave 64 bits.
void wrong_matrix(const Generator &generator);

// A tensor {2, 3, 4} along axis 1: an axis that it does not have, dims that leave 64 bits or are
// too many.
void wrong_axis(const Generator &generator);

// For a correct broadcast from {3} to {5, 3}: maps that repeat, miss or exceed an axis, dims that
// do not fit.
void wrong_axis_maps(const Generator &generator,
                     const std::function<void(Case &, Random &)> &right);

// Lists of windows that no convolution and no pool can have: other ranks than 1 to 3, lengths that
// differ, extents and strides of 0. `right` makes a call over one spatial axis.
void refuse_windows(const Generator &generator, const std::function<void(Case &, Random &)> &right);

// More elements than a buffer can have.
inline constexpr std::uint64_t too_many = std::uint64_t{1} << 32U;

// For operations that make a buffer of `length` elements of a dtype. `call` passes the given dtype.
using CreateCall = void (*)(const Case &, tl_dtype);
template <CreateCall call>
void wrong_creation(const Generator &generator) {
  const auto fill = [](Case &one, Random &) {
    one.length = 5;
    one.scalars.assign(2, 0.5);
  };
  generator.refuse("too-long", [&](Case &one, Random &random) {
    fill(one, random);
    one.length = too_many;
  });
  generator.refuse("dtype-encoded", [&](Case &one, Random &random) {
    fill(one, random);
    one.wrong_call = [](const Case &c, const Inputs &) { call(c, TL_ENCODED); };
  });
  generator.refuse("dtype-unknown", [&](Case &one, Random &random) {
    fill(one, random);
    one.wrong_call = [](const Case &c, const Inputs &) { call(c, TL_DTYPE_COUNT); };
  });
}

}  // namespace torchlean::tools
