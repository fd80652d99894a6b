// Direct cases in a process of their own, since a call with wrong arguments may end it: what that
// process says, line by line.
//
//   {"event": "case", "label": "op-unknown"}
//   {"event": "result", "reason": ""}
//   {"event": "row", "row": "add[float32]"}     all cases of the row are done
//   {"event": "unusable", "reason": "..."}      the file gives no table, or no instance
#pragma once

#include "common/child.hpp"
#include "compare/rows.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace torchlean::tools {

// A case that goes straight to the table; it has no inputs.
Case direct_case(const Row &row, const std::string &label);

// The process's side. Skips rows up to selection.after and cases up to `after_case`, unless empty.
// Returns the exit code.
int run_direct_worker(const std::string &path, const Selection &selection,
                      const std::string &after_case);

// The parent's side, for one backend.
class DirectJudge {
 public:
  // `path` of the backend's file. Nothing starts before the first row.
  DirectJudge(std::string path, const Selection &selection);

  struct Result {
    std::string label;   // of the case
    std::string reason;  // what went wrong, empty if nothing
  };
  // Of one row; rows come in the order of rows_of(). Each case is announced, by its name, when it
  // begins.
  std::vector<Result> results(const Row &row,
                              const std::function<void(const std::string &)> &case_begins);

 private:
  void start();
  // What is to be said of a process that ended.
  Result take_end(const Row &row);

  std::string path_;
  std::vector<std::string> arguments_;
  std::string after_row_;
  std::unique_ptr<Child> child_;
  std::string label_;      // of the case under way
  std::string last_case_;  // that has ended the process
  int ends_ = 0;
  bool is_over_ = false;
};

}  // namespace torchlean::tools
