// Devices: threads, settings, figures; of the host here, of GPUs in cuda.cpp.
#include "cuda.hpp"
#include "host_allocator.hpp"
#include "libtorch.hpp"

#include <torchlean/host_system.hpp>

#include <thread>

namespace torchlean::libtorch {
namespace {

uint32_t device_count(const tl_instance &instance) {
  return instance.is_on_cuda() ? cuda::count() : 1;
}

c10::DeviceIndex checked_index(const tl_instance &instance, uint32_t index) {
  const uint32_t devices = device_count(instance);
  if (index >= devices)
    throw invalid("index is " + std::to_string(index) + ", expected " +
                  (devices == 1 ? "0" : "less than " + std::to_string(devices)));
  return static_cast<c10::DeviceIndex>(index);
}

void count(tl_instance &instance, uint32_t *out_count) {
  expect_given("out_count", out_count);
  *out_count = device_count(instance);
}

void select(tl_instance &instance, uint32_t index) {
  const c10::DeviceIndex checked = checked_index(instance, index);
  if (!instance.is_on_cuda()) return;
  cuda::prepare(checked);
  instance.cuda_device = checked;
}

tl_device_properties host_properties() {
  tl_device_properties values{};
  processor_name().copy(values.name, sizeof(values.name) - 1);
  values.multiprocessor_count = std::thread::hardware_concurrency();
  values.total_bytes = bytes_of_pages(_SC_PHYS_PAGES);
  return values;
}

void properties(tl_instance &instance, uint32_t index, tl_device_properties *out) {
  const c10::DeviceIndex checked = checked_index(instance, index);
  hand_back(out, instance.is_on_cuda() ? cuda::properties(checked) : host_properties());
}

tl_memory_info host_memory_info() {
  tl_memory_info values{};
  values.allocated_bytes = allocated_bytes().now();
  values.reserved_bytes = host_blocks().reserved().now();
  values.peak_allocated_bytes = allocated_bytes().peak();
  values.peak_reserved_bytes = host_blocks().reserved().peak();
  values.device_free_bytes = bytes_of_pages(_SC_AVPHYS_PAGES);
  values.device_total_bytes = bytes_of_pages(_SC_PHYS_PAGES);
  return values;
}

void memory_info(tl_instance &instance, tl_memory_info *out) {
  hand_back(out,
            instance.is_on_cuda() ? cuda::memory_info(instance.cuda_device) : host_memory_info());
}

// On the host calls are complete when they return.
void synchronize(tl_instance &instance) {
  if (instance.is_on_cuda()) cuda::synchronize(instance.cuda_device);
}

void empty_cache(tl_instance &instance) {
  host_blocks().trim();
  if (instance.is_on_cuda()) cuda::empty_cache();
}

void set_setting(tl_instance &instance, tl_setting setting, uint32_t value) {
  if (instance.is_on_cuda()) {
    cuda::set_setting(setting, value != 0);
  } else if (setting != TL_SETTING_DETERMINISTIC) {
    throw Failure(TL_UNSUPPORTED,
                  "setting " + std::to_string(setting) + " has no meaning on a host");
  }
  if (setting == TL_SETTING_DETERMINISTIC) instance.deterministic = value != 0;
}

// What tl_host.alloc gives is capped by the core.
void set_memory_fraction(tl_instance &instance, double fraction) {
  if (!(fraction > 0 && fraction <= 1))
    throw invalid("fraction is " + std::to_string(fraction) + ", expected 0 < fraction <= 1");
  if (instance.is_on_cuda()) cuda::set_memory_fraction(instance.cuda_device, fraction);
}

void set_num_threads(tl_instance &instance, uint32_t threads) { set_threads(instance, threads); }

void num_threads(tl_instance &instance, uint32_t *out_threads) {
  expect_given("out_threads", out_threads);
  *out_threads = static_cast<uint32_t>(instance.threads.load());
}

void versions(tl_instance &instance, uint32_t *out_driver, uint32_t *out_runtime) {
  expect_given("out_driver", out_driver);
  expect_given("out_runtime", out_runtime);
  *out_driver = instance.is_on_cuda() ? cuda::driver_version() : 0;
  *out_runtime = instance.is_on_cuda() ? cuda::runtime_version() : 0;
}

}  // namespace

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
