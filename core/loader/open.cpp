// The stages of opening a backend.
#include "loader/open.hpp"

#include <vector>  // Boost.DLL 1.74 forgets to include it
//
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <boost/dll/shared_library.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>

#include "layers/layers.hpp"
#include "loader/host.hpp"
#include "loader/library_search.hpp"
#include "loader/library_version.hpp"
#include "loader/self_test.hpp"
#include "loader/unwinder.hpp"
#include "status/error.hpp"
#include "status/float_environment.hpp"

// The null backend is compiled into the core (backends/null).
extern "C" const BackendVTable *torchlean_null_backend_entry(const tl_host *host);

namespace torchlean {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitizer_build = true;
#else
constexpr bool is_sanitizer_build = false;
#endif

// A file has been opened deep-bound. The libstdc++ that it brought along is bound to libgcc_s with
// it, so that later files may bind to it in the same way although it is loaded now.
std::atomic<bool> opened_deep{false};

BindingMode binding_mode(const UnwinderState &unwinders) {
  if (unwinders.mixed && opened_deep) return BindingMode::deep;
  return choose_binding(unwinders, is_sanitizer_build);
}

// What a stage throws to end the attempt.
struct Stop {
  tl_status status;
  std::string reason;
};

// A file whose entry has run. It stays open for good: its threads and thread-local destructors may
// run at any time. What its entry answered holds for good, too.
struct Module {
  boost::dll::shared_library library;
  const BackendVTable *vtable = nullptr;
  std::string refusal;  // why there is no table
};

// Files that are open, by path: several instances share one, and its entry is called once.
struct Modules {
  std::mutex mutex;
  std::map<std::string, Module> by_path;
};

Modules &modules() {
  static auto *instance = new Modules;
  return *instance;
}

// The text that a backend left with its status, or a sentence that says it left none.
std::string given_reason(const char *what) {
  const ThreadState &thread = thread_state();
  return thread.error_is_fresh ? thread.error_text
                               : fmt::format("{} failed without a reason", what);
}

void check_libraries(const ElfFacts &facts, Attempt &attempt) {
  const std::string mismatch = library_mismatch(facts);
  if (!mismatch.empty()) throw Stop{TL_UNAVAILABLE, mismatch};
  attempt.missing_libraries = fmt::format("{}", fmt::join(missing_libraries(facts), " "));
}

boost::dll::shared_library open_file(const Candidate &candidate, Attempt &attempt) {
  auto mode = boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local;
  if (candidate.has_flag(TL_NOTE_CXX_RUNTIME)) {
    const UnwinderState unwinders = inspect_unwinders();
    const BindingMode binding = binding_mode(unwinders);
    if (binding == BindingMode::refused) throw Stop{TL_UNAVAILABLE, binding_refusal(unwinders)};
    if (binding == BindingMode::deep) mode |= boost::dll::load_mode::rtld_deepbind;
  }
  boost::dll::shared_library library;
  std::error_code error;
  library.load(candidate.path, error, mode);
  if (error) {
    const char *words = dlerror();
    std::string reason = words != nullptr ? words : error.message();
    if (!attempt.missing_libraries.empty()) {
      reason += fmt::format(" (not found: {})", attempt.missing_libraries);
    }
    if (reason.find("cannot open shared object file") != std::string::npos) {
      reason += "; install what is missing, or put its folder into LD_LIBRARY_PATH";
    }
    throw Stop{TL_UNAVAILABLE, std::move(reason)};
  }
  if ((mode & boost::dll::load_mode::rtld_deepbind) != 0) opened_deep = true;
  return library;
}

tl_backend_entry_fn find_entry(const boost::dll::shared_library &library,
                               const std::filesystem::path &path) {
  void *symbol = dlsym(library.native(), "torchlean_backend_entry");
  if (symbol == nullptr) throw Stop{TL_UNAVAILABLE, "it does not define torchlean_backend_entry"};
  // A program's own symbol of that name, or a dependency's, must not be taken for it (rule L9).
  Dl_info info = {};
  std::error_code error;
  if (dladdr(symbol, &info) == 0 || info.dli_fname == nullptr ||
      !std::filesystem::equivalent(info.dli_fname, path, error)) {
    throw Stop{TL_UNAVAILABLE,
               fmt::format("its torchlean_backend_entry lies in another file, {}",
                           info.dli_fname == nullptr ? "which is unknown" : info.dli_fname)};
  }
  return reinterpret_cast<tl_backend_entry_fn>(symbol);
}

// Calls the entry; leaves its table, or why there is none, in the module.
void negotiate(tl_backend_entry_fn entry, const std::string &noted_name, Module &module) {
  thread_state().error_is_fresh = false;
  module.refusal = "its torchlean_backend_entry did not return";  // if it throws
  const BackendVTable *vtable = entry(&host());
  if (vtable == nullptr) {
    module.refusal = given_reason("torchlean_backend_entry");
    return;
  }
  module.refusal = reject_reason(vtable);
  if (!module.refusal.empty()) return;
  if (vtable->name != noted_name) {
    module.refusal =
        fmt::format("its table says that it is '{}', its note says '{}'", vtable->name, noted_name);
    return;
  }
  module.vtable = vtable;
}

// The file's table. Opens the file the first time.
const BackendVTable *table_of(const Candidate &candidate, Attempt &attempt) {
  Modules &all = modules();
  const std::lock_guard guard(all.mutex);
  Module &module = all.by_path[candidate.path.string()];
  if (!module.library.is_loaded()) {
    check_libraries(*candidate.elf.facts, attempt);
    boost::dll::shared_library library = open_file(candidate, attempt);
    attempt.stage = TL_STAGE_OPENED;
    const tl_backend_entry_fn entry = find_entry(library, candidate.path);
    module.library = std::move(library);
    negotiate(entry, candidate.name, module);
  }
  attempt.stage = TL_STAGE_ENTRY_FOUND;
  if (module.vtable == nullptr) throw Stop{TL_UNAVAILABLE, module.refusal};
  attempt.stage = TL_STAGE_NEGOTIATED;
  return module.vtable;
}

void read_coverage(Backend &backend, const BackendVTable &vtable, tl_instance *instance) {
  for (tl_dtype dtype = 0; dtype < TL_DTYPE_COUNT; ++dtype) {
    for (tl_operation operation = 0; operation < TL_OP_COUNT; ++operation) {
      if (vtable.supports(instance, operation, dtype) == TL_OK)
        backend.supported[dtype].set(operation);
    }
  }
}

std::unique_ptr<tl_backend> create(const BackendVTable &vtable, const tl_create_options &options,
                                   Attempt &attempt) {
  auto backend = std::make_unique<tl_backend>();
  thread_state().error_is_fresh = false;
  tl_instance *instance = nullptr;
  const tl_status status = vtable.create(&options, &instance);
  if (status != TL_OK) throw Stop{status, given_reason("create")};
  if (instance == nullptr) throw Stop{TL_INTERNAL, "create answered ok without an instance"};
  attempt.stage = TL_STAGE_CREATED;
  backend->instance = instance;
  backend->destroy_instance = vtable.destroy;

  backend->name = vtable.name;
  backend->version = vtable.version;
  backend->library = vtable.library;
  backend->path = attempt.path;
  backend->asked_device = attempt.device;
  read_coverage(*backend, vtable, instance);
  const LayeredInstance layered = wrap_in_layers(vtable, instance);
  static_cast<FullTable &>(*backend) = layered.table;
  backend->instance = layered.instance;
  backend->destroy_instance = layered.destroy;
  return backend;
}

void pass_stages(const Candidate &candidate, const OpenOptions &options, Attempt &attempt,
                 std::unique_ptr<tl_backend> &backend) {
  if (!candidate.is_plausible()) throw Stop{TL_UNAVAILABLE, candidate.problem};
  attempt.stage = TL_STAGE_INSPECTED;
  const BackendVTable *vtable = table_of(candidate, attempt);
  const tl_create_options create_options = {
      .struct_size = sizeof(tl_create_options),
      .device = options.device.c_str(),
      .num_threads = options.num_threads,
      .has_nvidia_driver = options.has_nvidia_driver ? 1U : 0U,
      .reason = nullptr,
  };
  backend = create(*vtable, create_options, attempt);
  const std::string failure = self_test(*backend);
  if (!failure.empty()) throw Stop{TL_INTERNAL, "self-test: " + failure};
  attempt.stage = TL_STAGE_USABLE;
}

}  // namespace

tl_backend *open_backend(const Candidate &candidate, const OpenOptions &options, Attempt &attempt) {
  // A library built with -ffast-math sets flush-to-zero when it is opened (rule B9).
  const KeepFloatEnvironment keep_float_environment;
  const DefaultFloatEnvironment default_float_environment;  // for create and the self-test
  const KeepErrorText keep_error_text;                      // what went wrong is in the attempt
  const OutsideOperations outside_operations;               // the self-test
  const auto start = std::chrono::steady_clock::now();
  attempt.name = candidate.name;
  attempt.path = candidate.path.string();
  attempt.device = options.device;
  if (candidate.elf.facts && candidate.elf.facts->note) {
    attempt.built_for = candidate.elf.facts->note->built_for;
  }
  std::unique_ptr<tl_backend> backend;
  try {
    pass_stages(candidate, options, attempt, backend);
  } catch (const Stop &stop) {
    attempt.status = stop.status;
    attempt.reason = stop.reason;
  } catch (...) {
    attempt.status = status_of_current_exception("an exception");
    attempt.reason = thread_state().error_text;
  }
  if (attempt.status != TL_OK) backend.reset();
  attempt.microseconds =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::steady_clock::now() - start)
                                     .count());
  return backend.release();
}

tl_backend *open_null_backend(const std::string &reason) {
  const BackendVTable *vtable = torchlean_null_backend_entry(&host());
  const tl_create_options options = {
      .struct_size = sizeof(tl_create_options),
      .device = "",
      .num_threads = 0,
      .has_nvidia_driver = 0,
      .reason = reason.c_str(),
  };
  auto backend = std::make_unique<tl_backend>();
  static_cast<FullTable &>(*backend) = complete(*vtable);
  if (vtable->create(&options, &backend->instance) != TL_OK) throw std::bad_alloc();
  backend->name = vtable->name;
  backend->version = vtable->version;
  backend->destroy_instance = vtable->destroy;
  backend->is_null = true;
  return backend.release();
}

BindingReport binding_report() {
  const UnwinderState unwinders = inspect_unwinders();
  switch (binding_mode(unwinders)) {
    case BindingMode::local: return {"local", "one unwinder serves the process"};
    case BindingMode::deep:
      return {"deep", fmt::format("the unwinder in {} is incomplete; C++ backends bind to libgcc_s",
                                  unwinders.raise_exception_file)};
    case BindingMode::refused: break;
  }
  return {"refused", binding_refusal(unwinders)};
}

}  // namespace torchlean
