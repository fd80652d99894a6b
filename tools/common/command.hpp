// What main.cpp needs to know of a subcommand.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace torchlean::tools {

// Exit codes of every subcommand (rule T1).
enum ExitCode : int {
  exit_success = 0,
  exit_failure = 1,  // disagreement, or nothing serves
  exit_usage = 2,
  exit_nothing_compared = 3,
  exit_unavailable = 4  // a requested backend cannot be opened
};

struct Command {
  CLI::App *app;             // parsed() tells whether it was asked for
  std::function<int()> run;  // returns the exit code
};

Command add_status_command(CLI::App &app);
Command add_ops_command(CLI::App &app);
Command add_env_command(CLI::App &app);
Command add_compare_command(CLI::App &app);

}  // namespace torchlean::tools
