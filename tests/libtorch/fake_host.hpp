// A core for the libtorch backend: opens it, fills and fences what it allocates, fails where it is
// told to. It lets the backend keep 64 MiB of large blocks.
#pragma once

#include "../support/oracle.hpp"

#include <torchlean/backend.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace fake_host {

// The backend's table; the file, that of TL_TEST_BACKEND where it is set, is opened once.
const BackendVTable &backend();

// The calling thread's error text, and the log's last line at debug level.
std::string error();
std::string debug_line();

// Blocks and allocations so far; blocks whose fence was found broken.
int64_t live_blocks();
int64_t allocations();
int64_t broken_fences();

// Lets every allocation fail from the n-th (1 = the next) on, or that one alone; 0 = none fails.
void fail_allocation(int64_t n, bool ever_after);

}  // namespace fake_host

// An instance of its own.
class Session {
 public:
  explicit Session(bool deterministic = false, uint32_t threads = 2);
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  tl_instance *get() const { return instance_; }

 private:
  tl_instance *instance_ = nullptr;
};

template <class T>
inline constexpr tl_dtype dtype_of = sizeof(T) == 4   ? TL_FLOAT32
                                     : sizeof(T) == 8 ? TL_FLOAT64
                                                      : TL_ENCODED;

// A storage that gives itself back. Every failure of a helper throws.
class Buffer {
 public:
  Buffer(const Session &session, tl_storage *storage, uint64_t count, tl_dtype dtype,
         uint32_t width)
      : session_(session), operand_{storage, count, dtype, width} {}
  template <class T>
  Buffer(const Session &session, const std::vector<T> &values)
      : Buffer(session, upload(session, values.data(), values.size(), dtype_of<T>, sizeof(T)),
               values.size(), dtype_of<T>, sizeof(T)) {}
  ~Buffer();
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  const tl_operand *operand() const { return &operand_; }

  template <class T>
  std::vector<T> values() const {
    std::vector<T> result(operand_.count);
    download(result.data());
    return result;
  }

 private:
  static tl_storage *upload(const Session &session, const void *words, uint64_t count,
                            tl_dtype dtype, uint32_t width);
  void download(void *words) const;

  const Session &session_;
  tl_operand operand_;
};

// Throws the host's error text unless the call succeeded.
void require_ok(tl_status status);

using torchlean::test::Bits;
using torchlean::test::same;

// The same bits, NaN included.
template <class T>
bool same_bits(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Zeros, units, subnormals, extremes, infinities, quiet and signalling NaNs of either sign.
template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  for (const T x : {T(0), Limits::denorm_min(), Limits::min() / 2, Limits::min(), Limits::epsilon(),
                    T(0.5), T(0.75), T(1), T(1.5), T(2), T(3), T(1e5), Limits::max() / 2,
                    Limits::max(), Limits::infinity(), Limits::quiet_NaN(),
                    std::bit_cast<T>(std::bit_cast<Bits<T>>(Limits::infinity()) + 1)}) {
    values.push_back(x);
    // Sign bits set as bits: a negation might quiet a NaN.
    values.push_back(std::bit_cast<T>(std::bit_cast<Bits<T>>(x) ^ ~(~Bits<T>(0) >> 1)));
  }
  return values;
}

// Every bit pattern is equally likely.
template <class T>
std::vector<T> any_patterns(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T &x : values) x = std::bit_cast<T>(static_cast<Bits<T>>(random()));
  return values;
}

template <class T>
std::vector<T> uniform_values(size_t count, uint64_t seed, T low, T high) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<T> distribution(low, high);
  std::vector<T> values(count);
  for (T &x : values) x = distribution(random);
  return values;
}
