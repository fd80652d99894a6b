// What only moves or makes elements: memory, transfer, views, random numbers.
#include "fake_host.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <numbers>

using fake_host::backend;

namespace {

template <class T>
std::vector<T> result(const Session &session, tl_storage *out, uint64_t count) {
  return Buffer(session, out, count, dtype_of<T>, sizeof(T)).template values<T>();
}

template <class T>
std::vector<T> mixed() {
  auto x = special_values<T>();
  const auto more = any_patterns<T>(50'021, 1);
  x.insert(x.end(), more.begin(), more.end());
  return x;
}

template <class T>
void check_moves(const Session &session) {
  const auto x = mixed<T>();
  const Buffer operand(session, x);
  CHECK(same_bits(operand.values<T>(), x));
  tl_storage *out = nullptr;
  require_ok(backend().memory->copy(session.get(), operand.operand(), 0, &out));
  CHECK(same_bits(result<T>(session, out, x.size()), x));

  const std::vector<T> start(x.begin(), x.begin() + 5);
  const Buffer small(session, start);
  require_ok(backend().view->concat(session.get(), small.operand(), operand.operand(), 0, &out));
  auto joined = start;
  joined.insert(joined.end(), x.begin(), x.end());
  CHECK(same_bits(result<T>(session, out, joined.size()), joined));
  const Buffer empty(session, std::vector<T>{});
  require_ok(backend().view->concat(session.get(), empty.operand(), small.operand(), 0, &out));
  CHECK(same_bits(result<T>(session, out, 5), start));

  require_ok(backend().view->slice(session.get(), operand.operand(), 3, 1'001, 0, &out));
  CHECK(
      same_bits(result<T>(session, out, 1'001), std::vector<T>(x.begin() + 3, x.begin() + 1'004)));
  require_ok(backend().view->slice(session.get(), small.operand(), 0, 5, 0, &out));
  CHECK(out != small.operand()->storage);
  CHECK(same_bits(result<T>(session, out, 5), start));
  CHECK(backend().view->slice(session.get(), small.operand(), 3, 3, 0, &out) ==
        TL_INVALID_ARGUMENT);
}

template <class T>
void check_native_views(const Session &session) {
  const auto x = any_patterns<T>(2 * 37 * 41 * 3, 2);
  const Buffer operand(session, x);
  tl_storage *out = nullptr;
  require_ok(backend().view->swap(session.get(), operand.operand(), 2, 37, 41, 3, 0, &out));
  std::vector<T> expected(x.size());
  for (size_t o = 0; o < 2; ++o)
    for (size_t f = 0; f < 37; ++f)
      for (size_t s = 0; s < 41; ++s)
        for (size_t i = 0; i < 3; ++i)
          expected[((o * 41 + s) * 37 + f) * 3 + i] = x[((o * 37 + f) * 41 + s) * 3 + i];
  CHECK(same_bits(result<T>(session, out, x.size()), expected));

  tl_broadcast_params params{};
  params.struct_size = sizeof params;
  params.rank = 4;  // (5, 4, 1, 6) from (6, 4): a new axis in front, both old ones swapped
  const uint64_t dims[] = {5, 4, 1, 6}, strides[] = {0, 1, 0, 4};
  std::copy_n(dims, 4, params.dims);
  std::copy_n(strides, 4, params.strides);
  const std::vector<T> small(x.begin(), x.begin() + 24);
  const Buffer source(session, small);
  require_ok(backend().view->broadcast(session.get(), source.operand(), &params, 0, &out));
  std::vector<T> spread;
  for (size_t i = 0; i < 5; ++i)
    for (size_t j = 0; j < 4; ++j)
      for (size_t k = 0; k < 6; ++k) spread.push_back(small[j + 4 * k]);
  CHECK(same_bits(result<T>(session, out, 120), spread));
  params.strides[0] = 3;  // past the end
  CHECK(backend().view->broadcast(session.get(), source.operand(), &params, 0, &out) ==
        TL_INVALID_ARGUMENT);
  params.rank = 0;
  const Buffer one(session, std::vector<T>{small[0]});
  require_ok(backend().view->broadcast(session.get(), one.operand(), &params, 0, &out));
  CHECK(same_bits(result<T>(session, out, 1), std::vector<T>{small[0]}));
}

uint64_t finalizer(uint64_t counter) {
  uint64_t z = counter + 0x9E3779B97F4A7C15u;
  z ^= z >> 30;
  z *= 0xBF58476D1CE4E5B9u;
  z ^= z >> 27;
  z *= 0x94D049BB133111EBu;
  z ^= z >> 31;
  return z & 0xFFFFFFFFu;
}

template <class T>
std::vector<T> generate(const Session &session, tl_random_op op, uint64_t count, uint64_t key,
                        double first = 0, double second = 0) {
  const tl_scalars s{sizeof(tl_scalars), {first, second}};
  tl_storage *out = nullptr;
  require_ok(backend().random->generate(session.get(), op, dtype_of<T>, count, key, &s, 0, &out));
  return result<T>(session, out, count);
}

template <class T>
void check_random(const Session &session) {
  const uint64_t n = 50'001;
  for (const uint64_t key : {uint64_t{0}, uint64_t{42}, UINT64_MAX - 100}) {
    const auto u = generate<T>(session, TL_RANDOM_UNIFORM, n, key);
    std::vector<T> expected(n);
    for (uint64_t i = 0; i < n; ++i)
      expected[i] = static_cast<T>(std::ldexp(static_cast<double>(finalizer(key + i)), -32));
    CHECK(same_bits(u, expected));

    for (const double p : {0.3, 0.0, -1.0, 1.0, 2.0, std::nan("")}) {
      const T probability = static_cast<T>(p);
      const auto mask = generate<T>(session, TL_RANDOM_BERNOULLI, n, key, probability);
      size_t wrong = 0;
      for (uint64_t i = 0; i < n; ++i) {
        const bool one = probability >= 1 || (probability > 0 && expected[i] < probability);
        wrong += !same(mask[i], one ? T(1) : T(0));
      }
      CHECK(wrong == 0);
    }

    const T mean = T(0.7), deviation = T(-1.3);
    const auto z = generate<T>(session, TL_RANDOM_NORMAL, n, key, mean, deviation);
    size_t wrong = 0;
    for (uint64_t i = 0; i < n; ++i) {
      const long double u1 =
          static_cast<T>((static_cast<double>(finalizer(key + 2 * i)) + 1) / 4294967297.0);
      const long double u2 =
          static_cast<T>(std::ldexp(static_cast<double>(finalizer(key + 2 * i + 1)), -32));
      const long double r = std::sqrt(-2 * std::log(u1));
      const long double angle = static_cast<long double>(static_cast<T>(2 * std::numbers::pi)) * u2;
      const long double exact = deviation * r * std::cos(angle) + mean;
      const long double eps = std::numeric_limits<T>::epsilon();
      wrong += std::fabs(z[i] - exact) >
               8 * eps * std::fabs(deviation) * (1 + r) + eps * std::fabs(mean);
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("moves keep every bit, encoded words too") {
  const Session session;
  check_moves<float>(session);
  check_moves<double>(session);

  // Encoded words of 3 bytes, from an odd address.
  const uint64_t count = 40'003;
  std::vector<uint8_t> words(3 * count + 1);
  std::mt19937_64 random(3);
  for (uint8_t &byte : words) byte = static_cast<uint8_t>(random());
  tl_storage *out = nullptr;
  require_ok(backend().transfer->upload(session.get(), words.data() + 1, TL_ENCODED, TL_ENCODED, 3,
                                        count, 0, &out));
  const Buffer encoded(session, out, count, TL_ENCODED, 3);
  const auto bytes = [&](const Buffer &buffer, uint64_t n) {
    std::vector<uint8_t> got(3 * n);
    require_ok(
        backend().transfer->download(session.get(), buffer.operand(), TL_ENCODED, got.data()));
    return got;
  };
  const std::vector<uint8_t> all(words.begin() + 1, words.end());
  CHECK(bytes(encoded, count) == all);
  require_ok(backend().memory->copy(session.get(), encoded.operand(), 0, &out));
  CHECK(bytes(Buffer(session, out, count, TL_ENCODED, 3), count) == all);
  require_ok(backend().view->slice(session.get(), encoded.operand(), 7, 11, 0, &out));
  CHECK(bytes(Buffer(session, out, 11, TL_ENCODED, 3), 11) ==
        std::vector<uint8_t>(all.begin() + 21, all.begin() + 54));
  require_ok(backend().view->concat(session.get(), encoded.operand(), encoded.operand(), 0, &out));
  auto twice = all;
  twice.insert(twice.end(), all.begin(), all.end());
  CHECK(bytes(Buffer(session, out, 2 * count, TL_ENCODED, 3), 2 * count) == twice);
  require_ok(backend().memory->fill(session.get(), TL_ENCODED, 3, 9, 0, 0, &out));
  CHECK(bytes(Buffer(session, out, 9, TL_ENCODED, 3), 9) == std::vector<uint8_t>(27));
}

TEST_CASE("native views read the elements that the strides name") {
  const Session session;
  check_native_views<float>(session);
  check_native_views<double>(session);
}

TEST_CASE("fill writes the value, with the sign of zero") {
  const Session session;
  tl_storage *out = nullptr;
  for (const double value :
       {0.0, -0.0, 1.5, static_cast<double>(std::numeric_limits<float>::denorm_min())}) {
    require_ok(backend().memory->fill(session.get(), TL_FLOAT32, 4, 40'000, value, 0, &out));
    CHECK(same_bits(result<float>(session, out, 40'000),
                    std::vector<float>(40'000, static_cast<float>(value))));
    require_ok(backend().memory->fill(session.get(), TL_FLOAT64, 8, 3, value, 0, &out));
    CHECK(same_bits(result<double>(session, out, 3), std::vector<double>(3, value)));
  }
}

TEST_CASE("transfers between kinds round to nearest even, or widen") {
  const Session session;
  const auto wide = mixed<double>();
  tl_storage *out = nullptr;
  require_ok(backend().transfer->upload(session.get(), wide.data(), TL_FLOAT64, TL_FLOAT32, 4,
                                        wide.size(), 0, &out));
  const Buffer narrow(session, out, wide.size(), TL_FLOAT32, 4);
  const auto values = narrow.values<float>();
  size_t wrong = 0;
  for (size_t i = 0; i < wide.size(); ++i) wrong += !same(values[i], static_cast<float>(wide[i]));
  CHECK(wrong == 0);
  std::vector<char> unaligned(8 * values.size() + 1);
  require_ok(backend().transfer->download(session.get(), narrow.operand(), TL_FLOAT64,
                                          unaligned.data() + 1));
  for (size_t i = 0; i < values.size(); ++i) {
    double word;
    std::memcpy(&word, unaligned.data() + 1 + 8 * i, 8);
    wrong += !same(word, static_cast<double>(values[i]));
  }
  CHECK(wrong == 0);
  CHECK(backend().transfer->upload(session.get(), wide.data(), TL_FLOAT64, TL_ENCODED, 4, 2, 0,
                                   &out) == TL_INVALID_ARGUMENT);
  CHECK(backend().transfer->upload(session.get(), wide.data(), 9, TL_FLOAT32, 4, 2, 0, &out) ==
        TL_UNSUPPORTED);
  CHECK(backend().transfer->upload(session.get(), wide.data(), TL_FLOAT64, 9, 4, 2, 0, &out) ==
        TL_UNSUPPORTED);
}

TEST_CASE("random numbers are the specified function of key and index") {
  const Session session;
  check_random<float>(session);
  check_random<double>(session);
  const tl_scalars s{sizeof(tl_scalars), {0, 0}};
  tl_storage *out = nullptr;
  CHECK(backend().random->generate(session.get(), 9, TL_FLOAT32, 3, 0, &s, 0, &out) ==
        TL_UNSUPPORTED);
  CHECK(backend().random->generate(session.get(), 0, TL_ENCODED, 3, 0, &s, 0, &out) ==
        TL_UNSUPPORTED);
}
