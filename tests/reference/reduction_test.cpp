// Sums that are rounded once; tests/conformance has what every backend must keep.
#include "fixture.hpp"
#include "support/oracle.hpp"

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

}  // namespace

TEST_CASE("a sum keeps what cancels in the middle") {
  Backend backend;
  CHECK(reduce<float>(backend, TL_REDUCE_TOTAL_SUM, {1e30f, 1.0f, -1e30f}, 1, 3, 1)[0] == 1.0f);
  CHECK(reduce<float>(backend, TL_REDUCE_SUM, {1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2) ==
        std::vector<float>{4, 6, 12, 14});
}
