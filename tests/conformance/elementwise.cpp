// Elementwise operations: IEEE arithmetic bit for bit, elementary functions against MPFR, special
// values as literal tables.
#include "elementwise.hpp"

namespace torchlean::conformance {
namespace {

template <class T>
using Rows = std::vector<std::vector<T>>;

Call unary_call(tl_unary_op op) {
  return [op](const Operands &x, tl_buffer **out) { return tl_unary(op, x[0], out); };
}
Call binary_call(tl_binary_op op) {
  return [op](const Operands &x, tl_buffer **out) { return tl_binary(op, x[0], x[1], out); };
}
Call select_call(tl_select_bwd_op op) {
  return [op](const Operands &x, tl_buffer **out) {
    return tl_select_bwd(op, x[0], x[1], x[2], &out[0], &out[1]);
  };
}

std::string with(const char *name, double scalar) {
  char text[64];
  std::snprintf(text, sizeof text, ", %s=%g", name, scalar);
  return text;
}

// C's fmax and fmin.
template <class T>
T maximum(T a, T b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : a < b ? b : a;
}
template <class T>
T minimum(T a, T b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : b < a ? b : a;
}

// ---- Exact, one operand ------------------------------------------------------------------------

void add_exact_unary(Table &table) {
  add_exact<1>(
      table, {TL_OP_abs, unary_call(TL_UNARY_ABS)}, [](auto x) { return std::fabs(x); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{T(-0.0), 0}, {-V::inf, V::inf}, {-V::tiny, V::tiny}, {-V::nan, V::nan}};
      });
  add_exact<1>(
      table, {TL_OP_neg, unary_call(TL_UNARY_NEG)}, [](auto x) { return -x; },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, T(-0.0)}, {T(-0.0), 0}, {V::inf, -V::inf}, {-V::tiny, V::tiny}};
      });
  for (const tl_unary_op op : {TL_UNARY_ABS, TL_UNARY_NEG})
    table.add(op == TL_UNARY_ABS ? TL_OP_abs : TL_OP_neg, Kind::special, "sign of NaN",
              [op]<class T>(Check &check) {
                const auto y = download<T>(
                    unary(op, check.input(std::vector<T>{Values<T>::nan, -Values<T>::nan})));
                check.require(std::signbit(y[0]) == (op == TL_UNARY_NEG), "NaN has the right sign");
                check.require(!std::signbit(y[1]), "-NaN becomes NaN");
              });
  add_exact<1>(
      table, {TL_OP_floor, unary_call(TL_UNARY_FLOOR)}, [](auto x) { return std::floor(x); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{T(-0.0), T(-0.0)}, {T(-0.5), -1},    {T(1.5), 1},     {-V::tiny, -1},
                {V::tiny, 0},       {V::inf, V::inf}, {V::nan, V::nan}};
      });
  add_exact<1>(
      table, {TL_OP_sqrt, unary_call(TL_UNARY_SQRT)},
      [](auto x) { return x <= 0 ? decltype(x)(0) : std::sqrt(x); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, 0},        {T(-0.0), 0},      {-4, 0},          {-V::inf, 0},
                {-V::tiny, 0}, {T(6.25), T(2.5)}, {V::inf, V::inf}, {V::nan, V::nan}};
      });
  add_exact<1>(
      table, {TL_OP_inv, unary_call(TL_UNARY_INV)}, [](auto x) { return 1 / x; },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, V::inf},  {T(-0.0), -V::inf}, {V::inf, 0},     {-V::inf, T(-0.0)},
                {4, T(0.25)}, {V::tiny, V::inf},  {V::nan, V::nan}};
      });
  add_exact<1>(
      table, {TL_OP_relu, unary_call(TL_UNARY_RELU)},
      [](auto x) { return x > 0 ? x : decltype(x)(0); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, 0},
                {T(-0.0), 0},
                {-4, 0},
                {4, 4},
                {-V::inf, 0},
                {V::nan, 0},
                {V::signalling, 0},
                {V::inf, V::inf},
                {V::tiny, V::tiny}};
      });
  for (const double c : {-3.7, 0.1, 0.0, -0.0, 1e-40, 1e300, HUGE_VAL, std::nan("")})
    add_exact<1>(
        table,
        {TL_OP_scale, [c](const Operands &x, tl_buffer **out) { return tl_scale(x[0], c, out); },
         with("c", c)},
        [c](auto x) { return x * static_cast<decltype(x)>(c); },
        [c]<class T>() -> Rows<T> {
          return {{Values<T>::nan, Values<T>::nan}, {1, static_cast<T>(c)}};
        });
  for (const auto &[lo, hi] : {std::pair(-1.0, 2.0),
                               {2.0, -1.0},
                               {0.1, 0.7},
                               {-HUGE_VAL, HUGE_VAL},
                               {std::nan(""), 1.0},
                               {-1.0, std::nan("")}})
    add_exact<1>(
        table,
        {TL_OP_clamp,
         [lo = lo, hi = hi](const Operands &x, tl_buffer **out) {
           return tl_clamp(x[0], lo, hi, out);
         },
         with("lo", lo) + with("hi", hi)},
        [lo = lo, hi = hi](auto x) {
          using T = decltype(x);
          return minimum(maximum(x, static_cast<T>(lo)), static_cast<T>(hi));
        },
        [lo = lo, hi = hi]<class T>() -> Rows<T> {  // NaN gives lo where lo <= hi
          return {{Values<T>::nan, static_cast<T>(std::fmin(lo, hi))}};
        },
        Zeros::either);
}

// ---- Exact, two operands -----------------------------------------------------------------------

void add_arithmetic(Table &table) {
  add_exact<2>(
      table, {TL_OP_add, binary_call(TL_BINARY_ADD)}, [](auto a, auto b) { return a + b; },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{V::inf, -V::inf, V::nan},
                {T(-0.0), T(-0.0), T(-0.0)},
                {0, T(-0.0), 0},
                {1, -1, 0},
                {V::largest, V::largest, V::inf},
                {1 + V::eps, -1, V::eps},
                {V::normal, -V::tiny, V::normal - V::tiny}};
      });
  add_exact<2>(
      table, {TL_OP_sub, binary_call(TL_BINARY_SUB)}, [](auto a, auto b) { return a - b; },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{V::inf, V::inf, V::nan}, {1, V::nan, V::nan}, {0, 0, 0},
                {T(-0.0), 0, T(-0.0)},    {3, 5, -2},          {-V::largest, V::largest, -V::inf}};
      });
  add_exact<2>(
      table, {TL_OP_mul, binary_call(TL_BINARY_MUL)}, [](auto a, auto b) { return a * b; },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, V::inf, V::nan},
                {-1, 0, T(-0.0)},
                {V::tiny, T(0.5), 0},
                {V::largest, 2, V::inf},
                {V::tiny, T(1.5), 2 * V::tiny},
                {V::normal, T(0.5), V::normal / 2}};
      });
  add_exact<2>(
      table, {TL_OP_div, binary_call(TL_BINARY_DIV)}, [](auto a, auto b) { return a / b; },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, 0, V::nan},
                {1, T(-0.0), -V::inf},
                {V::inf, V::inf, V::nan},
                {1, -V::inf, T(-0.0)},
                {V::tiny, 2, 0},
                {6, 3, 2},
                {V::largest, V::tiny, V::inf}};
      });
  add_exact<2>(
      table, {TL_OP_max, binary_call(TL_BINARY_MAX)}, [](auto a, auto b) { return maximum(a, b); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{V::nan, 3, 3}, {3, V::nan, 3},        {V::nan, V::nan, V::nan},
                {-3, 2, 2},     {V::signalling, 3, 3}, {-V::inf, V::nan, -V::inf}};
      },
      Zeros::either);
  add_exact<2>(
      table, {TL_OP_min, binary_call(TL_BINARY_MIN)}, [](auto a, auto b) { return minimum(a, b); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{V::nan, 3, 3}, {3, V::nan, 3},        {V::nan, V::nan, V::nan},
                {-3, 2, -3},    {V::signalling, 3, 3}, {V::inf, V::nan, V::inf}};
      },
      Zeros::either);
  add_exact<2>(
      table, {TL_OP_mask, binary_call(TL_BINARY_MASK)},
      [](auto v, auto a) { return a != 0 ? v : decltype(v)(0); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{V::nan, T(-0.0), 0},
                {-V::inf, 0, 0},
                {T(-0.0), V::nan, T(-0.0)},
                {7, V::tiny, 7},
                {-7, 0, 0}};
      });
  for (const double c : {0.1, -2.0, 0.0, HUGE_VAL})
    add_exact<2>(
        table,
        {TL_OP_axpy,
         [c](const Operands &x, tl_buffer **out) { return tl_axpy(x[0], x[1], c, out); },
         with("c", c)},
        [c](auto a, auto b) { return std::fma(b, static_cast<decltype(a)>(c), a); },
        []<class T>() -> Rows<T> {
          return {{Values<T>::nan, 1, Values<T>::nan}};
        });
  table.add(TL_OP_axpy, Kind::special, "one rounding", []<class T>(Check &check) {
    constexpr T eps = Values<T>::eps;  // (1 + eps)^2 - 1
    check.exact(
        axpy(check.input(std::vector<T>{-1}), check.input(std::vector<T>{1 + eps}), 1 + eps),
        std::vector<T>{2 * eps + eps * eps});
  });
}

// ---- Exact gradients ---------------------------------------------------------------------------

void add_gradients(Table &table) {
  add_exact<2>(
      table, {TL_OP_abs_bwd, binary_call(TL_BINARY_ABS_BWD)},
      [](auto x, auto g) { return static_cast<decltype(x)>((x > 0) - (x < 0)) * g; },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{-2, 3, -3},         {0, -3, T(-0.0)},         {T(-0.0), 3, 0}, {V::nan, 3, 0},
                {0, V::inf, V::nan}, {V::nan, V::inf, V::nan}, {-V::inf, 3, -3}};
      });
  add_exact<2>(
      table, {TL_OP_sqrt_bwd, binary_call(TL_BINARY_SQRT_BWD)},
      [](auto x, auto g) {
        using T = decltype(x);
        if (!(x > 0)) return T(0);
        const T twice = 2 * std::sqrt(x), inverse = 1 / twice;
        return g * inverse;
      },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, V::inf, 0}, {T(-0.0), V::nan, 0},    {-4, 8, 0}, {V::nan, 8, 0}, {4, 8, 2},
                {V::inf, 8, 0}, {V::inf, V::inf, V::nan}};
      });
  add_exact<2>(
      table, {TL_OP_relu_bwd, binary_call(TL_BINARY_RELU_BWD)},
      [](auto x, auto g) { return x > 0 ? g : decltype(g)(0); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, V::nan, 0}, {T(-0.0), 8, 0},           {-1, V::inf, 0},      {V::nan, 8, 0},
                {1, 8, 8},      {V::tiny, V::nan, V::nan}, {1, T(-0.0), T(-0.0)}};
      });
  for (const auto &[lo, hi] : {std::pair(-1.0, 2.0), {2.0, -1.0}, {0.1, 0.7}, {std::nan(""), 1.0}})
    add_exact<2>(
        table,
        {TL_OP_clamp_bwd,
         [lo = lo, hi = hi](const Operands &x, tl_buffer **out) {
           return tl_clamp_bwd(x[0], x[1], lo, hi, out);
         },
         with("lo", lo) + with("hi", hi)},
        [lo = lo, hi = hi](auto x, auto g) {
          using T = decltype(x);
          return x > static_cast<T>(lo) && x < static_cast<T>(hi) ? g : T(0);
        },
        [lo = lo, hi = hi]<class T>() -> Rows<T> {
          using V = Values<T>;
          return {{static_cast<T>(lo), 9, 0},
                  {static_cast<T>(hi), 9, 0},
                  {V::nan, V::nan, 0},
                  {V::inf, V::nan, 0}};
        });
  const auto share = [](auto first_wins) {
    return [=](auto a, auto b, auto g) {
      using T = decltype(a);
      if (first_wins(a, b)) return std::array<T, 2>{g, 0};
      if (first_wins(b, a)) return std::array<T, 2>{0, g};
      return std::array<T, 2>{T(0.5) * g, T(0.5) * g};
    };
  };
  add_exact<3>(table, {TL_OP_max_bwd, select_call(TL_SELECT_MAX_BWD)},
               share([](auto a, auto b) { return a > b; }), []<class T>() -> Rows<T> {
                 using V = Values<T>;
                 return {{3, 1, 8, 8, 0},       {1, 3, 8, 0, 8},
                         {0, T(-0.0), 8, 4, 4}, {V::nan, 1, 8, 4, 4},
                         {1, V::nan, 8, 4, 4},  {V::inf, V::inf, V::nan, V::nan, V::nan}};
               });
  add_exact<3>(table, {TL_OP_min_bwd, select_call(TL_SELECT_MIN_BWD)},
               share([](auto a, auto b) { return a < b; }), []<class T>() -> Rows<T> {
                 using V = Values<T>;
                 return {{3, 1, 8, 0, 8},       {1, 3, 8, 8, 0},
                         {0, T(-0.0), 8, 4, 4}, {V::nan, 1, 8, 4, 4},
                         {1, V::nan, 8, 4, 4},  {-V::inf, 1, V::inf, V::inf, 0}};
               });
}

// ---- Bounded and staged ------------------------------------------------------------------------

// Magnitudes from very small to very large, of either sign.
template <class T>
std::vector<T> wide_values(std::size_t n) {
  std::vector<T> x = normal_values<T>(n);
  for (std::size_t i = 0; i < n; ++i) x[i] *= std::ldexp(T(1), static_cast<int>(i % 161) - 80);
  return x;
}

// judge.operator()<T>(check, got, x) compares with the formula in many digits; `wide` is called
// with T for more operands of special kinds that it is right for.
template <std::size_t ins, class Judge, class Wide, class Specials>
void add_bounded(Table &table, const Subject &subject, const Judge &judge, const Wide &wide,
                 const Specials &specials) {
  const auto add = [&](Kind kind, const std::string &name, auto columns) {
    table.add(subject.operation, kind, name + subject.label,
              [=, call = subject.call]<class T>(Check &check) {
                const Columns<T, ins> x = columns.template operator()<T>();
                Operands operands;
                for (const auto &column : x) operands.push_back(check.input(column).get());
                const auto got = results<1>(call, operands);
                judge.template operator()<T>(check, got[0], x);
              });
  };
  for (const std::size_t n : lengths)
    add(Kind::ordinary, "n=" + std::to_string(n),
        [n]<class T>() { return normal_columns<T, ins>(n, 2); });
  add(Kind::special, "wide", wide);
  table.add(subject.operation, Kind::special, "table" + subject.label,
            [=, call = subject.call]<class T>(Check &check) {
              Columns<T, ins> x;
              Columns<T, 1> expected;
              for (const std::vector<T> &row : specials.template operator()<T>()) {
                for (std::size_t k = 0; k < ins; ++k) x[k].push_back(row.at(k));
                expected[0].push_back(row.at(ins));
              }
              check_exact<T>(check, call, x, expected, Zeros::exact);
            });
  add_common<ins, 1>(table, subject);
}

template <class Function, class Specials>
void add_elementary(Table &table, tl_operation operation, tl_unary_op op, const Function &function,
                    const Specials &specials) {
  add_bounded<1>(
      table, {operation, unary_call(op)},
      [function]<class T>(Check &check, const Buffer &got, const Columns<T, 1> &x) {
        std::vector<Number> exact;
        for (const T value : x[0]) exact.push_back(function(Number(value)));
        check.ulps<T>(got, exact, 2);
      },
      []<class T>() {
        Columns<T, 1> x = {wide_values<T>(644)};
        for (const T value : Values<T>::all()) x[0].push_back(value);
        for (const T value : any_patterns<T>(200)) x[0].push_back(value);
        for (int k = -12; k <= 12; ++k) x[0].push_back(static_cast<T>(k * M_PI / 2));
        for (const double edge : {88.7228, 88.7229, -103.97, 709.7827, 709.7828, -745.13, -0.99999})
          x[0].push_back(static_cast<T>(edge));
        return x;
      },
      specials);
}

void add_elementary_functions(Table &table) {
  add_elementary(
      table, TL_OP_exp, TL_UNARY_EXP, [](const Number &x) { return exp(x); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, 1},       {T(-0.0), 1},     {V::inf, V::inf},
                {-V::inf, 0}, {V::nan, V::nan}, {1000, V::inf}};
      });
  add_elementary(
      table, TL_OP_log, TL_UNARY_LOG, [](const Number &x) { return log(x); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, -V::inf},      {T(-0.0), -V::inf}, {1, 0},           {-1, V::nan},
                {-V::inf, V::nan}, {-V::tiny, V::nan}, {V::inf, V::inf}, {V::nan, V::nan}};
      });
  add_elementary(
      table, TL_OP_log1p, TL_UNARY_LOG1P, [](const Number &x) { return log1p(x); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, 0},           {T(-0.0), T(-0.0)}, {-1, -V::inf},   {-2, V::nan},
                {V::inf, V::inf}, {-V::inf, V::nan},  {V::nan, V::nan}};
      });
  add_elementary(
      table, TL_OP_sin, TL_UNARY_SIN, [](const Number &x) { return sin(x); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, 0}, {T(-0.0), T(-0.0)}, {V::inf, V::nan}, {-V::inf, V::nan}, {V::nan, V::nan}};
      });
  add_elementary(
      table, TL_OP_cos, TL_UNARY_COS, [](const Number &x) { return cos(x); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, 1}, {T(-0.0), 1}, {V::inf, V::nan}, {-V::inf, V::nan}, {V::nan, V::nan}};
      });
  add_elementary(
      table, TL_OP_tanh, TL_UNARY_TANH, [](const Number &x) { return tanh(x); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, 0}, {T(-0.0), T(-0.0)}, {V::inf, 1}, {-V::inf, -1}, {V::nan, V::nan}};
      });
}

void add_staged(Table &table) {
  add_bounded<1>(
      table, {TL_OP_sigmoid, unary_call(TL_UNARY_SIGMOID)},
      []<class T>(Check &check, const Buffer &got, const Columns<T, 1> &x) {
        // Exactly 0 where exp(-x) overflows; where that hangs on its own 2 ulp, either is right.
        const Number largest(Values<T>::largest), slack(1 + 4 * Values<T>::eps);
        check.each<T>(got, x[0].size(), "result", [&](std::size_t i, T y) -> std::string {
          const Number power = exp(Number(0) - Number(x[0][i])), exact = Number(1) / (1 + power);
          const T expected = power <= largest * slack ? exact.rounded<T>() : T(0);
          if (std::isnan(expected) ? std::isnan(y) : y == expected) return "";
          if (largest <= power * slack) return y == 0 ? "" : text_of(expected);
          const double subnormals = expected < Values<T>::normal ? 2 : 0;
          return steps(y, expected) <= 8 + subnormals ? "" : text_of(expected) + " within 8 ulp";
        });
      },
      []<class T>() {
        Columns<T, 1> x = {wide_values<T>(644)};
        for (int k = -900; k <= 900; k += 7) x[0].push_back(static_cast<T>(k) * T(0.9));
        for (int k = -20; k <= 20; ++k) x[0].push_back(static_cast<T>(-88 + 0.1 * k));
        return x;
      },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, T(0.5)}, {T(-0.0), T(0.5)}, {800, 1},        {-800, 0},
                {V::inf, 1}, {-V::inf, 0},      {V::nan, V::nan}};
      });

  const auto moderate = []<std::size_t ins, class T>() {
    Columns<T, ins> x = normal_columns<T, ins>(701, 1);
    for (std::size_t i = 0; i < x[0].size(); ++i)
      x[0][i] *= std::ldexp(T(1), static_cast<int>(i % 16) - 9);
    return x;
  };
  add_bounded<1>(
      table, {TL_OP_gelu, unary_call(TL_UNARY_GELU)},
      []<class T>(Check &check, const Buffer &got, const Columns<T, 1> &x) {
        const Number c(static_cast<T>(0.044715)), s(static_cast<T>(0.7978845608028654));
        std::vector<Number> exact, bounds;
        for (const T element : x[0]) {
          const Number v(element);
          exact.push_back(v * (tanh(s * (v + c * v * v * v)) + 1) / 2);
          bounds.push_back(2 * abs(v) * Values<T>::eps);
        }
        check.within<T>(got, exact, bounds);
      },
      [=]<class T>() { return moderate.template operator()<1, T>(); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, 0}, {V::inf, V::inf}, {-V::inf, V::nan}, {V::nan, V::nan}};
      });
  add_bounded<2>(
      table, {TL_OP_gelu_bwd, binary_call(TL_BINARY_GELU_BWD)},
      []<class T>(Check &check, const Buffer &got, const Columns<T, 2> &x) {
        const Number c(static_cast<T>(0.044715)), s(static_cast<T>(0.7978845608028654)),
            three_c(static_cast<T>(0.134145));
        std::vector<Number> exact, bounds;
        for (std::size_t i = 0; i < x[0].size(); ++i) {
          const Number v(x[0][i]), g(x[1][i]);
          const Number t = tanh(s * (v + c * v * v * v)), d = (three_c * v * v + 1) * s;
          exact.push_back((t + 1 + v * (1 - t * t) * d) / 2 * g);
          bounds.push_back(8 * Number(Values<T>::eps) * (1 + abs(v) * (1 + abs(d))) * abs(g));
        }
        check.within<T>(got, exact, bounds);
      },
      [=]<class T>() { return moderate.template operator()<2, T>(); },
      []<class T>() -> Rows<T> {
        using V = Values<T>;
        return {{0, 1, T(0.5)},      {0, V::inf, V::inf},  {0, V::nan, V::nan},
                {V::inf, 1, V::nan}, {-V::inf, 1, V::nan}, {V::nan, 1, V::nan}};
      });
  for (const double c : {0.7, -0.1})
    add_bounded<2>(
        table,
        {TL_OP_scaled_prod_exp,
         [c](const Operands &x, tl_buffer **out) { return tl_scaled_prod_exp(x[0], x[1], c, out); },
         with("c", c)},
        [c]<class T>(Check &check, const Buffer &got, const Columns<T, 2> &x) {
          std::vector<Number> exact;
          for (std::size_t i = 0; i < x[0].size(); ++i) {
            const T first = x[0][i] * static_cast<T>(c), product = first * x[1][i];
            exact.push_back(exp(Number(product)));
          }
          check.ulps<T>(got, exact, 2);
        },
        []<class T>() {
          Columns<T, 2> x = combinations<T, 2>();
          for (std::size_t i = 0; i < 2; ++i)
            for (const T value : normal_values<T>(300, 0, 8, i + 7)) x[i].push_back(value);
          return x;
        },
        []<class T>() -> Rows<T> {
          using V = Values<T>;
          return {{0, V::inf, V::nan}, {0, 5, 1}, {V::nan, 1, V::nan}, {1, V::nan, V::nan}};
        });
}

}  // namespace

void add_elementwise(Table &table) {
  add_exact_unary(table);
  add_arithmetic(table);
  add_gradients(table);
  add_elementary_functions(table);
  add_staged(table);
}

}  // namespace torchlean::conformance
