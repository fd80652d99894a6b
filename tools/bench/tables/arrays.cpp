// Shapes of the families whose operands are lists of n elements: memory, transfer, random,
// elementwise, optimizer.
#include "bench/workload.hpp"

#include <fmt/format.h>

namespace torchlean::tools {

const Scale length_scale = {{{"small", {1}}, {"medium", {100'000}}, {"large", {10'000'000}}},
                            [](std::uint64_t n) { return Dims{n}; }};

namespace {

using Content::ordinary, Content::positive;

void name_length(Workload &row, std::uint64_t n) { row.one.shape = fmt::format("n={}", n); }

// Operands and results have n elements each.
template <std::uint64_t results, Content... operands>
void elementwise(Workload &row, const Dims &dims) {
  name_length(row, dims[0]);
  row.operands = {Operand{dims[0], operands}...};
  row.results = results * dims[0];
}

// Of an operation that makes n elements of nothing but a key.
void creation(Workload &row, const Dims &dims) {
  name_length(row, dims[0]);
  row.one.length = dims[0];
  row.one.number = 42;
  row.results = dims[0];
}

void zeros_of_a_kind(Workload &row, const Dims &dims) {
  name_length(row, dims[0]);
  row.one.number = dims[0];
  row.operands = {{1}};  // only its kind counts
  row.results = dims[0];
}

void uploading(Workload &row, const Dims &dims) {
  elementwise<1, ordinary>(row, dims);
  row.host_call = [](const Case &c, const Inputs &, HostArrays &host) {
    return results(upload_words(host.operands[0], c.dtype, c.dtype));
  };
}

void downloading(Workload &row, const Dims &dims) {
  elementwise<1, ordinary>(row, dims);
  row.host_call = [](const Case &c, const Inputs &in, HostArrays &host) {
    check(tl_download(in[0].get(), c.dtype, host.result.data(), host.result.size()));
    return Results{};
  };
}

}  // namespace

std::vector<Entry> array_entries() {
  const Scale *n = &length_scale;
  return {
      {{"zeros"}, n, creation},
      {{"full"}, n, creation, {1.5}},
      {{"zeros_like"}, n, zeros_of_a_kind},
      {{"copy"}, n, elementwise<1, ordinary>},
      {{"duplicate"}, n, elementwise<2, ordinary>},
      {{"upload"}, n, uploading},
      {{"download"}, n, downloading},
      {{"rand_uniform"}, n, creation},
      {{"rand_normal"}, n, creation, {0, 1}},
      {{"bernoulli_mask"}, n, creation, {0.5}},
      {{"abs", "neg", "floor", "relu", "exp", "sin", "cos", "tanh", "sigmoid", "gelu"},
       n,
       elementwise<1, ordinary>},
      {{"sqrt", "inv", "log", "log1p"}, n, elementwise<1, positive>},
      {{"scale"}, n, elementwise<1, ordinary>, {1.5}},
      {{"clamp"}, n, elementwise<1, ordinary>, {-1, 1}},
      {{"add", "sub", "mul", "max", "min", "mask", "abs_bwd", "relu_bwd", "gelu_bwd"},
       n,
       elementwise<1, ordinary, ordinary>},
      {{"div"}, n, elementwise<1, ordinary, positive>},
      {{"sqrt_bwd"}, n, elementwise<1, positive, ordinary>},
      {{"clamp_bwd"}, n, elementwise<1, ordinary, ordinary>, {-1, 1}},
      {{"axpy"}, n, elementwise<1, ordinary, ordinary>, {1.5}},
      {{"scaled_prod_exp"}, n, elementwise<1, ordinary, ordinary>, {-0.5}},
      {{"max_bwd", "min_bwd"}, n, elementwise<2, ordinary, ordinary, ordinary>},
      // Parameters, gradient, moments; the scalars as in tl_adam_scalars.
      {{"adam_step"},
       n,
       elementwise<3, ordinary, ordinary, ordinary, positive>,
       {0.9, 0.1, 0.999, 0.001, 10, 1000, 1e-8, -1e-4, -0.001}},
  };
}

}  // namespace torchlean::tools
