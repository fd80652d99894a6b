// Division by a multiplication, against the processor's own.
#include "division.cuh"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace torchlean::cuda {
namespace {

constexpr uint64_t most = (uint64_t{1} << 63) - 1;  // that is divided

// Powers of two and their neighbours, and numbers of all lengths.
std::vector<uint64_t> interesting_numbers() {
  std::vector<uint64_t> numbers = {3, 5, 7, 10, 641, 6700417, most};
  std::mt19937_64 random(1);
  for (unsigned bit = 0; bit <= 63; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    numbers.insert(numbers.end(), {power - 1, power, power + 1, random() >> bit});
  }
  return numbers;
}

}  // namespace

TEST_CASE("a quotient is exact for every divisor and every number below 2^63") {
  const std::vector<uint64_t> numbers = interesting_numbers();
  for (const uint64_t d : numbers) {
    if (d == 0 || d > most + 1) continue;
    const Divisor divisor(d);
    REQUIRE(divisor.value() == d);
    std::vector<uint64_t> dividends = numbers;
    for (const uint64_t n : numbers) {
      const uint64_t multiple = n / d * d;
      dividends.insert(dividends.end(), {multiple - 1, multiple, multiple + d - 1});
    }
    uint64_t wrong = 0;
    for (const uint64_t n : dividends) {
      if (n > most) continue;
      const Divided found = divisor.divide(n);
      wrong += found.quotient == n / d && found.remainder == n % d ? 0 : 1;
    }
    INFO(d);
    CHECK(wrong == 0);
  }
}

}  // namespace torchlean::cuda
