// torchlean ops: which backend has which operation for which dtype.
#pragma once

#include <string>
#include <vector>

namespace torchlean::tools {

struct OpsOptions {
  bool json = false;
  std::vector<std::string> backends;  // names or paths; none: every candidate
  std::vector<std::string> need;      // say instead which of these operations each backend lacks
};

int run_ops(const OpsOptions &options);

}  // namespace torchlean::tools
