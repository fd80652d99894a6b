// The services that the core offers to backends.
#pragma once

#include <torchlean/backend.h>

namespace torchlean {

// One table for all backends, valid for the life of the process.
const tl_host &host();

}  // namespace torchlean
