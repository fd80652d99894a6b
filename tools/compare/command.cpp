// torchlean compare: holds backends against each other, operation by operation.
#include "common/command.hpp"
#include "common/backends.hpp"
#include "common/console.hpp"
#include "compare/engine.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>

namespace torchlean::tools {
namespace {

const std::map<std::string, Size> sizes = {
    {"small", Size::small}, {"default", Size::standard}, {"large", Size::large}};
const std::map<std::string, tl_dtype> dtypes = {
    {"float32", TL_FLOAT32}, {"float64", TL_FLOAT64}, {"encoded", TL_ENCODED}};

struct Options {
  std::vector<std::string> backends;
  std::vector<std::string> dtypes;
  std::string size = "default";
  Selection selection;
  bool json = false;
};

// The reference is the baseline wherever it takes part: a lone backend is compared with it.
std::vector<std::string> participants(const std::vector<std::string> &asked) {
  std::vector<std::string> names = asked.empty() ? candidate_names() : asked;
  const auto reference = std::find(names.begin(), names.end(), "reference");
  if (reference != names.end()) {
    std::rotate(names.begin(), reference, std::next(reference));
  } else if (names.size() < 2) {
    names.insert(names.begin(), "reference");
  }
  return names;
}

int run(Options &options) {
  for (const std::string &name : options.dtypes)
    options.selection.dtypes.push_back(dtypes.at(name));
  options.selection.size = sizes.at(options.size);

  const auto started = std::chrono::steady_clock::now();
  std::vector<OpenedBackend> backends = open_backends(participants(options.backends));
  std::vector<UnusableBackend> unusable;
  // What was asked for by name must open; so must the baseline that was not.
  const bool is_baseline_missing = !backends[0].backend.has_value();
  std::erase_if(backends, [&](const OpenedBackend &entry) {
    if (!entry.backend) unusable.push_back({entry.name, entry.reason});
    return !entry.backend.has_value();
  });
  if (!unusable.empty() && (!options.backends.empty() || is_baseline_missing)) {
    for (const UnusableBackend &entry : unusable) fmt::print(stderr, "error: {}\n", entry.reason);
    return exit_unavailable;
  }

  Report report;
  {
    Progress progress;
    report = compare_backends(backends, options.selection,
                              [&](const std::string &operation) { progress.show(operation); });
  }
  report.unusable = std::move(unusable);
  report.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  options.json ? print_json(to_json(report)) : print_text(report);
  if (report.has_failed()) return exit_failure;
  return report.compared_cases() == 0 ? exit_nothing_compared : exit_success;
}

}  // namespace

Command add_compare_command(CLI::App &app) {
  const auto options = std::make_shared<Options>();
  CLI::App *sub = app.add_subcommand("compare", "Hold backends against each other");
  sub->add_option("--backends", options->backends,
                  "Names or paths, separated by commas; a lone one is compared with the reference "
                  "(default: the reference and every other candidate that is usable)")
      ->delimiter(',')
      ->type_name("NAMES");
  sub->add_option("--ops", options->selection.patterns,
                  "Operations, or whole case names as failures print them, separated by commas; "
                  "* and ? stand for anything")
      ->delimiter(',')
      ->type_name("GLOBS");
  sub->add_option("--dtype", options->dtypes, "float32, float64, encoded (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(dtypes));
  sub->add_option("--seed", options->selection.seed, "The same seed gives the same inputs")
      ->capture_default_str();
  sub->add_option("--size", options->size, "small, default or large")
      ->capture_default_str()
      ->check(CLI::IsMember(sizes));
  sub->add_flag("--json", options->json, "Print JSON");
  sub->footer(
      "Exit code 0: compared and agreed; 1: disagreed; 2: wrong usage; 3: nothing was compared;\n"
      "4: a requested backend is unavailable. A value is judged by the bound that\n"
      "docs/operations.md states for its operation; margin is what is left of it.");
  return {sub, [options] { return run(*options); }};
}

}  // namespace torchlean::tools
