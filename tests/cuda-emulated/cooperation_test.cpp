// Threads that cooperate under emulation: barriers, warp operations, shared memory, atomics, and
// what is refused.
#include "block.cuh"

#include <doctest/doctest.h>

#include <bit>
#include <set>
#include <vector>

namespace cuda = torchlean::cuda;

namespace {

// Runs a kernel on cooperating threads, the seed of the order given.
template <class... Parameters, class... Arguments>
void run(uint64_t schedule, const cuda::Blocks &grid, void (*kernel)(Parameters...),
         Arguments... arguments) {
  cuda::device::Stream stream{nullptr, schedule};
  cuda::launch_blocks(stream, "test", grid, kernel, arguments...);
}

// The text of the Failure that the kernel ends in.
template <class... Parameters, class... Arguments>
std::string failure(const cuda::Blocks &grid, void (*kernel)(Parameters...),
                    Arguments... arguments) {
  try {
    run(0, grid, kernel, arguments...);
  } catch (const torchlean::Failure &failure) {
    CHECK(failure.status() == TL_INTERNAL);
    return failure.what();
  }
  return "none";
}

std::string line(unsigned number) { return "cooperation_test.cpp:" + std::to_string(number); }

uint64_t thread_of_grid() { return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

struct Reversal {
  uint32_t cells[1024];
};

// Each block reverses its part of `out`.
void reverse(uint64_t *out) {
  Reversal &shared = cuda::shared<Reversal>();
  shared.cells[threadIdx.x] = static_cast<uint32_t>(thread_of_grid());
  __syncthreads();
  out[thread_of_grid()] = shared.cells[blockDim.x - 1 - threadIdx.x];
}

void reverse_dynamic(uint64_t *out) {
  auto *cells = cuda::dynamic_shared<uint64_t>();
  cells[threadIdx.x] = thread_of_grid();
  __syncthreads();
  out[thread_of_grid()] = cells[blockDim.x - 1 - threadIdx.x];
}

void sums(double *out) {
  const auto add = [](double a, double b) { return a + b; };
  const double own = static_cast<double>(thread_of_grid());
  out[thread_of_grid()] = cuda::block_reduce(own, add) + cuda::block_reduce(1.0, add);
}

struct Pair {
  float value;
  uint32_t place;
};

void greatest(Pair *out) {
  const Pair own = {static_cast<float>((threadIdx.x * 37) % 101), threadIdx.x};
  out[thread_of_grid()] = cuda::block_reduce(own, [](Pair a, Pair b) {
    return b.value > a.value || (b.value == a.value && b.place < a.place) ? b : a;
  });
}

struct Lanes {
  int64_t at, up, down, other, segment;
  uint32_t ballot;
  int any, all;
};

void warp_operations(Lanes *out) {
  const auto lane = static_cast<int64_t>(threadIdx.x % 32);
  Lanes &own = out[threadIdx.x];
  own.at = __shfl_sync(~0u, lane, 35);  // modulo the width
  own.up = __shfl_up_sync(~0u, lane, 3);
  own.down = __shfl_down_sync(~0u, lane, 3);
  own.other = __shfl_xor_sync(~0u, lane, 5);
  own.segment = __shfl_down_sync(~0u, lane, 3, 8);
  own.ballot = __ballot_sync(~0u, lane % 3 == 0);
  own.any = __any_sync(~0u, lane == 7);
  own.all = __all_sync(~0u, lane == 7);
}

// Halves of a warp that go separate ways.
void half_warps(uint32_t *out) {
  const uint32_t lane = threadIdx.x;
  out[lane] = lane < 16 ? __ballot_sync(0x0000ffffu, lane % 2 == 0)
                        : __ballot_sync(0xffff0000u, lane % 4 == 0);
}

struct Cells {
  double cells[5];
  unsigned char tail[3];
};

void note_garbage(int *wrong) {
  const Cells &shared = cuda::shared<Cells>();
  const auto *bytes = reinterpret_cast<const unsigned char *>(&shared);
  for (size_t i = 0; i < sizeof(Cells); ++i) {
    atomicAdd(wrong, bytes[i] == cuda::emulation::garbage ? 0 : 1);
  }
  atomicAdd(wrong, cuda::dynamic_shared<unsigned char>()[99] == cuda::emulation::garbage ? 0 : 1);
  __syncthreads();
  if (threadIdx.x < 5) {
    cuda::shared<Cells>().cells[threadIdx.x] = 0;
  }
}

void count_atomically(unsigned *sum, unsigned long long *bits, int *most, int *least) {
  atomicAdd(sum, 2u);
  atomicOr(bits, 1ull << threadIdx.x % 64);
  atomicMax(most, static_cast<int>(thread_of_grid()));
  atomicMin(least, -static_cast<int>(thread_of_grid()));
}

// Notes each thread twice: when it starts and when it has passed the barrier.
void note_order(uint32_t *order, unsigned *count) {
  order[atomicAdd(count, 1u)] = threadIdx.x;
  __syncthreads();
  order[atomicAdd(count, 1u)] = threadIdx.x;
}

std::vector<uint32_t> order_of(uint64_t schedule) {
  std::vector<uint32_t> order(128);
  unsigned count = 0;
  run(schedule, {1, 64}, note_order, order.data(), &count);
  return order;
}

// Kernels that go wrong, each with the lines at which its threads wait.
constexpr unsigned early_line = __LINE__ + 3;
void leave_early() {
  if (threadIdx.x != 5) {
    __syncthreads();
  }
}

constexpr unsigned either_line = __LINE__ + 3;
void two_barriers() {
  if (threadIdx.x < 32) {  // NOLINT(bugprone-branch-clone): two barriers on a device
    __syncthreads();
  } else {
    __syncthreads();
  }
}

constexpr unsigned in_warp_line = __LINE__ + 3;
void barrier_in_warp() {
  if (threadIdx.x == 3) {
    __syncthreads();
  }
  __syncwarp();
  __syncthreads();
}

constexpr unsigned foreign_line = __LINE__ + 1;
void foreign_mask() { __syncwarp(0x2u); }

void lane_that_is_missing() { __shfl_sync(~0u, 1, 2); }

void lane_that_takes_no_part() {
  if (threadIdx.x < 2) {
    __shfl_sync(0x3u, 1, 2);
  }
}

void too_much_shared() { cuda::shared<std::array<double, 6144>>()[0] = 0; }
void throws(int *later) {
  if (threadIdx.x == 40) {
    throw torchlean::Failure(TL_INTERNAL, "thrown by thread 40");
  }
  __syncthreads();
  ++*later;
}

constexpr unsigned alone_line = __LINE__ + 1;
void barrier_without_cooperation(uint64_t) { __syncthreads(); }

}  // namespace

TEST_CASE("what is written before a barrier is read after it, in every order") {
  for (uint64_t schedule = 0; schedule < 3; ++schedule) {
    for (const uint32_t threads : {1u, 32u, 100u, 1024u}) {
      for (const bool dynamic : {false, true}) {
        std::vector<uint64_t> out(3 * threads);
        run(schedule, {3, threads, dynamic ? threads * sizeof(uint64_t) : 0},
            dynamic ? reverse_dynamic : reverse, out.data());
        for (uint32_t i = 0; i < out.size(); ++i) {
          const uint32_t block = i / threads;
          REQUIRE(out[i] == block * threads + threads - 1 - i % threads);
        }
      }
    }
  }
}

TEST_CASE("block_reduce gives every thread the fold of all, and may be called again") {
  for (uint64_t schedule = 0; schedule < 4; ++schedule) {
    for (const uint32_t threads : {32u, 64u, 256u, 1024u}) {
      std::vector<double> out(2 * threads);
      run(schedule, {2, threads}, sums, out.data());
      for (uint64_t i = 0; i < out.size(); ++i) {
        const uint64_t first = i / threads * threads;
        REQUIRE(out[i] == threads * first + threads * (threads - 1) / 2 + threads);
      }
    }
    std::vector<Pair> pairs(64);
    run(schedule, {1, 64}, greatest, pairs.data());
    uint32_t best = 0;
    for (uint32_t i = 1; i < 64; ++i) {
      best = (i * 37) % 101 > (best * 37) % 101 ? i : best;
    }
    for (const Pair &pair : pairs) {
      REQUIRE(pair.place == best);
      REQUIRE(pair.value == static_cast<float>((best * 37) % 101));
    }
  }
}

TEST_CASE("warp operations follow CUDA's rules") {
  for (uint64_t schedule = 0; schedule < 4; ++schedule) {
    std::vector<Lanes> out(64);
    run(schedule, {1, 64}, warp_operations, out.data());
    for (int64_t i = 0; i < 64; ++i) {
      const int64_t lane = i % 32;
      const Lanes &own = out[static_cast<size_t>(i)];
      CHECK(own.at == 3);
      CHECK(own.up == (lane < 3 ? lane : lane - 3));
      CHECK(own.down == (lane + 3 > 31 ? lane : lane + 3));
      CHECK(own.other == (lane ^ 5));
      CHECK(own.segment == (lane % 8 + 3 > 7 ? lane : lane + 3));
      CHECK(own.ballot == 0x49249249u);
      CHECK(own.any == 1);
      CHECK(own.all == 0);
    }
    std::vector<uint32_t> halves(32);
    run(schedule, {1, 32}, half_warps, halves.data());
    for (uint32_t i = 0; i < 32; ++i) {
      CHECK(halves[i] == (i < 16 ? 0x5555u : 0x11110000u));
    }
  }
}

TEST_CASE("shared memory is garbage when a block starts") {
  int wrong = 0;
  run(0, {3, 7, 100}, note_garbage, &wrong);
  CHECK(wrong == 0);
}

TEST_CASE("atomics count every thread") {
  unsigned sum = 0;
  unsigned long long bits = 0;
  int most = 0;
  int least = 0;
  run(3, {4, 96}, count_atomically, &sum, &bits, &most, &least);
  CHECK(sum == 2 * 4 * 96);
  CHECK(bits == ~0ull);
  CHECK(most == 4 * 96 - 1);
  CHECK(least == 1 - 4 * 96);
}

TEST_CASE("a schedule permutes the threads anew after each barrier") {
  std::vector<uint32_t> natural(128);
  for (uint32_t i = 0; i < 128; ++i) {
    natural[i] = i % 64;
  }
  CHECK(order_of(0) == natural);
  const std::vector<uint32_t> order = order_of(7);
  const std::vector<uint32_t> before(order.begin(), order.begin() + 64);
  const std::vector<uint32_t> after(order.begin() + 64, order.end());
  CHECK(before != after);
  for (const auto &part : {before, after}) {
    CHECK(std::set<uint32_t>(part.begin(), part.end()).size() == 64);
    CHECK(part != std::vector<uint32_t>(natural.begin(), natural.begin() + 64));
  }
  CHECK(order_of(7) == order);
  CHECK(order_of(8) != order);
}

TEST_CASE("what a device leaves undefined is an error that says who waits for whom") {
  const std::string block = "test: emulation: block 0: ";
  CHECK(failure({2, 8}, leave_early) ==
        block + "thread 0 waits at the barrier " + line(early_line) + ", but thread 5 has ended");
  CHECK(failure({1, 64}, two_barriers) ==
        block + "thread 0 waits at the barrier " + line(either_line) +
            ", but thread 32 waits at the barrier " + line(either_line + 2));
  CHECK(failure({1, 32}, barrier_in_warp) ==
        block + "thread 0 waits in the warp operation " + line(in_warp_line + 2) +
            " with the mask 0xffffffff, but thread 3 waits at the barrier " + line(in_warp_line));
  CHECK(failure({1, 32}, foreign_mask) ==
        block + "thread 0 is not in its own mask at " + line(foreign_line));
  CHECK(failure({1, 16}, lane_that_is_missing).find("thread 16 does not exist") !=
        std::string::npos);
  CHECK(failure({1, 32}, lane_that_takes_no_part).find("takes the value of lane 2") !=
        std::string::npos);
  CHECK(failure({1, 1, 16}, too_much_shared).find("no room in 49152 bytes of shared memory") !=
        std::string::npos);
  int later = 0;
  CHECK(failure({2, 64}, throws, &later) == "thrown by thread 40");
  CHECK(later == 0);

  cuda::device::Stream stream;
  const std::string alone = "test: emulation: __syncthreads at " + line(alone_line) +
                            " in a kernel that was launched without cooperation";
  CHECK_THROWS_WITH_AS(cuda::launch(stream, "test", 5, barrier_without_cooperation),
                       doctest::Contains(alone.c_str()), torchlean::Failure);
  CHECK_THROWS_WITH_AS(run(0, {1, 1, 48 * 1024 + 1}, leave_early),
                       doctest::Contains("test: kernel launch: 49153 bytes of shared memory"),
                       torchlean::Failure);
}
