// Selective scans with diagonal coefficients: the sequential recurrence, every product and every
// sum rounded, with the states side by side in vectors.
//
// The gradients of constant coefficients are left folds in reverse time in either mode: only they
// equal the recurrence bit for bit, which decides wherever a coefficient exceeds 1.
#include "blocks.hpp"
#include "cpu.hpp"
#include "map.hpp"
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
// `state` elements on in sequences, and in coefficients where those vary.
template <class T>
struct Strip {
  const T *a, *b, *x, *h0;
  uint64_t time;
  uint64_t state;
  uint64_t width;
  bool is_varying;
  bool is_far;  // sequences come from memory, not from caches
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

// Steps of time that a vector of states is taken through in registers before the next one is: all,
// where there is no other, else so few that memory is still read along the rows.
template <class T>
uint64_t steps_of(const Strip<T> &s, uint64_t few) {
  return s.width <= hn::MaxLanes(LineTag<T>()) ? s.time : few;
}

// Sequences that come from memory are asked for so many steps before: processors do not look from
// one piece of a row to the next. 20 million elements take half the time.
constexpr uint64_t steps_ahead = 4;

// Asks the second cache for element `at` of sequences that will be read, and the first for that of
// those that will be written.
template <class... T>
HWY_INLINE void ask_to_read(uint64_t at, const T *...sequences) {
  (__builtin_prefetch(sequences + at, 0, 2), ...);
}
template <class... T>
HWY_INLINE void ask_to_write(uint64_t at, const T *...sequences) {
  (__builtin_prefetch(sequences + at, 1), ...);
}

// Steps [begin, end) of the states from j on.
template <bool is_varying, bool is_far, class D, class Lanes, class T>
HWY_INLINE void forward_steps(const Strip<T> &s, uint64_t begin, uint64_t end, D d, Lanes lanes,
                              uint64_t j, T *h) {
  auto a = lanes.load(d, s.a + j);
  auto b = lanes.load(d, s.b + j);
  auto state = lanes.load(d, (begin == 0 ? s.h0 : h + (begin - 1) * s.state) + j);
  for (uint64_t t = begin; t < end; ++t) {
    const uint64_t at = t * s.state + j;
    if (is_far && t + steps_ahead < s.time) {
      const uint64_t next = at + steps_ahead * s.state;
      ask_to_read(next, s.x);
      if constexpr (is_varying) ask_to_read(next, s.a, s.b);
      ask_to_write(next, h);
    }
    if constexpr (is_varying) {
      a = lanes.load(d, s.a + at);
      b = lanes.load(d, s.b + at);
    }
    state = hn::Add(hn::Mul(a, state), hn::Mul(b, lanes.load(d, s.x + at)));
    lanes.store(state, d, h + at);
  }
}

template <bool is_varying, bool is_far, class T>
void forward(const Strip<T> &s, T *h) {
  const uint64_t steps = steps_of(s, 4);
  for (uint64_t begin = 0; begin < s.time; begin += steps) {
    const uint64_t end = s.time - begin < steps ? s.time : begin + steps;
    each_vector<T>(s.width, [&](auto d, auto lanes, uint64_t j) HWY_ATTR {
      forward_steps<is_varying, is_far>(s, begin, end, d, lanes, j, h);
    });
  }
}

// Steps end - 1, end - 2 ... begin of the states from j on. In between, d.h0 holds
// a[t + 1] * g[t + 1], so that it ends as a[0] * g[0], and d.a and d.b hold sums over time.
template <bool is_varying, bool is_far, class D, class Lanes, class T>
HWY_INLINE void backward_steps(const Strip<T> &s, uint64_t begin, uint64_t end, D tag, Lanes lanes,
                               uint64_t j, const T *h, const T *d_y, const Gradients<T> &d) {
  const bool is_last = end == s.time;
  auto a = lanes.load(tag, s.a + j);
  auto b = lanes.load(tag, s.b + j);
  auto of_a = is_last || is_varying ? hn::Zero(tag) : lanes.load(tag, d.a + j);
  auto of_b = is_last || is_varying ? hn::Zero(tag) : lanes.load(tag, d.b + j);
  // -0 changes nothing that it is added to.
  auto carried = is_last ? hn::Set(tag, T(-0.0)) : lanes.load(tag, d.h0 + j);
  for (uint64_t t = end; t-- > begin;) {
    const uint64_t at = t * s.state + j;
    if (is_far && t >= steps_ahead) {
      const uint64_t next = at - steps_ahead * s.state;
      ask_to_read(next, s.x, h, d_y);
      if constexpr (is_varying) {
        ask_to_read(next, s.a, s.b);
        ask_to_write(next, d.a, d.b);
      }
      ask_to_write(next, d.x);
    }
    const T *const previous = t == 0 ? s.h0 + j : h + at - s.state;
    const auto g = hn::Add(lanes.load(tag, d_y + at), carried);
    const auto term_of_a = hn::Mul(g, lanes.load(tag, previous));
    const auto term_of_b = hn::Mul(g, lanes.load(tag, s.x + at));
    if constexpr (is_varying) {
      a = lanes.load(tag, s.a + at);
      b = lanes.load(tag, s.b + at);
      lanes.store(term_of_a, tag, d.a + at);
      lanes.store(term_of_b, tag, d.b + at);
    } else {
      of_a = hn::Add(of_a, term_of_a);
      of_b = hn::Add(of_b, term_of_b);
    }
    lanes.store(hn::Mul(g, b), tag, d.x + at);
    carried = hn::Mul(a, g);
  }
  if constexpr (!is_varying) {
    lanes.store(of_a, tag, d.a + j);
    lanes.store(of_b, tag, d.b + j);
  }
  lanes.store(carried, tag, d.h0 + j);
}

template <bool is_varying, bool is_far, class T>
void backward(const Strip<T> &s, const T *h, const T *d_y, const Gradients<T> &d) {
  const uint64_t steps = steps_of(s, is_varying ? 2 : 4);  // of eight sequences or of four
  for (uint64_t end = s.time; end > 0;) {
    const uint64_t begin = end < steps ? 0 : end - steps;
    each_vector<T>(s.width, [&](auto tag, auto lanes, uint64_t j) HWY_ATTR {
      backward_steps<is_varying, is_far>(s, begin, end, tag, lanes, j, h, d_y, d);
    });
    end = begin;
  }
}

template <class T>
void forward_any(const Strip<T> &s, T *h) {
  if (s.is_far)
    s.is_varying ? forward<true, true>(s, h) : forward<false, true>(s, h);
  else
    s.is_varying ? forward<true, false>(s, h) : forward<false, false>(s, h);
}

template <class T>
void backward_any(const Strip<T> &s, const T *h, const T *d_y, const Gradients<T> &d) {
  if (s.is_far)
    s.is_varying ? backward<true, true>(s, h, d_y, d) : backward<false, true>(s, h, d_y, d);
  else
    s.is_varying ? backward<true, false>(s, h, d_y, d) : backward<false, false>(s, h, d_y, d);
}

}  // namespace

template <class T>
constexpr ScanKernels<T> scan_kernels = {forward_any<T>, backward_any<T>};

}  // namespace torchlean::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace torchlean::cpu {
namespace {

// Elements that are worth a second thread. 256 x 256 take one 5 µs and more; two took up to four
// times as long, since each finds half of every row in the other's cache.
constexpr uint64_t shared_from = uint64_t{1} << 17;

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
            width,
            is_varying,
            exceeds_caches((is_varying ? 4 : 2) * x.size() * sizeof(T))};
  }

  // body(first, width) for strips of neighbouring states, shared out among threads: whole cache
  // lines wide, and as wide as the threads allow, since memory is read along the rows.
  template <class Body>
  void each_strip(const tl_instance &instance, const Body &body) const {
    constexpr uint64_t unit = 256 / sizeof(T);
    const uint64_t grain = x.size() < shared_from
                               ? std::max<uint64_t>(state, 1)
                               : blocks_in(8192, unit * std::max<uint64_t>(time, 1)) * unit;
    parallel_for(instance, x.empty() ? 0 : state, grain,
                 [&](uint64_t begin, uint64_t end) { body(begin, end - begin); });
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
