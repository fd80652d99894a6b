// P8: nothing that is printed or parsed depends on the locale. This process has a decimal comma.
#include <doctest/doctest.h>

#include <clocale>
#include <cstdio>
#include <locale>
#include <string>
#include <torchlean/runtime.hpp>
#include <vector>

using namespace torchlean;

namespace {

std::string error_of(tl_status status) { return status == TL_OK ? "no error" : tl_last_error(); }

}  // namespace

TEST_CASE("P8: messages and results are the same with a decimal comma") {
  REQUIRE(std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr);
  std::locale::global(std::locale("de_DE.UTF-8"));
  char text[16];
  std::snprintf(text, sizeof text, "%.1f", 1.5);
  REQUIRE(std::string(text) == "1,5");

  // The runtime starts here.
  const Buffer x = upload(std::vector<double>{1.5, -2.25});
  CHECK(download<double>(scale(x, 1.5)) == std::vector<double>{2.25, -3.375});
  CHECK(error_of(tl_set_memory_fraction(1.5)).find("1.5") != std::string::npos);
  CHECK(error_of(tl_set_memory_fraction(1234567.5)).find("1234567.5") != std::string::npos);
  tl_buffer *out = nullptr;
  const std::string text_of_beta =
      error_of(tl_smooth_maxpool_fwd(x.get(), 0.0, {}, {}, {}, {}, 1, &out));
  CHECK(text_of_beta.find(',') == text_of_beta.find(", "));  // between words only
  for (const tl_variable &variable : variables()) {
    if (std::string(variable.name) == "TORCHLEAN_NUM_THREADS") {
      CHECK(std::string(variable.value) == "1234");
    }
  }
}
