// Reading the status from the runtime.
#include "status/record.hpp"

#include "common/console.hpp"

#include <nlohmann/json.hpp>
#include <torchlean/runtime.hpp>

#include <algorithm>
#include <array>

namespace torchlean::tools {
namespace {

using nlohmann::ordered_json;

constexpr std::array<const char *, TL_SETTING_COUNT> setting_names = {
    "matmul_tf32",     "convolution_tf32", "deterministic",
    "cudnn_benchmark", "flash_attention",  "memory_efficient_attention",
    "math_attention",  "cudnn_attention",  "cudnn"};

constexpr std::array<const char *, 3> state_names = {"not linked", "available", "unavailable"};

// What only a serving backend with a device can tell.
ordered_json device_record() {
  const std::uint32_t index = device_index();
  const DeviceInfo info = device_info(index);
  const tl_memory_figures memory = memory_figures();
  std::uint32_t driver = 0;
  std::uint32_t runtime = 0;
  check(tl_driver_version(&driver));
  check(tl_runtime_version(&runtime));
  return {{"device", info.name},
          {"index", index},
          {"device_count", device_count()},
          {"is_cuda", info.is_cuda},
          {"capability", info.capability},
          {"threads", num_threads()},
          {"driver_version", driver},
          {"runtime_version", runtime},
          {"memory",
           {{"allocated_bytes", memory.allocated_bytes},
            {"reserved_bytes", memory.reserved_bytes},
            {"peak_allocated_bytes", memory.peak_allocated_bytes},
            {"peak_reserved_bytes", memory.peak_reserved_bytes},
            {"free_bytes", memory.device_free_bytes},
            {"total_bytes", memory.device_total_bytes}}}};
}

ordered_json serving_record(const tl_runtime_info &runtime) {
  // The null backend serves where the state says so; it has neither device nor version.
  BackendInfo info;
  if (runtime.state != TL_NOT_LINKED) info = backend_info();
  return {{"backend", runtime.state == TL_NOT_LINKED ? "null" : info.name},
          {"reason", runtime.reason},
          {"is_slow", runtime.is_slow != 0},
          {"version", info.version},
          {"library", info.library},
          {"path", info.path}};
}

}  // namespace

ordered_json to_json(const tl_attempt &attempt) {
  return {{"name", attempt.name},
          {"path", attempt.path},
          {"device", attempt.device},
          {"stage", tl_stage_name(attempt.stage)},
          {"status", tl_status_name(attempt.status)},
          {"is_serving", attempt.is_serving != 0},
          {"reason", attempt.reason},
          {"missing_libraries", split(attempt.missing_libraries, ' ')},
          {"built_for", attempt.built_for},
          {"microseconds", attempt.microseconds}};
}

ordered_json status_record() {
  start();
  const tl_runtime_info runtime = runtime_info();
  ordered_json settings;
  for (tl_setting which = 0; which < TL_SETTING_COUNT; ++which) {
    settings[setting_names[which]] = setting(which);
  }
  ordered_json candidates = ordered_json::array();
  for (const tl_attempt &attempt : attempts()) candidates.push_back(to_json(attempt));
  return {{"version", tl_version()},
          {"core", runtime.core_path},
          {"asked", runtime.asked},
          {"state", state_names[runtime.state]},
          {"serving", serving_record(runtime)},
          {"binding", {{"mode", runtime.binding}, {"reason", runtime.binding_reason}}},
          {"ignored_variables", split(runtime.ignored, ' ')},
          {"device", runtime.state == TL_NATIVE_AVAILABLE ? device_record() : ordered_json()},
          {"settings", settings},
          {"candidates", candidates}};
}

bool is_success(const ordered_json &status) {
  if (status.at("state") == state_names[TL_NATIVE_AVAILABLE]) return true;
  const std::vector<std::string> asked = split(status.at("asked").get<std::string>(), ',');
  return status.at("state") == state_names[TL_NOT_LINKED] &&
         std::find(asked.begin(), asked.end(), "null") != asked.end();
}

}  // namespace torchlean::tools
