// Random numbers against values computed by hand from SplitMix64's definition.
#include "fixture.hpp"
#include "oracle.hpp"

using namespace torchlean::test;

namespace {

template <class T>
std::vector<T> generate(tl_random_op op, uint64_t count, uint64_t key, double first = 0,
                        double second = 0) {
  Backend backend;
  const tl_scalars scalars = {sizeof scalars, {first, second}};
  return result<T>(backend, count, [&](tl_storage **out) {
    return backend.table->random->generate(backend.instance, op, dtype_of<T>, count, key, &scalars,
                                           0, out);
  });
}

}  // namespace

TEST_CASE("uniform numbers are SplitMix64's low halves") {
  // The published first outputs of SplitMix64 seeded with 0: e220a8397b1dcdaf; with 1:
  // 910a2dec89025cc1.
  CHECK(generate<double>(TL_RANDOM_UNIFORM, 1, 0)[0] == 0x7b1dcdaf / 0x1p32);
  CHECK(generate<double>(TL_RANDOM_UNIFORM, 2, 0)[1] == 0x89025cc1 / 0x1p32);
  CHECK(generate<float>(TL_RANDOM_UNIFORM, 1, 1)[0] == static_cast<float>(0x89025cc1 / 0x1p32));
}

TEST_CASE("element i of key k is element 0 of key k + i, wrapping around") {
  const auto all = generate<float>(TL_RANDOM_UNIFORM, 5, UINT64_MAX - 2);
  for (uint64_t i = 0; i < 5; ++i)
    CHECK(all[i] == generate<float>(TL_RANDOM_UNIFORM, 1, UINT64_MAX - 2 + i)[0]);
}

TEST_CASE("bernoulli compares uniforms in the dtype") {
  const auto u = generate<float>(TL_RANDOM_UNIFORM, 200, 9);
  const auto mask = generate<float>(TL_RANDOM_BERNOULLI, 200, 9, 0.25);
  for (size_t i = 0; i < 200; ++i) CHECK(mask[i] == (u[i] < 0.25f ? 1.0f : 0.0f));
  for (const double none : {0.0, -1.0, std::nan("")})
    CHECK(generate<float>(TL_RANDOM_BERNOULLI, 200, 9, none) == std::vector<float>(200, 0.0f));
  for (const double all : {1.0, 2.0})
    CHECK(generate<float>(TL_RANDOM_BERNOULLI, 200, 9, all) == std::vector<float>(200, 1.0f));
}

TEST_CASE_TEMPLATE("normal numbers are within their bound of Box and Muller's formula", T, float,
                   double) {
  const auto u = generate<double>(TL_RANDOM_UNIFORM, 400, 5);
  const auto x = generate<T>(TL_RANDOM_NORMAL, 200, 5, 3.0, 0.5);
  const double eps = std::numeric_limits<T>::epsilon();
  for (size_t i = 0; i < 200; ++i) {
    const double u1 = static_cast<T>((u[2 * i] * 0x1p32 + 1) / (0x1p32 + 1));
    const double u2 = static_cast<T>(u[2 * i + 1]);
    const double r = std::sqrt(std::fmax(0.0, -2 * std::log(u1)));
    const double exact = 0.5 * r * std::cos(static_cast<T>(2 * M_PI) * u2) + 3.0;
    CHECK(std::fabs(x[i] - exact) <= 8 * eps * 0.5 * (1 + r) + eps * 3.0);
  }
}
