// Sums in both modes, maxima and masks.
#include "fixture.hpp"
#include "oracle.hpp"

using namespace torchlean::test;

namespace {

template <class T>
std::vector<T> reduce(Backend &backend, tl_reduce_op op, const std::vector<T> &x, uint64_t outer,
                      uint64_t n, uint64_t inner) {
  const Buffer<T> operand(backend, x);
  return result<T>(backend, outer * inner, [&](tl_storage **out) {
    return backend.table->reduction->reduce(backend.instance, op, operand.operand(), outer, n,
                                            inner, 0, out);
  });
}

template <class T>
std::vector<T> row_mask(tl_row_mask_op op, const std::vector<T> &x, uint64_t cols, uint64_t k = 0) {
  Backend backend;
  const Buffer<T> operand(backend, x);
  return result<T>(backend, x.size(), [&](tl_storage **out) {
    return backend.table->reduction->row_mask(backend.instance, op, operand.operand(),
                                              x.size() / cols, cols, k, 0, out);
  });
}

std::vector<float> random_floats(size_t n) {
  std::mt19937_64 random(n);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float &value : x) value = normal(random);
  return x;
}

// Section 4's procedure on lane numbers as it is written there: all lanes of all blocks at once.
float lanes_as_written(std::vector<float> x) {
  do {
    const size_t blocks = std::min<size_t>((x.size() + 255) / 256, 65535);
    const size_t lanes = blocks * 256;
    std::vector<float> lane(lanes, 0.0f);
    for (size_t i = 0; i < x.size(); ++i) lane[i % lanes] += x[i];
    for (size_t w = 128; w >= 1; w /= 2)
      for (size_t l = 0; l < lanes; ++l)
        if (l % 256 < w) lane[l] += lane[l + w];
    x.clear();
    for (size_t block = 0; block < blocks; ++block) x.push_back(lane[block * 256]);
  } while (x.size() > 1);
  return x[0];
}

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("a sum keeps what cancels in the middle") {
  Backend backend;
  CHECK(reduce<float>(backend, TL_REDUCE_TOTAL_SUM, {1e30f, 1.0f, -1e30f}, 1, 3, 1)[0] == 1.0f);
  CHECK(reduce<float>(backend, TL_REDUCE_SUM, {1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2) ==
        std::vector<float>{4, 6, 12, 14});
}

TEST_CASE("empty reductions give 0, NaN for the mean") {
  Backend backend;
  for (const bool deterministic : {false, true}) {
    backend.set_deterministic(deterministic);
    CHECK(same(reduce<float>(backend, TL_REDUCE_TOTAL_SUM, {}, 1, 0, 1)[0], 0.0f));
    CHECK(same(reduce<float>(backend, TL_REDUCE_TOTAL_MEAN, {}, 1, 0, 1)[0], quiet_nan));
    CHECK(reduce<float>(backend, TL_REDUCE_SUM, {}, 2, 0, 3) == std::vector<float>(6, 0.0f));
    CHECK(reduce<float>(backend, TL_REDUCE_MAX, {}, 2, 0, 3) == std::vector<float>(6, 0.0f));
  }
}

TEST_CASE("the mean multiplies by the rounded reciprocal of the count") {
  Backend backend;
  const float expected = 10.0f * (1.0f / 3.0f);
  CHECK(reduce<float>(backend, TL_REDUCE_TOTAL_MEAN, {1, 2, 7}, 1, 3, 1)[0] == expected);
}

TEST_CASE("deterministic totals add by lanes, blocks and halves") {
  Backend backend;
  backend.set_deterministic(true);
  for (const size_t n : {1, 2, 255, 256, 257, 1000, 65536, 65537, 100003}) {
    const auto x = random_floats(n);
    CHECK(same(reduce(backend, TL_REDUCE_TOTAL_SUM, x, 1, n, 1)[0], lanes_as_written(x)));
  }
  CHECK(same(reduce<float>(backend, TL_REDUCE_TOTAL_SUM, {-0.0f}, 1, 1, 1)[0], 0.0f));
}

TEST_CASE("deterministic totals of more than 65535 blocks give a lane several elements") {
  Backend backend;
  backend.set_deterministic(true);
  const size_t n = 256 * 65535 + 1000;
  const auto x = random_floats(n);
  CHECK(same(reduce(backend, TL_REDUCE_TOTAL_SUM, x, 1, n, 1)[0], lanes_as_written(x)));
}

TEST_CASE("deterministic sums over an axis fold from the left") {
  Backend backend;
  backend.set_deterministic(true);
  const auto x = random_floats(3 * 50 * 2);
  const auto sums = reduce(backend, TL_REDUCE_SUM, x, 3, 50, 2);
  for (size_t o = 0; o < 3; ++o)
    for (size_t i = 0; i < 2; ++i) {
      float fold = 0;
      for (size_t k = 0; k < 50; ++k) fold += x[(o * 50 + k) * 2 + i];
      CHECK(same(sums[o * 2 + i], fold));
    }
}

TEST_CASE("sum_to_shape sums every axis of stride 0, the others permuted") {
  // The large side (2, 3, 2) reads element (c, a) of a small side (2, 2): its middle axis is new.
  tl_broadcast_params params = {sizeof params, 3, 0, {2, 3, 2}, {1, 0, 2}};
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  for (const bool deterministic : {false, true}) {
    Backend backend;
    backend.set_deterministic(deterministic);
    const Buffer<float> operand(backend, x);
    CHECK(result<float>(backend, 4, [&](tl_storage **out) {
            return backend.table->reduction->sum_to_shape(backend.instance, operand.operand(),
                                                          &params, 4, 0, out);
          }) == std::vector<float>{1 + 3 + 5, 7 + 9 + 11, 2 + 4 + 6, 8 + 10 + 12});
    const Buffer<float> none(backend, {});
    CHECK(result<float>(backend, 4, [&](tl_storage **out) {
            return backend.table->reduction->sum_to_shape(backend.instance, none.operand(), &params,
                                                          4, 0, out);
          }) == std::vector<float>(4, 0.0f));
  }
}

TEST_CASE("broadcast reads every element where the strides say") {
  Backend backend;
  const Buffer<double> x(backend, {1, 2, 3, 4});
  tl_broadcast_params params = {sizeof params, 3, 0, {2, 3, 2}, {1, 0, 2}};
  CHECK(result<double>(backend, 12, [&](tl_storage **out) {
          return backend.table->view->broadcast(backend.instance, x.operand(), &params, 0, out);
        }) == std::vector<double>{1, 3, 1, 3, 1, 3, 2, 4, 2, 4, 2, 4});
  tl_broadcast_params scalar = {sizeof scalar, 0, 0, {}, {}};
  const Buffer<double> one(backend, {5});
  CHECK(result<double>(backend, 1, [&](tl_storage **out) {
          return backend.table->view->broadcast(backend.instance, one.operand(), &scalar, 0, out);
        }) == std::vector<double>{5});
}

TEST_CASE("maxima skip NaN") {
  Backend backend;
  const auto maxima = reduce<float>(
      backend, TL_REDUCE_MAX,
      {quiet_nan, 1, -2, quiet_nan, quiet_nan, quiet_nan, -infinity, -infinity, quiet_nan}, 3, 3,
      1);
  CHECK(maxima == std::vector<float>{1, -infinity, -infinity});
}

TEST_CASE("the first maximum of a row is marked, never NaN") {
  const std::vector<float> x = {quiet_nan, 2,         2,         quiet_nan, quiet_nan, quiet_nan,
                                -infinity, -infinity, -infinity, -0.0f,     0,         -1};
  CHECK(row_mask(TL_ROW_MASK_FIRST_MAX, x, 3) ==
        std::vector<float>{0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0});
}

TEST_CASE("top k marks entries that fewer than k others beat") {
  const std::vector<float> row = {1, 3, 2, 3, -1};
  CHECK(row_mask(TL_ROW_MASK_TOP_K, row, 5, 0) == std::vector<float>(5, 0));
  CHECK(row_mask(TL_ROW_MASK_TOP_K, row, 5, 1) == std::vector<float>{0, 1, 0, 0, 0});
  CHECK(row_mask(TL_ROW_MASK_TOP_K, row, 5, 3) == std::vector<float>{0, 1, 1, 1, 0});
  CHECK(row_mask(TL_ROW_MASK_TOP_K, row, 5, UINT32_MAX) == std::vector<float>(5, 1));
  // A NaN neither wins nor loses: earlier entries beat it, and it beats later ones.
  CHECK(row_mask<float>(TL_ROW_MASK_TOP_K, {1, quiet_nan, 2}, 3, 1) == std::vector<float>{0, 0, 0});
}
