// Devices, settings and figures.
#include "instance.hpp"

#include <string>

namespace torchlean::cuda {

namespace {

void count(tl_instance *, uint32_t *out_count) { *out_count = device::count(); }

void check_index(const char *operation, uint32_t index) {
  if (index >= device::count()) {
    throw Failure(TL_INVALID_ARGUMENT, std::string(operation) + ": index is " +
                                           std::to_string(index) + ", expected less than " +
                                           std::to_string(device::count()));
  }
}

void select(tl_instance *instance, uint32_t index) {
  check_index("select", index);
  instance->select(index);
}

void properties(tl_instance *, uint32_t index, tl_device_properties *out) {
  check_index("properties", index);
  tl_device_properties all{};
  device::describe(index, all);
  give("out", all, out);
}

void memory_info(tl_instance *instance, tl_memory_info *out) {
  tl_memory_info all{};
  device::memory_info(*instance->stream, all);
  give("out", all, out);
}

void synchronize(tl_instance *instance) { device::synchronize(*instance->stream, "synchronize"); }

void empty_cache(tl_instance *instance) { device::empty_cache(*instance->stream); }

void set_setting(tl_instance *instance, tl_setting setting, uint32_t value) {
  switch (setting) {
    case TL_SETTING_DETERMINISTIC: instance->deterministic = value != 0; return;
    case TL_SETTING_MATMUL_TF32: instance->tf32_products = value != 0; return;
    default:
      throw Failure(TL_UNSUPPORTED,
                    "set_setting: setting " + std::to_string(setting) + " has no effect here");
  }
}

void set_memory_fraction(tl_instance *instance, double fraction) {
  if (!(fraction > 0 && fraction <= 1)) {
    throw Failure(TL_INVALID_ARGUMENT, "set_memory_fraction: fraction is " +
                                           std::to_string(fraction) +
                                           ", expected above 0 and at most 1");
  }
  device::set_memory_fraction(*instance->stream, fraction);
}

void versions(tl_instance *, uint32_t *out_driver, uint32_t *out_runtime) {
  device::versions(*out_driver, *out_runtime);
}

}  // namespace

const tl_device_table device_table = {
    .struct_size = sizeof(tl_device_table),
    .count = entry<count>,
    .select = entry<select>,
    .properties = entry<properties>,
    .memory_info = entry<memory_info>,
    .synchronize = entry<synchronize>,
    .empty_cache = entry<empty_cache>,
    .set_setting = entry<set_setting>,
    .set_memory_fraction = entry<set_memory_fraction>,
    .set_num_threads = nullptr,
    .num_threads = nullptr,
    .versions = entry<versions>,
};

}  // namespace torchlean::cuda
