// The one device: this host. Its figures, and the switches that mean something here.
#include "reference.hpp"

#include <torchlean/host_system.hpp>

namespace torchlean::reference {
namespace {

void count(tl_instance &, uint32_t *out_count) {
  expect_given("out_count", out_count);
  *out_count = 1;
}

void select(tl_instance &, uint32_t index) { check_index(index); }

void properties(tl_instance &, uint32_t index, tl_device_properties *out) {
  check_index(index);
  tl_device_properties full{};
  const std::string name = processor_name() + " (reference)";
  name.copy(full.name, sizeof full.name - 1);
  full.multiprocessor_count = static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  full.total_bytes = bytes_of_pages(_SC_PHYS_PAGES);
  give("out", full, out);
}

// Nothing is cached: what is reserved is allocated.
void memory_info(tl_instance &instance, tl_memory_info *out) {
  tl_memory_info full{};
  full.allocated_bytes = full.reserved_bytes = instance.allocated_bytes;
  full.peak_allocated_bytes = full.peak_reserved_bytes = instance.peak_bytes;
  full.device_free_bytes = bytes_of_pages(_SC_AVPHYS_PAGES);
  full.device_total_bytes = bytes_of_pages(_SC_PHYS_PAGES);
  give("out", full, out);
}

// Every call is complete when it returns.
void synchronize(tl_instance &) {}

void empty_cache(tl_instance &) {}

void set_setting(tl_instance &instance, tl_setting setting, uint32_t value) {
  if (setting != TL_SETTING_DETERMINISTIC) throw unknown("setting", setting);
  instance.deterministic = value != 0;
}

// The host's allocation service keeps to the cap.
void set_memory_fraction(tl_instance &, double fraction) {
  if (!(fraction > 0 && fraction <= 1)) throw invalid("fraction is outside (0, 1]");
}

// Any number is welcome; a kernel runs on its caller's thread all the same.
void set_num_threads(tl_instance &, uint32_t) {}

void num_threads(tl_instance &, uint32_t *out_threads) {
  expect_given("out_threads", out_threads);
  *out_threads = 1;
}

void versions(tl_instance &, uint32_t *out_driver, uint32_t *out_runtime) {
  expect_given("out_driver", out_driver);
  expect_given("out_runtime", out_runtime);
  *out_driver = *out_runtime = 0;
}

}  // namespace

const tl_device_table device_table = {
    .struct_size = sizeof(tl_device_table),
    .count = entry<"count", count>,
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

}  // namespace torchlean::reference
