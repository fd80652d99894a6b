// Helpers for backends and layers written in C++: the list of all entries, errors, argument checks,
// catch-all wrappers.
//
// Header only; nothing in here crosses the ABI. A backend in another language needs backend.h
// alone.
#pragma once

#include <torchlean/backend.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace torchlean {

// One entry of the table: which sub-table of BackendVTable, which member of it, and their names.
// `(vtable.*family)->*member` is its function pointer.
template <auto Family, auto Member>
struct Entry {
  static constexpr auto family = Family;
  static constexpr auto member = Member;
  const char *family_name;
  const char *name;
};

// Calls visit(Entry<...>) for every entry of every family, in the order of backend.h. The core
// checks at compile time that none is missing.
template <class Visitor>
constexpr void for_each_entry(Visitor &&visit) {
  visit(Entry<&BackendVTable::device, &tl_device_table::count>{"device", "count"});
  visit(Entry<&BackendVTable::device, &tl_device_table::select>{"device", "select"});
  visit(Entry<&BackendVTable::device, &tl_device_table::properties>{"device", "properties"});
  visit(Entry<&BackendVTable::device, &tl_device_table::memory_info>{"device", "memory_info"});
  visit(Entry<&BackendVTable::device, &tl_device_table::synchronize>{"device", "synchronize"});
  visit(Entry<&BackendVTable::device, &tl_device_table::empty_cache>{"device", "empty_cache"});
  visit(Entry<&BackendVTable::device, &tl_device_table::set_setting>{"device", "set_setting"});
  visit(Entry<&BackendVTable::device, &tl_device_table::set_memory_fraction>{
      "device", "set_memory_fraction"});
  visit(Entry<&BackendVTable::device, &tl_device_table::set_num_threads>{"device",
                                                                         "set_num_threads"});
  visit(Entry<&BackendVTable::device, &tl_device_table::num_threads>{"device", "num_threads"});
  visit(Entry<&BackendVTable::device, &tl_device_table::versions>{"device", "versions"});
  visit(Entry<&BackendVTable::memory, &tl_memory_table::release>{"memory", "release"});
  visit(Entry<&BackendVTable::memory, &tl_memory_table::fill>{"memory", "fill"});
  visit(Entry<&BackendVTable::memory, &tl_memory_table::copy>{"memory", "copy"});
  visit(Entry<&BackendVTable::transfer, &tl_transfer_table::upload>{"transfer", "upload"});
  visit(Entry<&BackendVTable::transfer, &tl_transfer_table::download>{"transfer", "download"});
  visit(Entry<&BackendVTable::random, &tl_random_table::generate>{"random", "generate"});
  visit(Entry<&BackendVTable::elementwise, &tl_elementwise_table::unary>{"elementwise", "unary"});
  visit(Entry<&BackendVTable::elementwise, &tl_elementwise_table::binary>{"elementwise", "binary"});
  visit(Entry<&BackendVTable::elementwise, &tl_elementwise_table::select_bwd>{"elementwise",
                                                                              "select_bwd"});
  visit(Entry<&BackendVTable::optimizer, &tl_optimizer_table::adam_step>{"optimizer", "adam_step"});
  visit(Entry<&BackendVTable::reduction, &tl_reduction_table::reduce>{"reduction", "reduce"});
  visit(Entry<&BackendVTable::reduction, &tl_reduction_table::sum_to_shape>{"reduction",
                                                                            "sum_to_shape"});
  visit(Entry<&BackendVTable::reduction, &tl_reduction_table::row_mask>{"reduction", "row_mask"});
  visit(Entry<&BackendVTable::view, &tl_view_table::concat>{"view", "concat"});
  visit(Entry<&BackendVTable::view, &tl_view_table::slice>{"view", "slice"});
  visit(Entry<&BackendVTable::view, &tl_view_table::broadcast>{"view", "broadcast"});
  visit(Entry<&BackendVTable::view, &tl_view_table::swap>{"view", "swap"});
  visit(
      Entry<&BackendVTable::indexing, &tl_indexing_table::gather_rows>{"indexing", "gather_rows"});
  visit(Entry<&BackendVTable::indexing, &tl_indexing_table::scatter_add_rows>{"indexing",
                                                                              "scatter_add_rows"});
  visit(Entry<&BackendVTable::matmul, &tl_matmul_table::bmm>{"matmul", "bmm"});
  visit(Entry<&BackendVTable::matmul, &tl_matmul_table::bmm_scaled>{"matmul", "bmm_scaled"});
  visit(Entry<&BackendVTable::matmul, &tl_matmul_table::dgemm>{"matmul", "dgemm"});
  visit(Entry<&BackendVTable::normalization, &tl_normalization_table::softmax>{"normalization",
                                                                               "softmax"});
  visit(Entry<&BackendVTable::normalization, &tl_normalization_table::masked_softmax>{
      "normalization", "masked_softmax"});
  visit(Entry<&BackendVTable::normalization, &tl_normalization_table::layer_norm>{"normalization",
                                                                                  "layer_norm"});
  visit(Entry<&BackendVTable::normalization, &tl_normalization_table::layer_norm_bwd>{
      "normalization", "layer_norm_bwd"});
  visit(Entry<&BackendVTable::loss, &tl_loss_table::loss>{"loss", "loss"});
  visit(Entry<&BackendVTable::fourier, &tl_fourier_table::transform>{"fourier", "transform"});
  visit(Entry<&BackendVTable::scan, &tl_scan_table::forward>{"scan", "forward"});
  visit(Entry<&BackendVTable::scan, &tl_scan_table::backward>{"scan", "backward"});
  visit(
      Entry<&BackendVTable::convolution, &tl_convolution_table::forward>{"convolution", "forward"});
  visit(Entry<&BackendVTable::convolution, &tl_convolution_table::backward>{"convolution",
                                                                            "backward"});
  visit(Entry<&BackendVTable::pooling, &tl_pooling_table::forward>{"pooling", "forward"});
  visit(Entry<&BackendVTable::pooling, &tl_pooling_table::backward>{"pooling", "backward"});
}

// Whether the row of an operation admits a dtype.
constexpr bool admits(tl_operation operation, tl_dtype dtype) {
  constexpr bool native[] = {true, true, false};
  constexpr bool float64[] = {false, true, false};
  constexpr bool encoded[] = {false, false, true};
  constexpr bool any[] = {true, true, true};
  if (dtype >= TL_DTYPE_COUNT) return false;
  switch (operation) {
#define TL_OPERATION(name, family, entry, enumerator, accuracy, state, runtime, lean, dtypes) \
  case TL_OP_##name:                                                                          \
    return dtypes[dtype];
#include <torchlean/operations.def>
#undef TL_OPERATION
    default: return false;
  }
}

// Whether the table has the entry that the operation's row names, and the row admits the dtype.
inline bool has_kernel(const BackendVTable &vtable, tl_operation operation, tl_dtype dtype) {
  switch (operation) {
#define TL_OPERATION(name, family, entry, ...) \
  case TL_OP_##name:                           \
    return vtable.family != nullptr && vtable.family->entry != nullptr && admits(operation, dtype);
#include <torchlean/operations.def>
#undef TL_OPERATION
    default: return false;
  }
}

// `supports` of a backend whose kernels know every enumerator of their entry and every dtype of its
// operations.
inline tl_status supports_by_table(const BackendVTable &vtable, const tl_host &host,
                                   tl_operation operation, tl_dtype dtype) {
  if (has_kernel(vtable, operation, dtype)) return TL_OK;
  host.set_error("this backend does not have this operation for this dtype");
  return TL_UNSUPPORTED;
}

// What an entry point asks first: whether the core is of the backend's build, as ABI 0 demands.
// If not, the host has the reason, and the entry point returns NULL.
inline bool is_of_this_build(const tl_host &host) {
  if (host.abi_version == TL_ABI_VERSION && host.struct_size >= sizeof(tl_host)) return true;
  host.set_error("core and backend are of different builds, and ABI 0 is not frozen");
  return false;
}

// ---- Errors -------------------------------------------------------------------------------------

// What a kernel throws to end its call with a status and a text.
class Failure : public std::exception {
 public:
  Failure(tl_status status, std::string text) : status_(status), text_(std::move(text)) {}
  tl_status status() const noexcept { return status_; }
  const char *what() const noexcept override { return text_.c_str(); }

 private:
  tl_status status_;
  std::string text_;
};

// Turns the exception under way into a status, leaving its text with the host, with the entry's
// name in front if one is given. Backends whose library has exceptions of its own (out of memory,
// device lost) catch those first and end here.
inline tl_status status_of_current_exception(const tl_host &host,
                                             const char *entry = nullptr) noexcept {
  const auto explain = [&](tl_status status, const char *text) {
    try {
      host.set_error(entry == nullptr ? text : (std::string(entry) + ": " + text).c_str());
    } catch (...) {
      host.set_error(text);
    }
    return status;
  };
  try {
    throw;
  } catch (const Failure &failure) {
    return explain(failure.status(), failure.what());
  } catch (const std::bad_alloc &) {
    return explain(TL_OUT_OF_MEMORY, "host memory is exhausted");
  } catch (const std::exception &error) {
    return explain(TL_INTERNAL, error.what());
  } catch (...) {
    return explain(TL_INTERNAL, "an exception of unknown type");
  }
}

inline Failure invalid(std::string text) { return {TL_INVALID_ARGUMENT, std::move(text)}; }

inline Failure unknown(const char *argument, uint64_t value) {
  return {TL_UNSUPPORTED,
          std::string(argument) + " " + std::to_string(value) + " is not known here"};
}

// ---- Arguments ----------------------------------------------------------------------------------

inline void expect_equal(std::string_view what, uint64_t value, uint64_t expected) {
  if (value != expected)
    throw invalid(std::string(what) + " is " + std::to_string(value) + ", expected " +
                  std::to_string(expected));
}

inline void expect_given(const char *argument, const void *pointer) {
  if (pointer == nullptr) throw invalid(std::string(argument) + " is NULL");
}

// A caller's structure, whose form may be older (missing members read as zero) or newer (members
// that are not known here are ignored). Throws where it is smaller than its first form.
template <class Structure>
Structure known_part(const char *argument, const Structure *given,
                     size_t first_form = sizeof(Structure)) {
  expect_given(argument, given);
  if (given->struct_size < first_form)
    throw invalid(std::string(argument) + ".struct_size is " + std::to_string(given->struct_size) +
                  ", expected at least " + std::to_string(first_form));
  Structure known{};
  std::memcpy(&known, given, std::min(given->struct_size, sizeof(Structure)));
  return known;
}

// The parameters of a convolution, its enumerator and its groups checked.
inline tl_convolution_params known_convolution(tl_convolution_op op,
                                               const tl_convolution_params *given) {
  const tl_convolution_params params = known_part("params", given);
  if (op >= TL_CONVOLUTION_OP_COUNT) throw unknown("op", op);
  if (params.groups == 0 || params.in_channels % params.groups != 0 ||
      params.out_channels % params.groups != 0)
    throw invalid("params.groups is " + std::to_string(params.groups) + ", expected a divisor of " +
                  std::to_string(params.in_channels) + " input and " +
                  std::to_string(params.out_channels) + " output channels");
  expect_equal("params.dense_kernel", params.dense_kernel, 1);
  return params;
}

// The parameters of a pool, its enumerator checked.
inline tl_pooling_params known_pooling(tl_pooling_op op, const tl_pooling_params *given) {
  const tl_pooling_params params = known_part("params", given);
  if (op >= TL_POOLING_OP_COUNT) throw unknown("op", op);
  return params;
}

template <class T>
inline constexpr tl_dtype native_dtype = sizeof(T) == sizeof(float) ? TL_FLOAT32 : TL_FLOAT64;

// Calls kernel with a zero of the C++ type of a native dtype.
template <class Kernel>
void with_native(tl_dtype dtype, Kernel kernel) {
  switch (dtype) {
    case TL_FLOAT32: return kernel(0.0F);
    case TL_FLOAT64: return kernel(0.0);
    default: throw unknown("dtype", dtype);
  }
}

// ---- Entries ------------------------------------------------------------------------------------

namespace detail {
template <auto Function, auto Translate>
struct Guarded;

template <class... Arguments, void (*Function)(Arguments...), auto Translate>
struct Guarded<Function, Translate> {
  static tl_status call(Arguments... arguments) noexcept {
    try {
      Function(arguments...);
      return TL_OK;
    } catch (...) {
      return Translate();
    }
  }
};
}  // namespace detail

// The entry for a kernel `void Function(arguments...)` that reports failure by throwing.
// Translate() is called inside the catch-all and returns the status: usually
// status_of_current_exception(host).
template <auto Function, auto Translate>
inline constexpr auto guarded = &detail::Guarded<Function, Translate>::call;

// The name of an entry, as a template argument.
template <size_t size>
struct EntryName {
  consteval EntryName(const char (&name)[size]) { std::copy_n(name, size, text); }
  char text[size];
};

namespace detail {
template <EntryName name, auto Kernel, class Scope, auto Status>
struct KernelEntry;

template <EntryName name, class... Arguments, void (*Kernel)(tl_instance &, Arguments...),
          class Scope, auto Status>
struct KernelEntry<name, Kernel, Scope, Status> {
  static void run(tl_instance *instance, Arguments... arguments) {
    expect_given("instance", instance);
    [[maybe_unused]] const Scope scope(*instance);
    Kernel(*instance, arguments...);
  }
  static tl_status status() noexcept { return Status(name.text); }
};
}  // namespace detail

// The entry for a kernel `void Kernel(tl_instance &, arguments...)`: a Scope made from the instance
// lives as long as the call; Status(name) ends a failed one inside the catch-all.
template <EntryName name, auto Kernel, class Scope, auto Status>
inline constexpr auto kernel_entry =
    guarded<&detail::KernelEntry<name, Kernel, Scope, Status>::run,
            &detail::KernelEntry<name, Kernel, Scope, Status>::status>;

}  // namespace torchlean
