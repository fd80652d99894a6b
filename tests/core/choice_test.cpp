// What TORCHLEAN_BACKEND stands for: the one documented order of automatic choice (rule L5).
#include "selection/choice.hpp"

#include <doctest/doctest.h>

using namespace torchlean;

namespace {

std::string spell(const std::vector<Wish> &wishes) {
  std::string text;
  for (const Wish &wish : wishes) {
    text += (text.empty() ? "" : " ") + wish.target + "@" + wish.device +
            (wish.is_automatic ? "*" : "");
  }
  return text;
}

}  // namespace

TEST_CASE("L5: auto without a driver tries host backends only") {
  CHECK(spell(wishes_of("auto", "", false, false)) == "cpu@cpu* libtorch@cpu* reference@cpu*");
}

TEST_CASE("L5: auto with a driver tries CUDA first") {
  CHECK(spell(wishes_of("auto", "", true, false)) ==
        "libtorch@cuda* cuda-native@cuda* cpu@cpu* libtorch@cpu* reference@cpu*");
}

TEST_CASE("L5: TORCHLEAN_DEVICE narrows auto to its kind") {
  CHECK(spell(wishes_of("auto", "cpu", true, false)) == "cpu@cpu* libtorch@cpu* reference@cpu*");
  CHECK(spell(wishes_of("auto", "cuda:1", true, false)) == "libtorch@cuda:1* cuda-native@cuda:1*");
}

TEST_CASE("L5: TORCHLEAN_REQUIRE_CUDA forbids the host") {
  CHECK(spell(wishes_of("auto", "", true, true)) == "libtorch@cuda* cuda-native@cuda*");
  CHECK(spell(wishes_of("auto", "", false, true)).empty());
}

TEST_CASE("a list is tried in its order, and auto may end it") {
  CHECK(spell(wishes_of("b,a", "", false, false)) == "b@ a@");
  CHECK(spell(wishes_of("a,auto", "", false, false)) == "a@ cpu@cpu* libtorch@cpu* reference@cpu*");
  CHECK(spell(wishes_of("/x/y.so", "cpu", false, false)) == "/x/y.so@cpu");
}

TEST_CASE("empty entries of a list are passed over") {
  CHECK(spell(wishes_of(",a,,b,", "", false, false)) == "a@ b@");
}
