// Arrays of more than 2^31 elements: random numbers, gathered rows, pools, convolutions.
#include "tail.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace {

// Sizes of a convolution or a pool along the last axis alone.
template <class Params>
Params along_last_axis(int64_t in, int64_t kernel, int64_t out) {
  Params params{};
  params.struct_size = sizeof params;
  for (size_t a = 0; a < 3; ++a) {
    params.in[a] = a < 2 ? 1 : in;
    params.kernel[a] = a < 2 ? 1 : kernel;
    params.stride[a] = 1;
    params.out[a] = a < 2 ? 1 : out;
  }
  return params;
}

tl_convolution_params convolution(uint64_t out_channels, int64_t in, int64_t kernel) {
  auto params = along_last_axis<tl_convolution_params>(in, kernel, in - kernel + 1);
  params.batch = 1;
  params.in_channels = 1;
  params.out_channels = out_channels;
  params.groups = 1;
  params.dense_kernel = 1;
  std::fill_n(params.dilation, 3, 1);
  return params;
}

constexpr auto length = static_cast<int64_t>(many);

}  // namespace

TEST_CASE("random: the last of 2^31 and more numbers") {
  const Session session("1", "3");
  constexpr uint64_t key = 7;
  const tl_scalars scalars = {sizeof(tl_scalars), {0, 0}};
  tl_storage *out = nullptr;
  REQUIRE(backend().random->generate(session.instance(), TL_RANDOM_UNIFORM, TL_FLOAT64, many, key,
                                     &scalars, 0, &out) == TL_OK);
  constexpr uint64_t covered = covered_of(many);
  check_tail<double>(session, out, many, covered, covered, [](uint64_t i) {
    uint64_t z = key + i + 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<double>((z ^ (z >> 31)) & 0xFFFFFFFF) / 4294967296.0;
  });
}

TEST_CASE("indexing: the last of rows with 2^31 and more elements") {
  const Session session("1", "3");
  constexpr uint64_t rows = 9;
  constexpr uint64_t cols = 5;
  constexpr uint64_t k = many / cols;
  std::vector<float> values(rows * cols);
  for (uint64_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i + 1);
  }
  const Buffer source(session, values);
  const auto index_of = [](uint64_t i) { return static_cast<uint32_t>(i % 11); };
  Sparse<uint32_t> indices(k);
  for (uint64_t i = k - tail; i < k; ++i) {
    indices[i] = index_of(i);
  }
  tl_storage *out = nullptr;
  REQUIRE(backend().indexing->gather_rows(session.instance(), source.operand(), rows, cols,
                                          indices.data(), k, 0, &out) == TL_OK);
  constexpr uint64_t covered = covered_of(k * cols);
  check_tail<float>(session, out, k * cols, covered, covered, [&](uint64_t i) {
    const uint32_t row = index_of(i / cols);
    return row < rows ? static_cast<double>(row * cols + i % cols + 1) : 0.0;
  });
}

TEST_CASE("pooling: the last windows over 2^31 and more entries, and their gradients") {
  const Session session("1", "3");
  auto params = along_last_axis<tl_pooling_params>(length, 3, length - 2);
  params.channels = 1;
  constexpr uint64_t windows = many - 2;
  constexpr uint64_t covered = covered_of(windows);
  const Buffer x = with_tail<double>(session, many, numbered);
  const Buffer g = with_tail<double>(session, windows, numbered);
  tl_storage *out = nullptr;
  REQUIRE(backend().pooling->forward(session.instance(), TL_POOLING_MAX, x.operand(), &params, 0,
                                     &out) == TL_OK);
  check_tail<double>(session, out, windows, covered, covered, [](uint64_t i) {
    return std::max({numbered(i), numbered(i + 1), numbered(i + 2)});
  });
  REQUIRE(backend().pooling->backward(session.instance(), TL_POOLING_AVERAGE, nullptr, g.operand(),
                                      &params, 0, &out) == TL_OK);
  check_tail<double>(session, out, many, 500, covered_of(many), [](uint64_t i) {
    double sum = 0;
    for (uint64_t w = i - 2; w <= i && w < windows; ++w) {
      sum += numbered(w);
    }
    return sum / 3;
  });
  REQUIRE(backend().pooling->backward(session.instance(), TL_POOLING_MAX, x.operand(), g.operand(),
                                      &params, 0, &out) == TL_OK);
  // Entries grow but for the last before a multiple of 1009: a window's last wins.
  const auto winner = [](uint64_t w) {
    return numbered(w + 2) > numbered(w) ? w + 2 : numbered(w + 1) > numbered(w) ? w + 1 : w;
  };
  check_tail<double>(session, out, many, 500, covered_of(many), [&](uint64_t i) {
    double sum = 0;
    for (uint64_t w = i - 2; w <= i && w < windows; ++w) {
      sum += winner(w) == i ? numbered(w) : 0;
    }
    return sum;
  });
}

TEST_CASE("convolution: the last results of 2^31 and more, one by one") {
  const Session session("1", "3");
  const Buffer x = with_tail<float>(session, many, numbered);
  const Buffer kernel(session, std::vector<float>{2, -1});
  const Buffer bias(session, std::vector<float>{0.5});
  const auto params = convolution(1, length, 2);
  constexpr uint64_t count = many - 1;
  tl_storage *out = nullptr;
  REQUIRE(backend().convolution->forward(session.instance(), TL_CONVOLUTION, x.operand(),
                                         kernel.operand(), bias.operand(), &params, 0,
                                         &out) == TL_OK);
  check_tail<float>(session, out, count, covered_of(count), covered_of(count),
                    [](uint64_t i) { return 0.5 + 2 * numbered(i) - numbered(i + 1); });
}

TEST_CASE("convolution: the last results of 2^31 and more, in tiles") {
  const Session session("1", "3");
  constexpr uint64_t channels = 5;
  constexpr uint64_t in = many / channels + 1;
  constexpr uint64_t size = in - 1;
  const Buffer x = with_tail<float>(session, in, numbered);
  const Buffer kernel(session, std::vector<float>{1, 0, 1, 0, 1, 0, 1, 0, 2, -1});
  const Buffer bias(session, std::vector<float>{0, 0, 0, 0, 0.5});
  const auto params = convolution(channels, static_cast<int64_t>(in), 2);
  tl_storage *out = nullptr;
  REQUIRE(backend().convolution->forward(session.instance(), TL_CONVOLUTION, x.operand(),
                                         kernel.operand(), bias.operand(), &params, 0,
                                         &out) == TL_OK);
  // The last three tiles of 64 columns, in each channel.
  constexpr uint64_t covered = 2 * 64 + (size % 64 == 0 ? 64 : size % 64);
  check_tail<float>(session, out, channels * size, covered, covered, [](uint64_t i) {
    const uint64_t column = i - (channels - 1) * size;
    return 0.5 + 2 * numbered(column) - numbered(column + 1);
  });
}
