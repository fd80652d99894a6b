// L8: the present headers only append to the frozen ones.
#include <doctest/doctest.h>

#include "layout.hpp"

using torchlean_test::frozen_layout;
using torchlean_test::LayoutEntry;
using torchlean_test::present_layout;

namespace {

bool is_structure(const LayoutEntry &entry) { return entry.alignment != 0; }

}  // namespace

TEST_CASE(
    "L8: every frozen member lies where it lay, with its type, and every enumerator keeps its "
    "value") {
  const std::vector<LayoutEntry> frozen = frozen_layout();
  const std::vector<LayoutEntry> present = present_layout();
  REQUIRE(frozen.size() == present.size());
  for (std::size_t i = 0; i < frozen.size(); ++i) {
    CAPTURE(frozen[i].name);
    REQUIRE(frozen[i].name == present[i].name);
    CHECK(frozen[i].offset == present[i].offset);
    CHECK(frozen[i].type == present[i].type);
    CHECK(frozen[i].alignment == present[i].alignment);
    if (is_structure(frozen[i])) {
      CHECK(frozen[i].size <= present[i].size);
    } else {
      CHECK(frozen[i].size == present[i].size);
    }
  }
}

TEST_CASE("L8: the list of members is complete") {
  std::size_t structures = 0;
  std::size_t end = 0;
  for (const LayoutEntry &entry : frozen_layout()) {
    CAPTURE(entry.name);
    if (!is_structure(entry)) {
      if (entry.size == 0) break;  // the enumerators follow
      // Gaps are padding: none is as large as what follows it.
      CHECK(entry.offset >= end);
      CHECK(entry.offset - end < 8);
      end = entry.offset + entry.size;
      continue;
    }
    CHECK(entry.offset == end);
    CHECK(entry.size - end < entry.alignment);
    end = 0;
    ++structures;
  }
  CHECK(structures >= 40);
}
