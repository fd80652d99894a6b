// The worker's side.
#include "compare/worker.hpp"

#include "common/child.hpp"
#include "common/exit_code.hpp"

#include <nlohmann/json.hpp>

namespace torchlean::tools {

int run_worker(const std::vector<std::string> &names, const Selection &selection,
               const Conditions &conditions) {
  become_child();
  const Reporter reporter;
  const std::vector<OpenedBackend> backends = open_backends(names);
  for (const OpenedBackend &entry : backends) {
    if (entry.backend) continue;
    reporter.say({{"event", "unavailable"}, {"name", entry.name}, {"reason", entry.reason}});
    return exit_unavailable;
  }
  reporter.say({{"event", "opened"},
                {"baseline", to_json(participant_of(backends[0]))},
                {"backend", to_json(participant_of(backends[1]))}});
  compare_backends(backends, selection, conditions,
                   {[&](const std::string &row) {
                      reporter.say({{"event", "row"}, {"row", row}});
                    },
                    [&](const std::string &case_name, const std::string &backend) {
                      reporter.say({{"event", "case"}, {"case", case_name}, {"backend", backend}});
                    },
                    [&](const OperationRecord &record) {
                      reporter.say({{"event", "record"}, {"record", to_json(record)}});
                    }});
  reporter.say({{"event", "done"}});
  return exit_success;
}

}  // namespace torchlean::tools
