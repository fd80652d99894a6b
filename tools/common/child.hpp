// This program as a child process that reports line by line.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <sys/types.h>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace torchlean::tools {

class Child {
 public:
  // Starts this same program with other arguments. Its standard output goes to standard error;
  // what it writes to `report_descriptor` is read here. Throws std::runtime_error.
  explicit Child(const std::vector<std::string> &arguments);
  // Kills it if it still runs.
  ~Child();
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;

  static constexpr int report_descriptor = 3;

  // The next line. None at the end, or when none came within the limit: see timed_out().
  std::optional<std::string> read_line(std::chrono::milliseconds limit);
  bool timed_out() const { return timed_out_; }

  // Kills it if it still runs. How it ended: "exited with code 3", "was ended by signal 11 (...)".
  std::string finish();

 private:
  pid_t process_ = -1;
  int reports_ = -1;
  std::string pending_;
  bool timed_out_ = false;
};

// For the child: ends with its parent, leaves no core file.
void become_child();

// For the child: what it has to say, one line of JSON at a time. One per process.
class Reporter {
 public:
  // Throws std::runtime_error where this process is nobody's child.
  Reporter();
  void say(const nlohmann::ordered_json &event) const;

 private:
  std::FILE *file_;  // open until the process ends
};

}  // namespace torchlean::tools
