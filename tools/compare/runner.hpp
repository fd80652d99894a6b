// Runs one case on one backend, as often as asked, and watches what every backend must keep.
#pragma once

#include "common/backends.hpp"
#include "compare/operations.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace torchlean::tools {

// How every call is made.
struct Conditions {
  std::uint32_t repeat = 1;            // the same call so many times, with the same bits (rule B8)
  std::vector<std::uint32_t> threads;  // host threads to try; empty: as the backend chooses
  bool is_deterministic = false;       // setting 2 is on: the same bits at any thread count
};

struct Result {
  std::vector<Outcome> outcomes;  // one; where bits may depend on it, one per number of threads
  std::string error;              // what went wrong, empty if nothing
};

// Watches: the call succeeds, repeats bit for bit, leaves its inputs (rule B4) and the thread's
// floating-point state (rule B9) as they were and writes nothing beside its own memory (rule T7,
// where TORCHLEAN_GUARD is on). Short cases run in another floating-point state, too, those of the
// kind "place" at many places.
Result run_case(const Operation &row, const Case &one, const Backend &backend,
                const Conditions &conditions);

// The call must be refused with TL_INVALID_ARGUMENT and a message, and change no counter (T6).
// Returns what went wrong, empty if nothing.
std::string run_refusal(const Operation &row, const Case &one, const Backend &backend);

}  // namespace torchlean::tools
