// Opening each candidate in a process of its own, so that one that aborts, runs into an illegal
// instruction or hangs leaves a reason instead of taking the command along.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <string>

namespace torchlean::tools {

// The record of `torchlean status` with a member "probes", one for each candidate; this process
// opens nothing. A child that says nothing for `limit` is killed.
nlohmann::ordered_json probed_status_record(std::chrono::milliseconds limit);

// The child's side. `task`: "list" the candidates and open none, "serve" as the environment asks,
// or the absolute path of a candidate to open.
int run_probe(const std::string &task);

}  // namespace torchlean::tools
