// Waiting for this process's other threads to sleep.
#pragma once

namespace torchlean::tools {

// Threads of a pool spin for some milliseconds before they sleep, on processors that the next
// backend is to use. Returns once no other thread of this process runs, after 20 ms at the latest.
void wait_until_idle();

}  // namespace torchlean::tools
