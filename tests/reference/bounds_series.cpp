// How much of their bounds Fourier transforms and scans use.
#include "bounds_search.hpp"

namespace torchlean::test {
namespace {

// ---- Fourier ------------------------------------------------------------------------------------

// sum over k of the real or imaginary part of x[k] exp(-2 pi i jk/n), for j < n.
struct Spectrum {
  explicit Spectrum(size_t n) : re(n, Number(0)), im(n, Number(0)) {}
  std::vector<Number> re, im;
};

// inverse: of exp(+2 pi i jk/n).
Spectrum transformed(const Spectrum &x, bool inverse) {
  const size_t n = x.re.size();
  std::vector<Number> cosine, sine;
  for (size_t k = 0; k < n; ++k) {
    cosine.push_back(cos_turn(Number(k), n));
    sine.push_back(inverse ? sin_turn(Number(k), n) : Number(0) - sin_turn(Number(k), n));
  }
  Spectrum y(n);
  for (size_t j = 0; j < n; ++j)
    for (size_t k = 0; k < n; ++k) {
      const Number &c = cosine[j * k % n], &s = sine[j * k % n];
      y.re[j] += x.re[k] * c - x.im[k] * s;
      y.im[j] += x.re[k] * s + x.im[k] * c;
    }
  return y;
}

template <tl_fourier_op op>
struct Fourier {
  static constexpr const char *bound = "relative L2 (4 log2 n + 4) eps";
  static constexpr bool to_bins = op == TL_FOURIER_RFFT;

  template <class T>
  static Case<T> draw(Random &random) {
    const uint64_t n = length(random, 70);
    return {{n}, {}, {values<T>(random, to_bins ? n : 2 * (n / 2 + 1))}};
  }

  template <class T>
  static std::vector<Number> exact(const std::vector<T> &x, size_t n) {
    Spectrum in(n);
    std::vector<Number> out;
    if (to_bins) {
      for (size_t k = 0; k < n; ++k) in.re[k] = x[k];
      const Spectrum y = transformed(in, false);
      for (size_t k = 0; k <= n / 2; ++k) {
        out.push_back(y.re[k]);
        out.push_back(y.im[k]);
      }
      return out;
    }
    for (size_t k = 0; k <= n / 2; ++k) {
      const bool real = k == 0 || 2 * k == n;
      in.re[k] = in.re[(n - k) % n] = x[2 * k];
      in.im[k] = real ? Number(0) : Number(x[2 * k + 1]);
      in.im[(n - k) % n] = Number(0) - in.im[k];
    }
    for (const Number &value : transformed(in, true).re)
      out.push_back(op == TL_FOURIER_IRFFT ? value / n : value);
    return out;
  }

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const uint64_t n = c.sizes[0];
    const auto expected = exact(c.inputs[0], n);
    const auto y = call<T>(backend, c.inputs, {expected.size()}, [&](auto in, auto out) {
      return backend.table->fourier->transform(backend.instance, op, in[0], 1, n, 0, out);
    })[0];
    Number error = 0, size = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      error += (y[i] - expected[i]) * (y[i] - expected[i]);
      size += expected[i] * expected[i];
    }
    Share<T> share;
    share.add_ratio(sqrt(error),
                    Number((4 * std::log2(static_cast<double>(n)) + 4) * eps<T>) * sqrt(size));
    return share;
  }
};

struct Rfft : Fourier<TL_FOURIER_RFFT> {
  static constexpr const char *name = "rfft1d_packed";
};
struct Irfft : Fourier<TL_FOURIER_IRFFT> {
  static constexpr const char *name = "irfft1d_packed";
};
struct IrfftUnnormalized : Fourier<TL_FOURIER_IRFFT_UNNORMALIZED> {
  static constexpr const char *name = "irfft1d_packed_unnormalized";
};

// ---- Scans --------------------------------------------------------------------------------------

// A value, and the sum of the magnitudes of its terms.
struct Term {
  Number value, magnitude;
};

Term operator*(const Term &term, const Number &factor) {
  return {term.value * factor, term.magnitude * abs(factor)};
}

Term operator+(const Term &a, const Term &b) {
  return {a.value + b.value, a.magnitude + b.magnitude};
}

Term term(const Number &x) { return {x, abs(x)}; }

// One state of few steps, so that the recurrence itself, which the reference must equal bit for
// bit, keeps to the bound. Coefficients are at most 1.
template <tl_scan_op op>
struct Scan {
  static constexpr const char *bound = "the recurrence's bits, or 4 log2(2 T) eps sum |terms|";
  static constexpr bool varying = op == TL_SCAN_VARYING;

  enum Input { a, b, x, h0, h, d_y };

  template <class T>
  static Case<T> draw(Random &random) {
    const uint64_t time = length(random, 16), coefficients = varying ? time : 1;
    auto factors = values<T>(random, coefficients);
    for (T &factor : factors)
      if (std::fabs(factor) > 1)
        factor =
            chance(random, 0.5) ? 1 / factor : factor / std::ldexp(T(1), std::ilogb(factor) + 1);
    return {{time},
            {},
            {factors, values<T>(random, coefficients), values<T>(random, time),
             values<T>(random, 1), values<T>(random, time), values<T>(random, time)}};
  }

  // Element t of coefficients that may be constant.
  template <class T>
  static T at(const std::vector<T> &coefficients, uint64_t t) {
    return coefficients[varying ? t : 0];
  }

  template <class T>
  static bool is_judged(const Case<T> &c) {
    return std::all_of(c.inputs[a].begin(), c.inputs[a].end(),
                       [](T factor) { return std::fabs(factor) <= 1; });
  }

  template <class T>
  static void add(Share<T> &share, T got, T recurrence, const Term &exact, uint64_t time) {
    if (!same(got, recurrence)) share.fail();
    share.add(got, exact.value,
              Number(4 * std::log2(2 * static_cast<double>(time)) * eps<T>) * exact.magnitude);
  }
};

template <tl_scan_op op>
struct ScanForward : Scan<op> {
  using S = Scan<op>;
  static constexpr const char *name =
      S::varying ? "selective_scan_diag_var_fwd" : "selective_scan_diag_fwd";

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const uint64_t time = c.sizes[0];
    Share<T> share;
    if (!S::is_judged(c)) return share;
    const auto y = call<T>(backend, c.inputs, {time}, [&](auto in, auto out) {
      return backend.table->scan->forward(backend.instance, op, in[S::a], in[S::b], in[S::x],
                                          in[S::h0], time, 1, 0, out);
    })[0];
    T recurrence = c.inputs[S::h0][0];
    Term exact = term(recurrence);
    for (uint64_t t = 0; t < time; ++t) {
      const T a = S::at(c.inputs[S::a], t), b = S::at(c.inputs[S::b], t), x = c.inputs[S::x][t];
      recurrence = a * recurrence + b * x;
      exact = exact * a + term(Number(b) * x);
      S::add(share, y[t], recurrence, exact, time);
    }
    return share;
  }
};

template <tl_scan_op op>
struct ScanBackward : Scan<op> {
  using S = Scan<op>;
  static constexpr const char *name =
      S::varying ? "selective_scan_diag_var_bwd" : "selective_scan_diag_bwd";

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    const uint64_t time = c.sizes[0], coefficients = c.inputs[S::a].size();
    Share<T> share;
    if (!S::is_judged(c)) return share;
    const auto y =
        call<T>(backend, c.inputs, {coefficients, coefficients, time, 1}, [&](auto in, auto out) {
          return backend.table->scan->backward(backend.instance, op, in[S::a], in[S::b], in[S::x],
                                               in[S::h0], in[S::h], in[S::d_y], time, 1, 0, out);
        });
    T g = 0, sum_a = 0, sum_b = 0;
    Term exact = term(0), exact_a = term(0), exact_b = term(0);
    for (uint64_t t = time; t-- > 0;) {
      const T d_y = c.inputs[S::d_y][t], x = c.inputs[S::x][t], b = S::at(c.inputs[S::b], t);
      const T before = t == 0 ? c.inputs[S::h0][0] : c.inputs[S::h][t - 1];
      if (t + 1 == time) {
        g = d_y;
        exact = term(d_y);
      } else {
        const T a = S::at(c.inputs[S::a], t + 1);
        g = d_y + a * g;
        exact = term(d_y) + exact * a;
      }
      S::add(share, y[2][t], g * b, exact * b, time);
      sum_a = S::varying ? g * before : sum_a + g * before;
      sum_b = S::varying ? g * x : sum_b + g * x;
      exact_a = S::varying ? exact * before : exact_a + exact * before;
      exact_b = S::varying ? exact * x : exact_b + exact * x;
      if (S::varying || t == 0) {
        S::add(share, y[0][S::varying ? t : 0], sum_a, exact_a, time);
        S::add(share, y[1][S::varying ? t : 0], sum_b, exact_b, time);
      }
    }
    const T a = S::at(c.inputs[S::a], 0);
    S::add(share, y[3][0], a * g, exact * a, time);
    return share;
  }
};

}  // namespace

std::vector<Search> series_searches() {
  return searches<Rfft, Irfft, IrfftUnnormalized, ScanForward<TL_SCAN_CONSTANT>,
                  ScanForward<TL_SCAN_VARYING>, ScanBackward<TL_SCAN_CONSTANT>,
                  ScanBackward<TL_SCAN_VARYING>>();
}

}  // namespace torchlean::test
