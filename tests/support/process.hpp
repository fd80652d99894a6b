// Running a program as a child, with an environment of the test's own, and reading what it printed.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace torchlean_test {

struct Finished {
  int exit_code = -1;  // 128 + signal where a signal ended it
  std::string out;
  std::string err;
};

// The child gets this process's environment without its TORCHLEAN_ variables, then `environment`;
// its working directory is `folder` unless that is empty. It is killed after `seconds`.
Finished run(const std::vector<std::string> &command,
             const std::map<std::string, std::string> &environment = {},
             const std::string &folder = "", int seconds = 60);

}  // namespace torchlean_test
