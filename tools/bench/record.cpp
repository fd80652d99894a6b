// What follows from the figures, and the record as JSON.
#include "bench/record.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace torchlean::tools {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const Figure &figure) {
  return {{"median", figure.median}, {"fastest", figure.fastest}, {"spread", figure.spread}};
}

ordered_json to_json(const BenchReport &report, const BenchRow &row, std::size_t backend) {
  const BenchResult &result = row.results[backend];
  ordered_json json = {{"backend", report.backends[backend].name},
                       {"skipped", result.skipped},
                       {"error", result.error},
                       {"agrees", result.agrees}};
  if (!result.is_measured()) return json;
  const double seconds = report.figure(result).median;
  json["seconds"] = seconds;
  json["spread"] = report.figure(result).spread;
  json["wall_seconds"] = to_json(result.timing.wall);
  json["processor_seconds"] = to_json(result.timing.processor);
  json["turns"] = result.timing.turns;
  json["calls_per_turn"] = result.timing.calls;
  json["bytes_per_second"] = row.bytes / seconds;
  json["flops_per_second"] = row.flops / seconds;
  json["share_of_copy"] = row.bytes / seconds / report.copy.best();
  const auto ratio = [&](double Figure::*of) {
    const std::optional<double> value = report.ratio(row, backend, of);
    return value ? ordered_json(*value) : ordered_json();
  };
  json["ratio"] = ratio(&Figure::median);
  json["ratio_of_fastest"] = ratio(&Figure::fastest);
  return json;
}

ordered_json rows_json(const BenchReport &report) {
  ordered_json rows = ordered_json::array();
  for (const BenchRow &row : report.rows) {
    ordered_json results = ordered_json::array();
    for (std::size_t i = 0; i < row.results.size(); ++i) results.push_back(to_json(report, row, i));
    rows.push_back({{"name", row.name()},
                    {"operation", row.operation},
                    {"family", row.family},
                    {"dtype", row.dtype},
                    {"size", row.size},
                    {"shape", row.shape},
                    {"bytes", row.bytes},
                    {"flops", row.flops},
                    {"results", results}});
  }
  return rows;
}

// Of each backend but the first: families, then sizes, with "all" for the whole.
ordered_json means_json(const BenchReport &report) {
  ordered_json means = ordered_json::array();
  std::vector<std::string> families = report.families();
  families.emplace_back();
  std::vector<std::string> sizes = report.sizes();
  sizes.emplace_back();
  for (std::size_t i = 1; i < report.backends.size(); ++i) {
    for (const std::string &family : families) {
      for (const std::string &size : sizes) {
        const BenchReport::Mean mean = report.mean_ratio(i, family, size);
        if (mean.rows == 0) continue;
        means.push_back({{"backend", report.backends[i].name},
                         {"family", family.empty() ? "all" : family},
                         {"size", size.empty() ? "all" : size},
                         {"ratio", mean.ratio},
                         {"rows", mean.rows}});
      }
    }
  }
  return means;
}

// Each value once, in the order of the rows.
std::vector<std::string> distinct(const std::vector<BenchRow> &rows,
                                  std::string BenchRow::*member) {
  std::vector<std::string> values;
  for (const BenchRow &row : rows) {
    if (std::find(values.begin(), values.end(), row.*member) == values.end()) {
      values.push_back(row.*member);
    }
  }
  return values;
}

template <class Predicate>
std::size_t count_results(const std::vector<BenchRow> &rows, Predicate predicate) {
  std::size_t count = 0;
  for (const BenchRow &row : rows) {
    count +=
        static_cast<std::size_t>(std::count_if(row.results.begin(), row.results.end(), predicate));
  }
  return count;
}

}  // namespace

std::string BenchRow::name() const {
  return fmt::format("{}[{}, {}, {}]", operation, dtype, size, shape);
}

std::optional<double> BenchReport::ratio(const BenchRow &row, std::size_t backend,
                                         double Figure::*of) const {
  const BenchResult &peer = row.results[0];
  const BenchResult &result = row.results[backend];
  if (!peer.is_measured() || !result.is_measured()) return std::nullopt;
  return figure(peer).*of / figure(result).*of;
}

BenchReport::Mean BenchReport::mean_ratio(std::size_t backend, const std::string &family,
                                          const std::string &size) const {
  Mean mean;
  double logarithms = 0;
  for (const BenchRow &row : rows) {
    if ((!family.empty() && row.family != family) || (!size.empty() && row.size != size)) continue;
    const std::optional<double> one = ratio(row, backend);
    if (!one) continue;
    logarithms += std::log(*one);
    ++mean.rows;
  }
  if (mean.rows > 0) mean.ratio = std::exp(logarithms / static_cast<double>(mean.rows));
  return mean;
}

std::vector<std::string> BenchReport::families() const { return distinct(rows, &BenchRow::family); }
std::vector<std::string> BenchReport::sizes() const { return distinct(rows, &BenchRow::size); }

std::size_t BenchReport::measured() const {
  return count_results(rows, [](const BenchResult &result) { return result.is_measured(); });
}

std::size_t BenchReport::failed() const {
  return count_results(rows, [](const BenchResult &result) { return result.has_failed(); });
}

ordered_json to_json(const BenchReport &report) {
  ordered_json backends = ordered_json::array();
  for (const Participant &backend : report.backends) backends.push_back(to_json(backend));
  ordered_json unusable = ordered_json::array();
  for (const UnusableBackend &entry : report.unusable) {
    unusable.push_back({{"name", entry.name}, {"reason", entry.reason}});
  }
  const Machine &machine = report.machine;
  return {{"version", tl_version()},
          {"date", machine.date},
          {"machine",
           {{"processor", machine.processor},
            {"processors", machine.processors},
            {"load", machine.load},
            {"memory_bytes", machine.memory_bytes},
            {"cache_bytes", machine.cache_bytes},
            {"system", machine.system}}},
          {"threads", report.threads},
          {"clock", report.uses_processor_time ? "processor" : "wall"},
          {"seconds_per_row", report.seconds_per_row},
          {"copy_bytes_per_second",
           {{"plain", report.copy.plain}, {"nontemporal", report.copy.nontemporal}}},
          {"call_seconds", report.call_seconds},
          {"variables", report.variables},
          {"backends", backends},
          {"unusable", unusable},
          {"left_out", report.left_out},
          {"rows", rows_json(report)},
          {"means", means_json(report)},
          {"interrupted", report.is_interrupted()},
          {"failed", report.failed() > 0},
          {"seconds", report.seconds}};
}

}  // namespace torchlean::tools
