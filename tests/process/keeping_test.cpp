// What every host backend keeps in every operation: its inputs (B4), its word about what it
// supports (B7), its bits (B8), the thread's floating-point state (B9).
#include <doctest/doctest.h>

#include <cfenv>

#include "operation_cases.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace torchlean;
using namespace torchlean_test;

namespace {

// Visits every operation that the backend supports, on every host backend, with the inputs there.
template <class Visit>
void for_each_call(const Visit &visit) {
  for (const std::string &path : host_backends) {
    CAPTURE(path);
    const Backend backend = open_on_host(path);
    std::size_t calls = 0;
    for_each_operation(
        [&](tl_operation operation, const Operation &row, tl_dtype dtype, const Case &one) {
          if (!backend.supports(operation, dtype)) return;
          const ThreadBackend guard(backend);
          visit(row, one, to_backend(one));
          ++calls;
        });
    CHECK(calls > 50);
  }
}

void use_threads(std::uint32_t threads) {
  const tl_status status = tl_set_num_threads(threads);
  if (status != TL_UNSUPPORTED) check(status);  // a backend without the feature has one count
}

// A state that no program should have: rounding upwards, subnormals flushed.
class OddFloatState {
 public:
  OddFloatState() {
    std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040U);
#endif
  }
  ~OddFloatState() { std::fesetenv(FE_DFL_ENV); }
  OddFloatState(const OddFloatState &) = delete;
  OddFloatState &operator=(const OddFloatState &) = delete;
  bool is_there() const {
#if defined(__x86_64__)
    if ((_mm_getcsr() & 0x8040U) != 0x8040U) return false;
#endif
    return std::fegetround() == FE_UPWARD;
  }
};

}  // namespace

TEST_CASE("B4: no call changes its inputs") {
  for_each_call([](const Operation &row, const Case &one, const Inputs &inputs) {
    row.run(one, inputs);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      CHECK(tools::from_backend(inputs[k]).bits == one.inputs[k].bits);
    }
  });
}

TEST_CASE("B7: what is supported works, and what is not is refused as unsupported") {
  for (const std::string &path : host_backends) {
    CAPTURE(path);
    const Backend backend = open_on_host(path);
    for_each_operation(
        [&](tl_operation operation, const Operation &row, tl_dtype dtype, const Case &one) {
          const ThreadBackend guard(backend);
          const tl_counters before = counters();
          tl_status status = TL_OK;
          try {
            row.run(one, to_backend(one));
          } catch (const Error &error) {
            status = error.status();
          }
          CHECK(status == (backend.supports(operation, dtype) ? TL_OK : TL_UNSUPPORTED));
          CHECK(counters().live_buffers == before.live_buffers);
        });
  }
}

TEST_CASE("B8: the same call has the same bits again; deterministically at any thread count") {
  for_each_call([](const Operation &row, const Case &one, const Inputs &inputs) {
    const Outcome first = row.run(one, inputs);
    for (int i = 0; i < 3; ++i) CHECK(is_same(row.run(one, inputs), first));
    const bool former = set_setting(TL_SETTING_DETERMINISTIC, true);
    use_threads(1);
    const Outcome alone = row.run(one, inputs);
    for (const std::uint32_t threads : {2U, 3U}) {
      use_threads(threads);
      CHECK(is_same(row.run(one, inputs), alone));
    }
    use_threads(0);
    set_setting(TL_SETTING_DETERMINISTIC, former);
  });
}

TEST_CASE("B9: the thread's rounding and flushing stay as they were, and change no result") {
  for_each_call([](const Operation &row, const Case &one, const Inputs &inputs) {
    const Outcome expected = row.run(one, inputs);
    const OddFloatState odd;
    const Outcome got = row.run(one, inputs);
    CHECK(odd.is_there());
    CHECK(is_same(got, expected));
  });
}

TEST_CASE("B9: opening a backend leaves the thread's state") {
  for (const std::string &path : host_backends) {
    CAPTURE(path);
    const OddFloatState odd;
    const Backend backend = open_on_host(path);
    CHECK(odd.is_there());
  }
}
