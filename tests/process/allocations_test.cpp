// B3: memory that runs out. Every operation that `torchlean compare` knows, on every host backend,
// with the N-th block that it asks the core for refused, N = 1, 2, ... until it succeeds.
#include <doctest/doctest.h>

#include "operation_cases.hpp"

using namespace torchlean;
using namespace torchlean_test;

namespace {

// How a call ended while allocation number `first` was failing.
struct Ending {
  tl_status status = TL_OK;
  std::string text;
  std::uint64_t asked = 0;  // allocations
  Outcome outcome;
};

Ending run_failing(const Operation &row, const Case &one, const Inputs &inputs, std::uint64_t first,
                   bool ever_after) {
  Ending ending;
  tl_fail_allocations(first, ever_after ? 1 : 0);
  try {
    ending.outcome = row.run(one, inputs);
  } catch (const Error &error) {
    ending.status = error.status();
    ending.text = error.what();
  }
  ending.asked = tl_fail_allocations(0, 0);
  return ending;
}

// Fails each allocation of the call in turn. Returns how many failed.
std::uint64_t fail_each(const Operation &row, const Case &one, const Inputs &inputs,
                        bool ever_after) {
  const Outcome expected = row.run(one, inputs);
  for (std::uint64_t first = 1;; ++first) {
    const tl_counters before = counters();
    const std::uint64_t allocated = memory_figures().allocated_bytes;
    const Ending ending = run_failing(row, one, inputs, first, ever_after);
    const tl_counters after = counters();
    CAPTURE(first);
    CAPTURE(ending.text);
    // No failure goes unnoticed, and none is made up.
    REQUIRE((ending.status == TL_OK) == (ending.asked < first));
    CHECK(after.live_buffers == before.live_buffers);
    CHECK(after.live_bytes == before.live_bytes);
    CHECK(memory_figures().allocated_bytes == allocated);
    if (ending.status == TL_OK) {
      CHECK(is_same(ending.outcome, expected));
      return first - 1;
    }
    REQUIRE(ending.status == TL_OUT_OF_MEMORY);
    CHECK(ending.text.find(": ") != std::string::npos);
    // Where its result was made and only the download failed, that was created and retired.
    if (ending.text.rfind("download", 0) == 0) continue;
    CHECK(after.created_buffers == before.created_buffers);
    CHECK(after.retired_buffers == before.retired_buffers);
    CHECK(after.created_bytes == before.created_bytes);
    CHECK(after.retired_bytes == before.retired_bytes);
  }
}

}  // namespace

TEST_CASE("B3: each allocation of each operation fails in turn, once and ever after") {
  for (const std::string &path : host_backends) {
    CAPTURE(path);
    const Backend backend = open_on_host(path);
    std::uint64_t failures = 0;
    std::uint64_t calls = 0;
    for_each_operation(
        [&](tl_operation operation, const Operation &row, tl_dtype dtype, const Case &one) {
          if (!backend.supports(operation, dtype)) return;
          const ThreadBackend guard(backend);
          const Inputs inputs = to_backend(one);
          failures += fail_each(row, one, inputs, false);
          failures += fail_each(row, one, inputs, true);
          ++calls;
        });
    MESSAGE(path << ": " << calls << " calls, " << failures << " failed allocations");
    CHECK(failures > calls);
  }
}

TEST_CASE("B3: every operation of the table has its case here") {
  std::size_t compared = 0;
  for (const tl_operation_info &info : operations()) {
    if (info.is_compared == 0) continue;
    CAPTURE(std::string(info.name));
    CHECK(tools::find_operation(info.name) != nullptr);
    ++compared;
  }
  CHECK(compared >= 50);
}
