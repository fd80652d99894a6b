// tl_host: log, error text, options and host memory for backends.
#include "loader/host.hpp"

#include "buffers/host_memory.hpp"
#include "selection/variables.hpp"
#include "status/error.hpp"
#include "status/log.hpp"

namespace torchlean {
namespace {

void host_log(tl_log_level level, const char *text) { log(level, text == nullptr ? "" : text); }

void host_set_error(const char *text) { set_error(text == nullptr ? "" : text); }

const char *host_option(const char *name) {
  if (name == nullptr) return nullptr;
  for (const Variable &variable : variables()) {
    if (std::string_view(variable.name) == name) return variable.value.c_str();
  }
  return nullptr;
}

}  // namespace

const tl_host &host() {
  static constexpr tl_host table = {
      .struct_size = sizeof(tl_host),
      .abi_version = TL_ABI_VERSION,
      .reserved = 0,
      .log = host_log,
      .set_error = host_set_error,
      .option = host_option,
      .alloc = host_memory::allocate,
      .free = host_memory::release,
  };
  return table;
}

}  // namespace torchlean
