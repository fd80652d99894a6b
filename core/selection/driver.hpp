// Whether an NVIDIA driver is present, found without opening anything.
#pragma once

namespace torchlean {

// /proc/driver/nvidia/version (Linux), /dev/dxg (WSL), or libcuda.so.1 in the dynamic loader's
// cache. Looked up once per process.
bool has_nvidia_driver();

}  // namespace torchlean
