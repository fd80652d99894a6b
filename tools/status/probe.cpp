// Parent and child of a probe; each child says one line of JSON.
#include "status/probe.hpp"

#include "common/child.hpp"
#include "common/console.hpp"
#include "common/exit_code.hpp"
#include "status/record.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torchlean/runtime.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>

namespace torchlean::tools {
namespace {

using nlohmann::ordered_json;

// What a child said, or how it ended.
struct Answer {
  std::optional<ordered_json> record;
  std::string end;
};

Answer ask(const std::string &task, std::chrono::milliseconds limit) {
  Child child({"status", "--probe-task", task});
  Answer answer;
  if (const auto line = child.read_line(limit)) {
    answer.record = ordered_json::parse(*line, nullptr, false);
    if (answer.record->is_discarded()) answer.record.reset();
  }
  if (child.timed_out()) {
    child.finish();
    answer.end =
        fmt::format("gave no sign of life for {} s", std::chrono::duration<double>(limit).count());
  } else {
    answer.end = child.finish();
  }
  return answer;
}

// The libraries of a process that often explain a failure: C++ and OpenMP runtimes, unwinders,
// LibTorch and CUDA.
bool is_telling(std::string_view name) {
  static constexpr const char *beginnings[] = {
      "libstdc++.", "libc++.", "libgcc_s.", "libunwind.", "libgomp", "libiomp",       "libomp.",
      "libtorch",   "libc10",  "libcuda",   "libcublas",  "libmkl",  "libleanshared", "libcudnn"};
  return std::any_of(std::begin(beginnings), std::end(beginnings),
                     [&](const char *beginning) { return name.starts_with(beginning); });
}

// Those that are mapped now, by path.
ordered_json telling_libraries() {
  ordered_json paths = ordered_json::array();
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t slash = line.find('/');
    if (slash == std::string::npos) continue;
    const std::string path = line.substr(slash);
    if (!is_telling(std::string_view(path).substr(path.rfind('/') + 1))) continue;
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  }
  return paths;
}

// The attempt that opening `path` in this process has left.
ordered_json open_here(const std::string &path) {
  std::string error;
  try {
    const Backend backend(path);
  } catch (const Error &failure) {
    error = failure.what();
  }
  for (const tl_attempt &attempt : attempts()) {
    if (attempt.path != path) continue;
    ordered_json record = to_json(attempt);
    record["libraries"] = telling_libraries();
    return record;
  }
  // A variable with a bad value stops it before any file is looked at.
  return {{"status", tl_status_name(TL_UNAVAILABLE)}, {"reason", error}};
}

ordered_json probe(const ordered_json &candidate, std::chrono::milliseconds limit) {
  const Answer answer = ask(candidate.at("path"), limit);
  ordered_json record = candidate;
  if (answer.record) {
    record.update(*answer.record);
  } else {
    record["status"] = tl_status_name(TL_INTERNAL);
    record["reason"] = fmt::format("the process that opened it {}", answer.end);
  }
  record.erase("is_serving");
  return record;
}

// TORCHLEAN_BACKEND, empty where it is unset.
std::string asked_backend() {
  for (const tl_variable &variable : variables()) {
    if (std::string_view(variable.name) == "TORCHLEAN_BACKEND" && variable.is_set != 0) {
      return variable.value;
    }
  }
  return "";
}

}  // namespace

ordered_json probed_status_record(std::chrono::milliseconds limit) {
  const Answer listed = ask("list", limit);
  if (!listed.record) {
    throw std::runtime_error(fmt::format("the process that lists candidates {}", listed.end));
  }
  ordered_json probes = ordered_json::array();
  for (const std::string &asked : split(asked_backend(), ',')) {
    if (asked.front() != '/') continue;
    tl_attempt file = {};
    file.name = file.path = asked.c_str();
    file.device = file.reason = file.missing_libraries = file.built_for = "";
    probes.push_back(probe(to_json(file), limit));
  }
  for (const ordered_json &candidate : listed.record->at("candidates")) {
    // What inspection refused is never opened.
    if (candidate.at("stage") != tl_stage_name(TL_STAGE_FOUND)) {
      probes.push_back(probe(candidate, limit));
    }
  }
  const Answer served = ask("serve", limit);
  ordered_json status = served.record ? *served.record : *listed.record;
  if (!served.record) {
    status["asked"] = asked_backend();
    status["serving"]["reason"] = fmt::format("the process that chose a backend {}", served.end);
  }
  status["probes"] = probes;
  return status;
}

int run_probe(const std::string &task) {
  become_child();
  const Reporter reporter;
  if (task == "list") setenv("TORCHLEAN_BACKEND", "null", 1);
  const bool is_whole = task == "list" || task == "serve";
  reporter.say(is_whole ? status_record() : open_here(task));
  return exit_success;
}

}  // namespace torchlean::tools
