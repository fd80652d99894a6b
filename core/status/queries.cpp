// The C API's tables: attempts, variables, operations, backends.
#include "buffers/gate.hpp"
#include "dispatch/operations.hpp"
#include "loader/attempts.hpp"
#include "selection/runtime.hpp"
#include "selection/variables.hpp"
#include "status/structs.hpp"

using namespace torchlean;

extern "C" {

size_t tl_attempt_count(void) { return attempts::count(); }

tl_status tl_get_attempt(size_t index, tl_attempt *out) {
  tl_attempt attempt = {};
  if (!attempts::get(index, attempt)) {
    return fail(TL_INVALID_ARGUMENT, "get_attempt: index is {}, expected less than {}", index,
                attempts::count());
  }
  return write_struct("get_attempt", out, attempt);
}

size_t tl_variable_count(void) { return variables().size(); }

tl_status tl_get_variable(size_t index, tl_variable *out) {
  return guard("get_variable", [&]() -> tl_status {
    if (index >= variables().size()) {
      return fail(TL_INVALID_ARGUMENT, "get_variable: index is {}, expected less than {}", index,
                  variables().size());
    }
    const Variable &variable = variables()[index];
    return write_struct("get_variable", out,
                        {.struct_size = 0,
                         .name = variable.name,
                         .fallback = variable.fallback,
                         .allowed = variable.allowed,
                         .meaning = variable.meaning,
                         .value = variable.value.c_str(),
                         .error = variable.error.c_str(),
                         .is_set = variable.is_set ? 1U : 0U});
  });
}

tl_status tl_get_operation(tl_operation operation, tl_operation_info *out) {
  if (operation >= TL_OP_COUNT) {
    return fail(TL_INVALID_ARGUMENT, "get_operation: operation is {}, expected less than {}",
                operation, static_cast<tl_operation>(TL_OP_COUNT));
  }
  const OperationRow &row = operation_rows[operation];
  return write_struct("get_operation", out,
                      {.struct_size = 0,
                       .name = row.name,
                       .family = row.family,
                       .entry = row.entry,
                       .accuracy = row.accuracy,
                       .runtime = row.runtime,
                       .lean = row.lean,
                       .is_compared = std::string_view(row.state) == "compared" ? 1U : 0U});
}

tl_status tl_get_backend_info(tl_backend *backend, tl_backend_info *out) {
  const GateEntry inside;
  if (!inside) return gate().refusal("backend_info");
  if (backend == nullptr) backend = current_backend("backend_info");
  if (backend == nullptr) return TL_UNAVAILABLE;
  ThreadState &thread = thread_state();
  thread.device_name[0] = '\0';
  tl_device_properties properties = {};
  properties.struct_size = sizeof properties;
  if (!backend->is_null && !backend->is_closed &&
      backend->device.properties(backend->instance, backend->device_index, &properties) == TL_OK) {
    std::memcpy(thread.device_name, properties.name, sizeof properties.name);
    thread.device_name[sizeof thread.device_name - 1] = '\0';
  }
  return write_struct("backend_info", out,
                      {.struct_size = 0,
                       .name = backend->name.c_str(),
                       .version = backend->version.c_str(),
                       .library = backend->library.c_str(),
                       .path = backend->path.c_str(),
                       .device = thread.device_name});
}

tl_status tl_supports(tl_backend *backend, tl_operation operation, tl_dtype dtype) {
  if (operation >= TL_OP_COUNT || dtype >= TL_DTYPE_COUNT) {
    return fail(TL_INVALID_ARGUMENT, "supports: operation {} or dtype {} does not exist", operation,
                dtype);
  }
  if (backend == nullptr) backend = current_backend("supports");
  if (backend == nullptr) return TL_UNAVAILABLE;
  if (backend->supported[dtype].test(operation)) return TL_OK;
  return fail(TL_UNSUPPORTED, "supports: {} does not have {}", backend->name,
              operation_rows[operation].name);
}

}  // extern "C"
