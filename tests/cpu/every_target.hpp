// The cpu backend with each set of vector instructions that there is here.
#pragma once

#include "reference/fixture.hpp"

#include <memory>

namespace torchlean::test {

// A backend that computes with one set; none where this processor or build does not have it.
inline std::unique_ptr<Backend> forced(const char *target) {
  const BackendVTable *const table = torchlean_backend_entry(&test_host);
  options["TORCHLEAN_CPU_TARGET"] = target;
  const tl_create_options how = {sizeof how, "cpu", 0, 0, nullptr};
  tl_instance *instance = nullptr;
  const tl_status status = table->create(&how, &instance);
  std::unique_ptr<Backend> backend;
  if (status == TL_OK) {
    table->destroy(instance);
    backend = std::make_unique<Backend>();
  } else {
    CHECK(status == TL_UNAVAILABLE);
    CHECK(error_text.find(std::string("TORCHLEAN_CPU_TARGET is '") + target) == 0);
  }
  options.clear();
  return backend;
}

inline std::vector<std::unique_ptr<Backend>> every_target() {
  std::vector<std::unique_ptr<Backend>> backends;
  for (const char *target : {"baseline", "avx2", "avx512"})
    if (std::unique_ptr<Backend> backend = forced(target)) backends.push_back(std::move(backend));
  REQUIRE(!backends.empty());
  return backends;
}

inline void set_threads(Backend &backend, uint32_t threads) {
  REQUIRE(backend.table->device->set_num_threads(backend.instance, threads) == TL_OK);
}

}  // namespace torchlean::test
