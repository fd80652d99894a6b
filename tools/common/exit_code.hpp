// Exit codes of every subcommand (rule T1).
#pragma once

namespace torchlean::tools {

enum ExitCode : int {
  exit_success = 0,
  exit_failure = 1,  // disagreement, or nothing serves
  exit_usage = 2,
  exit_nothing_compared = 3,
  exit_unavailable = 4  // a requested backend cannot be opened
};

}  // namespace torchlean::tools
