// When a scaled product must ask for a replay although its result looks well (section 6 of the
// specification).
#include "fake_host.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

struct Answer {
  double value;
  bool replay;
};

// scale * (the sum of a[k] b[k]).
template <class T>
Answer dot(const std::vector<T> &a, const std::vector<T> &b, double scale) {
  const Session session;
  const Buffer left(session, a);
  const Buffer right(session, b);
  const tl_bmm_params params = {sizeof(tl_bmm_params), 1, 1, a.size(), 1, 0, 0};
  tl_storage *out = nullptr;
  uint32_t replay = 7;
  REQUIRE(backend().matmul->bmm_scaled(session.instance(), left.operand(), right.operand(), &params,
                                       scale, 0, &out, &replay) == TL_OK);
  const Buffer result(session, out, 1, dtype_of<T>, sizeof(T));
  return {static_cast<double>(result.template values<T>()[0]), replay != 0};
}

template <class T>
void check_flags() {
  using Limits = std::numeric_limits<T>;
  const T below = std::sqrt(Limits::min()) / 2;  // whose square is below the normal range
  const T three_quarters = Limits::max() / 4 * 3;

  // The result is zero while its source is not.
  CHECK(dot<T>({1, -1}, {1, 1}, 1).replay);
  CHECK(dot<T>({1, -1}, {1, 1}, 3).replay);
  // One product of two leaves the normal range, which the sum does not show.
  const Answer small = dot<T>({below, 1}, {below, 1}, 1);
  CHECK(small.value == 1);
  CHECK(small.replay);
  CHECK(dot<T>({below, 1}, {below, 1}, 1024).replay);
  // The products' magnitudes add up to more than there is, which the sum does not show.
  const Answer large = dot<T>({three_quarters, -three_quarters, three_quarters}, {1, 1, 1}, 1);
  CHECK(std::isfinite(large.value));
  CHECK(large.replay);
  // A result near overflow, by the scale alone.
  CHECK(dot<T>({three_quarters / 2}, {1}, 2.5).replay);

  // Nothing of this: no replay is needed, zeros whose terms are zero included.
  const Answer plain = dot<T>({1, 2}, {3, 4}, 0.25);
  CHECK(plain.value == 2.75);
  CHECK_FALSE(plain.replay);
  CHECK_FALSE(dot<T>({0, 2}, {3, 0}, 1).replay);
  CHECK_FALSE(dot<T>({0, 0}, {3, 4}, 5).replay);
  CHECK(dot<T>({1, 2}, {3, 4}, -8).value == -88);
}

}  // namespace

TEST_CASE("a scaled product asks for a replay where its result hides what was lost") {
  check_flags<float>();
  check_flags<double>();
}
