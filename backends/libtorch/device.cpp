// The host as a device: threads, settings, figures.
#include "host_allocator.hpp"
#include "libtorch.hpp"

#include <ATen/Parallel.h>

#include <fstream>
#include <mutex>
#include <thread>

#include <unistd.h>

namespace torchlean::libtorch {
namespace {

// More than any host has use for; OpenMP ends the process where it cannot start its threads.
constexpr uint32_t max_threads = 1024;

// As many as ATen takes when nobody has said anything.
int default_threads() {
  static const int threads = at::get_num_threads();
  return threads;
}

uint64_t pages_in_bytes(int name) {
  const long pages = sysconf(name);
  const long size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(size) : 0;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "host processor";
}

void check_index(uint32_t index) {
  if (index != 0) throw invalid("index is " + std::to_string(index) + ", expected 0");
}

void count(tl_instance &, uint32_t *out_count) {
  expect_given("out_count", out_count);
  *out_count = 1;
}

void select(tl_instance &, uint32_t index) { check_index(index); }

void properties(tl_instance &, uint32_t index, tl_device_properties *out) {
  check_index(index);
  tl_device_properties values{};
  processor_name().copy(values.name, sizeof(values.name) - 1);
  values.multiprocessor_count = std::thread::hardware_concurrency();
  values.total_bytes = pages_in_bytes(_SC_PHYS_PAGES);
  hand_back(out, values);
}

void memory_info(tl_instance &, tl_memory_info *out) {
  tl_memory_info values{};
  values.allocated_bytes = allocated_bytes().now();
  values.reserved_bytes = host_blocks().reserved().now();
  values.peak_allocated_bytes = allocated_bytes().peak();
  values.peak_reserved_bytes = host_blocks().reserved().peak();
  values.device_free_bytes = pages_in_bytes(_SC_AVPHYS_PAGES);
  values.device_total_bytes = pages_in_bytes(_SC_PHYS_PAGES);
  hand_back(out, values);
}

// Calls are complete when they return.
void synchronize(tl_instance &) {}

void empty_cache(tl_instance &) { host_blocks().trim(); }

void set_setting(tl_instance &instance, tl_setting setting, uint32_t value) {
  if (setting != TL_SETTING_DETERMINISTIC)
    throw Failure(TL_UNSUPPORTED,
                  "setting " + std::to_string(setting) + " has no meaning on a host");
  instance.deterministic = value != 0;
}

// The core caps what tl_host.alloc gives.
void set_memory_fraction(tl_instance &, double fraction) {
  if (!(fraction > 0 && fraction <= 1))
    throw invalid("fraction is " + std::to_string(fraction) + ", expected 0 < fraction <= 1");
}

void set_num_threads(tl_instance &instance, uint32_t threads) { set_threads(instance, threads); }

void num_threads(tl_instance &instance, uint32_t *out_threads) {
  expect_given("out_threads", out_threads);
  *out_threads = static_cast<uint32_t>(instance.threads.load());
}

void versions(tl_instance &, uint32_t *out_driver, uint32_t *out_runtime) {
  expect_given("out_driver", out_driver);
  expect_given("out_runtime", out_runtime);
  *out_driver = 0;
  *out_runtime = 0;
}

}  // namespace

void set_threads(tl_instance &instance, uint32_t threads) {
  const int by_default = default_threads();
  if (threads > max_threads)
    throw invalid("threads is " + std::to_string(threads) + ", expected at most " +
                  std::to_string(max_threads));
  instance.threads = threads == 0 ? by_default : static_cast<int>(threads);
}

// OpenMP keeps the number of threads for each thread that starts a parallel loop, so it is set
// where the call comes in, not where the number was changed.
CallScope::CallScope(const tl_instance &instance) {
  const int wanted = instance.threads.load(std::memory_order_relaxed);
  if (at::get_num_threads() != wanted) at::set_num_threads(wanted);
}

const tl_device_table device_table = {
    .struct_size = sizeof(tl_device_table),
    .count = entry<"device_count", count>,
    .select = entry<"select", select>,
    .properties = entry<"properties", properties>,
    .memory_info = entry<"memory_info", memory_info>,
    .synchronize = entry<"synchronize", synchronize>,
    .empty_cache = entry<"empty_cache", empty_cache>,
    .set_setting = entry<"set_setting", set_setting>,
    .set_memory_fraction = entry<"set_memory_fraction", set_memory_fraction>,
    .set_num_threads = entry<"set_num_threads", set_num_threads>,
    .num_threads = entry<"num_threads", num_threads>,
    .versions = entry<"versions", versions>,
};

}  // namespace torchlean::libtorch
