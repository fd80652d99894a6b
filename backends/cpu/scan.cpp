// Selective scans with diagonal coefficients: the sequential recurrence, every product and every
// sum rounded, with the states side by side in vectors.
//
// The gradients of constant coefficients are left folds in reverse time in either mode: only they
// equal the recurrence bit for bit, which decides wherever a coefficient exceeds 1.
#include "blocks.hpp"
#include "cpu.hpp"
#include "threads.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scan.cpp"
#include "targets.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "vectors-inl.h"

#ifndef TORCHLEAN_CPU_SCAN_ONCE
#define TORCHLEAN_CPU_SCAN_ONCE
namespace torchlean::cpu {
namespace {

// Some neighbouring states of a scan: pointers to the first of them at time 0. A step of time goes
// `state` elements on in sequences, `coefficient_step` in coefficients: 0 where they are constant.
template <class T>
struct Strip {
  const T *a, *b, *x, *h0;
  uint64_t time;
  uint64_t state;
  uint64_t coefficient_step;
  uint64_t width;
};

template <class T>
struct Gradients {
  T *a, *b, *x, *h0;
};

template <class T>
struct ScanKernels {
  void (*forward)(const Strip<T> &strip, T *h);
  void (*backward)(const Strip<T> &strip, const T *h, const T *d_y, const Gradients<T> &d);
};

}  // namespace
}  // namespace torchlean::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace torchlean::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void forward(const Strip<T> &s, T *h) {
  const T *previous = s.h0;
  for (uint64_t t = 0; t < s.time; ++t, h += s.state) {
    const T *const a = s.a + t * s.coefficient_step;
    const T *const b = s.b + t * s.coefficient_step;
    const T *const x = s.x + t * s.state;
    each_vector<T>(s.width, [=](auto d, auto lanes, uint64_t j) HWY_ATTR {
      const auto kept = hn::Mul(lanes.load(d, a + j), lanes.load(d, previous + j));
      const auto added = hn::Mul(lanes.load(d, b + j), lanes.load(d, x + j));
      lanes.store(hn::Add(kept, added), d, h + j);
    });
    previous = h;
  }
}

// d.h0 holds a[t + 1] * g[t + 1] on the way, so that it ends as a[0] * g[0].
template <class T>
void backward(const Strip<T> &s, const T *h, const T *d_y, const Gradients<T> &d) {
  const bool is_varying = s.coefficient_step != 0;
  for (uint64_t t = s.time; t-- > 0;) {
    const bool is_last = t + 1 == s.time;
    const uint64_t now = t * s.state;
    const uint64_t coefficient = t * s.coefficient_step;
    const T *const previous = t == 0 ? s.h0 : h + now - s.state;
    each_vector<T>(s.width, [=](auto tag, auto lanes, uint64_t j) HWY_ATTR {
      auto g = lanes.load(tag, d_y + now + j);
      if (!is_last) g = hn::Add(g, lanes.load(tag, d.h0 + j));
      auto of_a = hn::Mul(g, lanes.load(tag, previous + j));
      auto of_b = hn::Mul(g, lanes.load(tag, s.x + now + j));
      T *const d_a = d.a + coefficient + j;
      T *const d_b = d.b + coefficient + j;
      if (!is_varying) {
        of_a = hn::Add(is_last ? hn::Zero(tag) : lanes.load(tag, d_a), of_a);
        of_b = hn::Add(is_last ? hn::Zero(tag) : lanes.load(tag, d_b), of_b);
      }
      lanes.store(of_a, tag, d_a);
      lanes.store(of_b, tag, d_b);
      lanes.store(hn::Mul(g, lanes.load(tag, s.b + coefficient + j)), tag, d.x + now + j);
      lanes.store(hn::Mul(lanes.load(tag, s.a + coefficient + j), g), tag, d.h0 + j);
    });
  }
}

}  // namespace

template <class T>
constexpr ScanKernels<T> scan_kernels = {forward<T>, backward<T>};

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torchlean::cpu {
namespace {

// The operands that both directions have, checked.
template <class T>
struct Scan {
  std::span<const T> a, b, x, h0;
  uint64_t time;
  uint64_t state;
  bool is_varying;  // coefficients per (time, state) rather than per state

  Scan(tl_scan_op op, const tl_operand *a_operand, const tl_operand *b_operand,
       const tl_operand *x_operand, const tl_operand *h0_operand, uint64_t steps, uint64_t states)
      : a(values_of<T>("a", a_operand)),
        b(values_of<T>("b", b_operand)),
        x(values_of<T>("x", x_operand)),
        h0(values_of<T>("h0", h0_operand)),
        time(steps),
        state(states),
        is_varying(op == TL_SCAN_VARYING) {
    if (op >= TL_SCAN_OP_COUNT) throw unknown("op", op);
    expect_equal("x.count", x.size(), product({time, state}));
    expect_equal("a.count", a.size(), is_varying ? x.size() : state);
    expect_equal("b.count", b.size(), is_varying ? x.size() : state);
    expect_equal("h0.count", h0.size(), state);
  }

  Strip<T> strip(uint64_t first, uint64_t width) const {
    return {a.data() + first,
            b.data() + first,
            x.data() + first,
            h0.data() + first,
            time,
            state,
            is_varying ? state : uint64_t{0},
            width};
  }

  // body(first, width) for strips of neighbouring states, shared out among threads: some cache
  // lines wide, so that rows are read in long pieces, and narrow enough to leave work for all.
  template <class Body>
  void each_strip(const tl_instance &instance, const Body &body) const {
    constexpr uint64_t line = 128 / sizeof(T);
    const uint64_t width = std::clamp(blocks_in(state, 8 * line) * line, line, 16 * line);
    const uint64_t strips = blocks_in(state, width);
    parallel_for(instance, x.empty() ? 0 : strips, 8192 / (width * std::max<uint64_t>(time, 1)) + 1,
                 [&](uint64_t begin, uint64_t end) {
                   for (uint64_t i = begin; i < end; ++i)
                     body(i * width, std::min(width, state - i * width));
                 });
  }
};

void forward(tl_instance &instance, tl_scan_op op, const tl_operand *a_operand,
             const tl_operand *b_operand, const tl_operand *x_operand, const tl_operand *h0_operand,
             uint64_t time, uint64_t state, tl_flags, tl_storage **out) {
  expect_given("a", a_operand);
  with_native(a_operand->dtype, [&]<class T>(T) {
    const Scan<T> scan(op, a_operand, b_operand, x_operand, h0_operand, time, state);
    Result<T> h(instance, scan.x.size());
    const auto &kernels = TORCHLEAN_CPU_CHOOSE(instance.target, scan_kernels<T>);
    scan.each_strip(instance, [&](uint64_t first, uint64_t width) {
      kernels.forward(scan.strip(first, width), h.begin() + first);
    });
    hand_out(out, h);
  });
}

void backward(tl_instance &instance, tl_scan_op op, const tl_operand *a_operand,
              const tl_operand *b_operand, const tl_operand *x_operand,
              const tl_operand *h0_operand, const tl_operand *h_operand,
              const tl_operand *d_y_operand, uint64_t time, uint64_t state, tl_flags,
              tl_storage **out) {
  expect_given("a", a_operand);
  with_native(a_operand->dtype, [&]<class T>(T) {
    const Scan<T> scan(op, a_operand, b_operand, x_operand, h0_operand, time, state);
    const auto h = values_of<T>("h", h_operand);
    const auto d_y = values_of<T>("d_y", d_y_operand);
    expect_equal("h.count", h.size(), scan.x.size());
    expect_equal("d_y.count", d_y.size(), scan.x.size());
    Result<T> d_a(instance, scan.a.size());
    Result<T> d_b(instance, scan.b.size());
    Result<T> d_x(instance, scan.x.size());
    Result<T> d_h0(instance, state);
    if (time == 0)  // nothing flows back
      for (Result<T> *const result : {&d_a, &d_b, &d_h0})
        std::fill(result->begin(), result->end(), T(0));
    const auto &kernels = TORCHLEAN_CPU_CHOOSE(instance.target, scan_kernels<T>);
    scan.each_strip(instance, [&](uint64_t first, uint64_t width) {
      kernels.backward(
          scan.strip(first, width), h.data() + first, d_y.data() + first,
          {d_a.begin() + first, d_b.begin() + first, d_x.begin() + first, d_h0.begin() + first});
    });
    hand_out(out, d_a, d_b, d_x, d_h0);
  });
}

}  // namespace

const tl_scan_table scan_table = {
    .struct_size = sizeof(tl_scan_table),
    .forward = entry<"scan forward", forward>,
    .backward = entry<"scan backward", backward>,
};

}  // namespace torchlean::cpu
#endif  // HWY_ONCE
