// Selective scans with diagonal coefficients: the sequential recurrence, every product and every
// sum rounded. ATen has no scan; these are loops over time in which the states stand side by side.
//
// The gradients of constant coefficients are added in reverse time in either mode.
#include "composed.hpp"
#include "kernels.hpp"
#include "libtorch.hpp"

namespace torchlean::libtorch {
namespace {

constexpr int64_t states_per_task = 256;

// The operands that both directions have, and their sizes.
struct Scan {
  tl_dtype dtype;
  int64_t time;
  int64_t state;
  bool varying;  // coefficients per (time, state) rather than per state
  at::Tensor a, b, x, h0;

  Scan(tl_scan_op op, const tl_operand *a_operand, const tl_operand *b_operand,
       const tl_operand *x_operand, const tl_operand *h0_operand, uint64_t steps, uint64_t states) {
    if (op >= TL_SCAN_OP_COUNT) throw unknown("op", op);
    expect_given("a", a_operand);
    dtype = a_operand->dtype;
    time = extent("time", steps);
    state = extent("state", states);
    varying = op == TL_SCAN_VARYING;
    a = coefficient("a", a_operand);
    b = coefficient("b", b_operand);
    x = sequence("x", x_operand);
    h0 = native_as("h0", h0_operand, dtype, state);
  }

  at::Tensor sequence(const char *argument, const tl_operand *operand) const {
    return native_as(argument, operand, dtype, {time, state});
  }

  at::Tensor coefficient(const char *argument, const tl_operand *operand) const {
    return varying ? sequence(argument, operand) : native_as(argument, operand, dtype, state);
  }

  // What to add to a coefficient's place for a step of time.
  int64_t coefficient_stride() const { return varying ? state : 0; }
};

// Pointers to the first state of a strip, and how far the coefficients of the next step are.
template <class T>
struct Strip {
  const T *a, *b, *x, *h0;
  int64_t time, state, coefficient_stride, width;

  Strip(const Scan &scan, int64_t begin, int64_t columns)
      : a(scan.a.const_data_ptr<T>() + begin),
        b(scan.b.const_data_ptr<T>() + begin),
        x(scan.x.const_data_ptr<T>() + begin),
        h0(scan.h0.const_data_ptr<T>() + begin),
        time(scan.time),
        state(scan.state),
        coefficient_stride(scan.coefficient_stride()),
        width(columns) {}
};

template <class T>
TL_LOOP void run(const Strip<T> &s, T *h) {
  const T *previous = s.h0;
  for (int64_t t = 0; t < s.time; ++t, h += s.state) {
    const T *const a = s.a + t * s.coefficient_stride;
    const T *const b = s.b + t * s.coefficient_stride;
    const T *const x = s.x + t * s.state;
#pragma GCC ivdep
    for (int64_t j = 0; j < s.width; ++j) h[j] = a[j] * previous[j] + b[j] * x[j];
    previous = h;
  }
}

void scan_forward(tl_instance &instance, tl_scan_op op, const tl_operand *a, const tl_operand *b,
                  const tl_operand *x, const tl_operand *h0, uint64_t time, uint64_t state,
                  tl_flags, tl_storage **out) {
  const Scan scan(op, a, b, x, h0, time, state);
  if (instance.composed) return hand_out(out, composed::scan(scan.a, scan.b, scan.x, scan.h0));
  with_native(scan.dtype, [&]<class T>(T) {
    const at::Tensor result = empty(scan.x.numel(), scalar_type<T>);
    T *const h = result.mutable_data_ptr<T>();
    each_strip(1, scan.time, scan.state, states_per_task,
               [&](int64_t, int64_t begin, int64_t width) {
                 run(Strip<T>(scan, begin, width), h + begin);
               });
    hand_out(out, result);
  });
}

template <class T>
struct Gradients {
  T *a, *b, *x, *h0;
};

template <class T>
TL_LOOP void run_back(const Strip<T> &s, const T *h, const T *d_y, const Gradients<T> &d) {
  const bool summed = s.coefficient_stride == 0;
  T g[states_per_task];
  T *const from_later = d.h0;  // a[t + 1] * g[t + 1], in the end a[0] * g[0]
  std::fill_n(from_later, s.width, T(0));
  if (summed) {
    std::fill_n(d.a, s.width, T(0));
    std::fill_n(d.b, s.width, T(0));
  }
  for (int64_t t = s.time - 1; t >= 0; --t) {
    const int64_t now = t * s.state;
    const int64_t coefficient = t * s.coefficient_stride;
    const T *const a = s.a + coefficient;
    const T *const b = s.b + coefficient;
    const T *const x = s.x + now;
    const T *const previous = t == 0 ? s.h0 : h + now - s.state;
    T *const d_a = d.a + coefficient;
    T *const d_b = d.b + coefficient;
    T *const d_x = d.x + now;
    const T *const own = d_y + now;
    if (t == s.time - 1) {
      std::copy_n(own, s.width, g);
    } else {
#pragma GCC ivdep
      for (int64_t j = 0; j < s.width; ++j) g[j] = own[j] + from_later[j];
    }
#pragma GCC ivdep
    for (int64_t j = 0; j < s.width; ++j) {
      const T a_term = g[j] * previous[j];
      const T b_term = g[j] * x[j];
      d_a[j] = summed ? d_a[j] + a_term : a_term;
      d_b[j] = summed ? d_b[j] + b_term : b_term;
      d_x[j] = g[j] * b[j];
      from_later[j] = a[j] * g[j];
    }
  }
}

void scan_backward(tl_instance &instance, tl_scan_op op, const tl_operand *a, const tl_operand *b,
                   const tl_operand *x, const tl_operand *h0, const tl_operand *h,
                   const tl_operand *d_y, uint64_t time, uint64_t state, tl_flags,
                   tl_storage **out) {
  const Scan scan(op, a, b, x, h0, time, state);
  const at::Tensor states = scan.sequence("h", h);
  const at::Tensor gradient = scan.sequence("d_y", d_y);
  if (instance.composed)
    return hand_out(out, composed::scan_bwd(scan.a, scan.b, scan.x, scan.h0, states, gradient));
  with_native(scan.dtype, [&]<class T>(T) {
    const std::array<at::Tensor, 4> results = {
        empty(scan.a.numel(), scalar_type<T>), empty(scan.b.numel(), scalar_type<T>),
        empty(scan.x.numel(), scalar_type<T>), empty(scan.state, scalar_type<T>)};
    const Gradients<T> d = {results[0].mutable_data_ptr<T>(), results[1].mutable_data_ptr<T>(),
                            results[2].mutable_data_ptr<T>(), results[3].mutable_data_ptr<T>()};
    each_strip(1, scan.time, scan.state, states_per_task,
               [&](int64_t, int64_t begin, int64_t width) {
                 run_back(Strip<T>(scan, begin, width), states.const_data_ptr<T>() + begin,
                          gradient.const_data_ptr<T>() + begin,
                          {d.a + begin, d.b + begin, d.x + begin, d.h0 + begin});
               });
    hand_out(out, results);
  });
}

}  // namespace

const tl_scan_table scan_table = {
    .struct_size = sizeof(tl_scan_table),
    .forward = entry<"scan forward", scan_forward>,
    .backward = entry<"scan backward", scan_backward>,
};

}  // namespace torchlean::libtorch
