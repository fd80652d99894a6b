// torchlean bench: times operations on several backends side by side.
#include "bench/command.hpp"

#include "bench/record.hpp"
#include "common/backends.hpp"
#include "common/console.hpp"
#include "common/exit_code.hpp"
#include "compare/case_text.hpp"
#include "compare/engine.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <iterator>
#include <map>
#include <stdexcept>

namespace torchlean::tools {
namespace {

// Not made for speed: only on demand.
constexpr std::array checking_backends = {"reference", "cuda-emulated"};
// What other backends are held against where it is there.
constexpr const char *usual_peer = "libtorch";
// For so many rows' time copies are measured.
constexpr double copy_time = 5;

// By the first Ctrl-C or SIGTERM: the row under way is the last, and what there is gets printed.
volatile std::sig_atomic_t signal_received = 0;

void stop_at_signals() {
  struct sigaction action = {};
  action.sa_handler = [](int signal) { signal_received = signal; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);  // the second one ends the process
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

// The rows that the options ask for.
std::vector<Workload> select(const BenchOptions &options) {
  std::vector<Selector> selectors;
  for (const std::string &list : options.operations) {
    for (const std::string &text : split_selectors(list)) {
      selectors.push_back(parse_selector(text));
      if (selectors.back().literal) {
        throw std::invalid_argument("--ops: literal cases are not timed: " + printable(text));
      }
    }
  }
  std::vector<Workload> rows = workloads(options.sizes.empty() ? workload_sizes() : options.sizes);
  const auto &dtypes = options.dtypes;
  std::erase_if(rows, [&](const Workload &row) {
    const bool is_other_dtype =
        !dtypes.empty() &&
        std::find(dtypes.begin(), dtypes.end(), dtype_name(row.one.dtype)) == dtypes.end();
    const bool is_named = selectors.empty() || std::any_of(selectors.begin(), selectors.end(),
                                                           [&](const Selector &selector) {
                                                             return selector.wants_case(row.one);
                                                           });
    return is_other_dtype || !is_named;
  });
  return rows;
}

void open_participants(const BenchOptions &options, std::vector<OpenedBackend> &backends,
                       BenchReport &report) {
  std::vector<std::string> names = options.backends;
  if (names.empty()) {
    names = candidate_names();
    for (const char *name : checking_backends) {
      if (std::erase(names, name) > 0) report.left_out.emplace_back(name);
    }
    std::stable_partition(names.begin(), names.end(),
                          [](const std::string &name) { return name == usual_peer; });
  }
  backends = open_backends(names);
  std::erase_if(backends, [&](const OpenedBackend &entry) {
    if (!entry.backend) report.unusable.push_back({entry.name, entry.reason});
    return !entry.backend.has_value();
  });
  for (const OpenedBackend &entry : backends) report.backends.push_back(participant_of(entry));
}

// The same number everywhere. Whether one of them computes on a device of its own.
bool use_threads(const std::vector<OpenedBackend> &backends, std::uint32_t threads) {
  bool has_device = false;
  for (const OpenedBackend &entry : backends) {
    const ThreadBackend here(*entry.backend);
    const tl_status status = tl_set_num_threads(threads);
    if (status != TL_UNSUPPORTED) check(status);  // it has one count then
    has_device = has_device || device_info(device_index()).is_cuda;
  }
  return has_device;
}

BenchRow measure(const Workload &workload, tl_operation operation, const char *family,
                 const std::vector<OpenedBackend> &backends, double seconds) {
  const Case &one = workload.one;
  BenchRow row{one.operation, family,           dtype_name(one.dtype), one.kind,
               one.shape,     workload.bytes(), workload.flops,        {}};
  row.results.resize(backends.size());
  std::vector<Contender> contenders;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < backends.size(); ++i) {
    if (backends[i].backend->supports(operation, one.dtype)) {
      contenders.push_back({&*backends[i].backend});
      places.push_back(i);
    } else {
      row.results[i].skipped = "not supported";
    }
  }
  if (!contenders.empty()) take_turns(workload, contenders, seconds);
  for (std::size_t k = 0; k < contenders.size(); ++k) {
    Contender &contender = contenders[k];
    row.results[places[k]] = {"", contender.error, contender.agrees, contender.timing};
  }
  return row;
}

void measure_rows(const std::vector<Workload> &selected, const std::vector<OpenedBackend> &backends,
                  BenchReport &report) {
  std::map<std::string, tl_operation> numbers;
  const std::vector<tl_operation_info> table = operations();
  for (tl_operation i = 0; i < table.size(); ++i) numbers.emplace(table[i].name, i);
  Progress progress;
  for (const Workload &workload : selected) {
    if (signal_received != 0) break;
    progress.show(
        fmt::format("{} of {}: {}", report.rows.size() + 1, selected.size(), workload.one.name()));
    const tl_operation number = numbers.at(workload.one.operation);
    report.rows.push_back(
        measure(workload, number, table[number].family, backends, report.seconds_per_row));
  }
}

int bench(const BenchOptions &options, const std::vector<Workload> &selected) {
  const double started = now().wall;
  stop_at_signals();
  BenchReport report;
  report.selected = selected.size();
  report.machine = this_machine();
  report.threads = options.threads != 0 ? options.threads : report.machine.processors;
  report.seconds_per_row = options.seconds;
  for (const tl_variable &variable : variables()) {
    if (variable.is_set != 0) {
      report.variables.push_back(fmt::format("{}={}", variable.name, variable.value));
    }
  }
  std::vector<OpenedBackend> backends;
  open_participants(options, backends, report);
  if (!report.unusable.empty() && !options.backends.empty()) {
    for (const UnusableBackend &entry : report.unusable) {
      fmt::print(stderr, "error: {}: {}\n", entry.name, entry.reason);
    }
    return exit_unavailable;
  }
  const bool has_device = use_threads(backends, report.threads);
  report.uses_processor_time = report.threads == 1 && !has_device;
  if (!backends.empty() && !selected.empty()) {
    report.copy = measure_copy_bandwidth(report.threads, report.machine.cache_bytes,
                                         copy_time * options.seconds);
    report.call_seconds = cost_of_calling();
    measure_rows(selected, backends, report);
  }
  report.seconds = now().wall - started;
  options.json ? print_json(to_json(report)) : print_text(report);
  if (signal_received != 0) return 128 + signal_received;  // as shells say it
  if (report.failed() > 0) return exit_failure;
  return report.measured() == 0 ? exit_nothing_compared : exit_success;
}

}  // namespace

int run_bench(const BenchOptions &options) {
  try {
    const std::vector<Workload> selected = select(options);
    if (!options.list) return bench(options, selected);
    for (const Workload &row : selected) fmt::print("{}\n", row.one.name());
    return selected.empty() ? exit_nothing_compared : exit_success;
  } catch (const std::invalid_argument &error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return exit_usage;
  }
}

}  // namespace torchlean::tools
