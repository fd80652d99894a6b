// torchlean bench: times operations on several backends side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace torchlean::tools {

struct BenchOptions {
  std::vector<std::string> backends;
  std::vector<std::string> operations;
  std::vector<std::string> dtypes;  // float32, float64
  std::vector<std::string> sizes;   // of workload_sizes(), or numbers of elements
  std::uint32_t threads = 0;        // 0: as many as processors may be used
  double seconds = 0.2;             // of timed calls per row, all backends together
  bool json = false;
  bool list = false;
};

int run_bench(const BenchOptions &options);

}  // namespace torchlean::tools
