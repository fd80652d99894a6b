// Matrix products and the replay flag.
#include "fixture.hpp"
#include "support/oracle.hpp"

using namespace torchlean::test;

namespace {

template <class T>
std::vector<T> bmm(const std::vector<T> &a, const std::vector<T> &b, tl_bmm_params params) {
  Backend backend;
  const Buffer<T> x(backend, a);
  const Buffer<T> y(backend, b);
  return result<T>(backend, params.batch * params.m * params.p, [&](tl_storage **out) {
    return backend.table->matmul->bmm(backend.instance, x.operand(), y.operand(), &params, 0, out);
  });
}

struct ScaledResult {
  float value;
  uint32_t replay;
};

// scale * (a . b) for two vectors.
ScaledResult scaled(const std::vector<float> &a, const std::vector<float> &b, double scale) {
  Backend backend;
  const Buffer<float> x(backend, a);
  const Buffer<float> y(backend, b);
  const tl_bmm_params params = {sizeof params, 1, 1, a.size(), 1, 0, 0};
  uint32_t replay = 77;
  const float value = result<float>(backend, 1, [&](tl_storage **out) {
    return backend.table->matmul->bmm_scaled(backend.instance, x.operand(), y.operand(), &params,
                                             scale, 0, out, &replay);
  })[0];
  return {value, replay};
}

}  // namespace

TEST_CASE("dot products are rounded once") {
  CHECK(bmm<float>({1e30f, 1, -1e30f}, {1e30f, 1, 1e30f},
                   {sizeof(tl_bmm_params), 1, 1, 3, 1, 0, 0})[0] == 1.0f);
}

TEST_CASE("bmm_scaled keeps its promise where it does not ask for a replay") {
  std::mt19937_64 random(4);
  std::normal_distribution<float> normal;
  for (const double scale : {1.0, -1.0, 0.125, -0.3, 7.5, -1e5, 1e-8})
    for (const int n : {1, 7, 64}) {
      std::vector<float> a, b;
      double exact = 0, magnitude = 0;
      for (int i = 0; i < n; ++i) {
        a.push_back(normal(random));
        b.push_back(normal(random));
        exact += double{a[i]} * b[i];
        magnitude += std::fabs(double{a[i]} * b[i]);
      }
      const auto [value, replay] = scaled(a, b, scale);
      CHECK(replay == 0);
      CHECK(std::fabs(value - scale * exact) <= (2 * n + 2) *
                                                    double{std::numeric_limits<float>::epsilon()} *
                                                    std::fabs(scale) * magnitude);
    }
}

TEST_CASE("a product that overflows before it is scaled comes out finite") {
  const auto [value, replay] = scaled({1e30f}, {1e20f}, 1e-30);
  CHECK(replay == 0);
  CHECK(value == doctest::Approx(1e20).epsilon(1e-6));
}

TEST_CASE("bmm_scaled asks for a replay where a rule is broken") {
  CHECK(scaled({infinity<float>}, {1}, 0.5).replay == 1);
  CHECK(scaled({1}, {quiet_nan<float>}, 2.0).replay == 1);
  CHECK(scaled({1}, {1}, std::nan("")).replay == 1);
  CHECK(scaled({1}, {1}, std::numeric_limits<double>::infinity()).replay == 1);
  CHECK(scaled({1}, {1}, 1e300).replay == 1);        // the rounded scale overflows
  CHECK(scaled({1}, {1}, 1e-300).replay == 1);       // its root underflows
  CHECK(scaled({1}, {1}, 0.0).replay == 1);          // scaled operands are zero, their sources not
  CHECK(scaled({1e-38f}, {1}, 0.01).replay == 1);    // a scaled operand is subnormal
  CHECK(scaled({1e30f}, {1e30f}, 1.0).replay == 1);  // the product overflows
  CHECK(scaled({1e-30f}, {1e-30f}, 1.0).replay == 1);            // and underflows
  CHECK(scaled({1e30f, 1e-30f}, {1e-30f, 1}, 1.0).replay == 1);  // a product might
  CHECK(scaled({3e38f}, {1}, 2.0).replay == 1);                  // the result overflows
}

TEST_CASE("bmm_scaled needs no replay of zeros and empty sums") {
  const auto [value, replay] = scaled({0, 0}, {1, 2}, 0.5);
  CHECK(value == 0.0f);
  CHECK(replay == 0);
  CHECK(scaled({0, 2}, {3, 0}, 7.0).replay == 0);
  CHECK(scaled({}, {}, 0.5).replay == 0);
}
