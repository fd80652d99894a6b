// Kernels whose threads move 16 bytes at once: every length of a few words, in slices that begin
// anywhere in a word of their sources.
#include "fake_host.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <type_traits>
#include <vector>

namespace {

constexpr uint64_t longest = 40;
constexpr uint64_t offsets = 4;

using ValueAt = std::function<double(uint64_t)>;

template <class T>
std::vector<T> values_of(uint64_t n, const ValueAt &value) {
  std::vector<T> values(n);
  for (uint64_t i = 0; i < n; ++i) {
    values[i] = static_cast<T>(value(i));
  }
  return values;
}

// value(0) .. value(n - 1), cut out of an array with other values around them.
template <class T>
Buffer slice(const Session &session, uint64_t offset, uint64_t n, const ValueAt &value) {
  const Buffer source(session, values_of<T>(offset + n + 1, [&](uint64_t i) {
                        return i < offset || i == offset + n ? -77 : value(i - offset);
                      }));
  tl_storage *out = nullptr;
  REQUIRE(backend().view->slice(session.instance(), source.operand(), offset, n, 0, &out) == TL_OK);
  return {session, out, n, dtype_of<T>, sizeof(T)};
}

template <class T>
std::vector<T> taken(const Session &session, tl_storage *out, uint64_t n) {
  return Buffer(session, out, n, dtype_of<T>, sizeof(T)).template values<T>();
}

void for_each_shape(const std::function<void(uint64_t n, uint64_t offset)> &check) {
  for (uint64_t n = 1; n <= longest; ++n) {
    for (uint64_t offset = 0; offset < offsets; ++offset) {
      INFO("length ", n, " at ", offset);
      check(n, offset);
    }
  }
}

double counted(uint64_t i) { return static_cast<double>(i + 1); }

}  // namespace

TEST_CASE_TEMPLATE("words: elementwise results of every length", T, float, double) {
  const Session session("3");
  const tl_elementwise_table &table = *backend().elementwise;
  for_each_shape([&](uint64_t n, uint64_t offset) {
    const Buffer a = slice<T>(session, offset, n, counted);
    const Buffer b = slice<T>(session, offset + 1, n, [](uint64_t i) { return i % 3 * 20.0; });
    const Buffer g = slice<T>(session, offset + 2, n, [](uint64_t i) { return 2 * counted(i); });
    tl_storage *out = nullptr;
    REQUIRE(table.unary(session.instance(), TL_UNARY_NEG, a.operand(), &no_scalars, 0, &out) ==
            TL_OK);
    CHECK(taken<T>(session, out, n) == values_of<T>(n, [](uint64_t i) { return -counted(i); }));
    REQUIRE(table.binary(session.instance(), TL_BINARY_SUB, a.operand(), b.operand(), &no_scalars,
                         0, &out) == TL_OK);
    CHECK(taken<T>(session, out, n) ==
          values_of<T>(n, [](uint64_t i) { return counted(i) - i % 3 * 20.0; }));

    tl_storage *both[2] = {nullptr, nullptr};
    REQUIRE(table.select_bwd(session.instance(), TL_SELECT_MAX_BWD, a.operand(), b.operand(),
                             g.operand(), 0, both) == TL_OK);
    const auto of_a = [](uint64_t i) {
      const double b_i = i % 3 * 20.0;
      return counted(i) > b_i ? 2 * counted(i) : counted(i) == b_i ? counted(i) : 0;
    };
    CHECK(taken<T>(session, both[0], n) == values_of<T>(n, of_a));
    CHECK(taken<T>(session, both[1], n) ==
          values_of<T>(n, [&](uint64_t i) { return 2 * counted(i) - of_a(i); }));

    REQUIRE(backend().memory->fill(session.instance(), dtype_of<T>, sizeof(T), n, 2.5, 0, &out) ==
            TL_OK);
    CHECK(taken<T>(session, out, n) == std::vector<T>(n, T(2.5)));
  });
}

// With m = 3 g, v = 3 g g, all betas and corrections 1, no decay: m' = 4 g, v' = 4 g g, u = 2.
TEST_CASE_TEMPLATE("words: Adam steps of every length", T, float, double) {
  const Session session("3");
  const tl_adam_params params = {sizeof(tl_adam_params), 1, 1, 1, 1, 1, 1, 0, 0, -0.5};
  const auto gradient = [](uint64_t i) { return counted(i * i % 7); };
  const auto square = [&](uint64_t i) { return gradient(i) * gradient(i); };
  for_each_shape([&](uint64_t n, uint64_t offset) {
    const Buffer p = slice<T>(session, offset, n, counted);
    const Buffer g = slice<T>(session, offset + 1, n, gradient);
    const Buffer m = slice<T>(session, offset, n, [&](uint64_t i) { return 3 * gradient(i); });
    const Buffer v = slice<T>(session, offset + 2, n, [&](uint64_t i) { return 3 * square(i); });
    tl_storage *out[3] = {nullptr, nullptr, nullptr};
    REQUIRE(backend().optimizer->adam_step(session.instance(), p.operand(), g.operand(),
                                           m.operand(), v.operand(), &params, 0, out) == TL_OK);
    CHECK(taken<T>(session, out[0], n) ==
          values_of<T>(n, [](uint64_t i) { return counted(i) - 1; }));
    CHECK(taken<T>(session, out[1], n) ==
          values_of<T>(n, [&](uint64_t i) { return 4 * gradient(i); }));
    CHECK(taken<T>(session, out[2], n) ==
          values_of<T>(n, [&](uint64_t i) { return 4 * square(i); }));
  });
}

TEST_CASE_TEMPLATE("words: conversions of every length", T, float, double) {
  using Other = std::conditional_t<std::is_same_v<T, float>, double, float>;
  const Session session("3");
  const tl_transfer_table &table = *backend().transfer;
  for_each_shape([&](uint64_t n, uint64_t offset) {
    const std::vector<Other> words = values_of<Other>(n, counted);
    tl_storage *out = nullptr;
    REQUIRE(table.upload(session.instance(), words.data(), dtype_of<Other>, dtype_of<T>, sizeof(T),
                         n, 0, &out) == TL_OK);
    CHECK(taken<T>(session, out, n) == values_of<T>(n, counted));

    std::vector<Other> received(n);
    REQUIRE(table.download(session.instance(), slice<T>(session, offset, n, counted).operand(),
                           dtype_of<Other>, received.data()) == TL_OK);
    CHECK(received == words);
  });
}
