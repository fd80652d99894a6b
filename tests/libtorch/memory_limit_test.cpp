// The memory fraction on the real core: it refuses the allocation that is too much, and no other,
// whatever the backend keeps of the blocks that were freed.
#include <doctest/doctest.h>
#include <torchlean/runtime.hpp>

#include <cmath>
#include <optional>

using namespace torchlean;

namespace {

constexpr uint64_t mebibyte = uint64_t{1} << 20;

// A buffer of that many bytes.
Buffer block(uint64_t bytes) { return zeros(bytes / 4, TL_FLOAT32); }

bool fits(uint64_t bytes) {
  try {
    block(bytes);
    return true;
  } catch (const Error &error) {
    CHECK(error.status() == TL_OUT_OF_MEMORY);
    return false;
  }
}

uint64_t kept_bytes() {
  const tl_memory_figures now = memory_figures();
  return now.reserved_bytes - now.allocated_bytes;
}

}  // namespace

TEST_CASE("the fraction refuses the first byte too many, and kept blocks do not count") {
  check(tl_empty_cache());
  const double total = static_cast<double>(memory_figures().device_total_bytes);
  // About 64 MiB.
  const double fraction = 64.0 * static_cast<double>(mebibyte) / total;
  check(tl_set_memory_fraction(fraction));
  const auto cap = static_cast<uint64_t>(std::floor(fraction * total)) / 64 * 64;
  CHECK(memory_figures().allocated_bytes == 0);

  CHECK(fits(cap));
  CHECK_FALSE(fits(cap + 64));
  {
    const Buffer held = block(40 * mebibyte);
    CHECK(fits(cap - 40 * mebibyte));
    CHECK_FALSE(fits(cap - 40 * mebibyte + 64));
    CHECK(fits(10 * mebibyte));
    CHECK(kept_bytes() > 0);
    CHECK(fits(cap - 40 * mebibyte));
  }
  for (const uint64_t size : {5, 7, 9, 11, 13}) CHECK(fits(size * mebibyte));
  CHECK(kept_bytes() == 5 * 9 * mebibyte);
  CHECK(fits(cap));
  CHECK_FALSE(fits(cap + 64));

  // Refused, the process goes on as before.
  CHECK(download<float>(add(block(4), block(4))) == std::vector<float>{0});
  check(tl_set_memory_fraction(1.0));
  CHECK(fits(cap + 64));
  check(tl_empty_cache());
  CHECK(memory_figures().reserved_bytes == 0);
}
