// The one table of environment variables: names, allowed values, defaults, meanings, values.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace torchlean {

enum class VariableKind {
  text,      // anything
  file,      // names files or folders: ignored in a process with raised privileges
  level,     // debug, info, warn, error, off
  boolean,   // 0 or 1
  nonzero,   // on unless empty or 0
  number,    // an unsigned decimal number up to `largest`
  device,    // cpu, cuda, cuda:<index>
  layers,    // a comma-separated list of known layers
  target,    // auto, baseline, avx2, avx512
  on_error,  // panic or poison
  elsewhere  // read by ./dev and CMake, listed so that nobody takes it for a misspelling
};

struct Variable {
  const char *name;
  VariableKind kind;
  const char *fallback;  // the default
  const char *allowed;
  const char *meaning;
  unsigned long largest = 0;

  // Read from the environment once per process. An empty value counts as unset.
  std::string value = {};
  std::string error =
      {};  // what is wrong with the user's value: names the variable and what is allowed
  bool is_set = false;
};

// The table filled from an environment: lookup(name) is the value, null where unset. With raised
// privileges variables that name files stay unset, and their names go to `ignored`.
struct Environment {
  std::vector<Variable> table;
  std::string ignored;
};
Environment read_environment(const std::function<const char *(const char *)> &lookup,
                             bool has_raised_privileges);

// The table with the values of this process. The environment is read at the first call, never
// again.
const std::vector<Variable> &variables();

// The variable's entry; `name` must be in the table.
const Variable &variable(std::string_view name);

// Its value in force; the default where unset.
const std::string &option(std::string_view name);

// A sentence about a name that starts with TORCHLEAN_ and is not in the table, with the nearest
// known one; empty for any other name.
std::string misspelling(std::string_view name);

// The sentences for this process's environment.
std::vector<std::string> misspelt_variables();

// Raised privileges (AT_SECURE): variables that name files are then ignored.
bool has_raised_privileges();

// The variables that were set and ignored for that reason, separated by spaces.
const std::string &ignored_variables();

}  // namespace torchlean
