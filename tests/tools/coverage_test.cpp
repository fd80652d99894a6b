// Every row of the operation table has all that judging it needs (docs/operations.md is looked up
// by operations_documented).
#include <doctest/doctest.h>

#include <string>

#include "compare/direct/calls.hpp"
#include "compare/operations.hpp"

using namespace torchlean::tools;

namespace {

struct Counts {
  std::size_t samples = 0;
  std::size_t refusals = 0;
};

Counts count_cases(const Operation &row, tl_dtype dtype) {
  Counts counts;
  const Generator generator(
      {row.name, dtype, 1, Size::small, [](const Case &) { return true; },
       [&](const Case &one) { ++(one.must_be_refused ? counts.refusals : counts.samples); }});
  row.cases(generator);
  row.wrong(generator);
  return counts;
}

}  // namespace

TEST_CASE("every operation has reference, samples, wrong arguments, and a budget with its reason") {
  const auto table = torchlean::operations();
  for (tl_operation number = 0; number < table.size(); ++number) {
    CAPTURE(table[number].name);
    CHECK(table[number].is_compared != 0);
    const Operation *row = find_operation(table[number].name);
    REQUIRE(row != nullptr);
    bool is_in_reference = false;
    for (tl_dtype dtype = 0; dtype < TL_DTYPE_COUNT; ++dtype) {
      if (!torchlean::supports(number, dtype)) continue;
      is_in_reference = true;
      const Counts counts = count_cases(*row, dtype);
      CHECK(counts.samples > 2);
      CHECK(counts.refusals > 0);
    }
    CHECK(is_in_reference);
    CHECK(std::string(row->budget) != "");
    CHECK(std::string(budget_reason(*row)) != "");
  }
}

TEST_CASE("every operation can be called straight at a backend's table") {
  for (const tl_operation_info &info : torchlean::operations()) {
    CAPTURE(info.name);
    const DirectEntry *entry = find_entry(info.family, info.entry);
    REQUIRE(entry != nullptr);
    CHECK(entry->results + entry->faults.size() > 0);
  }
}
