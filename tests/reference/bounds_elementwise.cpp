// How much of their bounds elementwise operations and normal random numbers use.
//
// Staged formulas are measured twice: as the reference computes them, and with their elementary
// functions up to 2 ulp off, which the specification allows to every backend.
#include "bounds_search.hpp"

namespace torchlean::test {
namespace {

// ---- Elementary functions -----------------------------------------------------------------------

template <class T>
T unary(Backend &backend, tl_unary_op op, T x) {
  return call<T>(backend, {{x}}, {1}, [&](auto in, auto out) {
    return backend.table->elementwise->unary(backend.instance, op, in[0], &no_scalars, 0, out);
  })[0][0];
}

template <class T>
T binary(Backend &backend, tl_binary_op op, const Case<T> &c) {
  const tl_scalars scalars = {sizeof scalars, {c.scalars[0], 0}};
  return call<T>(backend, c.inputs, {1}, [&](auto in, auto out) {
    return backend.table->elementwise->binary(backend.instance, op, in[0], in[1], &scalars, 0, out);
  })[0][0];
}

// Of every magnitude between 2^low and 2^high, or of a common one.
template <class T>
T magnitude_between(Random &random, double low, double high) {
  const double common = uniform(random, -10, 10);
  const double x = std::exp2(uniform(random, low, high));
  return static_cast<T>(chance(random, 0.7) ? common : chance(random, 0.5) ? x : -x);
}

// Does a result count as within `ulps` of the correctly rounded value?
template <class T>
void add_in_ulp(Share<T> &share, T got, const Number &exact, double ulps) {
  share.add(got, exact.rounded<T>(), Number(ulps) * ulp<T>(exact));
}

template <tl_unary_op op, auto function>
struct Elementary {
  static constexpr const char *bound = "2 ulp of the correctly rounded value";

  template <class T>
  static Case<T> draw(Random &random) {
    return {{}, {}, {{magnitude_between<T>(random, -160, 10)}}};
  }

  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    Share<T> share;
    const T x = c.inputs[0][0];
    if (x <= 0 && (op == TL_UNARY_LOG || op == TL_UNARY_LOG1P)) return share;
    const Number exact = function(Number(x));
    if (fits<T>(exact)) add_in_ulp(share, unary(backend, op, x), exact, 2);
    return share;
  }
};

struct Exp : Elementary<TL_UNARY_EXP, [](const Number &x) { return exp(x); }> {
  static constexpr const char *name = "exp";
};
struct Log : Elementary<TL_UNARY_LOG, [](const Number &x) { return log(x); }> {
  static constexpr const char *name = "log";
};
struct Log1p : Elementary<TL_UNARY_LOG1P, [](const Number &x) { return log1p(x); }> {
  static constexpr const char *name = "log1p";
};
struct Sin : Elementary<TL_UNARY_SIN, [](const Number &x) { return sin(x); }> {
  static constexpr const char *name = "sin";
};
struct Cos : Elementary<TL_UNARY_COS, [](const Number &x) { return cos(x); }> {
  static constexpr const char *name = "cos";
};
struct Tanh : Elementary<TL_UNARY_TANH, [](const Number &x) { return tanh(x); }> {
  static constexpr const char *name = "tanh";
};

// ---- Staged formulas ----------------------------------------------------------------------------

// An elementary function's value, that many ulp off.
template <class T>
T off_by(int ulps, const Number &exact) {
  T y = exact.rounded<T>();
  for (; ulps > 0; --ulps) y = std::nextafter(y, std::numeric_limits<T>::infinity());
  for (; ulps < 0; ++ulps) y = std::nextafter(y, -std::numeric_limits<T>::infinity());
  return y;
}

struct Sigmoid {
  static constexpr const char *name = "sigmoid", *off_name = "sigmoid, exp 2 ulp off";
  static constexpr const char *bound = "8 ulp";

  template <class T>
  static Case<T> draw(Random &random) {
    return {{}, {}, {{static_cast<T>(uniform(random, -1, 1) * (chance(random, 0.5) ? 3 : 90))}}};
  }
  template <class T>
  static void judge(Share<T> &share, const Case<T> &c, T got) {
    const Number e = exp(Number(0) - c.inputs[0][0]);
    if (!fits<T>(e * 2)) return;  // exactly 0, some way before the true value is
    const Number exact = Number(1) / (Number(1) + e);
    share.add(got, exact, Number(8) * ulp<T>(exact));
  }
  template <class T>
  static T staged(const Case<T> &c, int ulps) {
    const T e = off_by<T>(ulps, exp(Number(0) - c.inputs[0][0]));
    return 1 / (1 + e);
  }
  template <class T>
  static T computed(Backend &backend, const Case<T> &c) {
    return unary(backend, TL_UNARY_SIGMOID, c.inputs[0][0]);
  }
};

// Rounded constants of section 3, exact arithmetic.
template <class T>
struct GeluFormula {
  static constexpr T c = static_cast<T>(0.044715);
  static constexpr T s = static_cast<T>(0.7978845608028654);
  static constexpr T three_c = static_cast<T>(0.134145);

  explicit GeluFormula(T value)
      : x(value),
        t(tanh(Number(s) * (x + Number(c) * x * x * x))),
        d((Number(three_c) * x * x + 1) * s) {}

  static T staged_t(T x, int ulps) {
    const T argument = s * (x + ((c * x) * x) * x);
    return off_by<T>(ulps, tanh(Number(argument)));
  }

  Number x, t, d;
};

// Where no stage over- or underflows.
template <class T>
bool gelu_is_judged(T x) {
  return std::fabs(x) < T(1e8) && std::fabs(x) > T(1e-8);
}

struct Gelu {
  static constexpr const char *name = "gelu", *off_name = "gelu, tanh 2 ulp off";
  static constexpr const char *bound = "2 |x| eps";

  template <class T>
  static Case<T> draw(Random &random) {
    return {{}, {}, {{magnitude_between<T>(random, -20, 20)}}};
  }
  template <class T>
  static void judge(Share<T> &share, const Case<T> &c, T got) {
    const T x = c.inputs[0][0];
    if (!gelu_is_judged(x)) return;
    const GeluFormula<T> formula(x);
    share.add(got, formula.x * (formula.t + 1) / 2, Number(2 * eps<T>) * abs(formula.x));
  }
  template <class T>
  static T staged(const Case<T> &c, int ulps) {
    const T x = c.inputs[0][0];
    return (x * (GeluFormula<T>::staged_t(x, ulps) + 1)) * T(0.5);
  }
  template <class T>
  static T computed(Backend &backend, const Case<T> &c) {
    return unary(backend, TL_UNARY_GELU, c.inputs[0][0]);
  }
};

struct GeluBwd {
  static constexpr const char *name = "gelu_bwd", *off_name = "gelu_bwd, tanh 2 ulp off";
  static constexpr const char *bound = "8 eps (1 + |x| (1 + |d|)) |g|";

  template <class T>
  static Case<T> draw(Random &random) {
    return {{}, {0}, {{magnitude_between<T>(random, -20, 20)}, values<T>(random, 1)}};
  }
  template <class T>
  static void judge(Share<T> &share, const Case<T> &c, T got) {
    const T x = c.inputs[0][0], g = c.inputs[1][0];
    if (!gelu_is_judged(x)) return;
    const GeluFormula<T> formula(x);
    const Number h = Number(1) - formula.t * formula.t;
    const Number exact = (formula.t + 1 + formula.x * h * formula.d) / 2 * g;
    share.add(got, exact,
              Number(8 * eps<T>) * (Number(1) + abs(formula.x) * (Number(1) + abs(formula.d))) *
                  abs(Number(g)));
  }
  template <class T>
  static T staged(const Case<T> &c, int ulps) {
    const T x = c.inputs[0][0], g = c.inputs[1][0];
    const T t = GeluFormula<T>::staged_t(x, ulps);
    const T h = 1 - t * t;
    const T d = ((GeluFormula<T>::three_c * x) * x + 1) * GeluFormula<T>::s;
    return (((t + 1) + (x * h) * d) * T(0.5)) * g;
  }
  template <class T>
  static T computed(Backend &backend, const Case<T> &c) {
    return binary(backend, TL_BINARY_GELU_BWD, c);
  }
};

struct ScaledProdExp {
  static constexpr const char *name = "scaled_prod_exp";
  static constexpr const char *bound = "2 ulp of exp of the rounded product";

  template <class T>
  static Case<T> draw(Random &random) {
    return {{}, {uniform(random, -3, 3)}, {values<T>(random, 1, 4), values<T>(random, 1, 4)}};
  }
  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    Share<T> share;
    const T scaled = c.inputs[0][0] * static_cast<T>(c.scalars[0]);
    const Number exact = exp(Number(scaled * c.inputs[1][0]));
    if (fits<T>(exact)) add_in_ulp(share, binary(backend, TL_BINARY_SCALED_PROD_EXP, c), exact, 2);
    return share;
  }
};

// ---- Normal random numbers ----------------------------------------------------------------------

// SplitMix64's finalizer of x, and what it maps to a given z.
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

uint64_t unshifted(uint64_t z, int shift) {
  uint64_t x = z;
  for (int done = shift; done < 64; done += shift) x = z ^ (x >> shift);
  return x;
}

uint64_t inverse(uint64_t odd) {
  uint64_t y = odd;  // right in the lowest 3 bits, twice as many with each step
  for (int i = 0; i < 5; ++i) y *= 2 - odd * y;
  return y;
}

uint64_t unmixed(uint64_t z) {
  z = unshifted(z, 31) * inverse(0x94D049BB133111EB);
  z = unshifted(z, 27) * inverse(0xBF58476D1CE4E5B9);
  return unshifted(z, 30);
}

struct RandNormal {
  static constexpr const char *name = "rand_normal",
                              *off_name = "rand_normal, log and cos 2 ulp off";
  static constexpr const char *bound = "8 eps |std| (1 + r) + eps |mean|";
  static constexpr uint64_t increment = 0x9E3779B97F4A7C15;

  // Inputs: mean, standard deviation. Often a key whose element 0 has a u1 or a u2 at the end of
  // its range.
  template <class T>
  static Case<T> draw(Random &random) {
    uint64_t key = random();
    const int64_t kind = pick(random, 0, 3);
    if (kind > 0) {
      const auto few = static_cast<uint32_t>(pick(random, 0, 300));
      const uint32_t u = chance(random, 0.5) ? few : ~few;
      key = unmixed((random() << 32) | u) - increment - (kind == 1 ? 1 : 0);
    }
    const double scale = chance(random, 0.5) ? 0 : std::exp2(uniform(random, -10, 10));
    return {{key}, {}, {values<T>(random, 1, scale), values<T>(random, 1)}};
  }

  // Everything but the last steps.
  template <class T>
  struct Parts {
    explicit Parts(const Case<T> &c) : mean(c.inputs[0][0]), deviation(c.inputs[1][0]) {
      const auto u = [&](uint64_t i) {
        return static_cast<double>(static_cast<uint32_t>(mixed(c.sizes[0] + i + increment)));
      };
      u1 = static_cast<T>((u(0) + 1) / (0x1p32 + 1));
      u2 = static_cast<T>(u(1) / 0x1p32);
    }
    static constexpr T two_pi = static_cast<T>(6.283185307179586);
    T mean, deviation, u1, u2;
  };

  template <class T>
  static void judge(Share<T> &share, const Case<T> &c, T got) {
    const Parts<T> parts(c);
    const Number r = sqrt(Number(-2) * log(Number(parts.u1)));
    const Number deviation = parts.deviation;
    share.add(got, deviation * r * cos(Number(Parts<T>::two_pi) * parts.u2) + parts.mean,
              Number(8 * eps<T>) * abs(deviation) * (Number(1) + r) +
                  Number(eps<T>) * abs(Number(parts.mean)));
  }
  // Both functions off to the same side, then to opposite sides.
  template <class T>
  static T staged(const Case<T> &c, int ulps) {
    const Parts<T> parts(c);
    const T logarithm = off_by<T>(ulps, log(Number(parts.u1)));
    const T r = std::sqrt(std::fmax(T(0), T(-2) * logarithm));
    const Number cosine = cos(Number(Parts<T>::two_pi * parts.u2));
    return std::fma(parts.deviation * r, off_by<T>(c.sizes[0] % 2 == 0 ? ulps : -ulps, cosine),
                    parts.mean);
  }
  template <class T>
  static T computed(Backend &backend, const Case<T> &c) {
    const tl_scalars scalars = {sizeof scalars, {c.inputs[0][0], c.inputs[1][0]}};
    return result<T>(backend, 1, [&](tl_storage **out) {
      return backend.table->random->generate(backend.instance, TL_RANDOM_NORMAL, dtype_of<T>, 1,
                                             c.sizes[0], &scalars, 0, out);
    })[0];
  }
};

// ---- Both ways to measure a staged formula ------------------------------------------------------

template <class Formula>
struct ByReference : Formula {
  template <class T>
  static Share<T> share(Backend &backend, const Case<T> &c) {
    Share<T> share;
    Formula::judge(share, c, Formula::template computed<T>(backend, c));
    return share;
  }
};

template <class Formula>
struct TwoUlpOff : Formula {
  static constexpr const char *name = Formula::off_name;

  template <class T>
  static Share<T> share(Backend &, const Case<T> &c) {
    Share<T> share;
    for (int ulps = -2; ulps <= 2; ++ulps) Formula::judge(share, c, Formula::staged(c, ulps));
    return share;
  }
};

}  // namespace

std::vector<Search> elementwise_searches() {
  return searches<Exp, Log, Log1p, Sin, Cos, Tanh, ByReference<Sigmoid>, TwoUlpOff<Sigmoid>,
                  ByReference<Gelu>, TwoUlpOff<Gelu>, ByReference<GeluBwd>, TwoUlpOff<GeluBwd>,
                  ScaledProdExp, ByReference<RandNormal>, TwoUlpOff<RandNormal>>();
}

}  // namespace torchlean::test
