// The parent's side of a comparison in worker processes.
#include "compare/worker.hpp"

#include "common/child.hpp"
#include "compare/rows.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <map>

namespace torchlean::tools {
namespace {

using nlohmann::ordered_json;

constexpr int most_workers = 5;  // that do not come to the end, for one backend

std::string row_name(const OperationRecord &record) {
  return fmt::format("{}[{}]", record.operation, record.dtype);
}

// One backend against the baseline.
class IsolatedBackend {
 public:
  IsolatedBackend(const Isolation &isolation, const Selection &selection,
                  const Conditions &conditions, std::string name, Report &report)
      : isolation_(isolation),
        selection_(selection),
        conditions_(conditions),
        name_(std::move(name)),
        report_(report) {}

  void run(const std::function<void(const std::string &)> &progress) {
    for (int ends = 1;; ++ends) {
      is_done_ = false;
      case_.clear();
      cases_ = 0;
      const std::string end = run_worker_process(progress);
      if (is_done_ || is_unusable_) return;
      if (!is_open_ || row_.empty()) {
        report_.unusable.push_back({name_, fmt::format("its worker process {} before the first "
                                                       "operation",
                                                       end)});
        return;
      }
      // A record that is there already lacks a smaller case only: the worker ended looking for one.
      if (!has_record(row_)) add_failure(end, ends == most_workers);
      if (ends == most_workers) return;
    }
  }

 private:
  // Returns how the process ended.
  std::string run_worker_process(const std::function<void(const std::string &)> &progress) {
    std::vector<std::string> arguments = {"compare", "--backends",
                                          isolation_.names[0] + "," + name_};
    arguments.insert(arguments.end(), isolation_.arguments.begin(), isolation_.arguments.end());
    arguments.emplace_back("worker");
    if (!row_.empty()) arguments.push_back("--after=" + row_);
    Child child(arguments);
    const std::chrono::duration<double> seconds(isolation_.time_limit);
    while (const auto line =
               child.read_line(std::chrono::duration_cast<std::chrono::milliseconds>(seconds))) {
      try {
        take(ordered_json::parse(*line), progress);
      } catch (const nlohmann::json::exception &) {
        return "sent a report that cannot be read";
      }
    }
    if (child.timed_out()) {
      child.finish();
      return fmt::format("gave no sign of life for {} s", isolation_.time_limit);
    }
    return child.finish();
  }

  void take(const ordered_json &event, const std::function<void(const std::string &)> &progress) {
    const std::string &kind = event.at("event").get_ref<const std::string &>();
    if (kind == "case") {
      cases_ += case_ == event.at("case") ? 0 : 1;
      case_ = event.at("case");
      case_backend_ = event.at("backend");
    } else if (kind == "row") {
      row_ = event.at("row");
      case_.clear();
      cases_ = 0;
      progress(fmt::format("{} on {}", row_, name_));
    } else if (kind == "record") {
      const OperationRecord record = record_from(event.at("record"));
      std::erase_if(report_.operations, [&](const OperationRecord &other) {
        return other.backend == name_ && row_name(other) == row_name(record);
      });
      report_.operations.push_back(record);
    } else if (kind == "opened") {
      if (!is_open_) report_.others.push_back(participant_from(event.at("backend")));
      report_.baseline = participant_from(event.at("baseline"));
      is_open_ = true;
    } else if (kind == "unavailable") {
      is_unusable_ = true;
      report_.unusable.push_back({event.at("name"), event.at("reason")});
    } else if (kind == "done") {
      is_done_ = true;
    }
  }

  bool has_record(const std::string &row) const {
    return std::any_of(report_.operations.begin(), report_.operations.end(),
                       [&](const OperationRecord &record) {
                         return record.backend == name_ && row_name(record) == row;
                       });
  }

  void add_failure(const std::string &end, bool is_last) {
    OperationRecord record;
    const std::size_t bracket = row_.find('[');
    record.operation = row_.substr(0, bracket);
    record.dtype = row_.substr(bracket + 1, row_.size() - bracket - 2);
    record.backend = name_;
    if (const Operation *operation = find_operation(record.operation)) {
      record.budget = operation->budget;
      record.why = budget_reason(*operation);
    }
    record.cases = cases_;
    record.failed_cases = 1;
    Failure failure;
    failure.case_name = case_.empty() ? row_ : case_;
    failure.reason = fmt::format("the worker process {} while {} ran this case{}", end,
                                 case_backend_.empty() ? name_ : case_backend_,
                                 is_last ? "; what follows was not tried any more" : "");
    failure.replay =
        replay_command(selection_, conditions_, isolation_.names[0], name_, failure.case_name) +
        " --isolate";
    failure.severity = infinity;
    record.failure = std::move(failure);
    report_.operations.push_back(std::move(record));
  }

  const Isolation &isolation_;
  const Selection &selection_;
  const Conditions &conditions_;
  const std::string name_;
  Report &report_;
  // What the worker said last.
  std::string row_;
  std::string case_;
  std::string case_backend_;
  std::uint64_t cases_ = 0;
  bool is_open_ = false;
  bool is_done_ = false;
  bool is_unusable_ = false;
};

}  // namespace

void compare_isolated(const Isolation &isolation, const Selection &selection,
                      const Conditions &conditions,
                      const std::function<void(const std::string &)> &progress, Report &report) {
  for (std::size_t i = 1; i < isolation.names.size(); ++i) {
    IsolatedBackend(isolation, selection, conditions, isolation.names[i], report).run(progress);
  }
  // Backend by backend became row by row, as without isolation.
  std::map<std::string, std::size_t> order;
  for (const Row &row : rows_of(selection)) order.emplace(row.name(), order.size());
  std::stable_sort(report.operations.begin(), report.operations.end(),
                   [&](const OperationRecord &a, const OperationRecord &b) {
                     return order[row_name(a)] < order[row_name(b)];
                   });
}

}  // namespace torchlean::tools
