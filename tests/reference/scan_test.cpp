// Scans against the recurrence with every product and sum rounded by MPFR.
#include "fixture.hpp"
#include "support/oracle.hpp"

using namespace torchlean::test;

namespace {

template <class T>
T rounded_product(T a, T b) {
  Wide exact(2 * std::numeric_limits<T>::digits);
  mpfr_set_d(exact.value, a, MPFR_RNDN);
  mpfr_mul_d(exact.value, exact.value, b, MPFR_RNDN);
  return exact.rounded<T>();
}

template <class T>
T rounded_sum(T a, T b) {
  Wide exact(2200);
  mpfr_set_d(exact.value, a, MPFR_RNDN);
  mpfr_add_d(exact.value, exact.value, b, MPFR_RNDN);
  return exact.rounded<T>();
}

template <class T>
struct Scan {
  tl_scan_op op;
  uint64_t time, state;
  std::vector<T> a, b, x, h0;

  std::vector<T> forward(Backend &backend) const {
    const Buffer<T> coefficients(backend, a), inputs(backend, b), sequence(backend, x),
        first(backend, h0);
    return result<T>(backend, time * state, [&](tl_storage **out) {
      return backend.table->scan->forward(backend.instance, op, coefficients.operand(),
                                          inputs.operand(), sequence.operand(), first.operand(),
                                          time, state, 0, out);
    });
  }

  // dA, dB, dX, dH0
  std::vector<std::vector<T>> backward(Backend &backend, const std::vector<T> &h,
                                       const std::vector<T> &d_y) const {
    const Buffer<T> coefficients(backend, a), inputs(backend, b), sequence(backend, x),
        first(backend, h0), states(backend, h), gradient(backend, d_y);
    return results<T>(backend, {a.size(), b.size(), time * state, state}, [&](tl_storage **out) {
      return backend.table->scan->backward(
          backend.instance, op, coefficients.operand(), inputs.operand(), sequence.operand(),
          first.operand(), states.operand(), gradient.operand(), time, state, 0, out);
    });
  }

  // What section 9 calls a[t, j], h[t, j], for time steps from -1 or 0 on.
  T a_at(uint64_t t, uint64_t j) const { return op == TL_SCAN_VARYING ? a[t * state + j] : a[j]; }
  T b_at(uint64_t t, uint64_t j) const { return op == TL_SCAN_VARYING ? b[t * state + j] : b[j]; }
  T expected_h(int64_t t, uint64_t j) const {
    if (t < 0) return h0[j];
    const auto now = static_cast<uint64_t>(t);
    return rounded_sum(rounded_product(a_at(now, j), expected_h(t - 1, j)),
                       rounded_product(b_at(now, j), x[now * state + j]));
  }
  T expected_g(const std::vector<T> &d_y, uint64_t t, uint64_t j) const {
    const T own = d_y[t * state + j];
    if (t + 1 == time) return own;
    return rounded_sum(own, rounded_product(a_at(t + 1, j), expected_g(d_y, t + 1, j)));
  }
  std::vector<std::vector<T>> expected_gradients(const std::vector<T> &h,
                                                 const std::vector<T> &d_y) const {
    std::vector<T> d_a(a.size(), T(0)), d_b(b.size(), T(0)), d_x(time * state), d_h0(state, T(0));
    for (uint64_t j = 0; j < state; ++j)
      for (uint64_t back = 1; back <= time; ++back) {
        const uint64_t t = time - back;
        const T g = expected_g(d_y, t, j);
        const T a_term = rounded_product(g, t == 0 ? h0[j] : h[(t - 1) * state + j]);
        const T b_term = rounded_product(g, x[t * state + j]);
        if (op == TL_SCAN_VARYING) {
          d_a[t * state + j] = a_term;
          d_b[t * state + j] = b_term;
        } else {
          d_a[j] = rounded_sum(d_a[j], a_term);
          d_b[j] = rounded_sum(d_b[j], b_term);
        }
        d_x[t * state + j] = rounded_product(g, b_at(t, j));
        if (t == 0) d_h0[j] = rounded_product(a_at(0, j), g);
      }
    return {d_a, d_b, d_x, d_h0};
  }
};

// Numbers near 1, or of any pattern.
template <class T>
std::vector<T> numbers(std::mt19937_64 &random, uint64_t n, bool any) {
  std::normal_distribution<double> normal;
  std::vector<T> values(n);
  for (T &value : values) value = any ? any_pattern<T>(random) : static_cast<T>(normal(random));
  return values;
}

template <class T>
Scan<T> random_scan(std::mt19937_64 &random, tl_scan_op op, uint64_t time, uint64_t state,
                    bool any) {
  const uint64_t coefficients = op == TL_SCAN_VARYING ? time * state : state;
  return {op,
          time,
          state,
          numbers<T>(random, coefficients, any),
          numbers<T>(random, coefficients, any),
          numbers<T>(random, time * state, any),
          numbers<T>(random, state, any)};
}

constexpr std::pair<uint64_t, uint64_t> shapes[] = {{1, 1}, {1, 5}, {2, 3}, {13, 1}, {31, 7}};

}  // namespace

TEST_CASE_TEMPLATE("a scan is the sequential recurrence bit for bit", T, float, double) {
  Backend backend;
  std::mt19937_64 random(90);
  for (int i = 0; i < samples(4); ++i)
    for (const tl_scan_op op : {TL_SCAN_CONSTANT, TL_SCAN_VARYING})
      for (const auto &[time, state] : shapes)
        for (const bool any : {false, true}) {
          const auto scan = random_scan<T>(random, op, time, state, any);
          const auto h = scan.forward(backend);
          for (uint64_t t = 0; t < time; ++t)
            for (uint64_t j = 0; j < state; ++j)
              REQUIRE(same(h[t * state + j], scan.expected_h(static_cast<int64_t>(t), j)));
        }
}

TEST_CASE_TEMPLATE("gradients of a scan are the recurrence in reverse, in either mode", T, float,
                   double) {
  Backend backend;
  std::mt19937_64 random(91);
  for (int i = 0; i < samples(4); ++i)
    for (const tl_scan_op op : {TL_SCAN_CONSTANT, TL_SCAN_VARYING})
      for (const auto &[time, state] : shapes)
        for (const bool any : {false, true}) {
          const auto scan = random_scan<T>(random, op, time, state, any);
          const auto h = numbers<T>(random, time * state, any);
          const auto d_y = numbers<T>(random, time * state, any);
          const auto expected = scan.expected_gradients(h, d_y);
          for (const bool deterministic : {false, true}) {
            backend.set_deterministic(deterministic);
            const auto got = scan.backward(backend, h, d_y);
            for (size_t k = 0; k < 4; ++k) REQUIRE(all_same(got[k], expected[k]));
          }
        }
}

TEST_CASE("T6: operands of a scan that do not fit time and state are refused by name") {
  Backend backend;
  const Buffer<float> six(backend, std::vector<float>(6)), three(backend, std::vector<float>(3));
  const tl_operand *const all = six.operand(), *const few = three.operand();
  const auto refused = [&](const char *text, tl_scan_op op, const tl_operand *a,
                           const tl_operand *b, const tl_operand *x, const tl_operand *h0,
                           const tl_operand *h, const tl_operand *d_y, uint64_t time) {
    tl_storage *out[4] = {};
    CHECK(backend.table->scan->backward(backend.instance, op, a, b, x, h0, h, d_y, time, 3, 0,
                                        out) == TL_INVALID_ARGUMENT);
    CHECK(error_text.find(text) != std::string::npos);
    for (const tl_storage *storage : out) CHECK(storage == nullptr);
  };
  refused("a.count is 6", TL_SCAN_CONSTANT, all, few, all, few, all, all, 2);
  refused("b.count is 3", TL_SCAN_VARYING, all, few, all, few, all, all, 2);
  refused("x.count is 3", TL_SCAN_CONSTANT, few, few, few, few, all, all, 2);
  refused("x.count is 6", TL_SCAN_CONSTANT, few, few, all, few, all, all, uint64_t{1} << 63);
  refused("h0.count is 6", TL_SCAN_CONSTANT, few, few, all, all, all, all, 2);
  refused("h.count is 3", TL_SCAN_CONSTANT, few, few, all, few, few, all, 2);
  refused("d_y.count is 3", TL_SCAN_CONSTANT, few, few, all, few, all, few, 2);
}
