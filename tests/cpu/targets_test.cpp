// The same bits with every set of vector instructions, at every place in a buffer, on any number of
// threads.
#include "every_target.hpp"
#include "support/oracle.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace torchlean::test;

namespace {

// Special values, ordinary ones, any bit patterns.
template <class T>
std::vector<T> values(size_t count, uint64_t seed) {
  using Limits = std::numeric_limits<T>;
  std::mt19937_64 random(seed);
  std::vector<T> result = {T(0),
                           -T(0),
                           Limits::denorm_min(),
                           -Limits::denorm_min(),
                           Limits::min(),
                           Limits::max(),
                           -Limits::max(),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           T(1),
                           T(-1),
                           T(0.5),
                           T(3e7),
                           T(-0.25)};
  while (result.size() < count) {
    const auto bits = static_cast<Bits<T>>(random());
    const T ordinary = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-50 - 4);
    result.push_back(result.size() % 2 == 0 ? ordinary : std::bit_cast<T>(bits));
  }
  std::shuffle(result.begin(), result.end(), random);
  return result;
}

// The bits; every NaN counts alike.
template <class T>
std::vector<Bits<T>> bits_of(const std::vector<T> &values) {
  std::vector<Bits<T>> bits(values.size());
  std::transform(values.begin(), values.end(), bits.begin(), [](T value) {
    return std::isnan(value) ? ~Bits<T>(0) : std::bit_cast<Bits<T>>(value);
  });
  return bits;
}

constexpr tl_scalars scalars = {sizeof(tl_scalars), {-0.75, 1.25}};

template <class T>
std::vector<T> unary(Backend &backend, tl_unary_op op, const std::vector<T> &x) {
  const Buffer<T> operand(backend, x);
  return result<T>(backend, x.size(), [&](tl_storage **out) {
    return backend.table->elementwise->unary(backend.instance, op, operand.operand(), &scalars, 0,
                                             out);
  });
}

template <class T>
std::vector<T> binary(Backend &backend, tl_binary_op op, const std::vector<T> &a,
                      const std::vector<T> &b) {
  const Buffer<T> first(backend, a);
  const Buffer<T> second(backend, b);
  return result<T>(backend, a.size(), [&](tl_storage **out) {
    return backend.table->elementwise->binary(backend.instance, op, first.operand(),
                                              second.operand(), &scalars, 0, out);
  });
}

template <class T>
std::vector<T> random_numbers(Backend &backend, tl_random_op op, uint64_t count) {
  return result<T>(backend, count, [&](tl_storage **out) {
    return backend.table->random->generate(backend.instance, op, dtype_of<T>, count, ~uint64_t{0},
                                           &scalars, 0, out);
  });
}

}  // namespace

TEST_CASE_TEMPLATE("elementwise results have the same bits with every target", T, float, double) {
  const auto backends = every_target();
  const std::vector<T> x = values<T>(333, 1);
  const std::vector<T> y = values<T>(333, 2);
  for (const auto &backend : backends) {
    for (tl_unary_op op = 0; op < TL_UNARY_OP_COUNT; ++op) {
      CAPTURE(op);
      CHECK(bits_of(unary(*backend, op, x)) == bits_of(unary(*backends[0], op, x)));
    }
    for (tl_binary_op op = 0; op < TL_BINARY_OP_COUNT; ++op) {
      CAPTURE(op);
      CHECK(bits_of(binary(*backend, op, x, y)) == bits_of(binary(*backends[0], op, x, y)));
    }
    for (tl_random_op op = 0; op < TL_RANDOM_OP_COUNT; ++op) {
      CAPTURE(op);
      CHECK(bits_of(random_numbers<T>(*backend, op, 333)) ==
            bits_of(random_numbers<T>(*backends[0], op, 333)));
    }
  }
}

TEST_CASE_TEMPLATE("an elementwise result does not depend on its place", T, float, double) {
  for (const auto &backend : every_target()) {
    const std::vector<T> x = values<T>(70, 3);
    for (tl_unary_op op = 0; op < TL_UNARY_OP_COUNT; ++op) {
      const auto whole = bits_of(unary(*backend, op, x));
      for (const size_t start : {1U, 5U, 19U}) {
        CAPTURE(op);
        CAPTURE(start);
        const auto part = bits_of(unary(*backend, op, std::vector<T>(x.begin() + start, x.end())));
        CHECK(std::equal(part.begin(), part.end(), whole.begin() + static_cast<int>(start)));
      }
    }
  }
}

TEST_CASE("results have the same bits on one to four threads") {
  Backend backend;
  const std::vector<float> x = values<float>(50'003, 4);  // shared out, with a piece not whole
  const std::vector<float> weights(x.size(), 0.125F);
  const auto with = [&](uint32_t threads) {
    REQUIRE(backend.table->device->set_num_threads(backend.instance, threads) == TL_OK);
    const Buffer<float> scores(backend, std::vector<float>(x.size(), 0.3F));
    const Buffer<float> targets(backend, weights);
    std::vector<float> results = unary(backend, TL_UNARY_EXP, x);
    results.push_back(result<float>(backend, 1, [&](tl_storage **out) {
                        return backend.table->loss->loss(backend.instance, TL_LOSS_CROSS_ENTROPY,
                                                         scores.operand(), targets.operand(),
                                                         31 * 1613, 1, 0, out);
                      }).front());
    return bits_of(results);
  };
  const auto alone = with(1);
  for (const uint32_t threads : {2U, 3U, 4U}) CHECK(with(threads) == alone);
}
