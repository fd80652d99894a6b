// Rows that are picked, and rows that are added to.
#include "shapes.hpp"
#include "sums.hpp"

namespace torchlean::conformance {
namespace {

using Rows = std::vector<std::uint32_t>;

constexpr std::uint32_t nobody = 0xFFFFFFFF;

// Random rows, of which some are none.
Rows random_rows(std::uint64_t rows, std::size_t k) {
  std::mt19937_64 random(k);
  Rows indices(k);
  for (auto &index : indices) index = static_cast<std::uint32_t>(random() % (rows + rows / 8 + 1));
  return indices;
}

// ---- Picking -----------------------------------------------------------------------------------

void add_gather(Table &table) {
  const auto add = [&](Kind kind, const std::string &name, std::uint64_t rows, std::uint64_t cols,
                       const Rows &indices) {
    table.add(TL_OP_gather_rows, kind, name, [=]<class T>(Check &check) {
      const auto x = any_patterns<T>(rows * cols);
      std::vector<T> expected;
      for (const std::uint32_t index : indices)
        for (std::uint64_t j = 0; j < cols; ++j)
          expected.push_back(index < rows ? x[index * cols + j] : T(0));
      check.same_bits(gather_rows(check.input(x), rows, cols, indices), expected);
    });
  };
  add(Kind::ordinary, "one element", 1, 1, {0});
  add(Kind::ordinary, "rows twice", 3, 2, {2, 0, 2, 2});
  add(Kind::ordinary, "31 of (1009, 7)", 1009, 7, random_rows(1009, 31));
  add(Kind::ordinary, "65537 of (13, 1)", 13, 1, random_rows(13, 65537));
  add(Kind::ordinary, "257 of (2, 127)", 2, 127, random_rows(2, 257));
  add(Kind::special, "rows that are none", 2, 3, {2, 0, nobody, 1, 0x80000000});
  add(Kind::special, "of no rows", 0, 3, {0, nobody});
  add(Kind::empty, "no index", 3, 2, {});
  add(Kind::empty, "no column", 3, 0, {1, 2});
  table.refuse_operands(TL_OP_gather_rows, {6}, [](const Operands &x, tl_buffer **out) {
    const std::uint32_t indices[] = {1, 0};
    return tl_gather_rows(x[0], 2, 3, indices, 2, 2, out);
  });
  table.add(TL_OP_gather_rows, Kind::wrong, "indices and dims", []<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{1, 2, 3, 4, 5, 6});
    static const std::uint32_t indices[] = {1, 0};
    const auto refuse = [&](const char *what, std::uint64_t rows, const std::uint32_t *list,
                            std::uint64_t k) {
      check.refused(what, [&, rows, list, k](tl_buffer **out) {
        return tl_gather_rows(x.get(), rows, 3, list, 2, k, out);
      });
    };
    refuse("another k", 2, indices, 3);
    refuse("no list", 2, nullptr, 2);
    refuse("another product", 3, indices, 2);
    refuse("a product beyond 64 bits", std::uint64_t{1} << 63U, indices, 2);
  });
}

// ---- Adding ------------------------------------------------------------------------------------

struct Scatter {
  std::uint64_t rows, cols;
  Rows indices;

  // scatter_add where there is one column and it is asked for.
  Buffer call(tl_operation operation, const Buffer &x, const Buffer &values) const {
    return operation == TL_OP_scatter_add ? scatter_add(x, values, indices)
                                          : scatter_add_rows(x, values, rows, cols, indices);
  }
  // The updates of element i, in order.
  template <class T>
  std::vector<T> updates(std::size_t i, const std::vector<T> &values) const {
    std::vector<T> own;
    for (std::size_t k = 0; k < indices.size(); ++k)
      if (indices[k] == i / cols) own.push_back(values[k * cols + i % cols]);
    return own;
  }
};

template <class T>
void check_scatter(Check &check, tl_operation operation, const Scatter &s, const std::vector<T> &x,
                   const std::vector<T> &values) {
  const Buffer &base = check.input(x), &added = check.input(values);
  const Buffer got = s.call(operation, base, added);
  std::vector<T> folded = x;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (const T value : s.updates(i, values)) folded[i] += value;
  check.each<T>(got, x.size(), "result", [&](std::size_t i, T value) -> std::string {
    const auto updates = s.updates(i, values);
    if (updates.empty())  // untouched, bit for bit
      return std::bit_cast<Bits<T>>(value) == std::bit_cast<Bits<T>>(x[i]) ? "" : text_of(x[i]);
    if (updates.size() == 1 || !std::isfinite(folded[i]))
      return same(value, folded[i]) ? "" : text_of(folded[i]);
    Sum<T> sum;
    sum.add(x[i]);
    for (const T update : updates) sum.add(update);
    const Number bound = sum.bound(2 * static_cast<double>(updates.size()));
    return std::isfinite(value) && abs(Number(value) - sum.value) <= bound
               ? ""
               : text_of(sum.value.template rounded<T>()) + " within " +
                     text_of(bound.template rounded<double>());
  });
  const Deterministic mode;
  check.exact(s.call(operation, base, added), folded, "in deterministic mode");
}

void add_scatter(Table &table, tl_operation operation, std::uint64_t cols) {
  const auto add = [&](Kind kind, const std::string &name, const Scatter &s, auto values) {
    table.add(operation, kind, name, [=]<class T>(Check &check) {
      check_scatter(check, operation, s, values.template operator()<T>(s.rows * s.cols, 1),
                    values.template operator()<T>(s.indices.size() * s.cols, 2));
    });
  };
  const auto normal = []<class T>(std::size_t n, std::uint64_t seed) {
    return normal_values<T>(n, 0, 1, seed);
  };
  add(Kind::ordinary, "one element", {1, cols, {0}}, normal);
  add(Kind::ordinary, "every row once",
      {31, cols,
       [] {
         Rows all(31);
         for (std::uint32_t i = 0; i < 31; ++i) all[i] = 30 - i;
         return all;
       }()},
      normal);
  add(Kind::ordinary, "127 updates of 17 rows", {17, cols, random_rows(17, 127)}, normal);
  add(Kind::ordinary, "1009 updates of 2 rows", {2, cols, random_rows(2, 1009)}, normal);
  add(Kind::ordinary, "257 updates of one of 1009 rows", {1009, cols, Rows(257, 500)}, normal);
  add(Kind::special, "untouched rows keep -0 and NaN payloads", {257, cols, {7, nobody, 100, 257}},
      []<class T>(std::size_t n, std::uint64_t seed) {
        auto x = any_patterns<T>(n, seed);
        for (std::size_t i = 0; i < n; i += 3) x[i] = T(-0.0);
        return x;
      });
  add(Kind::special, "NaN and infinities stay in their element", {5, cols, {3, 3, 1, 3, 1}},
      []<class T>(std::size_t n, std::uint64_t seed) {
        auto x = normal_values<T>(n, 0, 1, seed);
        if (n > 1) x[1] = seed == 1 ? Values<T>::inf : Values<T>::nan;
        return x;
      });
  add(Kind::special, "subnormals and ties", {2, cols, {0, 1}},
      []<class T>(std::size_t n, std::uint64_t seed) {
        std::vector<T> x(n, seed == 1 ? T(1) : Values<T>::eps / 2);
        x[0] = 3 * Values<T>::tiny;
        return x;
      });
  add(Kind::empty, "no update", {31, cols, {}}, normal);
  add(Kind::empty, "no row", {0, cols, {0, nobody}}, normal);
  table.add(operation, Kind::order, "from the base, in order", [=]<class T>(Check &check) {
    // From 1/eps on the dtype moves in steps of 2, and 1/eps + 1 is a tie that goes down.
    const T big = 2 / Values<T>::eps;
    const Scatter s{2, 1, {1, 0, 1, 0}};
    const Deterministic mode;
    check.exact(s.call(operation, check.input(std::vector<T>{1, 1}),
                       check.input(std::vector<T>{big, 1, 1, big})),
                std::vector<T>{big + 2, big});
  });
  table.add(
      operation, Kind::ownership, "without updates the result is a copy",
      [=]<class T>(Check &check) {
        const auto values = normal_values<T>(1009);
        Buffer x = upload(std::span<const T>(values));
        const Buffer y = Scatter{1009, 1, {}}.call(operation, x, upload(std::span<const T>{}));
        x.release();
        const Buffer other = full(1009, 7, dtype_of<T>);
        check.same_bits(y, values);
      });
  table.add(operation, Kind::ownership, "one buffer is base and updates",
            [=]<class T>(Check &check) {
              const Buffer &x = check.input(std::vector<T>{1, 2, 3});
              check.exact(Scatter{3, 1, {2, 1, 0}}.call(operation, x, x), std::vector<T>{4, 4, 4});
            });
}

void add_wrong_scatter(Table &table) {
  static const std::uint32_t indices[] = {1, 0};
  table.refuse_operands(TL_OP_scatter_add, {6, 2}, [](const Operands &x, tl_buffer **out) {
    return tl_scatter_add(x[0], x[1], 6, indices, 2, 2, out);
  });
  table.refuse_operands(TL_OP_scatter_add_rows, {6, 6}, [](const Operands &x, tl_buffer **out) {
    return tl_scatter_add_rows(x[0], x[1], 2, 3, indices, 2, 2, out);
  });
  table.add(TL_OP_scatter_add, Kind::wrong, "indices and n", []<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{1, 2});
    const auto refuse = [&](const char *what, std::uint64_t n, const std::uint32_t *list,
                            std::uint64_t k) {
      check.refused(what, [&, n, list, k](tl_buffer **out) {
        return tl_scatter_add(x.get(), x.get(), n, list, 2, k, out);
      });
    };
    refuse("another n", 3, indices, 2);
    refuse("another k", 2, indices, 1);
    refuse("no list", 2, nullptr, 2);
  });
  table.add(TL_OP_scatter_add_rows, Kind::wrong, "indices and dims", []<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{1, 2, 3, 4, 5, 6});
    const auto refuse = [&](const char *what, std::uint64_t rows, const std::uint32_t *list,
                            std::uint64_t k) {
      check.refused(what, [&, rows, list, k](tl_buffer **out) {
        return tl_scatter_add_rows(x.get(), x.get(), rows, 3, list, 2, k, out);
      });
    };
    refuse("another product", 3, indices, 2);
    refuse("another k", 2, indices, 1);
    refuse("no list", 2, nullptr, 2);
  });
}

}  // namespace

void add_indexing(Table &table) {
  add_gather(table);
  add_scatter(table, TL_OP_scatter_add, 1);
  add_scatter(table, TL_OP_scatter_add_rows, 1);
  add_scatter(table, TL_OP_scatter_add_rows, 7);
  add_wrong_scatter(table);
}

}  // namespace torchlean::conformance
