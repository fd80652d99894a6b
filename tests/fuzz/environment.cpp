// Any environment: each variable has an allowed value or its default and an error (rule L10).
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "selection/variables.hpp"

using torchlean::Variable;
using torchlean::VariableKind;

namespace {

// Lines "NAME=value", as `env` prints them.
std::map<std::string, std::string> parse(std::string_view text) {
  std::map<std::string, std::string> values;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) {
      values.emplace(line.substr(0, equals), line.substr(equals + 1));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return values;
}

bool is_sound(const Variable &variable) {
  if (!variable.error.empty()) return variable.is_set && variable.value == variable.fallback;
  if (!variable.is_set) return variable.value == variable.fallback;
  switch (variable.kind) {
    case VariableKind::number: return std::stoul(variable.value) <= variable.largest;
    case VariableKind::boolean: return variable.value == "0" || variable.value == "1";
    case VariableKind::file: return variable.value.find("..") != 0;
    default: return !variable.value.empty();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const auto values = parse({reinterpret_cast<const char *>(data), size});
  for (const bool is_privileged : {false, true}) {
    const torchlean::Environment environment = torchlean::read_environment(
        [&](const char *name) {
          const auto found = values.find(name);
          return found == values.end() ? nullptr : found->second.c_str();
        },
        is_privileged);
    for (const Variable &variable : environment.table) {
      if (!is_sound(variable)) std::abort();
      // Rule L13.
      if (is_privileged && variable.is_set && variable.kind == VariableKind::file) std::abort();
    }
  }
  for (const auto &[name, value] : values) {
    if (name.size() < 100) torchlean::misspelling(name);
  }
  return 0;
}
