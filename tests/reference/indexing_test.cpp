// Updates that are added exactly; tests/conformance has what every backend must keep.
#include "fixture.hpp"
#include "support/oracle.hpp"

using namespace torchlean::test;

namespace {

template <class T>
std::vector<T> scatter_add(const std::vector<T> &base, const std::vector<T> &values, uint64_t cols,
                           const std::vector<uint32_t> &indices) {
  Backend backend;
  const Buffer<T> start(backend, base);
  const Buffer<T> added(backend, values);
  return result<T>(backend, base.size(), [&](tl_storage **out) {
    return backend.table->indexing->scatter_add_rows(backend.instance, start.operand(),
                                                     added.operand(), base.size() / cols, cols,
                                                     indices.data(), indices.size(), 0, out);
  });
}

}  // namespace

TEST_CASE("a row that is hit often is summed exactly") {
  // From 2^24 on a float moves in steps of 2, and 2^24 + 1 is a tie that goes down.
  CHECK(scatter_add<float>({1, 1}, {0x1p24f, 1, 1, 0x1p24f}, 1, {1, 0, 1, 0}) ==
        std::vector<float>{0x1p24f + 2, 0x1p24f + 2});
}
