// Makes a failing case smaller.
#pragma once

#include "compare/operations.hpp"

#include <chrono>
#include <functional>

namespace torchlean::tools {

// The smallest shape, and in it the fewest words other than one, that still fail; found greedily,
// as far as it got by `deadline`. The result is a literal case.
Case shrink(const Operation &row, const Case &one,
            const std::function<bool(const Case &)> &still_fails,
            std::chrono::steady_clock::time_point deadline);

}  // namespace torchlean::tools
