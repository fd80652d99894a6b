// Place-independence: in deterministic mode an elementwise result depends on its operands alone,
// never on its place in the buffer.
#pragma once

#include "compare/operations.hpp"

#include <string>

namespace torchlean::tools {

// The kind of cases that are tried in this way, too: a few operands, none of which is alone.
inline constexpr std::string_view place_kind = "place";

// Repeats the operands of such a case through buffers of many lengths, on the thread's backend.
// Where a result has other bits than its like; empty if none has. Any NaN is like any NaN.
std::string differing_place(const Operation &row, const Case &one);

}  // namespace torchlean::tools
