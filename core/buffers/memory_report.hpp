// TORCHLEAN_MEMORY_REPORT=1: what is alive when memory runs out, by the operation that made it.
#pragma once

#include <cstdint>

namespace torchlean::memory_report {

// From now on there is a report; before the first buffer is made.
void start() noexcept;

// Memory ran out in `operation`, whose results need `bytes`: writes the report to the log, largest
// share first, or nothing where start() was not called. Needs no memory of its own.
void write(const char *operation, std::uint64_t bytes) noexcept;

}  // namespace torchlean::memory_report
