// torchlean env: every environment variable that is understood. Opens no backend.
#include "env/env.hpp"
#include "common/console.hpp"
#include "common/exit_code.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torchlean/runtime.hpp>

#include <memory>

namespace torchlean::tools {
namespace {

nlohmann::ordered_json to_json(const tl_variable &variable) {
  return {{"name", variable.name},          {"value", variable.value},
          {"is_set", variable.is_set != 0}, {"default", variable.fallback},
          {"allowed", variable.allowed},    {"meaning", variable.meaning},
          {"error", variable.error}};
}

std::string or_empty(const char *text) { return *text == '\0' ? "(empty)" : text; }

void print_text(const std::vector<tl_variable> &table) {
  for (const tl_variable &variable : table) {
    fmt::print("{}\n  {}\n  value    {}{}\n  default  {}\n  allowed  {}\n",
               coloured(variable.name, Colour::bold), variable.meaning, or_empty(variable.value),
               variable.is_set != 0 ? ", set" : "", or_empty(variable.fallback), variable.allowed);
    if (*variable.error != '\0') {
      fmt::print("{}\n", coloured(fmt::format("  error    {}", variable.error), Colour::red));
    }
  }
}

}  // namespace

int run_env(const EnvOptions &options) {
  const std::vector<tl_variable> table = variables();
  if (options.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const tl_variable &variable : table) list.push_back(to_json(variable));
    print_json({{"variables", list}});
  } else {
    print_text(table);
  }
  return exit_success;
}

}  // namespace torchlean::tools
