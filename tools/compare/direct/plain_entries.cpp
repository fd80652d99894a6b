// Good calls of the families elementwise, optimizer, reduction and matmul.
#include "compare/direct/calls.hpp"

#include <array>

namespace torchlean::tools {
namespace {

constexpr tl_scalars scalars = {sizeof scalars, {0.25, 0.75}};
constexpr tl_adam_params adam = {sizeof adam, 0.9, 0.1, 0.99, 0.01, 1.5, 1.25, 1e-8, 0, -0.1};
constexpr tl_broadcast_params broadcast = {sizeof broadcast, 2, 0, {2, 3}, {0, 1}};
constexpr tl_bmm_params bmm = {sizeof bmm, 1, 2, 3, 2, 0, 0};

constexpr std::array<double, 6> matrix = {1, 2, 3, 4, 5, 6};
std::array<double, 4> product = {};
std::uint32_t replay = 0;

const std::vector<Fault> bmm_faults = {
    {"batch-huge", [](Arguments &a) { a.edit<tl_bmm_params>().batch = huge; }},
    {"extent-that-does-not-fit", [](Arguments &a) { a.edit<tl_bmm_params>().n = 2; }}};

std::vector<Fault> with(std::vector<Fault> faults, const Fault &more) {
  faults.push_back(more);
  return faults;
}

}  // namespace

std::vector<DirectEntry> plain_entries() {
  return {
      {.family = "elementwise",
       .name = "unary",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.elementwise->unary(a.instance, a.op, a.operand(0), a.structure<tl_scalars>(),
                                         a.flags, a.out);
           },
       .op_count = TL_UNARY_OP_COUNT,
       .counts = {6},
       .params = bytes_of(scalars)},
      {.family = "elementwise",
       .name = "binary",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.elementwise->binary(a.instance, a.op, a.operand(0), a.operand(1),
                                          a.structure<tl_scalars>(), a.flags, a.out);
           },
       .op_count = TL_BINARY_OP_COUNT,
       .counts = {6, 6},
       .params = bytes_of(scalars)},
      {.family = "elementwise",
       .name = "select_bwd",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.elementwise->select_bwd(a.instance, a.op, a.operand(0), a.operand(1),
                                              a.operand(2), a.flags, a.out);
           },
       .op_count = TL_SELECT_BWD_OP_COUNT,
       .results = 2,
       .counts = {6, 6, 6}},
      {.family = "optimizer",
       .name = "adam_step",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.optimizer->adam_step(a.instance, a.operand(0), a.operand(1), a.operand(2),
                                           a.operand(3), a.structure<tl_adam_params>(), a.flags,
                                           a.out);
           },
       .results = 3,
       .counts = {6, 6, 6, 6},
       .params = bytes_of(adam)},
      {.family = "reduction",
       .name = "reduce",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.reduction->reduce(a.instance, a.op, a.operand(0), a.number(0), a.number(1),
                                        a.number(2), a.flags, a.out);
           },
       .op_count = TL_REDUCE_OP_COUNT,
       .counts = {6},
       .numbers = {1, 6, 1},
       .faults = {number<1, 5>, number<2, huge>}},
      {.family = "reduction",
       .name = "sum_to_shape",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.reduction->sum_to_shape(a.instance, a.operand(0),
                                              a.structure<tl_broadcast_params>(), a.number(0),
                                              a.flags, a.out);
           },
       .counts = {6},
       .numbers = {3},
       .params = bytes_of(broadcast),
       .faults = {number<0, 2>,
                  {"rank-33", [](Arguments &a) { a.edit<tl_broadcast_params>().rank = 33; },
                   TL_INVALID_ARGUMENT, TL_UNSUPPORTED},
                  {"dim-that-does-not-fit",
                   [](Arguments &a) { a.edit<tl_broadcast_params>().dims[0] = 3; }}}},
      {.family = "reduction",
       .name = "row_mask",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.reduction->row_mask(a.instance, a.op, a.operand(0), a.number(0), a.number(1),
                                          a.number(2), a.flags, a.out);
           },
       .op_count = TL_ROW_MASK_OP_COUNT,
       .counts = {6},
       .numbers = {2, 3, 1},
       .faults = {number<0, 3>, number<0, huge>}},
      {.family = "matmul",
       .name = "bmm",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.matmul->bmm(a.instance, a.operand(0), a.operand(1),
                                  a.structure<tl_bmm_params>(), a.flags, a.out);
           },
       .counts = {6, 6},
       .params = bytes_of(bmm),
       .faults = bmm_faults},
      {.family = "matmul",
       .name = "bmm_scaled",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.matmul->bmm_scaled(a.instance, a.operand(0), a.operand(1),
                                         a.structure<tl_bmm_params>(), 0.5, a.flags, a.out,
                                         static_cast<std::uint32_t *>(a.host_output));
           },
       .counts = {6, 6},
       .params = bytes_of(bmm),
       .host_output = &replay,
       .faults = with(bmm_faults, {"replay-NULL", [](Arguments &a) { a.host_output = nullptr; }})},
      {.family = "matmul",
       .name = "dgemm",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.matmul->dgemm(a.instance, static_cast<const double *>(a.host_input),
                                    matrix.data(), 2, 3, 2, static_cast<double *>(a.host_output));
           },
       .results = 0,
       .host_input = matrix.data(),
       .host_output = product.data(),
       .faults = {{"host-input-NULL", [](Arguments &a) { a.host_input = nullptr; }},
                  {"host-output-NULL", [](Arguments &a) { a.host_output = nullptr; }}}},
  };
}

}  // namespace torchlean::tools
