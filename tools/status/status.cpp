// torchlean status: what was asked for, what was found, what serves and why.
#include "common/command.hpp"
#include "common/console.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torchlean/runtime.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

namespace torchlean::tools {
namespace {

constexpr std::array<const char *, TL_SETTING_COUNT> setting_names = {
    "matmul_tf32",     "convolution_tf32", "deterministic",
    "cudnn_benchmark", "flash_attention",  "memory_efficient_attention",
    "math_attention",  "cudnn_attention",  "cudnn"};

constexpr std::array<const char *, 3> state_names = {"not linked", "available", "unavailable"};

// What only a serving backend can tell.
struct Device {
  std::uint32_t index;
  std::uint32_t count;
  DeviceInfo info;
  std::uint32_t threads;
  tl_memory_figures memory;
  std::uint32_t driver_version;
  std::uint32_t runtime_version;
};

struct Status {
  tl_runtime_info runtime;
  std::optional<BackendInfo> serving;
  std::optional<Device> device;
  std::array<bool, TL_SETTING_COUNT> settings;
  std::vector<tl_attempt> candidates;
};

Device read_device() {
  Device device{};
  device.index = device_index();
  device.count = device_count();
  device.info = device_info(device.index);
  device.threads = num_threads();
  device.memory = memory_figures();
  check(tl_driver_version(&device.driver_version));
  check(tl_runtime_version(&device.runtime_version));
  return device;
}

Status read_status() {
  start();
  Status status{runtime_info(), std::nullopt, std::nullopt, {}, attempts()};
  // The null backend serves where the state says so; it has neither device nor version.
  if (status.runtime.state != TL_NOT_LINKED) status.serving = backend_info();
  if (status.runtime.state == TL_NATIVE_AVAILABLE) status.device = read_device();
  for (tl_setting which = 0; which < TL_SETTING_COUNT; ++which) {
    status.settings[which] = setting(which);
  }
  return status;
}

bool is_success(const Status &status) {
  if (status.runtime.state == TL_NATIVE_AVAILABLE) return true;
  const std::vector<std::string> asked = split(status.runtime.asked, ',');
  return status.runtime.state == TL_NOT_LINKED &&
         std::find(asked.begin(), asked.end(), "null") != asked.end();
}

// ---- JSON --------------------------------------------------------------------------------------

nlohmann::ordered_json to_json(const Device &device) {
  return {{"device", device.info.name},
          {"index", device.index},
          {"device_count", device.count},
          {"is_cuda", device.info.is_cuda},
          {"capability", device.info.capability},
          {"threads", device.threads},
          {"driver_version", device.driver_version},
          {"runtime_version", device.runtime_version},
          {"memory",
           {{"allocated_bytes", device.memory.allocated_bytes},
            {"reserved_bytes", device.memory.reserved_bytes},
            {"peak_allocated_bytes", device.memory.peak_allocated_bytes},
            {"peak_reserved_bytes", device.memory.peak_reserved_bytes},
            {"free_bytes", device.memory.device_free_bytes},
            {"total_bytes", device.memory.device_total_bytes}}}};
}

nlohmann::ordered_json to_json(const Status &status) {
  nlohmann::ordered_json serving = {{"backend", status.serving ? status.serving->name : "null"},
                                    {"reason", status.runtime.reason},
                                    {"is_slow", status.runtime.is_slow != 0},
                                    {"version", status.serving ? status.serving->version : ""},
                                    {"library", status.serving ? status.serving->library : ""},
                                    {"path", status.serving ? status.serving->path : ""}};
  nlohmann::ordered_json settings;
  for (std::size_t i = 0; i < setting_names.size(); ++i) {
    settings[setting_names[i]] = bool{status.settings[i]};
  }
  nlohmann::ordered_json candidates = nlohmann::ordered_json::array();
  for (const tl_attempt &attempt : status.candidates) {
    candidates.push_back({{"name", attempt.name},
                          {"path", attempt.path},
                          {"device", attempt.device},
                          {"stage", tl_stage_name(attempt.stage)},
                          {"status", tl_status_name(attempt.status)},
                          {"is_serving", attempt.is_serving != 0},
                          {"reason", attempt.reason},
                          {"missing_libraries", split(attempt.missing_libraries, ' ')},
                          {"built_for", attempt.built_for},
                          {"microseconds", attempt.microseconds}});
  }
  return {
      {"version", tl_version()},
      {"core", status.runtime.core_path},
      {"asked", status.runtime.asked},
      {"state", state_names[status.runtime.state]},
      {"serving", serving},
      {"binding", {{"mode", status.runtime.binding}, {"reason", status.runtime.binding_reason}}},
      {"ignored_variables", split(status.runtime.ignored, ' ')},
      {"device", status.device ? to_json(*status.device) : nlohmann::ordered_json()},
      {"settings", settings},
      {"candidates", candidates}};
}

// ---- Text --------------------------------------------------------------------------------------

std::string with_reason(const std::string &text, const char *reason) {
  return *reason == '\0' ? text : fmt::format("{}: {}", text, reason);
}

// 13000 is CUDA 13.0.
std::string cuda_version(std::uint32_t number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

void add_device(Table &table, const Device &device) {
  table.add({"device", fmt::format("{} ({} of {})", device.info.name, device.index, device.count)});
  if (device.info.is_cuda) {
    table.add({"cuda", fmt::format("driver {}, runtime {}, capability {}.{}",
                                   cuda_version(device.driver_version),
                                   cuda_version(device.runtime_version),
                                   device.info.capability / 10, device.info.capability % 10)});
  }
  table.add({"threads", fmt::format("{}", device.threads)});
  table.add({"memory", fmt::format("{} allocated, {} reserved, {} of {} free",
                                   bytes_text(device.memory.allocated_bytes),
                                   bytes_text(device.memory.reserved_bytes),
                                   bytes_text(device.memory.device_free_bytes),
                                   bytes_text(device.memory.device_total_bytes))});
}

std::string settings_text(const Status &status) {
  std::string on;
  for (std::size_t i = 0; i < setting_names.size(); ++i) {
    if (status.settings[i]) on += (on.empty() ? "" : ", ") + std::string(setting_names[i]);
  }
  return on.empty() ? "all off" : on + " on; the others off";
}

void print_candidate(const tl_attempt &attempt) {
  const Colour colour = attempt.is_serving != 0   ? Colour::green
                        : attempt.status != TL_OK ? Colour::yellow
                                                  : Colour::none;
  fmt::print("  {}{}{} {:.1f} ms\n", coloured(fmt::format("{:<16}", attempt.name), colour),
             fmt::format("{:<13}", tl_stage_name(attempt.stage)),
             attempt.is_serving != 0 ? "serving" : "       ",
             static_cast<double>(attempt.microseconds) / 1000);
  const auto detail = [](const char *label, const char *text) {
    if (*text != '\0') fmt::print("    {:<10} {}\n", label, text);
  };
  detail("file", attempt.path);
  detail("built for", attempt.built_for);
  detail("device", attempt.device);
  detail("reason", attempt.reason);
  detail("missing", attempt.missing_libraries);
}

void print_text(const Status &status) {
  const tl_runtime_info &runtime = status.runtime;
  Table table;
  table.add({"torchlean", fmt::format("{}, {}", tl_version(), runtime.core_path)});
  table.add(
      {"asked", *runtime.asked == '\0' ? "auto (TORCHLEAN_BACKEND is unset)" : runtime.asked});
  table.add(
      {"serving", with_reason(status.serving ? status.serving->name : "null", runtime.reason)},
      is_success(status) ? Colour::green : Colour::red);
  table.add({"state", state_names[runtime.state]});
  if (status.serving) {
    table.add({"version", fmt::format("{}{}", status.serving->version,
                                      status.serving->library.empty()
                                          ? ""
                                          : ", computes with " + status.serving->library)});
  }
  if (status.device) add_device(table, *status.device);
  table.add({"settings", settings_text(status)});
  table.add({"binding", with_reason(runtime.binding, runtime.binding_reason)});
  if (*runtime.ignored != '\0') {
    table.add({"ignored", fmt::format("{} (raised privileges)", runtime.ignored)}, Colour::yellow);
  }
  fmt::print("{}", table.text());
  fmt::print("candidates{}\n", status.candidates.empty() ? "  none" : "");
  for (const tl_attempt &attempt : status.candidates) print_candidate(attempt);
}

}  // namespace

Command add_status_command(CLI::App &app) {
  const auto json = std::make_shared<bool>(false);
  CLI::App *sub =
      app.add_subcommand("status", "What was asked for, what was found, what serves and why");
  sub->add_flag("--json", *json, "Print JSON");
  sub->footer("Exit code 0 when a real backend serves or null was asked for, else 1.");
  return {sub, [json] {
            const Status status = read_status();
            *json ? print_json(to_json(status)) : print_text(status);
            return is_success(status) ? exit_success : exit_failure;
          }};
}

}  // namespace torchlean::tools
