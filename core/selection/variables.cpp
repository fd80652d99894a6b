// The table of environment variables and the check of their values.
#include "selection/variables.hpp"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>

namespace torchlean {
namespace {

std::vector<Variable> make_table() {
  using enum VariableKind;
  return {
      {"TORCHLEAN_BACKEND", text, "auto",
       "auto, a backend's name, a comma-separated list of names (auto may end it), or an absolute "
       "path",
       "which backend serves; one asked for by name is never replaced by another"},
      {"TORCHLEAN_BACKEND_PATH", file, "", "absolute folders, separated by colons",
       "folders searched for backends before the installed ones"},
      {"TORCHLEAN_CACHE", elsewhere, "", "a folder", "where ./dev keeps downloads"},
      {"TORCHLEAN_CPU_TARGET", target, "auto", "auto, baseline, avx2 or avx512",
       "vector instructions that the cpu backend computes with; auto: the best there are"},
      {"TORCHLEAN_CUDA_DETERMINISTIC_REDUCTIONS", nonzero, "", "anything; unset, empty or 0 is off",
       "starts with deterministic mode on (setting 2)"},
      {"TORCHLEAN_DEVICE", device, "", "cpu, cuda or cuda:<index>",
       "the device to compute on; unset: the backend's own choice"},
      {"TORCHLEAN_EMULATION_SCHEDULE", number, "0", "0 to 4294967295",
       "seed of the order in which cuda-emulated runs blocks and threads; 0 is in order",
       4294967295UL},
      {"TORCHLEAN_EMULATION_TAIL_BLOCKS", number, "0", "0 to 2147483647; 0 runs all",
       "how many blocks, the last ones, of each kernel launch cuda-emulated runs; for tests of how "
       "huge arrays are addressed",
       2147483647UL},
      {"TORCHLEAN_GUARD", boolean, "0", "0 or 1",
       "1 puts inaccessible pages around every block of host memory and fills it with garbage"},
      {"TORCHLEAN_HOST_CACHE", number, "1024", "0 to 4294967295; 0 keeps none",
       "MiB of host memory that the cpu and libtorch backends keep when it is freed, for later "
       "results; none with TORCHLEAN_GUARD=1",
       4294967295UL},
      {"TORCHLEAN_LAYERS", layers, "", "trace, nvtx, or both, separated by a comma",
       "layers put around every backend, outermost first: trace writes each call to the log, nvtx "
       "marks it as a range for NVIDIA's profilers"},
      {"TORCHLEAN_LIBTORCH", elsewhere, "", "a folder",
       "the LibTorch that ./dev builds the libtorch backend against"},
      {"TORCHLEAN_LIBTORCH_DEVICE", device, "", "cpu, cuda or cuda:<index>",
       "older name of TORCHLEAN_DEVICE; used where that is unset"},
      {"TORCHLEAN_LOG", level, "warn", "debug, info, warn, error or off",
       "how much is written to stderr"},
      {"TORCHLEAN_MEMORY_REPORT", boolean, "0", "0 or 1",
       "1 lists the live buffers by the operation that made them when memory runs out"},
      {"TORCHLEAN_NUM_THREADS", number, "0", "0 to 4096; 0 is the backend's own choice",
       "host threads that a backend computes with", 4096},
      {"TORCHLEAN_ON_ERROR", on_error, "panic", "panic or poison",
       "what a failing pure operation of a Lean program does: end the process, or return a "
       "poisoned "
       "buffer"},
      {"TORCHLEAN_REQUIRE_CUDA", boolean, "0", "0 or 1",
       "1 forbids automatic choice to fall back to a host backend"},
      {"TORCHLEAN_SYNCHRONOUS", boolean, "0", "0 or 1",
       "1 waits for the device after each call, so that an error names its culprit"},
      {"TORCHLEAN_TIMELINE", file, "", "an absolute path without colons",
       "file for a timeline of all calls in Chrome's trace event format; %p in it stands for the "
       "process's number"},
  };
}

bool is_number(std::string_view text, unsigned long largest) {
  unsigned long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value <= largest;
}

bool is_device(std::string_view text) {
  if (text == "cpu" || text == "cuda") return true;
  return text.starts_with("cuda:") && is_number(text.substr(5), 1023);
}

bool is_layer_list(std::string_view text) {
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    if (name != "trace" && name != "nvtx") return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

bool is_allowed(const Variable &variable, std::string_view value) {
  switch (variable.kind) {
    case VariableKind::level:
      return value == "debug" || value == "info" || value == "warn" || value == "error" ||
             value == "off";
    case VariableKind::boolean: return value == "0" || value == "1";
    case VariableKind::number: return is_number(value, variable.largest);
    case VariableKind::device: return is_device(value);
    case VariableKind::layers: return is_layer_list(value);
    case VariableKind::target:
      return value == "auto" || value == "baseline" || value == "avx2" || value == "avx512";
    case VariableKind::on_error: return value == "panic" || value == "poison";
    case VariableKind::file: {
      // The working directory must never matter (rule L2).
      for (std::size_t start = 0; start <= value.size();) {
        const std::size_t end = std::min(value.find(':', start), value.size());
        if (end > start && value[start] != '/') return false;
        start = end + 1;
      }
      return true;
    }
    default: return true;
  }
}

bool names_files(const Variable &variable, std::string_view value) {
  return variable.kind == VariableKind::file ||
         (variable.kind == VariableKind::text && value.find('/') != std::string_view::npos);
}

// Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

// Never destroyed: options are read until the end of the process.
const Environment &environment() {
  static const auto *instance = new Environment(read_environment(
      [](const char *name) { return std::getenv(name); }, has_raised_privileges()));
  return *instance;
}

}  // namespace

Environment read_environment(const std::function<const char *(const char *)> &lookup,
                             bool has_raised_privileges) {
  Environment environment = {make_table(), {}};
  for (Variable &entry : environment.table) {
    entry.value = entry.fallback;
    const char *set = lookup(entry.name);
    if (set == nullptr || *set == '\0') continue;
    if (has_raised_privileges && names_files(entry, set)) {
      environment.ignored += (environment.ignored.empty() ? "" : " ") + std::string(entry.name);
      continue;
    }
    entry.is_set = true;
    if (is_allowed(entry, set)) {
      entry.value = set;
    } else {
      entry.error =
          fmt::format("{}: '{}' is not allowed; expected {}", entry.name, set, entry.allowed);
    }
  }
  return environment;
}

const std::vector<Variable> &variables() { return environment().table; }

const Variable &variable(std::string_view name) {
  const std::vector<Variable> &table = variables();
  return *std::find_if(table.begin(), table.end(),
                       [&](const Variable &entry) { return entry.name == name; });
}

const std::string &option(std::string_view name) { return variable(name).value; }

std::string misspelling(std::string_view name) {
  if (!name.starts_with("TORCHLEAN_")) return {};
  const std::vector<Variable> &table = variables();
  const auto nearest =
      std::min_element(table.begin(), table.end(), [&](const Variable &a, const Variable &b) {
        return distance(a.name, name) < distance(b.name, name);
      });
  if (nearest->name == name) return {};
  return fmt::format("the environment variable {} is not known and has no effect; did you mean {}?",
                     name, nearest->name);
}

std::vector<std::string> misspelt_variables() {
  std::vector<std::string> sentences;
  for (char **entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    std::string sentence = misspelling(text.substr(0, text.find('=')));
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  }
  return sentences;
}

bool has_raised_privileges() { return getauxval(AT_SECURE) != 0; }

const std::string &ignored_variables() { return environment().ignored; }

}  // namespace torchlean
