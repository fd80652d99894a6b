// Cases that go straight to a backend's table: what it must refuse itself, and whether what it says
// of itself is so.
#pragma once

#include "compare/direct/session.hpp"

#include <torchlean/types.h>

#include <string>
#include <vector>

namespace torchlean::tools {

// The kind of such cases.
inline constexpr const char *direct_kind = "direct";

// What is tried with one operation and dtype: labels, as the shape of a case.
std::vector<std::string> direct_labels(const Session &session, tl_operation operation,
                                       tl_dtype dtype);

// Runs one of them. What went wrong, empty if nothing.
std::string run_direct(const Session &session, tl_operation operation, tl_dtype dtype,
                       const std::string &label);

}  // namespace torchlean::tools
