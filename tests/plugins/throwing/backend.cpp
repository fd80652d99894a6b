// A backend whose every result is an exception, thrown and caught inside (rule B5). THROWING_NAME
// is the name that it goes by.
//
// rand_uniform is all it has; the key chooses the exception. It links a shared libstdc++, as
// backends of other authors do.
#include <torchlean/backend.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

struct tl_instance {};

namespace {

using namespace torchlean;

const tl_host *host = nullptr;

tl_status translate() {
  const tl_status status = status_of_current_exception(*host);
  return status == TL_INTERNAL ? TL_DEVICE_ERROR : status;
}

void throw_on_a_thread() {
  std::exception_ptr caught;
  std::thread([&] {
    try {
      throw std::runtime_error("thrown on a thread");
    } catch (...) {
      caught = std::current_exception();
    }
  }).join();
  std::rethrow_exception(caught);
}

void generate(tl_instance *, tl_random_op, tl_dtype, uint64_t, uint64_t key, const tl_scalars *,
              tl_flags, tl_storage **) {
  if (key == 1) static_cast<void>(std::string("short").at(100));  // thrown by libstdc++'s own code
  if (key == 2) throw_on_a_thread();
  throw std::runtime_error("thrown by the backend itself");
}

tl_status count(tl_instance *, uint32_t *out) {
  *out = 1;
  return TL_OK;
}

tl_status synchronize(tl_instance *) { return TL_OK; }

void release(tl_instance *, tl_storage *) {}

tl_status create(const tl_create_options *, tl_instance **out) {
  *out = new tl_instance;
  return TL_OK;
}

void destroy(tl_instance *instance) { delete instance; }

tl_status supports(tl_instance *, tl_operation operation, tl_dtype) {
  return operation == TL_OP_rand_uniform ? TL_OK : TL_UNSUPPORTED;
}

// What is not set stays NULL: the core answers TL_UNSUPPORTED there.
constexpr tl_device_table device_table = [] {
  tl_device_table table = {};
  table.struct_size = sizeof table;
  table.count = count;
  table.synchronize = synchronize;
  return table;
}();

constexpr tl_memory_table memory_table = [] {
  tl_memory_table table = {};
  table.struct_size = sizeof table;
  table.release = release;
  return table;
}();

constexpr tl_random_table random_table = {
    .struct_size = sizeof(tl_random_table),
    .generate = guarded<generate, translate>,
};

constexpr BackendVTable backend_table = [] {
  BackendVTable table = {};
  table.struct_size = sizeof table;
  table.magic = TL_BACKEND_MAGIC;
  table.abi_version = TL_ABI_VERSION;
  table.name = THROWING_NAME;
  table.version = "0.1.0";
  table.library = "";
  table.create = create;
  table.destroy = destroy;
  table.supports = supports;
  table.device = &device_table;
  table.memory = &memory_table;
  table.random = &random_table;
  return table;
}();

}  // namespace

TL_BACKEND_NOTE(THROWING_NAME, TL_NOTE_CXX_RUNTIME | TL_NOTE_TEST_ONLY, "", "", "");

extern "C" const BackendVTable *torchlean_backend_entry(const tl_host *given) {
  host = given;
  return &backend_table;
}
