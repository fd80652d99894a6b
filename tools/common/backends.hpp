// The backends that a subcommand works on: the candidates, opened beside each other.
#pragma once

#include <torchlean/runtime.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace torchlean::tools {

// "float32", "float64", "encoded"
const char *dtype_name(tl_dtype dtype);

// Names of the candidate files that look like backends, each once, in the order of the search.
// Starts the runtime.
std::vector<std::string> candidate_names();

struct OpenedBackend {
  std::string name;  // as asked for
  std::optional<Backend> backend;
  std::string reason;  // why it could not be opened
};

// Opens each by name or path (a relative path counts from the working directory).
std::vector<OpenedBackend> open_backends(const std::vector<std::string> &names);

// Does `name` match the pattern, in which * stands for any characters and ? for one?
bool matches(const std::string &pattern, const std::string &name);

}  // namespace torchlean::tools
