// torchlean status: what was asked for, what was found, what serves and why.
#pragma once

#include <chrono>
#include <string>

namespace torchlean::tools {

struct StatusOptions {
  bool json = false;
  bool probe = false;                       // open each candidate in a process of its own first
  std::chrono::milliseconds time_limit{0};  // that one of them may take
  std::string task;                         // this is one of those processes
};

int run_status(const StatusOptions &options);

}  // namespace torchlean::tools
