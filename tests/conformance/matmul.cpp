// Matrix products within the bound of their terms, and when bmm_scaled asks for a replay.
#include "sums.hpp"

namespace torchlean::conformance {
namespace {

std::string name_of(const MatmulShape &s) {
  return std::to_string(s.batch) + "x(" + std::to_string(s.m) + "," + std::to_string(s.n) + ")x(" +
         std::to_string(s.n) + "," + std::to_string(s.p) + "):" + (s.transpose_a ? "T" : "N") +
         (s.transpose_b ? "T" : "N");
}

// The products that belong to each output element, as (index of a, index of b).
std::vector<std::vector<std::pair<std::size_t, std::size_t>>> terms_of(const MatmulShape &s) {
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> terms(s.batch * s.m * s.p);
  for (std::size_t b = 0; b < s.batch; ++b)
    for (std::size_t i = 0; i < s.m; ++i)
      for (std::size_t j = 0; j < s.p; ++j)
        for (std::size_t k = 0; k < s.n; ++k)
          terms[(b * s.m + i) * s.p + j].emplace_back(
              b * s.m * s.n + (s.transpose_a ? k * s.m + i : i * s.n + k),
              b * s.n * s.p + (s.transpose_b ? j * s.n + k : k * s.p + j));
  return terms;
}

// |error| <= (2 n + more) eps |scale| sum |a||b| + n smallest subnormals; elements that something
// nonfinite reaches are not looked at.
template <class T, class Got>
void check_products(Check &check, const Got &got, const MatmulShape &s, const std::vector<T> &a,
                    const std::vector<T> &b, double scale = 1, double more = 0) {
  const auto terms = terms_of(s);
  const Number factor(scale);
  check.each<T>(got, terms.size(), "result", [&](std::size_t i, T value) -> std::string {
    Sum<T> sum;
    for (const auto &[k, l] : terms[i]) {
      if (!std::isfinite(a[k]) || !std::isfinite(b[l])) return "";
      sum.add(factor * a[k] * b[l]);
    }
    const auto n = static_cast<double>(s.n);
    const T expected = sum.value.template rounded<T>();
    Number bound = sum.bound(2 * n + more) + Number(n) * Values<T>::tiny;
    if (std::fabs(expected) < Values<T>::normal) bound += Number(2) * Values<T>::tiny;
    return std::isfinite(value) && abs(Number(value) - sum.value) <= bound
               ? ""
               : text_of(expected) + " within " + text_of(bound.template rounded<double>());
  });
}

const MatmulShape shapes[] = {{1, 1, 1, 1},    {2, 2, 3, 2},   {1, 7, 13, 5},  {3, 17, 4, 11},
                              {1, 1, 1009, 1}, {2, 1, 31, 65}, {1, 65, 31, 1}, {1, 33, 65, 31}};
const MatmulShape empty_shapes[] = {{2, 3, 0, 4}, {0, 3, 2, 4}, {2, 0, 3, 4}, {2, 3, 4, 0}};

template <class Body>
void each_transposed(MatmulShape s, const Body &body) {
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      s.transpose_a = a, s.transpose_b = b;
      body(s);
    }
}

// Numbers whose products and sums differ widely in size, some products below the normal range.
template <class T>
std::vector<T> wide(std::size_t n, std::uint64_t seed) {
  std::vector<T> x = normal_values<T>(n, 0, 1, seed);
  const int span = std::numeric_limits<T>::max_exponent / 2 - 8;
  for (std::size_t i = 0; i < n; ++i)
    x[i] = std::ldexp(x[i], i % 7 == 0 ? -span - 12 : i % 5 == 0 ? span : 0);
  return x;
}

// ---- bmm ---------------------------------------------------------------------------------------

void add_bmm(Table &table) {
  const auto add = [&](Kind kind, const std::string &name, const MatmulShape &s, auto values) {
    table.add(TL_OP_bmm_with_transpose, kind, name_of(s) + name, [=]<class T>(Check &check) {
      const std::vector<T> a = values.template operator()<T>(s.batch * s.m * s.n, 1),
                           b = values.template operator()<T>(s.batch * s.n * s.p, 2);
      check_products(check, bmm(check.input(a), check.input(b), s), s, a, b);
    });
  };
  const auto normal = []<class T>(std::size_t n, std::uint64_t seed) {
    return normal_values<T>(n, 0, 1, seed);
  };
  for (const MatmulShape &shape : shapes)
    each_transposed(shape, [&](const MatmulShape &s) { add(Kind::ordinary, "", s, normal); });
  each_transposed({2, 7, 31, 5}, [&](const MatmulShape &s) {
    add(Kind::special, ", wide", s,
        []<class T>(std::size_t n, std::uint64_t seed) { return wide<T>(n, seed); });
    add(Kind::special, ", nonfinite in some places", s,
        []<class T>(std::size_t n, std::uint64_t seed) {
          std::vector<T> x = normal_values<T>(n, 0, 1, seed);
          x[n / 2] = seed == 1 ? Values<T>::nan : Values<T>::inf;
          return x;
        });
    add(Kind::special, ", cancelling", s, []<class T>(std::size_t n, std::uint64_t seed) {
      std::vector<T> x = normal_values<T>(n, 0, 1, seed);
      for (std::size_t i = 1; i < n; i += 2) x[i] = seed == 1 ? -x[i - 1] : x[i - 1];
      return x;
    });
  });
  for (const MatmulShape &shape : empty_shapes)
    each_transposed(shape, [&](const MatmulShape &s) {
      table.add(TL_OP_bmm_with_transpose, Kind::empty, name_of(s), [s]<class T>(Check &check) {
        const Buffer &a = check.input(normal_values<T>(s.batch * s.m * s.n)),
                     &b = check.input(normal_values<T>(s.batch * s.n * s.p));
        check.exact(bmm(a, b, s), std::vector<T>(s.batch * s.m * s.p, 0));
      });
    });
  table.add(TL_OP_bmm_with_transpose, Kind::special, "whole numbers by hand",
            []<class T>(Check &check) {  // (2, 3) x (3, 2), twice; exact in any order
              const Buffer &a = check.input(std::vector<T>{1, 2, 3, 4, 5, 6, 1, 0, 0, 0, 1, 0}),
                           &b = check.input(std::vector<T>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
              check.exact(bmm(a, b, {2, 2, 3, 2}), std::vector<T>{22, 28, 49, 64, 7, 8, 9, 10});
              check.exact(
                  bmm(a, b, {1, 4, 3, 4}),
                  std::vector<T>{1 + 10 + 27, 2 + 12 + 30, 3 + 14 + 33, 4 + 16 + 36, 4 + 25 + 54,
                                 8 + 30 + 60, 12 + 35 + 66, 16 + 40 + 72, 1, 2, 3, 4, 5, 6, 7, 8});
            });
  table.add(TL_OP_bmm_with_transpose, Kind::ownership, "one buffer twice",
            []<class T>(Check &check) {
              const Buffer &x = check.input(std::vector<T>{1, 2, 3, 4});
              check.exact(bmm(x, x, {1, 2, 2, 2}), std::vector<T>{7, 10, 15, 22});
              check.exact(bmm(x, x, {1, 2, 2, 2, false, true}), std::vector<T>{5, 11, 11, 25});
            });
}

// ---- bmm_scaled --------------------------------------------------------------------------------

constexpr double scales[] = {1, -1, 0.125, -0.3, 1e-8, 7.5, -1e5, 1.0000001};

void add_scaled(Table &table) {
  for (const MatmulShape &shape : shapes)
    for (const double scale : scales) {
      MatmulShape s = shape;
      s.transpose_a = scale < 0, s.transpose_b = scale < 1;
      table.add(TL_OP_bmm_scaled, Kind::ordinary, name_of(s) + ", scale=" + std::to_string(scale),
                [=]<class T>(Check &check) {
                  const auto a = normal_values<T>(s.batch * s.m * s.n, 0, 1, 1),
                             b = normal_values<T>(s.batch * s.n * s.p, 0, 1, 2);
                  const ScaledProduct got = bmm_scaled(check.input(a), check.input(b), s, scale);
                  // A replay may be asked for without need; that says nothing about the values.
                  if (!got.replay) check_products(check, got.values, s, a, b, scale, 2);
                });
    }
  const auto dot = []<class T>(Check &check, const std::vector<T> &a, const std::vector<T> &b,
                               double scale) {
    return bmm_scaled(check.input(a), check.input(b), {1, 1, a.size(), 1}, scale);
  };
  table.add(TL_OP_bmm_scaled, Kind::special, "what must be replayed", [=]<class T>(Check &check) {
    using V = Values<T>;
    const T big = std::sqrt(V::largest) * 2, small = std::sqrt(V::normal) / 2;
    const T most = V::largest / 4 * 3;
    const struct {
      const char *what;
      std::vector<T> a, b;
      double scale;
    } rows[] = {
        {"an infinite operand", {V::inf}, {1}, 0.5},
        {"a NaN operand", {1}, {V::nan}, 2},
        {"infinity times zero", {V::inf, 1}, {0, 1}, 1},
        {"a NaN scale", {1}, {1}, std::nan("")},
        {"an infinite scale", {1}, {1}, HUGE_VAL},
        {"a scale of zero", {1}, {1}, 0},
        {"a scaled operand below the normal range", {V::normal * T(1.5)}, {1}, 0.01},
        {"a product that overflows", {big}, {big}, 1},
        {"a product that underflows", {small}, {small}, 1},
        {"one product of two that underflows", {small, 1}, {small, 1}, 1},
        {"products whose magnitudes overflow in sum", {most, -most, most}, {1, 1, 1}, 1},
        {"a result of zero whose terms are not", {1, -1}, {1, 1}, 1},
        {"a result that overflows", {V::largest}, {1}, 2},
        {"a result below the normal range", {small}, {small * 4}, 0.125},
    };
    for (const auto &row : rows)
      check.require(dot(check, row.a, row.b, row.scale).replay,
                    std::string("a replay is asked for: ") + row.what);
    if (sizeof(T) == 4) {
      check.require(dot(check, std::vector<T>{1}, {1}, 1e300).replay,
                    "a replay is asked for: the rounded scale overflows");
      check.require(dot(check, std::vector<T>{1}, {1}, 1e-300).replay,
                    "a replay is asked for: the rounded root of the scale underflows");
    }
  });
  table.add(TL_OP_bmm_scaled, Kind::special, "a product that would overflow before it is scaled",
            [=]<class T>(Check &check) {
              const T big = std::ldexp(std::sqrt(Values<T>::largest), 3);
              const MatmulShape s{1, 1, 1, 1};
              const std::vector<T> x = {big};
              const ScaledProduct got = dot(check, x, x, 0x1p-20);
              if (!got.replay) check_products(check, got.values, s, x, x, 0x1p-20, 2);
            });
  for (const MatmulShape &s : empty_shapes)
    table.add(TL_OP_bmm_scaled, Kind::empty, name_of(s), [s]<class T>(Check &check) {
      const ScaledProduct got =
          bmm_scaled(check.input(normal_values<T>(s.batch * s.m * s.n)),
                     check.input(normal_values<T>(s.batch * s.n * s.p)), s, 0.5);
      if (s.batch * s.m * s.p == 0) check.require(!got.replay, "an empty result needs no replay");
      if (!got.replay) check.either_zero(got.values, std::vector<T>(s.batch * s.m * s.p, 0));
    });
}

void add_wrong_matmul(Table &table) {
  struct Dims {
    std::uint64_t batch = 1, m = 2, n = 3, p = 4;
    std::uint32_t a = 0, b = 0;
  };
  const auto add = [&](tl_operation operation, auto call) {
    table.refuse_operands(operation, {6, 12}, [=](const Operands &x, tl_buffer **out) {
      return call(x[0], x[1], Dims{}, out);
    });
    table.add(operation, Kind::wrong, "dims and flags", [=]<class T>(Check &check) {
      const Buffer &a = check.input(std::vector<T>(6, 1)), &b = check.input(std::vector<T>(12, 1));
      const auto refuse = [&](const char *what, const Dims &dims) {
        check.refused(what, [&](tl_buffer **out) { return call(a.get(), b.get(), dims, out); });
      };
      refuse("a flag of 2", {.a = 2});
      refuse("another flag of 2", {.b = 2});
      refuse("another batch", {.batch = 2});
      refuse("another m", {.m = 3});
      refuse("another n", {.n = 2});
      refuse("another p", {.p = 3});
      refuse("products that are right in 64 bits",
             {.batch = (std::uint64_t{1} << 63U) + 1, .m = 2, .n = 3, .p = 4});
    });
  };
  add(TL_OP_bmm_with_transpose,
      [](const tl_buffer *a, const tl_buffer *b, const Dims &d, tl_buffer **out) {
        return tl_bmm_with_transpose(a, b, d.batch, d.m, d.n, d.p, d.a, d.b, out);
      });
  add(TL_OP_bmm_scaled, [](const tl_buffer *a, const tl_buffer *b, const Dims &d, tl_buffer **out) {
    std::uint32_t replay = 0;
    return tl_bmm_scaled(a, b, d.batch, d.m, d.n, d.p, d.a, d.b, 0.5, out, &replay);
  });
}

// ---- dgemm -------------------------------------------------------------------------------------

void add_dgemm(Table &table) {
  const auto add = [&](Kind kind, const MatmulShape &s, auto values) {
    table.add_one<double>(TL_OP_dgemm, kind, name_of(s), [=]<class T>(Check &check) {
      const std::vector<T> a = values(s.m * s.n, 1), b = values(s.n * s.p, 2);
      check_products(check, dgemm(a, b, s.m, s.n, s.p), s, a, b);
    });
  };
  for (const MatmulShape &s : shapes)
    if (s.batch == 1)
      add(Kind::ordinary, s,
          [](std::size_t n, std::uint64_t seed) { return normal_values<double>(n, 0, 1, seed); });
  add(Kind::special, {1, 7, 31, 5}, wide<double>);
  add(Kind::special, {1, 5, 13, 7}, [](std::size_t n, std::uint64_t seed) {
    std::vector<double> x = normal_values<double>(n, 0, 1, seed);
    x[n / 2] = seed == 1 ? Values<double>::nan : Values<double>::inf;
    return x;
  });
  for (const MatmulShape &s : {MatmulShape{1, 3, 0, 4}, {1, 0, 3, 4}, {1, 3, 4, 0}})
    table.add_one<double>(TL_OP_dgemm, Kind::empty, name_of(s), [s]<class T>(Check &check) {
      check.exact(dgemm(std::vector<T>(s.m * s.n, 1), std::vector<T>(s.n * s.p, 1), s.m, s.n, s.p),
                  std::vector<T>(s.m * s.p, 0));
    });
  table.add_one<double>(TL_OP_dgemm, Kind::wrong, "counts", []<class T>(Check &check) {
    static const T x[6] = {1, 2, 3, 4, 5, 6};
    T y[4] = {7, 7, 7, 7};
    const auto refuse = [&](const char *what, const T *a, std::uint64_t a_count,
                            std::uint64_t b_count, std::uint64_t m, std::uint64_t out_count) {
      check.refused(what, [&, a, a_count, b_count, m, out_count](tl_buffer **) {
        return tl_dgemm(a, a_count, x, b_count, m, 3, 2, y, out_count);
      });
    };
    refuse("another count of a", x, 5, 6, 2, 4);
    refuse("another count of b", x, 6, 5, 2, 4);
    refuse("another count of the result", x, 6, 6, 2, 3);
    refuse("another m", x, 6, 6, 3, 4);
    refuse("no a", nullptr, 6, 6, 2, 4);
    refuse("a product beyond 64 bits", x, 6, 6, UINT64_MAX, 4);
    check.exact(std::vector<T>(y, y + 4), std::vector<T>(4, 7), "room");
  });
}

}  // namespace

void add_matmul(Table &table) {
  add_bmm(table);
  add_scaled(table);
  add_wrong_matmul(table);
  add_dgemm(table);
}

}  // namespace torchlean::conformance
