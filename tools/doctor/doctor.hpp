// torchlean doctor: one report of everything that matters when something does not work.
#pragma once

#include <chrono>

namespace torchlean::tools {

struct DoctorOptions {
  bool json = false;
  std::chrono::milliseconds time_limit{0};  // that a backend may take to open
};

int run_doctor(const DoctorOptions &options);

}  // namespace torchlean::tools
