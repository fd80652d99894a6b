// A program that uses OpenMP itself, and the runtime in the same process: neither's number of
// threads becomes the other's. Run with TORCHLEAN_NUM_THREADS=2.
#include <doctest/doctest.h>
#include <torchlean/runtime.hpp>

#include <cmath>
#include <filesystem>
#include <iterator>
#include <thread>

using namespace torchlean;

// From omp.h: clang-tidy cannot read that of g++.
extern "C" {
void omp_set_num_threads(int threads);
int omp_get_max_threads();
}

namespace {

std::ptrdiff_t threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// Enough for as many threads as there may be.
void compute() {
  const Buffer x = full(1 << 21, 0.5, TL_FLOAT32);
  CHECK(download<float>(slice(exp(x), 7, 1))[0] == doctest::Approx(std::exp(0.5F)));
}

int threads_of_a_region() {
  int count = 0;
#pragma omp parallel
  {
#pragma omp atomic
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("the program's number does not become the backend's") {
  compute();
  const std::ptrdiff_t before = threads_of_process();  // both of the backend's have started
  for (const int number : {5, 7, 1, 3}) {
    omp_set_num_threads(number);
    compute();
    CHECK(num_threads() == 2);
    CHECK(threads_of_process() == before);
  }
}

TEST_CASE("the backend's number does not become the program's") {
  omp_set_num_threads(3);
  compute();
  CHECK(omp_get_max_threads() == 3);
  CHECK(threads_of_a_region() == 3);
  check(tl_set_num_threads(1));
  compute();
  CHECK(omp_get_max_threads() == 3);
  CHECK_THROWS_AS(download<float>(slice(full(4, 1, TL_FLOAT32), 3, 5)), Error);
  CHECK(omp_get_max_threads() == 3);
  check(tl_set_num_threads(2));
}

TEST_CASE("nor on a thread that has not computed before") {
  int before = 0;
  int after = 0;
  std::thread([&] {
    before = omp_get_max_threads();
    compute();
    after = omp_get_max_threads();
  }).join();
  CHECK(before == after);
  omp_set_num_threads(4);
  std::thread([&] { before = omp_get_max_threads(); }).join();
  CHECK(before == after);
  compute();
  CHECK(threads_of_a_region() == 4);
}
