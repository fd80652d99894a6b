// torchlean compare: holds backends against each other, operation by operation.
#pragma once

#include "compare/engine.hpp"

#include <string>
#include <vector>

namespace torchlean::tools {

enum class CompareRole {
  parent,
  worker,  // a worker process of --isolate
  direct   // a process of direct calls
};

struct CompareOptions {
  std::vector<std::string> backends;
  std::vector<std::string> operations;
  std::vector<std::string> dtypes;  // of compare_dtypes()
  std::string size = "default";
  std::string corpus;
  std::string junit;
  Selection selection;
  Conditions conditions;
  bool isolate = false;
  double time_limit = 60;
  bool json = false;
  CompareRole role = CompareRole::parent;
  std::string after_case;  // of direct calls
};

// "float32", "float64", "encoded"
const std::vector<std::string> &compare_dtypes();

int run_compare(CompareOptions options);

}  // namespace torchlean::tools
