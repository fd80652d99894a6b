// The self-test: does what comes back match what went in?
#include "loader/self_test.hpp"

#include <fmt/format.h>

#include <array>

#include "status/error.hpp"

namespace torchlean {
namespace {

constexpr std::size_t count = 3;
using Values = std::array<float, count>;

// A storage of the backend under test.
class Storage {
 public:
  explicit Storage(Backend &backend) : backend_(backend) {}
  ~Storage() {
    if (storage_ != nullptr) backend_.memory.release(backend_.instance, storage_);
  }
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;
  tl_storage **out() { return &storage_; }
  // A failed call has no result, whatever it wrote.
  void forget() { storage_ = nullptr; }
  tl_operand operand() const { return {storage_, count, TL_FLOAT32, sizeof(float)}; }

 private:
  Backend &backend_;
  tl_storage *storage_ = nullptr;
};

std::string failed(const char *step, tl_status status) {
  const ThreadState &thread = thread_state();
  return fmt::format("{} answered \"{}\"{}{}", step, status_name(status),
                     thread.error_is_fresh ? ": " : "",
                     thread.error_is_fresh ? thread.error_text : "");
}

// Makes a result and compares what is downloaded from it. Returns what went wrong.
template <class Make>
std::string check(Backend &backend, const char *step, Storage &result, const Values &expected,
                  const Make &make) {
  tl_status status = make(result.out());
  if (status != TL_OK) {
    result.forget();
    return failed(step, status);
  }
  const tl_operand operand = result.operand();
  if (operand.storage == nullptr) return fmt::format("{} answered ok without a result", step);
  Values got = {};
  status = backend.transfer.download(backend.instance, &operand, TL_FLOAT32, got.data());
  if (status != TL_OK) return failed("download", status);
  for (std::size_t i = 0; i < count; ++i) {
    if (got[i] != expected[i]) {
      return fmt::format("{} gave {} instead of {} at index {}", step, got[i], expected[i], i);
    }
  }
  return {};
}

}  // namespace

std::string self_test(Backend &backend) {
  thread_state().error_is_fresh = false;
  const auto has = [&](tl_operation operation) {
    return backend.supported[TL_FLOAT32].test(operation);
  };
  if (!has(TL_OP_upload) || !has(TL_OP_download)) return {};
  constexpr Values sent = {1.5F, -2.0F, 1024.0F};
  Storage uploaded(backend);
  std::string difference = check(backend, "upload", uploaded, sent, [&](tl_storage **out) {
    return backend.transfer.upload(backend.instance, sent.data(), TL_FLOAT32, TL_FLOAT32,
                                   sizeof(float), count, 0, out);
  });
  if (difference.empty() && has(TL_OP_full)) {
    Storage filled(backend);
    difference = check(backend, "fill", filled, {0.25F, 0.25F, 0.25F}, [&](tl_storage **out) {
      return backend.memory.fill(backend.instance, TL_FLOAT32, sizeof(float), count, 0.25, 0, out);
    });
  }
  if (difference.empty() && has(TL_OP_add)) {
    Storage sum(backend);
    const tl_operand operand = uploaded.operand();
    const tl_scalars scalars = {.struct_size = sizeof scalars, .scalar = {0.0, 0.0}};
    difference = check(backend, "add", sum, {3.0F, -4.0F, 2048.0F}, [&](tl_storage **out) {
      return backend.elementwise.binary(backend.instance, TL_BINARY_ADD, &operand, &operand,
                                        &scalars, 0, out);
    });
  }
  return difference;
}

}  // namespace torchlean
