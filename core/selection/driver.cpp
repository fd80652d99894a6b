// Looking for an NVIDIA driver.
#include "selection/driver.hpp"

#include <unistd.h>

#include "loader/ld_cache.hpp"

namespace torchlean {

bool has_nvidia_driver() {
  static const bool found = access("/proc/driver/nvidia/version", F_OK) == 0 ||
                            access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0 ||
                            loader_cache_has("libcuda.so.1");
  return found;
}

}  // namespace torchlean
