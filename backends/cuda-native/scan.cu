// Selective scans with diagonal coefficients and their gradients.
//
// A thread takes a state through all of its time: the sequential recurrence, every product and
// every sum rounded. Where states are too few for that, float sequences are cut into chunks of time
// (scan_chunks.cuh), except in deterministic mode, which is the recurrence always.
#include "instance.hpp"
#include "operation_names.hpp"
#include "scan_chunks.cuh"

#include <cmath>

namespace torchlean::cuda {

namespace {

// ---- The recurrence ----------------------------------------------------------------------------

// Of every state, or of those that are suspect.
template <class T>
__global__ void forward_kernel(uint64_t n, Scan<T> s, Chunks chunks, T *h) {
  for (uint64_t j = first_element(); j < n; j += element_stride()) {
    if (chunks.count > 0 && !chunks.is_suspect(j, n)) {
      continue;
    }
    T value = s.h0[j];
    load_ahead(
        s.time, [&](uint64_t t) { return s.step(t, j); },
        [&](uint64_t t, const Step<T> &step) {
          value = add_rn(mul_rn(step.a, value), mul_rn(step.b, step.x));
          h[s.element(t, j)] = value;
        });
  }
}

// The gradients of constant coefficients are left folds in reverse time.
template <class T>
__global__ void backward_kernel(uint64_t n, ScanGradient<T> s, Chunks chunks, Gradients<T> d) {
  const bool is_varying = s.of.is_varying();
  for (uint64_t j = first_element(); j < n; j += element_stride()) {
    if (chunks.count > 0 && !chunks.is_suspect(j, n)) {
      continue;
    }
    const uint64_t last = s.of.time - 1;
    T of_a = 0;
    T of_b = 0;
    T from_later = 0;  // a[t + 1] * g[t + 1]
    load_ahead(
        s.of.time, [&](uint64_t k) { return s.step(last - k, j); },
        [&](uint64_t k, const GradientStep<T> &step) {
          const uint64_t here = s.of.element(last - k, j);
          const T g = k == 0 ? step.d_y : add_rn(step.d_y, from_later);
          const T a_term = mul_rn(g, step.h_before);
          const T b_term = mul_rn(g, step.x);
          if (is_varying) {
            d.a[here] = a_term;
            d.b[here] = b_term;
          } else {
            of_a = add_rn(of_a, a_term);
            of_b = add_rn(of_b, b_term);
          }
          d.x[here] = mul_rn(g, step.b);
          from_later = mul_rn(step.a, g);
        });
    if (!is_varying) {
      d.a[j] = of_a;
      d.b[j] = of_b;
    }
    d.h0[j] = from_later;
  }
}

// ---- Sequences in chunks -----------------------------------------------------------------------

// A cut of the time that leaves as many chunks as there are steps in each, and its workspace.
class Cut {
 public:
  Cut(tl_instance &instance, const char *operation, uint64_t time, uint64_t state)
      : length_(length_for(time)),
        count_((time - 1) / length_ + 1),
        product_(instance, operation, count_ * state, sizeof(double)),
        end_(instance, operation, count_ * state, sizeof(double)),
        suspect_(instance, operation, count_ * state, sizeof(uint32_t)) {}

  Chunks chunks() const {
    return {length_, count_, product_.elements<double>(), end_.elements<double>(),
            suspect_.elements<uint32_t>()};
  }

  // Whether chunks, which read everything twice, pay: the states alone, each with several steps'
  // loads under way, leave most of the device's bandwidth idle for long.
  static bool is_worth_it(const tl_instance &instance, uint64_t time, uint64_t state) {
    const uint64_t threads = uint64_t{device::full_grid(*instance.stream)} * 256;
    return time >= 256 && state <= threads / 32 && !instance.deterministic;
  }

 private:
  static uint64_t length_for(uint64_t time) {
    return static_cast<uint64_t>(std::ceil(std::sqrt(static_cast<double>(time))));
  }

  uint64_t length_;
  uint64_t count_;
  Result product_;
  Result end_;
  Result suspect_;
};

void forward_in_chunks(tl_instance &instance, const char *operation, const Scan<float> &s,
                       float *h) {
  const Cut cut(instance, operation, s.time, s.state);
  const Chunks chunks = cut.chunks();
  const uint64_t pieces = chunks.count * s.state;
  device::Stream &stream = *instance.stream;
  launch(stream, operation, pieces, &summarize_forward, s, chunks);
  launch(stream, operation, s.state, &carry_forward, s, chunks);
  launch(stream, operation, pieces, &replay_forward, s, chunks, h);
  launch(stream, operation, s.state, &forward_kernel<float>, s, chunks, h);
}

void backward_in_chunks(tl_instance &instance, const char *operation, const ScanGradient<float> &s,
                        const Gradients<float> &d) {
  const uint64_t state = s.of.state;
  const Cut cut(instance, operation, s.of.time, state);
  const Chunks chunks = cut.chunks();
  const uint64_t pieces = chunks.count * state;
  const Result sum_b(instance, operation, pieces, sizeof(double));
  device::Stream &stream = *instance.stream;
  launch(stream, operation, pieces, &summarize_backward, s, chunks);
  launch(stream, operation, state, &carry_backward, s, chunks, d.h0);
  launch(stream, operation, pieces, &replay_backward, s, chunks, d, sum_b.elements<double>());
  if (s.of.coefficient_step == 0) {
    launch(stream, operation, state, &sum_chunks, chunks, sum_b.elements<double>(), d.a, d.b);
  }
  launch(stream, operation, state, &backward_kernel<float>, s, chunks, d);
}

template <class T>
void run_forward(tl_instance &instance, const char *operation, const Scan<T> &s, T *h) {
  if constexpr (std::is_same_v<T, float>) {
    if (Cut::is_worth_it(instance, s.time, s.state)) {
      return forward_in_chunks(instance, operation, s, h);
    }
  }
  launch(*instance.stream, operation, s.state, &forward_kernel<T>, s, Chunks{}, h);
}

template <class T>
void run_backward(tl_instance &instance, const char *operation, const ScanGradient<T> &s,
                  const Gradients<T> &d) {
  if constexpr (std::is_same_v<T, float>) {
    if (Cut::is_worth_it(instance, s.of.time, s.of.state)) {
      return backward_in_chunks(instance, operation, s, d);
    }
  }
  launch(*instance.stream, operation, s.of.state, &backward_kernel<T>, s, Chunks{}, d);
}

// ---- Entries -----------------------------------------------------------------------------------

constexpr auto forward_names = operation_names<TL_SCAN_OP_COUNT>("forward", "scan");
constexpr auto backward_names = operation_names<TL_SCAN_OP_COUNT>("backward", "scan");

// The operands that both directions have, checked.
template <class T>
Scan<T> scan_of(const char *operation, tl_scan_op op, const tl_operand &a, const tl_operand &b,
                const tl_operand &x, const tl_operand &h0, uint64_t time, uint64_t state) {
  const uint64_t count = product({time, state});
  const uint64_t coefficients = op == TL_SCAN_VARYING ? count : state;
  check_operand(operation, "a", a, native_dtype<T>, coefficients);
  check_operand(operation, "b", b, native_dtype<T>, coefficients);
  check_operand(operation, "x", x, native_dtype<T>, count);
  check_operand(operation, "h0", h0, native_dtype<T>, state);
  return {elements<T>(a),
          elements<T>(b),
          elements<T>(x),
          elements<T>(h0),
          time,
          state,
          op == TL_SCAN_VARYING ? state : 0};
}

void forward(tl_instance *instance, tl_scan_op op, const tl_operand *a, const tl_operand *b,
             const tl_operand *x, const tl_operand *h0, uint64_t time, uint64_t state, tl_flags,
             tl_storage **out) {
  const char *operation = name_of(forward_names, "scan forward", op);
  with_native(operation, a->dtype, [&]<class T>() {
    const Scan<T> scan = scan_of<T>(operation, op, *a, *b, *x, *h0, time, state);
    Result h(*instance, operation, x->count, sizeof(T));
    run_forward(*instance, operation, scan, h.elements<T>());
    *out = h.hand_over();
  });
}

void backward(tl_instance *instance, tl_scan_op op, const tl_operand *a, const tl_operand *b,
              const tl_operand *x, const tl_operand *h0, const tl_operand *h, const tl_operand *d_y,
              uint64_t time, uint64_t state, tl_flags, tl_storage *out[4]) {
  const char *operation = name_of(backward_names, "scan backward", op);
  with_native(operation, a->dtype, [&]<class T>() {
    const Scan<T> scan = scan_of<T>(operation, op, *a, *b, *x, *h0, time, state);
    check_operand(operation, "h", *h, native_dtype<T>, x->count);
    check_operand(operation, "d_y", *d_y, native_dtype<T>, x->count);
    Result d_a(*instance, operation, a->count, sizeof(T));
    Result d_b(*instance, operation, b->count, sizeof(T));
    Result d_x(*instance, operation, x->count, sizeof(T));
    Result d_h0(*instance, operation, state, sizeof(T));
    run_backward<T>(*instance, operation, {scan, elements<T>(*h), elements<T>(*d_y)},
                    {d_a.elements<T>(), d_b.elements<T>(), d_x.elements<T>(), d_h0.elements<T>()});
    out[0] = d_a.hand_over();
    out[1] = d_b.hand_over();
    out[2] = d_x.hand_over();
    out[3] = d_h0.hand_over();
  });
}

}  // namespace

const tl_scan_table scan_table = {
    .struct_size = sizeof(tl_scan_table),
    .forward = entry<forward>,
    .backward = entry<backward>,
};

}  // namespace torchlean::cuda
