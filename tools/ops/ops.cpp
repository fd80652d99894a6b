// torchlean ops: which backend has which operation for which dtype.
#include "ops/ops.hpp"
#include "common/backends.hpp"
#include "common/console.hpp"
#include "common/exit_code.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torchlean/runtime.hpp>

#include <algorithm>

namespace torchlean::tools {
namespace {

// The dtypes for which the backend has the operation.
std::vector<std::string> supported_dtypes(const Backend &backend, tl_operation operation) {
  std::vector<std::string> dtypes;
  for (tl_dtype dtype = 0; dtype < TL_DTYPE_COUNT; ++dtype) {
    if (backend.supports(operation, dtype)) dtypes.emplace_back(dtype_name(dtype));
  }
  return dtypes;
}

nlohmann::ordered_json to_json(const std::vector<OpenedBackend> &backends) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const OpenedBackend &entry : backends) {
    list.push_back(
        {{"name", entry.name}, {"is_usable", entry.backend.has_value()}, {"reason", entry.reason}});
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const std::vector<tl_operation_info> table = operations();
  for (tl_operation i = 0; i < table.size(); ++i) {
    nlohmann::ordered_json coverage = nlohmann::ordered_json::object();
    for (const OpenedBackend &entry : backends) {
      if (entry.backend) coverage[entry.name] = supported_dtypes(*entry.backend, i);
    }
    rows.push_back({{"name", table[i].name},
                    {"family", table[i].family},
                    {"accuracy", table[i].accuracy},
                    {"runtime", table[i].runtime},
                    {"lean", split(table[i].lean, ' ')},
                    {"is_compared", table[i].is_compared != 0},
                    {"dtypes", coverage}});
  }
  return {{"version", tl_version()}, {"backends", list}, {"operations", rows}};
}

void print_text(const std::vector<OpenedBackend> &backends) {
  Table text;
  std::vector<std::string> head = {"operation", "family", "accuracy"};
  for (const OpenedBackend &entry : backends) {
    if (entry.backend) head.push_back(entry.name);
  }
  text.add(head, Colour::bold);
  const std::vector<tl_operation_info> table = operations();
  for (tl_operation i = 0; i < table.size(); ++i) {
    std::vector<std::string> row = {table[i].name, table[i].family, table[i].accuracy};
    for (const OpenedBackend &entry : backends) {
      if (!entry.backend) continue;
      const std::vector<std::string> dtypes = supported_dtypes(*entry.backend, i);
      row.push_back(dtypes.empty() ? "-" : fmt::format("{}", fmt::join(dtypes, " ")));
    }
    text.add(row);
  }
  fmt::print("{}", text.text());
  for (const OpenedBackend &entry : backends) {
    if (!entry.backend) fmt::print("{} is not usable: {}\n", entry.name, entry.reason);
  }
}

// The needed operations that the backend has for no dtype at all.
std::vector<std::string> lacking(const Backend &backend, const std::vector<tl_operation> &needed,
                                 const std::vector<tl_operation_info> &table) {
  std::vector<std::string> names;
  for (const tl_operation operation : needed) {
    if (supported_dtypes(backend, operation).empty()) names.emplace_back(table[operation].name);
  }
  return names;
}

int print_lacking(const std::vector<OpenedBackend> &backends, const OpsOptions &options) {
  const std::vector<tl_operation_info> table = operations();
  std::vector<tl_operation> needed;
  for (const std::string &name : options.need) {
    const auto row = std::find_if(table.begin(), table.end(),
                                  [&](const tl_operation_info &info) { return name == info.name; });
    if (row == table.end()) {
      fmt::print(stderr, "error: --need: there is no operation '{}'\n", name);
      return exit_usage;
    }
    needed.push_back(static_cast<tl_operation>(row - table.begin()));
  }
  bool all_complete = true;
  for (const OpenedBackend &entry : backends) {
    if (!entry.backend) continue;
    const std::vector<std::string> names = lacking(*entry.backend, needed, table);
    all_complete = all_complete && names.empty();
    fmt::print("{} {}\n", entry.name,
               names.empty() ? "has all" : fmt::format("lacks {}", fmt::join(names, " ")));
  }
  return all_complete ? exit_success : exit_failure;
}

}  // namespace

int run_ops(const OpsOptions &options) {
  const bool chosen = !options.backends.empty();
  const std::vector<OpenedBackend> backends =
      open_backends(chosen ? options.backends : candidate_names());
  int result = exit_success;
  if (!options.need.empty()) {
    result = print_lacking(backends, options);
  } else if (options.json) {
    print_json(to_json(backends));
  } else {
    print_text(backends);
  }
  for (const OpenedBackend &entry : backends) {
    if (!chosen || entry.backend || result == exit_usage) continue;
    fmt::print(stderr, "error: {}\n", entry.reason);
    result = exit_unavailable;
  }
  return result;
}

}  // namespace torchlean::tools
