// The host executor: which threads run, in what order, and what it refuses.
#include "launch.cuh"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace cuda = torchlean::cuda;

namespace {

// Notes which thread of the grid ran when.
void note_thread(std::vector<uint64_t> *order) {
  order->push_back(uint64_t{blockIdx.x} * blockDim.x + threadIdx.x);
}

std::vector<uint64_t> order_of(uint64_t schedule, uint32_t blocks, uint32_t threads) {
  std::vector<uint64_t> order;
  const cuda::device::Stream stream{nullptr, schedule};
  cuda::emulation::run(stream, "test", {blocks, threads}, note_thread, &order);
  return order;
}

}  // namespace

TEST_CASE("schedule 0 runs blocks and threads in their natural order") {
  const std::vector<uint64_t> order = order_of(0, 5, 7);
  REQUIRE(order.size() == 35);
  for (uint64_t i = 0; i < order.size(); ++i) {
    CHECK(order[i] == i);
  }
}

TEST_CASE("every schedule runs each thread of the grid once") {
  for (uint64_t schedule = 0; schedule < 50; ++schedule) {
    for (const uint32_t blocks : {1u, 2u, 6u, 31u}) {
      for (const uint32_t threads : {1u, 3u, 32u, 256u}) {
        std::vector<int> runs(uint64_t{blocks} * threads);
        for (const uint64_t thread : order_of(schedule, blocks, threads)) {
          ++runs.at(thread);
        }
        CHECK(runs == std::vector<int>(runs.size(), 1));
      }
    }
  }
}

TEST_CASE("schedules differ, and each repeats") {
  CHECK(order_of(1, 8, 256) != order_of(0, 8, 256));
  CHECK(order_of(1, 8, 256) != order_of(2, 8, 256));
  CHECK(order_of(2, 8, 256) == order_of(2, 8, 256));
}

TEST_CASE("tail mode runs the last blocks of a launch alone") {
  for (const uint64_t schedule : {0, 3}) {
    const cuda::device::Stream stream{nullptr, schedule, 2};
    for (const uint32_t blocks : {1u, 2u, 3u, 0x7fffffffu}) {
      std::vector<uint64_t> order;
      cuda::emulation::run(stream, "test", {blocks, 1}, note_thread, &order);
      std::sort(order.begin(), order.end());
      CHECK(order == (blocks == 1 ? std::vector<uint64_t>{0}
                                  : std::vector<uint64_t>{blocks - 2, blocks - 1}));
    }
  }
}

TEST_CASE("a launch that a device would refuse is an error that names the operation") {
  for (const cuda::emulation::Shape shape :
       {cuda::emulation::Shape{0, 1}, cuda::emulation::Shape{1, 0}, cuda::emulation::Shape{1, 1025},
        cuda::emulation::Shape{0x80000000u, 1}}) {
    CHECK_THROWS_WITH_AS(cuda::emulation::check_launch("relu", shape),
                         doctest::Contains("relu: kernel launch"), torchlean::Failure);
  }
}
