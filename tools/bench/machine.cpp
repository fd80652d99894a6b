// Asks the system.
#include "bench/machine.hpp"

#include <fmt/format.h>
#include <torchlean/host_system.hpp>

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>

namespace torchlean::tools {
namespace {

std::string date_now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts);
  return text.data();
}

std::uint64_t system_value(int name) {
  return static_cast<std::uint64_t>(std::max(sysconf(name), 0L));
}

std::uint64_t cache_bytes() {
  if (const std::uint64_t known = last_level_cache(); known != 0) return known;
  return std::max(system_value(_SC_LEVEL3_CACHE_SIZE), system_value(_SC_LEVEL2_CACHE_SIZE));
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.processor = processor_name("unknown");
  utsname name{};
  uname(&name);
  machine.system = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  machine.date = date_now();
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) {
    machine.processors = static_cast<std::uint32_t>(CPU_COUNT(&usable));
  }
  machine.processors = std::max(machine.processors, 1U);
  if (getloadavg(&machine.load, 1) != 1) machine.load = 0;
  machine.memory_bytes = system_value(_SC_PHYS_PAGES) * system_value(_SC_PAGESIZE);
  machine.cache_bytes = cache_bytes();
  return machine;
}

}  // namespace torchlean::tools
