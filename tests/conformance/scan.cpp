// Selective scans: the sequential recurrence bit for bit or, where every |a| <= 1, within the bound
// of the terms.
#include "sums.hpp"

#include <array>
#include <tuple>

namespace torchlean::conformance {
namespace {

// A value in the dtype by the recurrence as written, in many digits, and the sum of its terms.
template <class T>
struct Track {
  T sequential = 0;
  Number exact = 0;
  Number magnitude = 0;

  Track() = default;
  Track(T value) : sequential(value), exact(value), magnitude(abs(Number(value))) {}
  friend Track operator*(const Track &a, const Track &b) {
    Track product;
    product.sequential = a.sequential * b.sequential;
    product.exact = a.exact * b.exact;
    product.magnitude = a.magnitude * b.magnitude;
    return product;
  }
  friend Track operator+(const Track &a, const Track &b) {
    Track sum;
    sum.sequential = a.sequential + b.sequential;
    sum.exact = a.exact + b.exact;
    sum.magnitude = a.magnitude + b.magnitude;
    return sum;
  }
};

template <class T>
struct Scan {
  bool varying;
  std::size_t time, state;
  std::vector<T> a, b, x, h0, h, d_y;

  std::size_t place(std::size_t t, std::size_t j) const { return varying ? t * state + j : j; }

  std::vector<Track<T>> forward() const {
    std::vector<Track<T>> result(time * state);
    for (std::size_t t = 0; t < time; ++t)
      for (std::size_t j = 0; j < state; ++j) {
        const Track<T> former = t == 0 ? Track<T>(h0[j]) : result[(t - 1) * state + j];
        result[t * state + j] = Track<T>(a[place(t, j)]) * former +
                                Track<T>(b[place(t, j)]) * Track<T>(x[t * state + j]);
      }
    return result;
  }

  // dA, dB, dX, dH0; constant coefficients are summed in reverse time, from +0.
  std::array<std::vector<Track<T>>, 4> backward() const {
    std::array<std::vector<Track<T>>, 4> result = {
        std::vector<Track<T>>(a.size()), std::vector<Track<T>>(b.size()),
        std::vector<Track<T>>(time * state), std::vector<Track<T>>(state)};
    for (std::size_t j = 0; j < state; ++j) {
      Track<T> g;
      for (std::size_t t = time; t-- > 0;) {
        const std::size_t i = t * state + j;
        g = t + 1 == time ? Track<T>(d_y[i]) : Track<T>(d_y[i]) + Track<T>(a[place(t + 1, j)]) * g;
        const Track<T> of_a = g * Track<T>(t == 0 ? h0[j] : h[i - state]);
        const Track<T> of_b = g * Track<T>(x[i]);
        auto &[d_a, d_b, d_x, d_h0] = result;
        d_a[place(t, j)] = varying ? of_a : d_a[place(t, j)] + of_a;
        d_b[place(t, j)] = varying ? of_b : d_b[place(t, j)] + of_b;
        d_x[i] = g * Track<T>(b[place(t, j)]);
        if (t == 0) d_h0[j] = Track<T>(a[place(0, j)]) * g;
      }
    }
    return result;
  }

  // Where the recurrence alone decides: some |a| > 1, or something not finite.
  bool is_exact(bool backwards) const {
    const auto finite = [](const std::vector<T> &values) {
      return std::all_of(values.begin(), values.end(), [](T v) { return std::isfinite(v); });
    };
    return !std::all_of(a.begin(), a.end(), [](T v) { return std::fabs(v) <= 1; }) || !finite(b) ||
           !finite(x) || !finite(h0) || (backwards && (!finite(h) || !finite(d_y)));
  }
};

template <class T>
void check_track(Check &check, const Buffer &got, const std::vector<Track<T>> &expected,
                 bool is_exact, std::size_t time, const char *what) {
  const double factor = 4 * std::log2(2 * static_cast<double>(std::max<std::size_t>(time, 1)));
  check.each<T>(got, expected.size(), what, [&](std::size_t i, T value) -> std::string {
    const Track<T> &track = expected[i];
    if (same(value, track.sequential)) return "";
    if (is_exact) return text_of(track.sequential);
    const Number bound = Number(factor) * Values<T>::eps * track.magnitude +
                         Number(6 * static_cast<double>(time)) * Values<T>::tiny;
    return std::isfinite(value) && abs(Number(value) - track.exact) <= bound
               ? ""
               : text_of(track.sequential) + " or within " +
                     text_of(bound.template rounded<double>());
  });
}

template <class T>
Buffer call_forward(Check &check, const Scan<T> &s) {
  const auto call = s.varying ? selective_scan_diag_var_fwd : selective_scan_diag_fwd;
  return call(check.input(s.a), check.input(s.b), check.input(s.x), check.input(s.h0), s.time,
              s.state);
}

template <class T>
ScanGradients call_backward(Check &check, const Scan<T> &s) {
  const auto call = s.varying ? selective_scan_diag_var_bwd : selective_scan_diag_bwd;
  return call(check.input(s.a), check.input(s.b), check.input(s.x), check.input(s.h0),
              check.input(s.h), check.input(s.d_y), s.time, s.state);
}

template <class T>
void check_forward(Check &check, const Scan<T> &s) {
  check_track(check, call_forward(check, s), s.forward(), s.is_exact(false), s.time, "h");
}

template <class T>
void check_backward(Check &check, const Scan<T> &s) {
  const ScanGradients got = call_backward(check, s);
  const auto expected = s.backward();
  const bool is_exact = s.is_exact(true);
  check_track(check, got.a, expected[0], is_exact, s.time, "dA");
  check_track(check, got.b, expected[1], is_exact, s.time, "dB");
  check_track(check, got.x, expected[2], is_exact, s.time, "dX");
  check_track(check, got.h0, expected[3], is_exact, s.time, "dH0");
}

enum class Sort { decaying, growing, any_bits };

template <class T>
Scan<T> make_scan(bool varying, std::size_t time, std::size_t state, Sort sort) {
  const std::size_t coefficients = varying ? time * state : state;
  const auto values = [&](std::size_t n, std::uint64_t seed) {
    return sort == Sort::any_bits ? any_patterns<T>(n, seed) : normal_values<T>(n, 0, 1, seed);
  };
  Scan<T> s{varying,
            time,
            state,
            values(coefficients, 1),
            values(coefficients, 2),
            values(time * state, 3),
            values(state, 4),
            values(time * state, 5),
            values(time * state, 6)};
  if (sort == Sort::decaying)
    for (std::size_t i = 0; i < s.a.size(); ++i) {
      s.a[i] /= 1 + std::fabs(s.a[i]);
      if (i % 5 == 0) s.a[i] = i % 2 == 0 ? T(1) : T(-1);
    }
  return s;
}

const struct {
  bool varying;
  tl_operation forward, backward;
} scan_forms[] = {
    {false, TL_OP_selective_scan_diag_fwd, TL_OP_selective_scan_diag_bwd},
    {true, TL_OP_selective_scan_diag_var_fwd, TL_OP_selective_scan_diag_var_bwd},
};

void add_sequences(Table &table) {
  for (const auto &[varying, forward, backward] : scan_forms) {
    const auto add = [&, varying = varying, forward = forward, backward = backward](
                         Kind kind, const char *name, std::size_t time, std::size_t state,
                         Sort sort) {
      const std::string label =
          std::string(name) + ", time=" + std::to_string(time) + ", state=" + std::to_string(state);
      table.add(forward, kind, label, [=, varying = varying]<class T>(Check &check) {
        check_forward(check, make_scan<T>(varying, time, state, sort));
      });
      table.add(backward, kind, label, [=, varying = varying]<class T>(Check &check) {
        check_backward(check, make_scan<T>(varying, time, state, sort));
      });
      if (!varying)
        table.add(backward, Kind::order, label, [=]<class T>(Check &check) {
          const auto s = make_scan<T>(false, time, state, sort);
          const Deterministic mode;
          const ScanGradients got = call_backward(check, s);
          const auto expected = s.backward();
          for (const auto &[buffer, tracks, what] :
               {std::tuple(&got.a, &expected[0], "dA"), {&got.b, &expected[1], "dB"}}) {
            std::vector<T> bits;
            for (const Track<T> &track : *tracks) bits.push_back(track.sequential);
            check.exact(*buffer, bits, what);
          }
        });
    };
    for (const auto &[time, state] : {std::pair<std::size_t, std::size_t>{1, 1},
                                      {1, 31},
                                      {2, 3},
                                      {13, 1},
                                      {31, 7},
                                      {257, 5},
                                      {4099, 1},
                                      {7, 1009}}) {
      add(Kind::ordinary, "decaying", time, state, Sort::decaying);
      if (time < 300) add(Kind::ordinary, "growing", time, state, Sort::growing);
      if (time < 300) add(Kind::special, "any bits", time, state, Sort::any_bits);
    }
    add(Kind::empty, "no time", 0, 3, Sort::decaying);
    add(Kind::empty, "no state", 3, 0, Sort::decaying);
    add(Kind::empty, "neither", 0, 0, Sort::decaying);
  }
}

void add_scan_by_hand(Table &table) {
  table.add(TL_OP_selective_scan_diag_fwd, Kind::special, "by hand, and products are rounded first",
            []<class T>(Check &check) {
              check.exact(call_forward<T>(check, {false, 3, 1, {2}, {3}, {1, 2, 4}, {5}, {}, {}}),
                          std::vector<T>{13, 32, 76});
              // a * a = 1 + 2 r + r^2, of which the dtype keeps 1 + 2 r.
              const T r = std::sqrt(Values<T>::eps / 2), a = 1 + r;
              check.exact(call_forward<T>(check, {false, 1, 1, {a}, {-1}, {a * a}, {a}, {}, {}}),
                          std::vector<T>{0});
            });
  table.add(TL_OP_selective_scan_diag_bwd, Kind::special, "by hand", []<class T>(Check &check) {
    const ScanGradients got =
        call_backward<T>(check, {false, 3, 1, {2}, {3}, {1, 2, 4}, {5}, {13, 32, 76}, {1, 1, 10}});
    // g = {1 + 2 * 21, 1 + 2 * 10, 10}
    check.exact(got.a, std::vector<T>{43 * 5 + 21 * 13 + 10 * 32}, "dA");
    check.exact(got.b, std::vector<T>{43 * 1 + 21 * 2 + 10 * 4}, "dB");
    check.exact(got.x, std::vector<T>{129, 63, 30}, "dX");
    check.exact(got.h0, std::vector<T>{86}, "dH0");
  });
  table.add(
      TL_OP_selective_scan_diag_bwd, Kind::order, "in reverse time", []<class T>(Check &check) {
        const T big = 2 / Values<T>::eps;
        const Deterministic mode;
        const auto d_b = [&](const std::vector<T> &d_y) {
          return call_backward<T>(check, {false, 3, 1, {0}, {1}, {1, 1, 1}, {0}, {0, 0, 0}, d_y}).b;
        };
        check.exact(d_b({1, big, -big}), std::vector<T>{1});
        check.exact(d_b({-big, big, 1}), std::vector<T>{0});
        check.exact(d_b({T(-0.0), T(-0.0), T(-0.0)}), std::vector<T>{0});
      });
}

void add_wrong_scan(Table &table) {
  for (const auto &[varying, forward, backward] : scan_forms) {
    const std::uint64_t coefficients = varying ? 6 : 3;
    const auto fwd = varying ? &tl_selective_scan_diag_var_fwd : &tl_selective_scan_diag_fwd;
    const auto bwd = varying ? &tl_selective_scan_diag_var_bwd : &tl_selective_scan_diag_bwd;
    table.refuse_operands(
        forward, {coefficients, coefficients, 6, 3},
        [=](const Operands &x, tl_buffer **out) { return fwd(x[0], x[1], x[2], x[3], 2, 3, out); });
    table.refuse_operands(backward, {coefficients, coefficients, 6, 3, 6, 6},
                          [=](const Operands &x, tl_buffer **out) {
                            return bwd(x[0], x[1], x[2], x[3], x[4], x[5], 2, 3, &out[0], &out[1],
                                       &out[2], &out[3]);
                          });
    table.add(forward, Kind::wrong, "time and state", [=]<class T>(Check &check) {
      const Buffer &c = check.input(std::vector<T>(coefficients, 1)),
                   &x = check.input(std::vector<T>(6, 1)), &h0 = check.input(std::vector<T>(3, 1));
      const auto refuse = [&](const char *what, std::uint64_t time, std::uint64_t state) {
        check.refused(what, [&, time, state](tl_buffer **out) {
          return fwd(c.get(), c.get(), x.get(), h0.get(), time, state, out);
        });
      };
      refuse("another time", 3, 3);
      refuse("another state", 3, 2);
      refuse("a product that is 6 in 64 bits", (std::uint64_t{1} << 63U) + 2, 3);
    });
  }
}

}  // namespace

void add_scan(Table &table) {
  add_sequences(table);
  add_scan_by_hand(table);
  add_wrong_scan(table);
}

}  // namespace torchlean::conformance
