// conformance [--backend NAME|PATH]... [--ops GLOB] [--list] [--verbose]: runs the table.
//
// Exit codes: 0 every case passed, 1 one failed, 2 wrong usage, 4 a backend cannot be opened.
#include "conformance.hpp"

#include "common/backends.hpp"
#include "common/exit_code.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace torchlean::conformance {
namespace {

using tools::exit_failure, tools::exit_success, tools::exit_unavailable, tools::exit_usage;

struct Options {
  std::vector<std::string> backends;
  std::vector<std::string> operations = {"*"};
  bool list = false;
  bool verbose = false;
};

struct Tally {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::vector<std::string> lacking;  // operations, with the dtype
};

Table all_families() {
  Table table;
  add_memory(table);
  add_transfer(table);
  add_random(table);
  add_elementwise(table);
  add_optimizer(table);
  add_reduction(table);
  add_view(table);
  add_indexing(table);
  add_matmul(table);
  add_normalization(table);
  add_loss(table);
  add_fourier(table);
  add_scan(table);
  add_convolution(table);
  add_pooling(table);
  return table;
}

// What is wrong with the case on the thread's backend. An operation that the backend does not claim
// must be refused as unsupported.
std::vector<std::string> faults(const Case &one, const char *operation, bool is_claimed) {
  Check check;
  check.begin(operation);
  try {
    one.run(check);
    check.check_inputs();
    if (!is_claimed) check.fail("the backend does not claim this operation, but carries it out");
  } catch (const Error &error) {
    if (is_claimed || error.status() != TL_UNSUPPORTED) check.fail(error.what());
  }
  return check.failures();
}

Tally run(const std::vector<Case> &cases, const Options &options) {
  static const std::vector<tl_operation_info> rows = operations();
  Tally tally;
  for (const Case &one : cases) {
    const bool is_claimed = supports(one.operation, one.dtype);
    if (!is_claimed) {
      const std::string name =
          std::string(rows[one.operation].name) + "[" + tools::dtype_name(one.dtype) + "]";
      const bool is_first = tally.lacking.empty() || tally.lacking.back() != name;
      if (is_first) tally.lacking.push_back(name);
      if (one.kind != Kind::ordinary) continue;
    }
    if (options.verbose) std::printf("%s\n", one.label().c_str()), std::fflush(stdout);
    const std::uint64_t damages = tl_guard_damages();
    std::vector<std::string> wrong = faults(one, rows[one.operation].name, is_claimed);
    if (tl_guard_damages() != damages)
      wrong.emplace_back("the backend wrote outside the host memory that it had allocated");
    for (const std::string &text : wrong)
      std::printf("FAILED %s: %s\n", one.label().c_str(), text.c_str());
    if (is_claimed || !wrong.empty()) ++(wrong.empty() ? tally.passed : tally.failed);
  }
  return tally;
}

int run(const Options &options) {
  const Table table = all_families();
  const std::vector<std::string> gaps = table.gaps();
  for (const std::string &gap : gaps) std::printf("FAILED the table itself: %s\n", gap.c_str());

  std::vector<Case> cases;
  for (const Case &one : table.cases())
    if (std::any_of(options.operations.begin(), options.operations.end(), [&](const auto &glob) {
          const std::string label = one.label();
          return glob == label || tools::matches(glob, label.substr(0, label.find('['))) ||
                 tools::matches(glob, label);
        }))
      cases.push_back(one);
  // One dtype of an operation after the other, so that what is lacking is named once.
  std::stable_sort(cases.begin(), cases.end(), [](const Case &a, const Case &b) {
    return std::pair(a.operation, a.dtype) < std::pair(b.operation, b.dtype);
  });
  if (options.list) {
    for (const Case &one : cases) std::printf("%s\n", one.label().c_str());
    for (const std::string &reason : table.reasons()) std::printf("%s\n", reason.c_str());
    return gaps.empty() ? exit_success : exit_failure;
  }
  if (cases.empty()) {
    std::fprintf(stderr, "error: --ops selects no case\n");
    return exit_usage;
  }

  int result = gaps.empty() ? exit_success : exit_failure;
  const bool is_chosen = !options.backends.empty();
  for (const tools::OpenedBackend &entry :
       tools::open_backends(is_chosen ? options.backends : tools::candidate_names())) {
    if (!entry.backend) {
      std::printf("%s cannot be opened: %s\n", entry.name.c_str(), entry.reason.c_str());
      if (is_chosen) result = exit_unavailable;
      continue;
    }
    const ThreadBackend current(*entry.backend);
    const BackendInfo info = entry.backend->info();
    std::printf("%s %s on %s\n", info.name.c_str(), info.version.c_str(), info.device.c_str());
    const Tally tally = run(cases, options);
    if (!tally.lacking.empty()) {
      std::printf("%s lacks", info.name.c_str());
      for (const std::string &name : tally.lacking) std::printf(" %s", name.c_str());
      std::printf("\n");
    }
    std::printf("%s: %zu cases passed, %zu failed, %zu operations lacking\n", info.name.c_str(),
                tally.passed, tally.failed, tally.lacking.size());
    if (tally.failed != 0 && result == exit_success) result = exit_failure;
  }
  return result;
}

}  // namespace
}  // namespace torchlean::conformance

int main(int argc, char **argv) {
  using namespace torchlean::conformance;
  Options options;
  CLI::App app("Runs the conformance table: every operation, with values from the specification");
  app.add_option("--backend", options.backends,
                 "A name or a path, as often as wanted (default: every usable candidate)")
      ->type_name("NAME|PATH");
  app.add_option("--ops", options.operations,
                 "Operations, or cases as --list prints them; * and ? stand for anything")
      ->type_name("GLOB");
  app.add_flag("--list", options.list, "Print the cases instead");
  app.add_flag("--verbose", options.verbose, "Print each case before it runs");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? exit_success : exit_usage;
  }
  setenv("TORCHLEAN_GUARD", "1", 0);  // garbage in fresh memory, and watched surroundings (rule T7)
  return torchlean::run_main([&] { return run(options); });
}
