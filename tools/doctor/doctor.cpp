// torchlean doctor: one report of everything that matters when something does not work.
#include "doctor/doctor.hpp"
#include "common/console.hpp"
#include "common/exit_code.hpp"
#include "doctor/mask.hpp"
#include "status/probe.hpp"
#include "status/record.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torchlean/host_system.hpp>
#include <torchlean/runtime.hpp>

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>

namespace torchlean::tools {
namespace {

using nlohmann::ordered_json;

std::string first_line(const char *path) {
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  return line;
}

ordered_json system_record() {
  utsname names = {};
  uname(&names);
  std::string distribution = "unknown";
  std::ifstream release("/etc/os-release");
  for (std::string line; std::getline(release, line);) {
    if (line.starts_with("PRETTY_NAME=")) distribution = line.substr(12);
  }
  std::erase(distribution, '"');
  const std::string driver = first_line("/proc/driver/nvidia/version");
  return {{"distribution", distribution},
          {"kernel", fmt::format("{} {} {}", names.sysname, names.release, names.machine)},
          {"libc", fmt::format("glibc {}", gnu_get_libc_version())},
          {"processor", processor_name("unknown")},
          {"processors", sysconf(_SC_NPROCESSORS_ONLN)},
          {"memory", bytes_text(static_cast<unsigned long long>(sysconf(_SC_PHYS_PAGES)) *
                                static_cast<unsigned long long>(sysconf(_SC_PAGESIZE)))},
          {"nvidia_driver", driver.empty() ? "none" : driver}};
}

// Ours, and those of the dynamic loader and the libraries that backends compute with.
ordered_json environment_record(const Mask &mask) {
  static constexpr std::array beginnings = {
      "TORCHLEAN_", "LD_",   "CUDA_", "NVIDIA_",  "OMP_",  "KMP_",    "GOMP_", "MKL_",
      "OPENBLAS_",  "TORCH", "ATEN_", "PYTORCH_", "LEAN_", "MALLOC_", "LC_",   "LANG"};
  std::map<std::string, std::string> sorted;
  for (char **entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(text.substr(0, equals));
    if (std::any_of(beginnings.begin(), beginnings.end(),
                    [&](const char *beginning) { return name.starts_with(beginning); })) {
      sorted[name] = mask.value(name, text.substr(equals + 1));
    }
  }
  ordered_json record = ordered_json::object();
  for (const auto &[name, value] : sorted) record[name] = value;
  return record;
}

// "libgomp" of "/x/libgomp-24e2ab19.so.1".
std::string library_kind(const std::string &path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.find_first_of("-."));
}

// More than one OpenMP or C++ runtime in the process that opened this backend.
void find_mixtures(const ordered_json &probe, ordered_json &findings) {
  if (!probe.contains("libraries")) return;
  std::set<std::string> openmp;
  std::map<std::string, std::set<std::string>> copies;
  for (const ordered_json &library : probe.at("libraries")) {
    const std::string path = library.get<std::string>();
    const std::string kind = library_kind(path);
    if (kind == "libgomp" || kind == "libiomp5" || kind == "libomp") openmp.insert(path);
    if (kind == "libstdc++" || kind == "libgcc_s") copies[kind].insert(path);
  }
  const std::string name = probe.at("name").get<std::string>();
  const auto tell = [&](const char *what, const std::set<std::string> &paths) {
    if (paths.size() < 2) return;
    std::string list;
    for (const std::string &path : paths) list += (list.empty() ? "" : ", ") + path;
    findings.push_back(fmt::format("{}: {} in one process: {}", name, what, list));
  };
  tell("several OpenMP runtimes", openmp);
  for (const auto &[kind, paths] : copies) tell(kind.c_str(), paths);
}

// What looks wrong, in sentences.
ordered_json findings_in(const ordered_json &status) {
  ordered_json findings = ordered_json::array();
  for (const tl_variable &variable : variables()) {
    if (*variable.error != '\0') findings.push_back(variable.error);
  }
  if (!is_success(status)) findings.push_back(status.at("serving").at("reason"));
  for (const ordered_json &probe : status.at("probes")) {
    if (probe.at("status") != tl_status_name(TL_OK)) {
      findings.push_back(fmt::format("{}: {}", probe.at("name").get<std::string>(),
                                     probe.at("reason").get<std::string>()));
    }
    find_mixtures(probe, findings);
  }
  const ordered_json &binding = status.at("binding");
  if (binding.at("mode") != "local") findings.push_back(binding.at("reason"));
  return findings;
}

ordered_json report(std::chrono::milliseconds limit) {
  const Mask mask = Mask::of_this_user();
  ordered_json status = probed_status_record(limit);
  ordered_json record = {{"report", "torchlean doctor"},
                         {"version", tl_version()},
                         {"findings", findings_in(status)},
                         {"system", system_record()},
                         {"environment", environment_record(mask)},
                         {"status", std::move(status)}};
  mask.apply(record);
  return record;
}

// A record as indented lines; a list's parts are separated by a dash, as its first member is.
void print_lines(const ordered_json &record, std::size_t depth) {
  const auto is_plain = [](const ordered_json &part) {
    return !part.is_structured() || part.empty();
  };
  const auto plain_text = [](const ordered_json &part) {
    if (part.is_null() || (part.is_structured() && part.empty())) return std::string("none");
    if (!part.is_string()) return part.dump();
    const std::string text = part.get<std::string>();
    return text.empty() ? std::string("(empty)") : text;
  };
  for (const auto &[name, part] : record.items()) {
    const std::string label = record.is_array() ? "-" : name + ":";
    if (is_plain(part)) {
      fmt::print("{:{}}{} {}\n", "", depth * 2, label, plain_text(part));
    } else {
      fmt::print("{:{}}{}\n", "", depth * 2, label);
      print_lines(part, depth + 1);
    }
  }
}

}  // namespace

int run_doctor(const DoctorOptions &options) {
  const ordered_json record = report(options.time_limit);
  options.json ? print_json(record) : print_lines(record, 0);
  return is_success(record.at("status")) ? exit_success : exit_failure;
}

}  // namespace torchlean::tools
