// Good calls of the families normalization, loss, fourier, scan, convolution and pooling.
#include "compare/direct/calls.hpp"

namespace torchlean::tools {
namespace {

constexpr tl_layer_norm_bwd_params layer_norm_bwd = {sizeof layer_norm_bwd, 1, 6, 6, 1.0 / 6};
// One channel of six, a window of one on each: both ways.
constexpr tl_convolution_params convolution = {
    sizeof convolution, 1,         1,         1,         1,         1,         0,
    {1, 1, 6},          {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {1, 1, 6}};
constexpr tl_pooling_params pooling = {sizeof pooling, 1,         {1, 1, 6}, {1, 1, 3},
                                       {1, 1, 1},      {0, 0, 1}, {1, 1, 6}, 1.5};

using Conv = tl_convolution_params;
using Pool = tl_pooling_params;

template <auto member, std::uint64_t value>
void set_number(Arguments &a) {
  a.edit<Conv>().*member = value;
}
template <class Params, auto member, std::int64_t value>
void set_last(Arguments &a) {
  (a.edit<Params>().*member)[2] = value;
}

const std::vector<Fault> convolution_faults = {
    {"out-that-does-not-fit", set_last<Conv, &Conv::out, 5>},
    {"in-that-does-not-fit", set_last<Conv, &Conv::in, 7>},
    {"kernel-0", set_last<Conv, &Conv::kernel, 0>},
    {"channels-that-do-not-fit", set_number<&Conv::in_channels, 2>},
    {"batch-huge", set_number<&Conv::batch, huge>}};

const std::vector<Fault> pooling_faults = {
    {"out-that-does-not-fit", set_last<Pool, &Pool::out, 5>},
    {"in-that-does-not-fit", set_last<Pool, &Pool::in, 7>},
    {"kernel-0", set_last<Pool, &Pool::kernel, 0>},
    {"channels-huge", [](Arguments &a) { a.edit<Pool>().channels = huge; }}};

}  // namespace

std::vector<DirectEntry> layered_entries() {
  return {
      {.family = "normalization",
       .name = "softmax",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.normalization->softmax(a.instance, a.operand(0), a.number(0), a.number(1),
                                             a.number(2), a.flags, a.out);
           },
       .counts = {6},
       .numbers = {1, 3, 2},
       .faults = {number<1, 2>, number<0, huge>}},
      {.family = "normalization",
       .name = "masked_softmax",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.normalization->masked_softmax(a.instance, a.operand(0), a.operand(1),
                                                    a.number(0), a.number(1), a.flags, a.out);
           },
       .counts = {6, 6},
       .numbers = {2, 3},
       .faults = {number<0, 3>, number<0, huge>}},
      {.family = "normalization",
       .name = "layer_norm",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.normalization->layer_norm(a.instance, a.operand(0), a.operand(1),
                                                a.operand(2), a.number(0), a.number(1), 0.5,
                                                a.flags, a.out);
           },
       .results = 3,
       .counts = {6, 3, 3},
       .numbers = {2, 3},
       .faults = {number<0, 3>, number<1, 0>, number<0, huge>}},
      {.family = "normalization",
       .name = "layer_norm_bwd",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.normalization->layer_norm_bwd(
                 a.instance, a.operand(0), a.operand(1), a.operand(2), a.operand(3),
                 a.structure<tl_layer_norm_bwd_params>(), a.flags, a.out);
           },
       .results = 3,
       .counts = {6, 6, 1, 6},
       .params = bytes_of(layer_norm_bwd),
       .faults = {{"rows-0", [](Arguments &a) { a.edit<tl_layer_norm_bwd_params>().rows = 0; }},
                  {"rows-that-do-not-fit",
                   [](Arguments &a) { a.edit<tl_layer_norm_bwd_params>().rows = 2; }},
                  {"rows-huge",
                   [](Arguments &a) { a.edit<tl_layer_norm_bwd_params>().rows = huge; }}}},
      {.family = "loss",
       .name = "loss",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.loss->loss(a.instance, a.op, a.operand(0), a.operand(1), a.number(0),
                                 a.number(1), a.flags, a.out);
           },
       .op_count = TL_LOSS_OP_COUNT,
       .counts = {6, 6},
       .numbers = {2, 3},
       .faults = {number<0, 3>, number<0, huge>}},
      {.family = "fourier",
       .name = "transform",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.fourier->transform(a.instance, a.op, a.operand(0), a.number(0), a.number(1),
                                         a.flags, a.out);
           },
       .op_count = TL_FOURIER_OP_COUNT,
       .counts = {6},
       .numbers = {1, 6},
       .faults = {number<0, 2>, number<1, 0>, number<1, huge>},
       .adapt =
           [](std::uint32_t op, DirectEntry &entry) {
             if (op != TL_FOURIER_RFFT) entry.counts = {8};  // four complex numbers
           }},
      {.family = "scan",
       .name = "forward",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.scan->forward(a.instance, a.op, a.operand(0), a.operand(1), a.operand(2),
                                    a.operand(3), a.number(0), a.number(1), a.flags, a.out);
           },
       .op_count = TL_SCAN_OP_COUNT,
       .counts = {6, 6, 6, 6},
       .numbers = {1, 6},
       .faults = {number<0, 2>, number<0, huge>}},
      {.family = "scan",
       .name = "backward",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.scan->backward(a.instance, a.op, a.operand(0), a.operand(1), a.operand(2),
                                     a.operand(3), a.operand(4), a.operand(5), a.number(0),
                                     a.number(1), a.flags, a.out);
           },
       .op_count = TL_SCAN_OP_COUNT,
       .results = 4,
       .counts = {6, 6, 6, 6, 6, 6},
       .numbers = {1, 6},
       .faults = {number<0, 2>, number<0, huge>}},
      {.family = "convolution",
       .name = "forward",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.convolution->forward(a.instance, a.op, a.operand(0), a.operand(1),
                                           a.operand(2), a.structure<Conv>(), a.flags, a.out);
           },
       .op_count = TL_CONVOLUTION_OP_COUNT,
       .counts = {6, 1, 1},
       .params = bytes_of(convolution),
       .faults = convolution_faults},
      {.family = "convolution",
       .name = "backward",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.convolution->backward(a.instance, a.op, a.operand(0), a.operand(1),
                                            a.operand(2), a.structure<Conv>(), a.flags, a.out);
           },
       .op_count = TL_CONVOLUTION_OP_COUNT,
       .results = 3,
       .counts = {6, 1, 6},
       .params = bytes_of(convolution),
       .faults = convolution_faults},
      {.family = "pooling",
       .name = "forward",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.pooling->forward(a.instance, a.op, a.operand(0), a.structure<Pool>(), a.flags,
                                       a.out);
           },
       .op_count = TL_POOLING_OP_COUNT,
       .counts = {6},
       .params = bytes_of(pooling),
       .faults = pooling_faults},
      {.family = "pooling",
       .name = "backward",
       .run =
           [](const BackendVTable &t, const Arguments &a) {
             return t.pooling->backward(a.instance, a.op, a.operand(0), a.operand(1),
                                        a.structure<Pool>(), a.flags, a.out);
           },
       .op_count = TL_POOLING_OP_COUNT,
       .counts = {6, 6},
       .params = bytes_of(pooling),
       .faults = pooling_faults,
       .adapt =
           [](std::uint32_t op, DirectEntry &entry) {
             if (op == TL_POOLING_AVERAGE) entry.counts[0] = absent;
           }},
  };
}

}  // namespace torchlean::tools
