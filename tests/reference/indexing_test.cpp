// Rows picked and rows added, with indices that no row has.
#include "fixture.hpp"
#include "oracle.hpp"

using namespace torchlean::test;

namespace {

template <class T>
std::vector<T> gather(const std::vector<T> &source, uint64_t cols,
                      const std::vector<uint32_t> &indices) {
  Backend backend;
  const Buffer<T> operand(backend, source);
  return result<T>(backend, indices.size() * cols, [&](tl_storage **out) {
    return backend.table->indexing->gather_rows(backend.instance, operand.operand(),
                                                source.size() / cols, cols, indices.data(),
                                                indices.size(), 0, out);
  });
}

template <class T>
std::vector<T> scatter_add(bool deterministic, const std::vector<T> &base,
                           const std::vector<T> &values, uint64_t cols,
                           const std::vector<uint32_t> &indices) {
  Backend backend;
  backend.set_deterministic(deterministic);
  const Buffer<T> start(backend, base);
  const Buffer<T> added(backend, values);
  return result<T>(backend, base.size(), [&](tl_storage **out) {
    return backend.table->indexing->scatter_add_rows(backend.instance, start.operand(),
                                                     added.operand(), base.size() / cols, cols,
                                                     indices.data(), indices.size(), 0, out);
  });
}

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("gather_rows copies rows in the order of the indices, repeated ones too") {
  CHECK(gather<double>({1, 2, 3, 4, 5, 6}, 2, {2, 0, 2}) == std::vector<double>{5, 6, 1, 2, 5, 6});
  const float payload = std::bit_cast<float>(0xff812345u);
  const auto copied = gather<float>({1, payload, -0.0f}, 1, {1, 2});
  CHECK(std::bit_cast<uint32_t>(copied[0]) == 0xff812345u);
  CHECK(std::signbit(copied[1]));
}

TEST_CASE("gather_rows gives rows of +0 for indices that no row has, whatever the source holds") {
  CHECK(all_same(gather<float>({quiet_nan, infinity}, 2, {1, UINT32_MAX}),
                 std::vector<float>(4, 0.0f)));
  Backend backend;
  const Buffer<float> none(backend, {});
  const uint32_t indices[] = {0, 7};
  CHECK(all_same(result<float>(backend, 6,
                               [&](tl_storage **out) {
                                 return backend.table->indexing->gather_rows(
                                     backend.instance, none.operand(), 0, 3, indices, 2, 0, out);
                               }),
                 std::vector<float>(6, 0.0f)));
}

TEST_CASE("scatter_add adds once in IEEE arithmetic and leaves what is not hit bit for bit") {
  const float payload = std::bit_cast<float>(0xff812345u);
  for (const bool deterministic : {false, true}) {
    const auto y =
        scatter_add<float>(deterministic, {-0.0f, payload, 1, -0.0f}, {-0.0f, 0x1p-24f}, 1, {3, 2});
    CHECK(std::signbit(y[0]));
    CHECK(std::bit_cast<uint32_t>(y[1]) == 0xff812345u);
    CHECK(y[2] == 1.0f);  // a tie, to even
    CHECK(std::signbit(y[3]));
  }
}

TEST_CASE("scatter_add ignores indices that no row has") {
  for (const bool deterministic : {false, true})
    CHECK(scatter_add<double>(deterministic, {1, 2, 3, 4}, {10, 20, quiet_nan, 1, 30, 40}, 2,
                              {1, 2, 1}) == std::vector<double>{1, 2, 43, 64});
}

TEST_CASE("without updates scatter_add is a copy") {
  CHECK(scatter_add<float>(false, {1, 2}, {}, 2, {}) == std::vector<float>{1, 2});
}

TEST_CASE("a row hit often is summed exactly, in deterministic mode from its base in index order") {
  // From 2^24 on a float moves in steps of 2, and 2^24 + 1 is a tie that goes down.
  const std::vector<float> base = {1, 1};
  const std::vector<uint32_t> indices = {1, 0, 1, 0};
  const std::vector<float> values = {0x1p24f, 1, 1, 0x1p24f};
  CHECK(scatter_add(false, base, values, 1, indices) ==
        std::vector<float>{0x1p24f + 2, 0x1p24f + 2});
  CHECK(scatter_add(true, base, values, 1, indices) == std::vector<float>{0x1p24f + 2, 0x1p24f});
}

TEST_CASE("NaN and infinities add as in IEEE arithmetic, in their own element only") {
  for (const bool deterministic : {false, true})
    CHECK(all_same(
        scatter_add<float>(deterministic, {1, 2, 3}, {infinity, 5, 6, -infinity, 7, 8}, 3, {0, 0}),
        {quiet_nan, 14, 17}));
}
