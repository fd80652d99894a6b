// Broadcasts in canonical form: the merged walk reads what the lists of axes say.
#include "dispatch/broadcast.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

using namespace torchlean;

namespace {

using Dims = std::vector<std::uint64_t>;

// Straight from the definition: the input element that output element `index` reads.
std::uint64_t expected_source(const Dims &in, const Dims &out, const Dims &map,
                              std::uint64_t index) {
  Dims coordinate(in.size(), 0);
  for (std::size_t axis = out.size(); axis-- > 0;) {
    const std::uint64_t position = index % out[axis];
    index /= out[axis];
    if (map[axis] != 0 && in[map[axis] - 1] != 1) coordinate[map[axis] - 1] = position;
  }
  std::uint64_t source = 0;
  for (std::size_t axis = 0; axis < in.size(); ++axis)
    source = source * in[axis] + coordinate[axis];
  return source;
}

std::uint64_t merged_source(const tl_broadcast_params &params, std::uint64_t index) {
  std::uint64_t source = 0;
  for (std::uint32_t axis = params.rank; axis-- > 0;) {
    source += index % params.dims[axis] * params.strides[axis];
    index /= params.dims[axis];
  }
  return source;
}

tl_status refusal(const Dims &in, const Dims &out, const Dims &map) {
  Call call(TL_OP_broadcast_to);
  make_broadcast(call, in, out, map);
  return call.status();
}

}  // namespace

TEST_CASE("random broadcasts read the elements that their lists name") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t out_rank = random() % 6;
    Dims out(out_rank), map(out_rank, 0), order;
    for (std::size_t i = 0; i < out_rank; ++i) {
      out[i] = 1 + random() % 4;
      if (random() % 2 == 0) order.push_back(i);
    }
    std::shuffle(order.begin(), order.end(), random);
    Dims in(order.size());
    for (std::size_t axis = 0; axis < order.size(); ++axis) {
      in[axis] = random() % 3 == 0 ? 1 : out[order[axis]];
      map[order[axis]] = axis + 1;
    }
    Call call(TL_OP_broadcast_to);
    const Broadcast broadcast = make_broadcast(call, in, out, map);
    REQUIRE_FALSE(call.failed());
    for (std::uint64_t index = 0; index < broadcast.large_count; ++index) {
      REQUIRE(merged_source(broadcast.params, index) == expected_source(in, out, map, index));
    }
  }
}

TEST_CASE("neighbouring axes are merged and axes of size 1 dropped") {
  Call call(TL_OP_broadcast_to);
  const Dims dims = {2, 1, 3, 4};
  const Broadcast same = make_broadcast(call, dims, dims, Dims{1, 2, 3, 4});
  CHECK(same.params.rank == 1);
  CHECK(same.params.dims[0] == 24);
  CHECK(same.params.strides[0] == 1);
  const Broadcast rows = make_broadcast(call, Dims{5}, Dims{2, 3, 5}, Dims{0, 0, 1});
  CHECK(rows.params.rank == 2);
  CHECK(rows.params.dims[0] == 6);
  CHECK(rows.params.strides[0] == 0);
}

TEST_CASE("the longest list there can be still fits the canonical form") {
  Call call(TL_OP_broadcast_to);
  Dims out(64, 1), map(64, 0), in;
  for (std::size_t axis = 0; axis < 31; ++axis) {
    out[axis * 2] = 2;
    in.push_back(axis % 2 == 0 ? 2 : 1);
    map[axis * 2] = axis + 1;
  }
  const Broadcast broadcast = make_broadcast(call, in, out, map);
  CHECK_FALSE(call.failed());
  CHECK(broadcast.params.rank == 31);
}

TEST_CASE("lists that do not fit are refused") {
  CHECK(refusal({2}, {2, 3}, {1, 0}) == TL_OK);
  CHECK(refusal({2}, {2, 3}, {1}) == TL_INVALID_ARGUMENT);             // a map too short
  CHECK(refusal({2}, {2, 3}, {2, 0}) == TL_INVALID_ARGUMENT);          // no such axis
  CHECK(refusal({2, 3}, {2, 3}, {1, 1}) == TL_INVALID_ARGUMENT);       // repeated
  CHECK(refusal({2, 3}, {2, 3}, {1, 0}) == TL_INVALID_ARGUMENT);       // missing
  CHECK(refusal({2}, {3}, {1}) == TL_INVALID_ARGUMENT);                // sizes differ
  CHECK(refusal({1}, {1U << 31U, 4}, {1, 0}) == TL_INVALID_ARGUMENT);  // too large
  CHECK(refusal({0}, {0, ~std::uint64_t{0}, ~std::uint64_t{0}}, {1, 0, 0}) == TL_OK);
}

TEST_CASE("a product that leaves 64 bits is refused, but a zero makes it zero") {
  Call call(TL_OP_broadcast_to);
  const Dims with_zero = {~std::uint64_t{0}, ~std::uint64_t{0}, 0};
  CHECK(call.product("dims", with_zero) == 0);
  CHECK_FALSE(call.failed());
  const Dims without = {~std::uint64_t{0}, 2};
  call.product("dims", without);
  CHECK(call.failed());
}
