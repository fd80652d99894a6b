// The record that `torchlean status` prints, as text or as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

struct tl_attempt;

namespace torchlean::tools {

// Of this process: what was asked for, what was found, what serves. Starts the runtime.
nlohmann::ordered_json status_record();

nlohmann::ordered_json to_json(const tl_attempt &attempt);

// A real backend serves, or null was asked for.
bool is_success(const nlohmann::ordered_json &status);

}  // namespace torchlean::tools
