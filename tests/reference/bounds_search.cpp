// Prints how much of each operation's bound the reference uses at worst; fails where one is missed.
#define DOCTEST_CONFIG_IMPLEMENT
#include "bounds_search.hpp"

#include <cstdio>
#include <cstdlib>

using namespace torchlean::test;

namespace {

int usage() {
  std::fputs(
      "usage: bounds_search [--seed N] [--seconds N] [--only TEXT] [--cases]\n"
      "\n"
      "  --seed N      default: 1\n"
      "  --seconds N   how long to search for each operation and dtype; default: a fixed, short "
      "time\n"
      "  --only TEXT   operations whose name contains it\n"
      "  --cases       shows the worst cases too: sizes, scalars, first values of each operand\n",
      stderr);
  return 2;
}

// Bars inside a cell of a Markdown table.
std::string escaped(const std::string &text) {
  std::string result;
  for (const char c : text) result += c == '|' ? "\\|" : std::string(1, c);
  return result;
}

// A row of the table; returns whether the bound is met.
bool report(const Search &search, const Budget &budget, bool show_cases) {
  bool met = true;
  std::string shares, cases;
  for (const auto in_dtype : {search.in_float, search.in_double}) {
    shares += " | ";
    if (in_dtype == nullptr) continue;
    const Worst worst = in_dtype(budget);
    char share[20];
    std::snprintf(share, sizeof share, "%.3f", worst.share);
    shares += share;
    met = met && worst.share <= 1;
    if (show_cases || !(worst.share <= 1))
      cases += "    " + std::to_string(worst.calls) + " calls: " + worst.text + "\n";
  }
  std::printf("| %s | %s%s | %s |\n%s", search.name, escaped(search.bound).c_str(), shares.c_str(),
              met ? "met" : "MISSED", cases.c_str());
  std::fflush(stdout);
  return met;
}

}  // namespace

int main(int count, char **arguments) {
  doctest::Context context;
  context.setAsDefaultForAssertsOutOfTestCases();  // of fixture.hpp: they abort

  Budget budget = {1, 0};
  std::string only;
  bool show_cases = false;
  for (int i = 1; i < count; ++i) {
    const std::string option = arguments[i];
    const bool has_value = i + 1 < count;
    if (option == "--cases")
      show_cases = true;
    else if (option == "--seed" && has_value)
      budget.seed = std::strtoull(arguments[++i], nullptr, 0);
    else if (option == "--seconds" && has_value)
      budget.seconds = std::strtod(arguments[++i], nullptr);
    else if (option == "--only" && has_value)
      only = arguments[++i];
    else
      return usage();
  }

  bool met = true;
  std::printf("| operation | bound | float32 | float64 | verdict |\n|---|---|---|---|---|\n");
  for (const auto &family : {elementwise_searches(), sum_searches(), row_searches(),
                             series_searches(), window_searches()})
    for (const Search &search : family)
      if (std::string(search.name).find(only) != std::string::npos)
        met = report(search, budget, show_cases) && met;
  return met ? 0 : 1;
}
