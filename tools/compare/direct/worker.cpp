// Both sides of the process.
#include "compare/direct/worker.hpp"

#include "common/exit_code.hpp"
#include "compare/direct/cases.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

namespace torchlean::tools {
namespace {

using nlohmann::ordered_json;
using namespace std::chrono_literals;

constexpr int most_ends = 25;              // of the process, for one backend
constexpr std::chrono::seconds limit{60};  // for one case

}  // namespace

Case direct_case(const Row &row, const std::string &label) {
  Case one;
  one.operation = row.operation->name;
  one.dtype = one.other_dtype = row.dtype;
  one.kind = direct_kind;
  one.shape = label;
  return one;
}

int run_direct_worker(const std::string &path, const Selection &selection,
                      const std::string &after_case) {
  become_child();
  const Reporter reporter;
  std::optional<Session> session;
  try {
    session.emplace(path);
  } catch (const std::runtime_error &error) {
    reporter.say({{"event", "unusable"}, {"reason", error.what()}});
    return exit_unavailable;
  }
  bool is_row_done = !selection.after.empty();
  bool is_case_done = !after_case.empty();
  for (const Row &row : rows_of(selection)) {
    if (!is_row_done) {
      for (const std::string &label : direct_labels(*session, row.number, row.dtype)) {
        const Case one = direct_case(row, label);
        if (!is_wanted(row, selection, one)) continue;
        if (is_case_done) {
          is_case_done = one.name() != after_case;
          continue;
        }
        reporter.say({{"event", "case"}, {"label", label}});
        reporter.say(
            {{"event", "result"}, {"reason", run_direct(*session, row.number, row.dtype, label)}});
      }
      if (!is_case_done) reporter.say({{"event", "row"}, {"row", row.name()}});
    }
    if (row.name() == selection.after) is_row_done = false;
  }
  return exit_success;
}

DirectJudge::DirectJudge(std::string path, const Selection &selection)
    : path_(std::move(path)), arguments_(selection.arguments), after_row_(selection.after) {}

void DirectJudge::start() {
  std::vector<std::string> arguments = {"compare", "--backends", path_};
  arguments.insert(arguments.end(), arguments_.begin(), arguments_.end());
  arguments.emplace_back("direct");
  if (!after_row_.empty()) arguments.push_back("--after=" + after_row_);
  if (!last_case_.empty()) arguments.push_back("--after-case=" + last_case_);
  child_ = std::make_unique<Child>(arguments);
}

DirectJudge::Result DirectJudge::take_end(const Row &row) {
  const std::string end = child_->timed_out()
                              ? fmt::format("gave no sign of life for {} s", limit.count())
                              : child_->finish();
  child_.reset();
  if (label_.empty()) {
    is_over_ = true;
    return {"process", fmt::format("the process of the direct calls {} before a call", end)};
  }
  is_over_ = ++ends_ == most_ends;
  last_case_ = direct_case(row, label_).name();
  return {std::exchange(label_, ""),
          fmt::format("the process {} in this direct call{}", end,
                      is_over_ ? "; what follows was not tried any more" : "")};
}

std::vector<DirectJudge::Result> DirectJudge::results(
    const Row &row, const std::function<void(const std::string &)> &case_begins) {
  std::vector<Result> all;
  while (!is_over_) {
    if (!child_) start();
    const std::optional<std::string> line = child_->read_line(limit);
    if (!line) {
      all.push_back(take_end(row));
      continue;
    }
    const ordered_json event = ordered_json::parse(*line);
    const std::string kind = event.at("event");
    if (kind == "case") {
      label_ = event.at("label");
      case_begins(direct_case(row, label_).name());
    } else if (kind == "result") {
      all.push_back({std::exchange(label_, ""), event.at("reason")});
    } else if (kind == "unusable") {
      is_over_ = true;
      all.push_back({"process", fmt::format("its table cannot be called directly: {}",
                                            event.at("reason").get<std::string>())});
    } else if (event.at("row") == row.name()) {
      break;
    }
  }
  return all;
}

}  // namespace torchlean::tools
