// The record of a benchmark: table and JSON are made from it.
#pragma once

#include "bench/bandwidth.hpp"
#include "bench/machine.hpp"
#include "bench/turns.hpp"
#include "compare/record.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace torchlean::tools {

// One row on one backend.
struct BenchResult {
  std::string skipped;  // why it was not measured; empty if it was
  std::string error;    // what went wrong, empty if nothing
  bool agrees = true;   // with the first backend that gave a result
  Timing timing;

  bool is_measured() const { return skipped.empty() && error.empty(); }
  bool has_failed() const { return !error.empty() || !agrees; }
};

struct BenchRow {
  std::string operation;
  std::string family;
  std::string dtype;
  std::string size;
  std::string shape;
  double bytes = 0;
  double flops = 0;
  std::vector<BenchResult> results;  // one of each backend

  std::string name() const;  // what --ops takes
};

struct BenchReport {
  Machine machine;
  std::uint32_t threads = 0;
  // Times are processor time: of one thread it is the calls' own, whatever else the machine does.
  bool uses_processor_time = false;
  double seconds_per_row = 0;
  CopyBandwidth copy;
  std::vector<std::string> variables;  // of ours that are set: "TORCHLEAN_GUARD=1"
  double call_seconds = 0;             // what the calling code adds to each call
  std::vector<Participant> backends;   // ratios are to the first
  std::vector<UnusableBackend> unusable;
  std::vector<std::string> left_out;  // unless they are named: made for checking
  std::vector<BenchRow> rows;
  std::size_t selected = 0;  // rows; more than there are where the run was interrupted
  double seconds = 0;

  // On the clock that counts.
  const Figure &figure(const BenchResult &result) const {
    return uses_processor_time ? result.timing.processor : result.timing.wall;
  }
  // How many times faster than the first backend.
  std::optional<double> ratio(const BenchRow &row, std::size_t backend,
                              double Figure::*of = &Figure::median) const;
  // The geometric mean of the ratios that there are; family and size empty: all.
  struct Mean {
    double ratio = 0;
    std::size_t rows = 0;
  };
  Mean mean_ratio(std::size_t backend, const std::string &family, const std::string &size) const;

  // In the order of the rows, each once.
  std::vector<std::string> families() const;
  std::vector<std::string> sizes() const;

  bool is_interrupted() const { return rows.size() < selected; }
  std::size_t measured() const;
  std::size_t failed() const;
};

nlohmann::ordered_json to_json(const BenchReport &report);
void print_text(const BenchReport &report);

}  // namespace torchlean::tools
