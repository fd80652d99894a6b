// What the stress test calls at random: operations whose results are known exactly, and wrong
// calls.
#pragma once

#include <torchlean/runtime.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace stress {

using Random = std::minstd_rand;

inline std::uint64_t below(Random &random, std::uint64_t limit) { return random() % limit; }

// A buffer of equal elements, all of them small integers, so that sums and products are exact. Any
// thread may use it, and any may release it; the last one that holds it frees the handle.
struct Item {
  tl_buffer *handle = nullptr;
  std::size_t home = 0;  // on which backend
  tl_dtype dtype = TL_FLOAT32;
  std::uint64_t count = 0;
  double value = 0;
  mutable std::atomic<bool> may_be_released{false};  // set before it is

  Item() = default;
  Item(const Item &) = delete;
  Item &operator=(const Item &) = delete;
  ~Item() { tl_buffer_free(handle); }

  std::uint64_t bytes() const { return count * (dtype == TL_FLOAT32 ? 4 : 8); }
};

// One operation on two items of one kind and size (which may be the same one). All its results are
// alike.
struct Operation {
  tl_operation id;
  tl_status (*call)(const Item &x, const Item &y, tl_buffer **out);
  double (*value)(const Item &x, const Item &y);
  std::uint64_t (*count)(const Item &x) = [](const Item &x) { return x.count; };
  std::size_t results = 1;
};

template <tl_unary_op op>
tl_status call_unary(const Item &x, const Item &, tl_buffer **out) {
  return tl_unary(op, x.handle, out);
}
template <tl_binary_op op>
tl_status call_binary(const Item &x, const Item &y, tl_buffer **out) {
  return tl_binary(op, x.handle, y.handle, out);
}

inline std::uint64_t one(const Item &) { return 1; }

inline const std::vector<Operation> &operations() {
  static const std::vector<Operation> table = {
      {TL_OP_abs, call_unary<TL_UNARY_ABS>,
       [](const Item &x, const Item &) { return std::fabs(x.value); }},
      {TL_OP_neg, call_unary<TL_UNARY_NEG>, [](const Item &x, const Item &) { return -x.value; }},
      {TL_OP_relu, call_unary<TL_UNARY_RELU>,
       [](const Item &x, const Item &) { return x.value > 0 ? x.value : 0; }},
      {TL_OP_floor, call_unary<TL_UNARY_FLOOR>,
       [](const Item &x, const Item &) { return x.value; }},
      {TL_OP_scale,
       [](const Item &x, const Item &, tl_buffer **out) { return tl_scale(x.handle, 3, out); },
       [](const Item &x, const Item &) { return 3 * x.value; }},
      {TL_OP_clamp,
       [](const Item &x, const Item &, tl_buffer **out) { return tl_clamp(x.handle, -5, 5, out); },
       [](const Item &x, const Item &) { return std::fmin(std::fmax(x.value, -5), 5); }},
      {TL_OP_copy,
       [](const Item &x, const Item &, tl_buffer **out) { return tl_copy(x.handle, out); },
       [](const Item &x, const Item &) { return x.value; }},
      {TL_OP_duplicate,
       [](const Item &x, const Item &, tl_buffer **out) {
         return tl_duplicate(x.handle, &out[0], &out[1]);
       },
       [](const Item &x, const Item &) { return x.value; }, [](const Item &x) { return x.count; },
       2},
      {TL_OP_zeros_like,
       [](const Item &x, const Item &, tl_buffer **out) { return tl_zeros_like(x.handle, 7, out); },
       [](const Item &, const Item &) { return 0.0; },
       [](const Item &) { return std::uint64_t{7}; }},
      {TL_OP_add, call_binary<TL_BINARY_ADD>,
       [](const Item &x, const Item &y) { return x.value + y.value; }},
      {TL_OP_sub, call_binary<TL_BINARY_SUB>,
       [](const Item &x, const Item &y) { return x.value - y.value; }},
      {TL_OP_mul, call_binary<TL_BINARY_MUL>,
       [](const Item &x, const Item &y) { return x.value * y.value; }},
      {TL_OP_max, call_binary<TL_BINARY_MAX>,
       [](const Item &x, const Item &y) { return std::fmax(x.value, y.value); }},
      {TL_OP_min, call_binary<TL_BINARY_MIN>,
       [](const Item &x, const Item &y) { return std::fmin(x.value, y.value); }},
      {TL_OP_axpy,
       [](const Item &x, const Item &y, tl_buffer **out) {
         return tl_axpy(x.handle, y.handle, 2, out);
       },
       [](const Item &x, const Item &y) { return x.value + 2 * y.value; }},
      {TL_OP_reduce_sum,
       [](const Item &x, const Item &, tl_buffer **out) { return tl_reduce_sum(x.handle, out); },
       [](const Item &x, const Item &) { return static_cast<double>(x.count) * x.value; }, one},
      {TL_OP_reduce_max_by_row,
       [](const Item &x, const Item &, tl_buffer **out) {
         return tl_reduce_max_by_row(x.handle, 1, x.count, out);
       },
       [](const Item &x, const Item &) { return x.count == 0 ? 0.0 : x.value; }, one},
      {TL_OP_concat1d,
       [](const Item &x, const Item &, tl_buffer **out) {
         return tl_concat1d(x.handle, x.handle, x.count, x.count, out);
       },
       [](const Item &x, const Item &) { return x.value; },
       [](const Item &x) { return 2 * x.count; }},
      {TL_OP_slice1d,
       [](const Item &x, const Item &, tl_buffer **out) {
         return tl_slice1d(x.handle, x.count, x.count / 2, x.count - x.count / 2, out);
       },
       [](const Item &x, const Item &) { return x.value; },
       [](const Item &x) { return x.count - x.count / 2; }},
      {TL_OP_broadcast_vec_to_cols,
       [](const Item &x, const Item &, tl_buffer **out) {
         return tl_broadcast_vec_to_cols(x.handle, x.count, 3, out);
       },
       [](const Item &x, const Item &) { return x.value; },
       [](const Item &x) { return 3 * x.count; }},
      {TL_OP_bmm_with_transpose,
       [](const Item &x, const Item &y, tl_buffer **out) {
         return tl_bmm_with_transpose(x.handle, y.handle, 1, 1, x.count, 1, 0, 0, out);
       },
       [](const Item &x, const Item &y) {
         return static_cast<double>(x.count) * x.value * y.value;
       },
       one},
  };
  return table;
}

// A call that must be refused whatever the state of x and y, which are of different sizes.
struct WrongCall {
  const char *name;  // with which its message begins
  tl_status (*call)(const Item &x, const Item &y, tl_buffer **out);
};

inline const std::vector<WrongCall> &wrong_calls() {
  static const std::vector<WrongCall> table = {
      {"add", [](const Item &x, const Item &,
                 tl_buffer **out) { return tl_binary(TL_BINARY_ADD, x.handle, nullptr, out); }},
      {"mul", [](const Item &x, const Item &y,
                 tl_buffer **out) { return tl_binary(TL_BINARY_MUL, x.handle, y.handle, out); }},
      {"neg", [](const Item &x, const Item &,
                 tl_buffer **) { return tl_unary(TL_UNARY_NEG, x.handle, nullptr); }},
      {"slice1d", [](const Item &x, const Item &,
                     tl_buffer **out) { return tl_slice1d(x.handle, x.count, 1, x.count, out); }},
      {"zeros", [](const Item &, const Item &, tl_buffer **out) { return tl_zeros(8, 7, out); }},
      {"full", [](const Item &, const Item &,
                  tl_buffer **out) { return tl_full(std::uint64_t{1} << 33, 1, TL_FLOAT32, out); }},
      {"download",
       [](const Item &x, const Item &, tl_buffer **) {
         char words[8];
         return tl_download(x.handle, TL_FLOAT64, words, 8 * x.count + 3);
       }},
      {"bmm_with_transpose",
       [](const Item &x, const Item &, tl_buffer **out) {
         return tl_bmm_with_transpose(x.handle, x.handle, 1, 1, x.count, 1, 0, 2, out);
       }},
  };
  return table;
}

}  // namespace stress
