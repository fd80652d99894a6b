// Good calls of the families memory, transfer, random, view and indexing.
#include "compare/direct/calls.hpp"

#include <array>

namespace torchlean::tools {
namespace {

// Six elements of any dtype, and room for as many.
constexpr std::array<double, 6> host_words = {};
std::array<double, 6> room = {};
constexpr std::array<std::uint32_t, 2> indices = {1, 1};

constexpr Fault unknown_dtype = {"dtype-unknown", [](Arguments &a) { a.dtype = TL_DTYPE_COUNT; },
                                 TL_UNSUPPORTED};
constexpr Fault wrong_width = {"width", [](Arguments &a) { a.width = 33; }};
constexpr Fault no_input = {"host-input-NULL", [](Arguments &a) { a.host_input = nullptr; }};

// Two elements, each three times.
constexpr tl_broadcast_params two_thrice = {sizeof two_thrice, 2, 0, {2, 3}, {1, 0}};
// A limit of the ABI, or one of the backend's own.
constexpr Fault rank_33 = {"rank-33", [](Arguments &a) { a.edit<tl_broadcast_params>().rank = 33; },
                           TL_INVALID_ARGUMENT, TL_UNSUPPORTED};
template <std::uint64_t dim>
constexpr Fault first_dim = {dim == huge ? "dim-huge" : "dim-that-does-not-fit",
                             [](Arguments &a) { a.edit<tl_broadcast_params>().dims[0] = dim; }};
constexpr Fault huge_stride = {
    "stride-huge", [](Arguments &a) { a.edit<tl_broadcast_params>().strides[0] = huge; }};

}  // namespace

std::vector<DirectEntry> moving_entries() {
  return {
      {.family = "memory",
       .name = "fill",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.memory->fill(a.instance, a.dtype, a.width, a.number(0), 0.0, a.flags, a.out);
           },
       .numbers = {6},
       .faults = {unknown_dtype, wrong_width, number<0, huge>},
       .takes_encoded = true},
      {.family = "memory",
       .name = "copy",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.memory->copy(a.instance, a.operand(0), a.flags, a.out);
           },
       .counts = {6},
       .takes_encoded = true},
      {.family = "transfer",
       .name = "upload",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.transfer->upload(a.instance, a.host_input, a.dtype, a.dtype, a.width,
                                       a.number(0), a.flags, a.out);
           },
       .numbers = {6},
       .host_input = host_words.data(),
       .faults = {unknown_dtype, wrong_width, number<0, huge>, no_input},
       .takes_encoded = true},
      {.family = "transfer",
       .name = "download",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.transfer->download(a.instance, a.operand(0), a.dtype, a.host_output);
           },
       .results = 0,
       .counts = {6},
       .host_output = room.data(),
       .faults = {unknown_dtype,
                  {"host-output-NULL", [](Arguments &a) { a.host_output = nullptr; }}},
       .takes_encoded = true},
      {.family = "random",
       .name = "generate",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.random->generate(a.instance, a.op, a.dtype, a.number(0), 1,
                                       a.structure<tl_scalars>(), a.flags, a.out);
           },
       .op_count = TL_RANDOM_OP_COUNT,
       .numbers = {6},
       .params = bytes_of(tl_scalars{sizeof(tl_scalars), {0.5, 0.75}}),
       .faults = {unknown_dtype, number<0, huge>}},
      {.family = "view",
       .name = "concat",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.view->concat(a.instance, a.operand(0), a.operand(1), a.flags, a.out);
           },
       .counts = {6, 6},
       .takes_encoded = true},
      {.family = "view",
       .name = "slice",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.view->slice(a.instance, a.operand(0), a.number(0), a.number(1), a.flags,
                                  a.out);
           },
       .counts = {6},
       .numbers = {2, 3},
       .faults = {{"past-the-end", [](Arguments &a) { a.numbers[1] = 5; }},
                  {"start-that-overflows", [](Arguments &a) { a.numbers[0] = UINT64_MAX; }}},
       .takes_encoded = true},
      {.family = "view",
       .name = "broadcast",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.view->broadcast(a.instance, a.operand(0), a.structure<tl_broadcast_params>(),
                                      a.flags, a.out);
           },
       .counts = {2},
       .params = bytes_of(two_thrice),
       .faults = {rank_33, first_dim<3>, first_dim<huge>, huge_stride}},
      {.family = "view",
       .name = "swap",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.view->swap(a.instance, a.operand(0), a.number(0), a.number(1), a.number(2),
                                 a.number(3), a.flags, a.out);
           },
       .counts = {6},
       .numbers = {1, 2, 3, 1},
       .faults = {number<2, 2>, number<0, huge>}},
      {.family = "indexing",
       .name = "gather_rows",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.indexing->gather_rows(a.instance, a.operand(0), a.number(0), a.number(1),
                                            static_cast<const std::uint32_t *>(a.host_input),
                                            a.number(2), a.flags, a.out);
           },
       .counts = {6},
       .numbers = {2, 3, 2},
       .host_input = indices.data(),
       .faults = {number<0, 3>, number<0, huge>, no_input}},
      {.family = "indexing",
       .name = "scatter_add_rows",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.indexing->scatter_add_rows(
                 a.instance, a.operand(0), a.operand(1), a.number(0), a.number(1),
                 static_cast<const std::uint32_t *>(a.host_input), a.number(2), a.flags, a.out);
           },
       .counts = {6, 6},
       .numbers = {2, 3, 2},
       .host_input = indices.data(),
       .faults = {number<2, 1>, number<0, huge>, no_input}},
  };
}

}  // namespace torchlean::tools
