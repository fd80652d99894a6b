// Cases as text: what is written reads back, and arbitrary bytes are refused (rule T10).
#include <doctest/doctest.h>

#include <limits>
#include <stdexcept>

#include "compare/case_text.hpp"
#include "compare/operations.hpp"

using namespace torchlean::tools;

namespace {

// Every how many-th case is read back: unoptimised code under a sanitizer takes 35 times as long.
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t stride = 8;
#else
constexpr std::size_t stride = 1;
#endif

// Cases of every kind for one row, wrong arguments included.
std::vector<Case> cases_of(const Operation &row, tl_dtype dtype) {
  std::vector<Case> cases;
  std::size_t number = 0;
  const auto take = [&](const Case &one) {
    if (number++ % stride == 0) cases.push_back(one);
  };
  const Generator generator(
      {row.name, dtype, 1, Size::small, [](const Case &) { return true; }, take});
  row.cases(generator);
  row.wrong(generator);
  return cases;
}

bool is_refused(const std::string &text) {
  try {
    parse_selector(text);
    return false;
  } catch (const std::exception &error) {
    CAPTURE(text);
    CHECK(std::string(error.what()) != "");
    return true;
  }
}

}  // namespace

TEST_CASE("a literal case reads back with all it carries, for every operation") {
  for (const Operation &row : operation_table()) {
    CAPTURE(row.name);
    for (const tl_dtype dtype : {TL_FLOAT32, TL_FLOAT64, TL_ENCODED}) {
      // Encoded words for operations on them only.
      if (dtype == TL_ENCODED && std::string_view(row.name).find("encoded") == std::string::npos) {
        continue;
      }
      for (const Case &one : cases_of(row, dtype)) {
        const Selector selector = parse_selector(literal_text(one));
        REQUIRE(selector.literal.has_value());
        const Case &read = *selector.literal;
        CHECK(read.name() == literal_text(one));
        CHECK(read.operation == one.operation);
        CHECK(read.dtype == one.dtype);
        CHECK(read.dims == one.dims);
        CHECK(read.out_dims == one.out_dims);
        CHECK(read.axis_map == one.axis_map);
        CHECK(read.number == one.number);
        CHECK(read.length == one.length);
        CHECK(read.indices == one.indices);
        CHECK(read.other_dtype == one.other_dtype);
        REQUIRE(read.inputs.size() == one.inputs.size());
        for (std::size_t k = 0; k < one.inputs.size(); ++k) {
          CHECK(read.inputs[k].dtype == one.inputs[k].dtype);
          CHECK(read.inputs[k].bits == one.inputs[k].bits);
        }
      }
    }
  }
}

TEST_CASE("a pattern selects by operation, dtype, kind and shape") {
  Case one;
  one.operation = "add";
  one.kind = "ordinary";
  one.shape = "n=257";
  CHECK(one.name() == "add[float32, ordinary, n=257]");
  for (const char *text : {"add", "a*", "add[float32]", "add[*, ordinary]", "add[float32,*,n=2?7]",
                           "add[float32, ordinary, n=257]"}) {
    CAPTURE(text);
    CHECK(parse_selector(text).wants_case(one));
  }
  for (const char *text : {"sub", "add[float64]", "add[float32, wide]", "add[*, *, n=1]"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_selector(text).wants_case(one));
  }
}

TEST_CASE("commas inside brackets separate no selectors") {
  CHECK(split_selectors("add,sub[float32, wide, *], mul").size() == 3);
  CHECK(split_selectors("").empty());
}

TEST_CASE("T10: what is no case is refused with a reason") {
  for (const char *text : {"",
                           "[",
                           "]",
                           "add[",
                           "add]",
                           "add[float32]x",
                           "add[float32, a, b, c]",
                           "a d",
                           "add/float32",
                           "add[float16, literal]",
                           "add[float32, literal, in=1ffffffff]",
                           "add[float32, literal, in=3f800000*-1]",
                           "add[float32, literal, in=3f800000*16777217]",
                           "add[float32, literal, in=0*16777216, in=0*1]",
                           "add[float32, literal, in]",
                           "add[float32, literal, what=1]",
                           "add[float32, literal, dims=1x-2]",
                           "add[float32, literal, number=99999999999999999999]",
                           "add[float32, literal, matmul=1x2x3]",
                           "gather_rows[float32, literal, indices=100000000]",
                           "gather_rows[float32, literal, indices=0*16777217]",
                           "copy[encoded, literal, in=1]",
                           "copy[encoded, literal, in.1.7.127.0=1]",
                           "copy[encoded, literal, in.32.200.7.0=1]",
                           "copy[encoded, literal, in.8.7.127.9=1]",
                           "add[float32, literal, scalars=1:two]"}) {
    CHECK_MESSAGE(is_refused(text), text);
  }
}

TEST_CASE("T10: random bytes are read or refused, never more") {
  Random random(1);
  const std::string seed_text =
      "bmm_scaled[float32, literal, in=3f800000*6, in=0*2:1, "
      "scalars=0.5:nan, dims=2x3, axis_map=0.1, matmul=1x2x3x2:NT]";
  const std::string bytes = "[],=:*.xNT0123456789abcdef \n\xff\x01-";
  for (int i = 0; i < 20000; ++i) {
    std::string text = seed_text;
    for (std::uint64_t k = 0; k <= random.below(6); ++k) {
      const std::size_t place = random.below(text.size());
      switch (random.below(3)) {
        case 0: text[place] = bytes[random.below(bytes.size())]; break;
        case 1: text.erase(place, 1 + random.below(5)); break;
        default: text.insert(place, 1, bytes[random.below(bytes.size())]);
      }
      if (text.empty()) text = "x";
    }
    try {
      parse_selector(text);
    } catch (const std::exception &error) {
      CHECK(std::string(error.what()).size() < 400);
    }
  }
}
