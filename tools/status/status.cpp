// torchlean status: what was asked for, what was found, what serves and why.
#include "status/status.hpp"
#include "common/console.hpp"
#include "common/exit_code.hpp"
#include "status/probe.hpp"
#include "status/record.hpp"

#include <fmt/format.h>
#include <torchlean/runtime.h>
#include <nlohmann/json.hpp>

#include <optional>

namespace torchlean::tools {
namespace {

using nlohmann::ordered_json;

std::string text_of(const ordered_json &record, const char *member) {
  return record.at(member).get<std::string>();
}

std::string with_reason(const std::string &text, const std::string &reason) {
  return reason.empty() ? text : fmt::format("{}: {}", text, reason);
}

// 13000 is CUDA 13.0.
std::string cuda_version(const ordered_json &number) {
  const auto value = number.get<unsigned>();
  return fmt::format("{}.{}", value / 1000, value % 1000 / 10);
}

void add_device(Table &table, const ordered_json &device) {
  table.add({"device", fmt::format("{} ({} of {})", text_of(device, "device"),
                                   device.at("index").get<unsigned>(),
                                   device.at("device_count").get<unsigned>())});
  if (device.at("is_cuda")) {
    const auto capability = device.at("capability").get<unsigned>();
    table.add({"cuda", fmt::format("driver {}, runtime {}, capability {}.{}",
                                   cuda_version(device.at("driver_version")),
                                   cuda_version(device.at("runtime_version")), capability / 10,
                                   capability % 10)});
  }
  table.add({"threads", fmt::format("{}", device.at("threads").get<unsigned>())});
  const auto bytes = [&](const char *member) {
    return bytes_text(device.at("memory").at(member).get<unsigned long long>());
  };
  table.add(
      {"memory", fmt::format("{} allocated, {} reserved, {} of {} free", bytes("allocated_bytes"),
                             bytes("reserved_bytes"), bytes("free_bytes"), bytes("total_bytes"))});
}

std::string settings_text(const ordered_json &settings) {
  std::string on;
  for (const auto &[name, value] : settings.items()) {
    if (value) on += (on.empty() ? "" : ", ") + name;
  }
  return on.empty() ? "all off" : on + " on; the others off";
}

void print_candidate(const ordered_json &candidate, bool is_serving) {
  const bool has_failed = candidate.at("status") != tl_status_name(TL_OK);
  const Colour colour = is_serving ? Colour::green : has_failed ? Colour::yellow : Colour::none;
  fmt::print("  {}{}{} {:.1f} ms\n",
             coloured(fmt::format("{:<16}", text_of(candidate, "name")), colour),
             fmt::format("{:<13}", text_of(candidate, "stage")), is_serving ? "serving" : "       ",
             candidate.at("microseconds").get<double>() / 1000);
  const auto detail = [](const char *label, const std::string &text) {
    if (!text.empty()) fmt::print("    {:<10} {}\n", label, text);
  };
  detail("file", text_of(candidate, "path"));
  detail("built for", text_of(candidate, "built_for"));
  detail("device", text_of(candidate, "device"));
  detail("reason", text_of(candidate, "reason"));
  std::string missing;
  for (const ordered_json &library : candidate.at("missing_libraries")) {
    missing += (missing.empty() ? "" : " ") + library.get<std::string>();
  }
  detail("missing", missing);
}

void print_text(const ordered_json &status) {
  const ordered_json &serving = status.at("serving");
  const std::string asked = text_of(status, "asked");
  Table table;
  table.add(
      {"torchlean", fmt::format("{}, {}", text_of(status, "version"), text_of(status, "core"))});
  table.add({"asked", asked.empty() ? "auto (TORCHLEAN_BACKEND is unset)" : asked});
  table.add({"serving", with_reason(text_of(serving, "backend"), text_of(serving, "reason"))},
            is_success(status) ? Colour::green : Colour::red);
  table.add({"state", text_of(status, "state")});
  if (const std::string version = text_of(serving, "version"); !version.empty()) {
    const std::string library = text_of(serving, "library");
    table.add({"version",
               fmt::format("{}{}", version, library.empty() ? "" : ", computes with " + library)});
  }
  if (!status.at("device").is_null()) add_device(table, status.at("device"));
  table.add({"settings", settings_text(status.at("settings"))});
  const ordered_json &binding = status.at("binding");
  table.add({"binding", with_reason(text_of(binding, "mode"), text_of(binding, "reason"))});
  for (const ordered_json &name : status.at("ignored_variables")) {
    table.add({"ignored", fmt::format("{} (raised privileges)", name.get<std::string>())},
              Colour::yellow);
  }
  fmt::print("{}", table.text());
  const ordered_json &candidates = status.at("candidates");
  fmt::print("candidates{}\n", candidates.empty() ? "  none" : "");
  for (const ordered_json &candidate : candidates) {
    print_candidate(candidate, candidate.at("is_serving"));
  }
  if (!status.contains("probes")) return;
  fmt::print("each opened in a process of its own{}\n",
             status.at("probes").empty() ? "  none" : "");
  for (const ordered_json &probe : status.at("probes")) print_candidate(probe, false);
}

}  // namespace

int run_status(const StatusOptions &options) {
  if (!options.task.empty()) return run_probe(options.task);
  const ordered_json status =
      options.probe ? probed_status_record(options.time_limit) : status_record();
  options.json ? print_json(status) : print_text(status);
  return is_success(status) ? exit_success : exit_failure;
}

}  // namespace torchlean::tools
