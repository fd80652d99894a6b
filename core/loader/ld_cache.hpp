// The dynamic loader's cache, /etc/ld.so.cache: which file a SONAME stands for on this system.
#pragma once

#include <string>
#include <string_view>

namespace torchlean {

/// The bytes of /etc/ld.so.cache; empty if it is absent, unreadable or larger than 64 MiB.
std::string read_loader_cache();

/// The path that `cache`, the bytes of a loader cache, gives for a library of this process's
/// machine; empty if it names none. Any bytes may be passed; a damaged entry is skipped. Of several
/// entries the one for every processor is preferred to those for newer ones (glibc-hwcaps).
std::string find_in_cache(std::string_view cache, std::string_view soname);

/// The system's cache names `soname`. Nothing is opened but the cache, so that one can ask for
/// libcuda.so.1 without touching the driver.
bool loader_cache_has(std::string_view soname);

}  // namespace torchlean
