// One operation under way: the frame that every function of core/dispatch shares.
//
// A Call enters the exit gate, pins its inputs, checks what they have in common, sets the
// floating-point state, hands the work to the backend and turns the storages that come back into
// handles. Its checks may be called one after the other without looking: after the first failure
// the later ones do nothing.
//
//   tl_status tl_scale(const tl_buffer *x, double factor, tl_buffer **out) {
//     Call call(TL_OP_scale);
//     const tl_operand *operand = call.native("x", x);
//     if (call.failed()) return call.status();
//     const tl_scalars scalars = call.scalars(factor);
//     return call.result(out, operand->count, [&](Backend &backend, tl_storage **storage) {
//       return backend.elementwise.unary(backend.instance, TL_UNARY_SCALE, operand, &scalars, 0,
//       storage);
//     });
//   }
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "buffers/handle.hpp"
#include "dispatch/operations.hpp"
#include "status/error.hpp"
#include "status/float_environment.hpp"

namespace torchlean {

inline constexpr std::uint64_t largest_count = 0xFFFFFFFF;  // elements of a buffer
inline constexpr std::size_t largest_rank = 64;             // entries of a list of dimensions

class Call {
 public:
  explicit Call(tl_operation operation) noexcept;
  ~Call();
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  bool failed() const noexcept { return status_ != TL_OK; }
  tl_status status() const noexcept { return status_; }
  const char *name() const noexcept { return operation_name(operation_); }

  // Ends the call with an error; the text starts with the operation's name.
  template <class... Arguments>
  tl_status refuse(tl_status status, fmt::format_string<Arguments...> format,
                   Arguments &&...arguments) noexcept {
    if (failed()) return status_;
    status_ = status;
    return explain(fmt::string_view(format), fmt::make_format_args(arguments...));
  }

  // Pins an input; `argument` names it in messages. All inputs must live on one backend. Native
  // inputs must have one dtype. Null after a failure.
  const tl_operand *native(const char *argument, const tl_buffer *buffer) noexcept;
  const tl_operand *any(const char *argument, const tl_buffer *buffer) noexcept;

  // For operations without inputs: results go to the thread's current backend.
  void create(tl_dtype dtype) noexcept;
  void create_encoded(const tl_format &format, std::uint32_t width) noexcept;

  void check_native(const char *argument, tl_dtype dtype) noexcept;
  void check_count(const char *argument, const tl_operand *operand, std::uint64_t expected,
                   const char *expectation) noexcept;
  void check_same_count(const char *argument, const tl_operand *operand,
                        const tl_operand *first) noexcept;
  void check_flag(const char *argument, std::uint32_t flag) noexcept;
  void check_positive(const char *argument, std::uint64_t value) noexcept;

  // The product of dims; a zero anywhere makes it 0. A product beyond 64 bits ends the call.
  std::uint64_t product(const char *argument, std::span<const std::uint64_t> dims) noexcept;

  // A caller's list of dimensions; more than 64 entries, or NULL with a length, end the call.
  std::span<const std::uint64_t> list(const char *argument, const std::uint64_t *values,
                                      std::size_t length) noexcept;

  // Host scalars, rounded to the dtype of the call.
  double rounded(double value) const noexcept {
    return dtype_ == TL_FLOAT32 ? static_cast<double>(static_cast<float>(value)) : value;
  }
  tl_scalars scalars(double first = 0.0, double second = 0.0) const noexcept {
    return {.struct_size = sizeof(tl_scalars), .scalar = {rounded(first), rounded(second)}};
  }

  Backend &backend() const noexcept { return *backend_; }

  // Runs kernel(backend, storage pointers...) and makes handles of `counts` elements of the call's
  // kind from what it writes. Where all counts are 0 the kernel is not run. On failure no *out is
  // written.
  template <std::size_t N, class Kernel>
  tl_status results(const std::array<tl_buffer **, N> &out,
                    const std::array<std::uint64_t, N> &counts, const Kernel &kernel) noexcept {
    std::array<tl_buffer *, N> handles = {};
    std::array<tl_storage *, N> storages = {};
    if (!prepare(out, counts, handles)) return status_;
    bool is_empty = true;
    for (const std::uint64_t count : counts) is_empty = is_empty && count == 0;
    const tl_status status =
        is_empty ? refusal_of_null_backend() : kernel(*backend_, storages.data());
    return complete(status, out, handles, storages);
  }

  template <class Kernel>
  tl_status result(tl_buffer **out, std::uint64_t count, const Kernel &kernel) noexcept {
    return results<1>({out}, {count}, kernel);
  }

  // For results that need no kernel: every element is `value`, which is rounded already.
  template <std::size_t N>
  tl_status filled(const std::array<tl_buffer **, N> &out,
                   const std::array<std::uint64_t, N> &counts, double value) noexcept {
    return results<N>(out, counts, [&](Backend &, tl_storage **storages) {
      return fill_all(counts, value, storages);
    });
  }

  // For operations without a buffer result: what the backend answered, with its reason.
  tl_status finish(tl_status status) noexcept;

 private:
  static constexpr std::size_t most_inputs = 6;

  tl_status explain(fmt::string_view format, fmt::format_args arguments) noexcept;
  const tl_operand *pin(const char *argument, const tl_buffer *buffer,
                        bool allows_encoded) noexcept;
  bool take_backend_of(const tl_buffer &buffer) noexcept;
  bool prepare(std::span<tl_buffer **const> out, std::span<const std::uint64_t> counts,
               std::span<tl_buffer *> handles) noexcept;
  tl_status complete(tl_status status, std::span<tl_buffer **const> out,
                     std::span<tl_buffer *const> handles,
                     std::span<tl_storage *const> storages) noexcept;
  tl_status refusal_of_null_backend() noexcept;
  tl_status fill_all(std::span<const std::uint64_t> counts, double value,
                     tl_storage **storages) noexcept;

  const tl_operation operation_;
  bool is_inside_ = false;
  ThreadState &thread_;
  tl_status status_ = TL_OK;
  Backend *backend_ = nullptr;
  tl_dtype dtype_ = TL_FLOAT32;
  std::uint32_t width_ = 0;  // 0: the kind is not known yet
  tl_format format_ = {};
  std::size_t input_count_ = 0;
  std::array<tl_buffer *, most_inputs> inputs_;
  std::array<tl_operand, most_inputs> operands_;
  DefaultFloatEnvironment float_environment_;
};

// Bytes per element of a native dtype.
constexpr std::uint32_t native_width(tl_dtype dtype) { return dtype == TL_FLOAT32 ? 4 : 8; }

const char *dtype_name(tl_dtype dtype) noexcept;

bool same_format(const tl_format &a, const tl_format &b) noexcept;

}  // namespace torchlean
