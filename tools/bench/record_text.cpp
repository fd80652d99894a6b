// Prints the record as a table.
#include "bench/record.hpp"

#include "common/console.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace torchlean::tools {
namespace {

// Three digits that count: "1.23 µs", "45.6 ms", "789 ns".
std::string scaled(double value, const std::vector<const char *> &units) {
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) value /= 1000;
  const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, digits, units[unit]);
}

std::string time_text(double seconds) { return scaled(1e9 * seconds, {"ns", "µs", "ms", "s"}); }
std::string rate_text(double per_second, const char *giga) {
  return scaled(1e-9 * per_second, {giga});
}
std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

// A backend's own name, which is shorter than a path; as asked for where two have the same.
std::string label(const BenchReport &report, std::size_t backend) {
  const std::string &own = report.backends[backend].info.name;
  const auto is_own = [&](const Participant &other) { return other.info.name == own; };
  const bool is_unique = std::count_if(report.backends.begin(), report.backends.end(), is_own) == 1;
  return is_unique ? own : report.backends[backend].name;
}

void print_head(const BenchReport &report) {
  const Machine &machine = report.machine;
  const std::string cache = machine.cache_bytes == 0 ? ""
                                                     : fmt::format(", {} of last-level cache",
                                                                   bytes_text(machine.cache_bytes));
  Table head;
  head.add({"machine", fmt::format("{}, {} processor{}, load {:.1f}, {}{}", machine.processor,
                                   machine.processors, machine.processors == 1 ? "" : "s",
                                   machine.load, bytes_text(machine.memory_bytes), cache)});
  head.add(
      {"system", fmt::format("{}, torchlean {}, {}", machine.system, tl_version(), machine.date)});
  for (std::size_t i = 0; i < report.backends.size(); ++i) {
    head.add({i == 0 ? "first" : "against", describe(report.backends[i])});
  }
  for (const UnusableBackend &entry : report.unusable) {
    head.add({"without", fmt::format("{}: {}", entry.name, entry.reason)});
  }
  for (const std::string &name : report.left_out) {
    head.add({"without", fmt::format("{}: slow, made for checking; --backends takes it", name)});
  }
  head.add({"threads", fmt::format("{}; times are {}", report.threads,
                                   report.uses_processor_time ? "processor time" : "wall time")});
  const std::string nontemporal =
      report.copy.nontemporal > 0
          ? fmt::format(", {} with non-temporal stores", rate_text(report.copy.nontemporal, "GB/s"))
          : "";
  head.add({"copy", fmt::format("{} read and written{}", rate_text(report.copy.plain, "GB/s"),
                                nontemporal)});
  head.add(
      {"calling", fmt::format("{} of each call are the caller's", time_text(report.call_seconds))});
  if (!report.variables.empty()) {
    head.add({"variables", fmt::format("{}", fmt::join(report.variables, " "))});
  }
  fmt::print("{}\n", head.text());
}

std::vector<std::string> cells_of(const BenchReport &report, const BenchRow &row,
                                  std::size_t backend) {
  const BenchResult &result = row.results[backend];
  std::vector<std::string> cells = {row.operation, row.dtype, row.size, row.shape,
                                    label(report, backend)};
  if (!result.is_measured()) {
    cells.insert(cells.end(), 6, "-");
    cells.push_back(result.error.empty() ? "skipped: " + result.skipped
                                         : "FAILED: " + result.error);
    return cells;
  }
  const Figure &figure = report.figure(result);
  const std::optional<double> ratio = report.ratio(row, backend);
  const bool is_computing = row.flops > 0;
  cells.insert(cells.end(),
               {time_text(figure.median), time_text(figure.fastest), percent(figure.spread),
                fmt::format("{:.2f}", result.timing.processor.median / result.timing.wall.median),
                is_computing ? rate_text(row.flops / figure.median, "GFLOP/s")
                             : rate_text(row.bytes / figure.median, "GB/s"),
                is_computing ? "-" : percent(row.bytes / figure.median / report.copy.best()),
                ratio ? fmt::format("{:.2f}", *ratio) : "-"});
  if (!result.agrees) cells.emplace_back("DIFFERS");
  return cells;
}

void print_rows(const BenchReport &report) {
  Table table;
  table.add({"operation", "dtype", "size", "shape", "backend", "time", "fastest", "spread", "busy",
             "rate", "of copy", "ratio"},
            Colour::bold);
  std::string family;
  for (const BenchRow &row : report.rows) {
    if (row.family != family) table.add({family = row.family}, Colour::bold);
    for (std::size_t i = 0; i < row.results.size(); ++i) {
      const BenchResult &result = row.results[i];
      table.add(cells_of(report, row, i), result.has_failed()       ? Colour::red
                                          : !result.skipped.empty() ? Colour::yellow
                                                                    : Colour::none);
    }
  }
  fmt::print("{}", table.text());
}

std::string mean_text(const BenchReport::Mean &mean) {
  return mean.rows == 0 ? "-" : fmt::format("{:.2f} ({})", mean.ratio, mean.rows);
}

// Families against sizes.
void print_means(const BenchReport &report, std::size_t backend) {
  if (report.mean_ratio(backend, "", "").rows == 0) return;
  const std::vector<std::string> sizes = report.sizes();
  Table table;
  std::vector<std::string> head = {
      fmt::format("{} / {}", label(report, 0), label(report, backend))};
  head.insert(head.end(), sizes.begin(), sizes.end());
  head.emplace_back("all");
  table.add(head, Colour::bold);
  const auto add = [&](const char *label, const std::string &family) {
    std::vector<std::string> cells = {label};
    for (const std::string &size : sizes) {
      cells.push_back(mean_text(report.mean_ratio(backend, family, size)));
    }
    cells.push_back(mean_text(report.mean_ratio(backend, family, "")));
    table.add(cells);
  };
  const std::vector<std::string> families = report.families();
  for (const std::string &family : families) add(family.c_str(), family);
  if (families.size() > 1) add("all", "");
  fmt::print("\ngeometric means of the ratios (rows)\n{}", table.text());
}

// What a backend does not have is named again, since a mean says nothing of it.
void print_lacking(const BenchReport &report, std::size_t backend) {
  std::vector<std::string> lacking;
  for (const BenchRow &row : report.rows) {
    const std::string name = fmt::format("{}[{}]", row.operation, row.dtype);
    if (row.results[backend].skipped.empty()) continue;
    if (lacking.empty() || lacking.back() != name) lacking.push_back(name);
  }
  if (lacking.empty()) return;
  fmt::print("\n{} lacks {}\n", label(report, backend), fmt::join(lacking, " "));
}

}  // namespace

void print_text(const BenchReport &report) {
  print_head(report);
  print_rows(report);
  for (std::size_t i = 1; i < report.backends.size(); ++i) print_means(report, i);
  for (std::size_t i = 0; i < report.backends.size(); ++i) print_lacking(report, i);
  const std::size_t failed = report.failed();
  const bool is_good = failed == 0 && report.measured() > 0;
  std::string summary = "nothing was measured";
  if (failed > 0 || report.measured() > 0) {
    summary = fmt::format("{}{} rows, {} measurements in {:.1f} s{}",
                          report.is_interrupted() ? "interrupted: " : "", report.rows.size(),
                          report.measured(), report.seconds,
                          failed == 0 ? "" : fmt::format(", {} failed or differ", failed));
  }
  fmt::print("\n{}\n", coloured(summary, is_good ? Colour::green : Colour::red));
}

}  // namespace torchlean::tools
