// Shapes of the families from reduction to scan, whose operands are matrices, batches of products
// or sequences.
#include "bench/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace torchlean::tools {
namespace {

using Content::ordinary, Content::positive;

template <std::uint64_t most_cols>
Dims rows_of(std::uint64_t n) {
  const std::uint64_t cols = std::min(n, most_cols);
  return {n / cols, cols};
}

}  // namespace

const Scale matrix_scale = {{{"small", {8, 32}}, {"medium", {256, 256}}, {"large", {4096, 1024}}},
                            rows_of<1024>};

namespace {

// ---- Reductions --------------------------------------------------------------------------------

void total(Workload &row, const Dims &dims) {
  row.one.shape = fmt::format("n={}", dims[0]);
  row.operands = {{dims[0], positive}};
  row.results = 1;
}

// Of a matrix (rows, cols), named so.
void matrix(Workload &row, const Dims &dims, std::uint64_t results) {
  row.one.shape = dims_text(dims);
  row.one.dims = dims;
  row.operands = {{product_of(dims), positive}};
  row.results = results;
}

void by_row(Workload &row, const Dims &dims) { matrix(row, dims, dims[0]); }
void by_column(Workload &row, const Dims &dims) { matrix(row, dims, dims[1]); }
void like_itself(Workload &row, const Dims &dims) { matrix(row, dims, product_of(dims)); }

void number(Workload &row, const char *what, std::uint64_t value) {
  row.one.shape += fmt::format(":{}={}", what, value);
  row.one.number = value;
}

template <std::uint64_t axis>
void sum_along(Workload &row, const Dims &dims) {
  matrix(row, dims, dims[1 - axis]);
  number(row, "axis", axis);
}

void a_few(Workload &row, const Dims &dims) {
  like_itself(row, dims);
  number(row, "k", 8);
}

void half(Workload &row, const Dims &dims) {
  like_itself(row, dims);
  number(row, "k", dims[1] / 2);
}

// From the second list of dims to the first.
void broadcast(Workload &row, const Dims &in, const Dims &out, const Dims &map, const char *word) {
  row.one.shape =
      fmt::format("{}{}{}:map={}", dims_text(in), word, dims_text(out), fmt::join(map, "."));
  row.one.dims = in;
  row.one.out_dims = out;
  row.one.axis_map = map;
}

void sum_of_rows(Workload &row, const Dims &dims) {
  broadcast(row, {dims[1]}, dims, {0, 1}, "from");
  row.operands = {{product_of(dims), positive}};
  row.results = dims[1];
}

// ---- Views and indexing ------------------------------------------------------------------------

void joined(Workload &row, const Dims &dims) {
  row.one.shape = fmt::format("n={}:m={}", dims[0], dims[0]);
  row.operands = {{dims[0]}, {dims[0]}};
  row.results = 2 * dims[0];
}

void sliced(Workload &row, const Dims &dims) {
  row.one.number = dims[0] > 1 ? 1 : 0;
  row.one.length = row.results = dims[0] - row.one.number;
  row.one.shape = fmt::format("n={}:start={}:length={}", dims[0], row.one.number, row.one.length);
  row.operands = {{dims[0]}};
}

void vector_to_columns(Workload &row, const Dims &dims) {
  matrix(row, dims, product_of(dims));
  row.operands = {{dims[0]}};
}

void spread(Workload &row, const Dims &in, const Dims &out, const Dims &map) {
  broadcast(row, in, out, map, "to");
  row.operands = {{product_of(in)}};
  row.results = product_of(out);
}

void rows_repeated(Workload &row, const Dims &dims) { spread(row, {dims[1]}, dims, {0, 1}); }
void columns_repeated(Workload &row, const Dims &dims) { spread(row, {dims[0]}, dims, {1, 0}); }
void axes_exchanged(Workload &row, const Dims &dims) {
  spread(row, {dims[1], dims[0]}, dims, {2, 1});
}

template <std::uint64_t depth>
void swapped(Workload &row, const Dims &dims) {
  like_itself(row, dims);
  number(row, "depth", depth);
}

// (batch, time, heads, features)
const Scale head_scale = {
    {{"small", {2, 4, 4, 8}}, {"medium", {4, 64, 8, 32}}, {"large", {16, 512, 8, 64}}},
    [](std::uint64_t n) {
      const std::uint64_t heads = std::min<std::uint64_t>(n, 8);
      const std::uint64_t features = std::min<std::uint64_t>(n / heads, 64);
      return Dims{1, n / (heads * features), heads, features};
    }};

const Scale record_scale = {{{"small", {16, 64}}, {"medium", {1000, 64}}, {"large", {50'000, 64}}},
                            rows_of<64>};
const Scale place_scale = {{{"small", {16, 1}}, {"medium", {10'000, 1}}, {"large", {1'000'000, 1}}},
                           rows_of<1>};

// As many indices as rows, all of them random.
void indexed(Workload &row, const Dims &dims, std::vector<Operand> operands) {
  row.one.shape = fmt::format("{}:k={}:random", dims_text(dims), dims[0]);
  row.one.dims = dims;
  row.operands = std::move(operands);
  row.results = product_of(dims);
  Random random(dims[0]);
  row.one.indices.resize(dims[0]);
  for (std::uint32_t &index : row.one.indices) {
    index = static_cast<std::uint32_t>(random.below(dims[0]));
  }
}

void gathered(Workload &row, const Dims &dims) { indexed(row, dims, {{product_of(dims)}}); }
void scattered(Workload &row, const Dims &dims) {
  indexed(row, dims, {{product_of(dims)}, {product_of(dims)}});
}

// ---- Matrix products: batch, m, n, p -----------------------------------------------------------

Dims square_of(std::uint64_t elements) {
  const std::uint64_t side = side_of(elements);
  return {1, side, side, side};
}

const Scale product_scale = {{{"small", {1, 8, 8, 8}},
                              {"small", {1, 64, 64, 64}},
                              {"medium", {1, 256, 256, 256}},
                              {"medium", {1, 1024, 1024, 1}},
                              {"medium", {1, 16, 4096, 16}},
                              {"medium", {1, 4096, 64, 16}},
                              {"medium", {64, 64, 64, 64}},
                              {"large", {1, 1024, 1024, 1024}}},
                             square_of};
const Scale square_scale = {
    {{"small", {1, 64, 64, 64}}, {"medium", {1, 256, 256, 256}}, {"large", {1, 1024, 1024, 1024}}},
    square_of};
const Scale score_scale = {
    {{"small", {4, 16, 32, 16}}, {"medium", {8, 128, 64, 128}}, {"large", {32, 512, 64, 512}}},
    square_of};

template <bool transpose_a, bool transpose_b>
void product(Workload &row, const Dims &dims) {
  row.one.matmul = {dims[0], dims[1], dims[2], dims[3], transpose_a, transpose_b};
  row.one.shape =
      fmt::format("{}:{}{}", dims_text(dims), transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N');
  row.operands = {{dims[0] * dims[1] * dims[2]}, {dims[0] * dims[2] * dims[3]}};
  row.results = dims[0] * dims[1] * dims[3];
  row.flops = 2.0 * static_cast<double>(product_of(dims));
}

void host_product(Workload &row, const Dims &dims) {
  product<false, false>(row, dims);
  row.host_call = [](const Case &c, const Inputs &, HostArrays &host) {
    const auto doubles = [](auto &words) { return reinterpret_cast<double *>(words.data()); };
    const MatmulShape &s = c.matmul;
    check(tl_dgemm(doubles(host.operands[0]), s.m * s.n, doubles(host.operands[1]), s.n * s.p, s.m,
                   s.n, s.p, doubles(host.result), s.m * s.p));
    return Results{};
  };
}

// ---- Normalization and losses ------------------------------------------------------------------

template <std::uint64_t axis>
void softmax_along(Workload &row, const Dims &dims) {
  like_itself(row, dims);
  row.operands[0].content = ordinary;
  number(row, "axis", axis);
}

// Two matrices; of the second every element allows or counts.
void pair_of_matrices(Workload &row, const Dims &dims, std::uint64_t results) {
  matrix(row, dims, results);
  row.operands = {{product_of(dims)}, {product_of(dims), positive}};
}

void masked_rows(Workload &row, const Dims &dims) { pair_of_matrices(row, dims, product_of(dims)); }
void loss(Workload &row, const Dims &dims) { pair_of_matrices(row, dims, 1); }
void loss_gradient(Workload &row, const Dims &dims) {
  pair_of_matrices(row, dims, product_of(dims));
  row.one.shape += ":gradient";
  row.one.number = 1;
}

void normalized(Workload &row, const Dims &dims) {
  matrix(row, dims, 2 * product_of(dims) + dims[0]);
  row.operands = {{product_of(dims)}, {dims[1], positive}, {dims[1]}};
}

void normalized_bwd(Workload &row, const Dims &dims) {
  matrix(row, dims, product_of(dims) + 2 * dims[1]);
  row.operands = {{product_of(dims)}, {product_of(dims)}, {dims[0], positive}, {dims[1], positive}};
  const auto cols = static_cast<double>(dims[1]);
  row.one.scalars = {cols, 1 / cols};
}

// ---- Fourier: batch, n -------------------------------------------------------------------------

const Scale signal_scale = {
    {{"small", {1, 64}}, {"medium", {64, 1000}}, {"medium", {64, 1009}}, {"large", {64, 65'536}}},
    [](std::uint64_t n) {
      return Dims{1, n};
    }};

template <bool is_inverse>
void transform(Workload &row, const Dims &dims) {
  const std::uint64_t signal = product_of(dims);
  const std::uint64_t spectrum = dims[0] * 2 * (dims[1] / 2 + 1);
  row.one.shape = dims_text(dims);
  row.one.dims = dims;
  row.operands = {{is_inverse ? spectrum : signal}};
  row.results = is_inverse ? signal : spectrum;
  row.flops = 2.5 * static_cast<double>(signal) * std::log2(static_cast<double>(dims[1]));
}

// ---- Scans: steps, states ----------------------------------------------------------------------

const Scale sequence_scale = {
    {{"small", {16, 16}}, {"medium", {256, 256}}, {"large", {4096, 1024}}, {"large", {65'536, 16}}},
    rows_of<256>};

template <bool is_varying, bool is_gradient>
void scanned(Workload &row, const Dims &dims) {
  const std::uint64_t count = product_of(dims);
  const std::uint64_t coefficients = is_varying ? count : dims[1];
  row.one.shape = dims_text(dims);
  row.one.dims = dims;
  row.operands = {{coefficients, Content::decay}, {coefficients, positive}, {count}, {dims[1]}};
  row.results = count;
  if constexpr (is_gradient) {
    row.operands.insert(row.operands.end(), {{count}, {count}});
    row.results = 2 * coefficients + count + dims[1];
  }
}

}  // namespace

std::vector<Entry> matrix_entries() {
  const Scale *n = &length_scale;
  const Scale *rows_cols = &matrix_scale;
  return {
      {{"reduce_sum", "reduce_mean"}, n, total},
      {{"reduce_sum_by_row", "reduce_max_by_row"}, rows_cols, by_row},
      {{"reduce_sum_axis"}, rows_cols, sum_along<0>},
      {{"reduce_sum_axis"}, rows_cols, sum_along<1>},
      {{"reduce_from_broadcast"}, rows_cols, sum_of_rows},
      {{"reduce_max_by_column"}, rows_cols, by_column},
      {{"first_max_mask_by_row"}, rows_cols, like_itself},
      {{"top_k_mask_by_row"}, rows_cols, a_few},
      {{"top_k_mask_by_row"}, rows_cols, half},

      {{"concat1d"}, n, joined},
      {{"slice1d"}, n, sliced},
      {{"broadcast_vec_to_cols"}, rows_cols, vector_to_columns},
      {{"broadcast_to"}, rows_cols, rows_repeated},
      {{"broadcast_to"}, rows_cols, columns_repeated},
      {{"broadcast_to"}, rows_cols, axes_exchanged},
      {{"swap_adjacent_at_depth"}, rows_cols, swapped<0>},
      {{"swap_adjacent_at_depth"}, &head_scale, swapped<1>},
      {{"gather_rows"}, &record_scale, gathered},
      {{"scatter_add_rows"}, &record_scale, scattered},
      {{"scatter_add"}, &place_scale, scattered},

      {{"bmm_with_transpose"}, &product_scale, product<false, false>},
      {{"bmm_with_transpose"}, &square_scale, product<false, true>},
      {{"bmm_with_transpose"}, &square_scale, product<true, false>},
      {{"bmm_scaled"}, &score_scale, product<false, true>, {0.125}},
      {{"dgemm"}, &square_scale, host_product, {}, true},

      {{"softmax"}, rows_cols, softmax_along<1>},
      {{"softmax"}, rows_cols, softmax_along<0>},
      {{"hard_masked_softmax_by_row"}, rows_cols, masked_rows},
      {{"layer_norm_fwd"}, rows_cols, normalized, {1e-5}},
      {{"layer_norm_bwd"}, rows_cols, normalized_bwd},
      {{"cross_entropy", "distillation"}, rows_cols, loss},
      {{"distillation"}, rows_cols, loss_gradient},

      {{"rfft1d_packed"}, &signal_scale, transform<false>},
      {{"irfft1d_packed", "irfft1d_packed_unnormalized"}, &signal_scale, transform<true>},

      {{"selective_scan_diag_fwd"}, &sequence_scale, scanned<false, false>},
      {{"selective_scan_diag_bwd"}, &sequence_scale, scanned<false, true>},
      {{"selective_scan_diag_var_fwd"}, &sequence_scale, scanned<true, false>},
      {{"selective_scan_diag_var_bwd"}, &sequence_scale, scanned<true, true>},
  };
}

}  // namespace torchlean::tools
