// The self-test of a new backend: a few operations with known answers, below the counters.
#pragma once

#include <string>

#include "loader/backend.hpp"

namespace torchlean {

// What went wrong; empty if all answers are right.
std::string self_test(Backend &backend);

}  // namespace torchlean
