// Selective scans with diagonal coefficients: the sequential recurrence, step by step.
//
// Every product and every sum is rounded. The gradients of constant coefficients are left folds in
// reverse time in either mode: only they equal the recurrence bit for bit, which decides wherever
// a coefficient exceeds 1.
#include "reference.hpp"

namespace torchlean::reference {
namespace {

// The sizes of a scan, checked against the operands that forward and backward share.
struct Shape {
  uint64_t time;
  uint64_t state;
  bool varying;  // coefficients per (time, state) rather than per state

  template <class T>
  Shape(tl_scan_op op, uint64_t time_steps, uint64_t states, std::span<const T> a,
        std::span<const T> b, std::span<const T> x, std::span<const T> h0)
      : time(time_steps), state(states), varying(op == TL_SCAN_VARYING) {
    if (op >= TL_SCAN_OP_COUNT) throw unknown("op", op);
    expect_equal("x.count", x.size(), product({time, state}));
    expect_equal("a.count", a.size(), varying ? x.size() : state);
    expect_equal("b.count", b.size(), varying ? x.size() : state);
    expect_equal("h0.count", h0.size(), state);
  }

  // The element of a (time, state) array, and the coefficient that belongs to it.
  uint64_t element(uint64_t t, uint64_t j) const { return t * state + j; }
  uint64_t coefficient(uint64_t t, uint64_t j) const { return varying ? element(t, j) : j; }
};

void scan_forward(tl_instance &instance, tl_scan_op op, const tl_operand *a_operand,
                  const tl_operand *b_operand, const tl_operand *x_operand,
                  const tl_operand *h0_operand, uint64_t time, uint64_t state, tl_flags,
                  tl_storage **out) {
  expect_given("a", a_operand);
  with_native(a_operand->dtype, [&]<class T>(T) {
    const auto a = values_of<T>("a", a_operand);
    const auto b = values_of<T>("b", b_operand);
    const auto x = values_of<T>("x", x_operand);
    const auto h0 = values_of<T>("h0", h0_operand);
    const Shape shape(op, time, state, a, b, x, h0);

    Result<T> h(instance, x.size());
    for (uint64_t j = 0; j < state; ++j) {
      T previous = h0[j];
      for (uint64_t t = 0; t < time; ++t) {
        const uint64_t i = shape.element(t, j);
        const uint64_t c = shape.coefficient(t, j);
        h[i] = previous = a[c] * previous + b[c] * x[i];
      }
    }
    hand_out(out, h);
  });
}

void scan_backward(tl_instance &instance, tl_scan_op op, const tl_operand *a_operand,
                   const tl_operand *b_operand, const tl_operand *x_operand,
                   const tl_operand *h0_operand, const tl_operand *h_operand,
                   const tl_operand *d_y_operand, uint64_t time, uint64_t state, tl_flags,
                   tl_storage **out) {
  expect_given("a", a_operand);
  with_native(a_operand->dtype, [&]<class T>(T) {
    const auto a = values_of<T>("a", a_operand);
    const auto b = values_of<T>("b", b_operand);
    const auto x = values_of<T>("x", x_operand);
    const auto h0 = values_of<T>("h0", h0_operand);
    const auto h = values_of<T>("h", h_operand);
    const auto d_y = values_of<T>("d_y", d_y_operand);
    const Shape shape(op, time, state, a, b, x, h0);
    expect_equal("h.count", h.size(), x.size());
    expect_equal("d_y.count", d_y.size(), x.size());

    Result<T> d_a(instance, a.size());
    Result<T> d_b(instance, b.size());
    Result<T> d_x(instance, x.size());
    Result<T> d_h0(instance, state);
    std::fill(d_a.begin(), d_a.end(), T(0));
    std::fill(d_b.begin(), d_b.end(), T(0));
    for (uint64_t j = 0; j < state; ++j) {
      T from_later = 0;  // a[t + 1] * g[t + 1]
      for (uint64_t t = time; t-- > 0;) {
        const uint64_t i = shape.element(t, j);
        const uint64_t c = shape.coefficient(t, j);
        const T g = t + 1 == time ? d_y[i] : d_y[i] + from_later;
        const T a_term = g * (t == 0 ? h0[j] : h[shape.element(t - 1, j)]);
        const T b_term = g * x[i];
        d_a[c] = shape.varying ? a_term : d_a[c] + a_term;
        d_b[c] = shape.varying ? b_term : d_b[c] + b_term;
        d_x[i] = g * b[c];
        from_later = a[c] * g;
      }
      d_h0[j] = from_later;
    }
    hand_out(out, d_a, d_b, d_x, d_h0);
  });
}

}  // namespace

const tl_scan_table scan_table = {
    .struct_size = sizeof(tl_scan_table),
    .forward = entry<"scan forward", scan_forward>,
    .backward = entry<"scan backward", scan_backward>,
};

}  // namespace torchlean::reference
