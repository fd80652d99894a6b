// Sums within their bounds, and bit for bit in deterministic mode; maxima and masks of rows.
#include "shapes.hpp"
#include "sums.hpp"

namespace torchlean::conformance {
namespace {

template <class T>
void check_sums(Check &check, const Buffer &got, const std::vector<T> &x, const Groups &groups) {
  std::vector<Number> exact, bounds;
  for (const auto &group : groups) {
    Sum<T> sum;
    for (const std::size_t i : group) sum.add(x[i]);
    exact.push_back(sum.value);
    bounds.push_back(sum.bound(sum.reduction_factor()));
  }
  check.within<T>(got, exact, bounds);
}

// A left fold from +0, as deterministic mode has it.
template <class T>
void check_folds(Check &check, const Buffer &got, const std::vector<T> &x, const Groups &groups) {
  std::vector<T> expected;
  for (const auto &group : groups) {
    T sum = 0;
    for (const std::size_t i : group) sum += x[i];
    expected.push_back(sum);
  }
  check.exact(got, expected);
}

// Numbers that cancel, numbers of one sign, and numbers whose plain sum in the dtype goes astray.
template <class T>
std::vector<std::pair<const char *, std::vector<T>>> samples_of(std::size_t n) {
  if (n > 100003) return {{"normal", normal_values<T>(n)}};  // large enough to be slow
  std::vector<T> cancelling = normal_values<T>(n), small = normal_values<T>(n);
  for (std::size_t i = 0; i < n; ++i) {
    cancelling[i] = i % 2 == 0 ? T(1e4) * cancelling[i] : -cancelling[i - 1] + T(1e-3);
    small[i] *= 16 * Values<T>::tiny;
  }
  return {{"normal", normal_values<T>(n)},
          {"one sign", normal_values<T>(n, 10, 1)},
          {"constant", std::vector<T>(n, T(0.1))},
          {"cancelling", cancelling},
          {"subnormal", small}};
}

// ---- Totals ------------------------------------------------------------------------------------

// The procedure as it is written: all lanes of all blocks at once, again until one value is left.
template <class T>
T lanes_as_written(std::vector<T> x) {
  do {
    const std::size_t blocks = std::min<std::size_t>((x.size() + 255) / 256, 65535);
    std::vector<T> lane(blocks * 256, T(0));
    for (std::size_t i = 0; i < x.size(); ++i) lane[i % lane.size()] += x[i];
    for (std::size_t w = 128; w >= 1; w /= 2)
      for (std::size_t l = 0; l < lane.size(); ++l)
        if (l % 256 < w) lane[l] += lane[l + w];
    x.clear();
    for (std::size_t block = 0; block < blocks; ++block) x.push_back(lane[block * 256]);
  } while (x.size() > 1);
  return x.empty() ? T(0) : x[0];
}

template <class T>
T reciprocal(std::size_t n) {
  return 1 / static_cast<T>(n);
}

constexpr std::size_t total_lengths[] = {1, 2, 3, 31, 255, 256, 257, 1009, 65537, 100003};

void add_totals(Table &table) {
  for (const std::size_t n : total_lengths) {
    const std::string name = "n=" + std::to_string(n);
    table.add(TL_OP_reduce_sum, Kind::ordinary, name, [n]<class T>(Check &check) {
      for (const auto &[sort, x] : samples_of<T>(n))
        check_sums(check, reduce_sum(check.input(x)), x, axis_groups(1, n, 1));
    });
    table.add(TL_OP_reduce_mean, Kind::ordinary, name, [n]<class T>(Check &check) {
      for (const auto &[sort, x] : samples_of<T>(n)) {
        Sum<T> sum;
        for (const T value : x) sum.add(value);
        const double log2_n = std::max(1.0, std::log2(static_cast<double>(n)));
        check.within<T>(reduce_mean(check.input(x)), {sum.value * reciprocal<T>(n)},
                        {sum.bound(8 * log2_n + 2) / static_cast<double>(n)});
      }
    });
    table.add(TL_OP_reduce_sum, Kind::order, name, [n]<class T>(Check &check) {
      const Deterministic mode;
      for (const auto &[sort, x] : samples_of<T>(n))
        check.exact(reduce_sum(check.input(x)), std::vector<T>{lanes_as_written(x)}, sort);
    });
    table.add(TL_OP_reduce_mean, Kind::order, name, [n]<class T>(Check &check) {
      const Deterministic mode;
      for (const auto &[sort, x] : samples_of<T>(n))
        check.exact(reduce_mean(check.input(x)),
                    std::vector<T>{lanes_as_written(x) * reciprocal<T>(n)}, sort);
    });
  }
  table.add_one<float>(
      TL_OP_reduce_sum, Kind::order, "more than 65535 blocks", []<class T>(Check &check) {
        std::vector<T> x(256 * 65535 + 1000);
        for (std::size_t i = 0; i < x.size(); ++i)
          x[i] = static_cast<T>(i * 2654435761U % 1000003) * T(0x1p-10);
        const Deterministic mode;
        check.exact(reduce_sum(check.input(x)), std::vector<T>{lanes_as_written(x)});
      });
  table.add(TL_OP_reduce_sum, Kind::order, "from +0", []<class T>(Check &check) {
    const Deterministic mode;
    check.exact(reduce_sum(check.input(std::vector<T>{T(-0.0)})), std::vector<T>{0});
    check.exact(reduce_sum(check.input(std::vector<T>{})), std::vector<T>{0});
  });
  table.add(TL_OP_reduce_mean, Kind::special, "the rounded reciprocal", []<class T>(Check &check) {
    check.exact(reduce_mean(check.input(std::vector<T>{1, 2, 7})), std::vector<T>{10 * (1 / T(3))});
  });
  table.add(TL_OP_reduce_sum, Kind::empty, "n=0", []<class T>(Check &check) {
    check.exact(reduce_sum(check.input(std::vector<T>{})), std::vector<T>{0});
  });
  table.add(TL_OP_reduce_mean, Kind::empty, "n=0", []<class T>(Check &check) {
    check.exact(reduce_mean(check.input(std::vector<T>{})), std::vector<T>{Values<T>::nan});
  });
  for (const auto &[operation, function] :
       {std::pair(TL_OP_reduce_sum, &tl_reduce_sum), {TL_OP_reduce_mean, &tl_reduce_mean}}) {
    table.add(operation, Kind::special, "NaN and infinities",
              [function = function]<class T>(Check &check) {
                using V = Values<T>;
                const auto reduced = [&](const std::vector<T> &x) {
                  return detail::result(function, check.input(x).get());
                };
                std::vector<T> x = normal_values<T>(1009);
                x[700] = V::inf;
                check.exact(reduced(x), std::vector<T>{V::inf});
                x[3] = -V::inf;
                check.exact(reduced(x), std::vector<T>{V::nan});
                check.exact(reduced({1, V::nan}), std::vector<T>{V::nan});
                check.exact(reduced({-V::inf, 1}), std::vector<T>{-V::inf});
              });
    table.refuse_operands(
        operation, {5},
        [function = function](const Operands &x, tl_buffer **out) { return function(x[0], out); },
        Table::Lengths::any);
  }
}

// ---- Sums along axes ---------------------------------------------------------------------------

// A sum of some elements: how to call it, and which elements.
struct Summation {
  tl_operation operation;
  std::string name;
  Groups groups;
  std::size_t count;  // of the operand
  std::function<Buffer(const Buffer &)> call;
};

void add_summation(Table &table, const Summation &s) {
  const Kind kind = s.count == 0 ? Kind::empty : Kind::ordinary;
  table.add(s.operation, kind, s.name, [s]<class T>(Check &check) {
    for (const auto &[sort, x] : samples_of<T>(s.count))
      check_sums(check, s.call(check.input(x)), x, s.groups);
  });
  table.add(s.operation, Kind::order, s.name, [s]<class T>(Check &check) {
    const Deterministic mode;
    for (const auto &[sort, x] : samples_of<T>(s.count))
      check_folds(check, s.call(check.input(x)), x, s.groups);
  });
  if (s.count == 0) return;
  table.add(s.operation, Kind::special, s.name, [s]<class T>(Check &check) {
    // One element is not finite; sums without it keep their bound.
    using V = Values<T>;
    for (const T value : {V::inf, -V::inf, V::nan}) {
      std::vector<T> x = normal_values<T>(s.count);
      const std::size_t place = s.count / 2;
      x[place] = value;
      const Buffer got = s.call(check.input(x));
      const auto sums = download<T>(got);
      x[place] = 0;
      std::vector<T> others = sums;
      for (std::size_t g = 0; g < s.groups.size(); ++g)
        if (std::find(s.groups[g].begin(), s.groups[g].end(), place) != s.groups[g].end()) {
          check.exact(std::vector<T>{sums[g]}, std::vector<T>{value}, "the sum that is reached");
          others[g] = 0;
          for (const std::size_t i : s.groups[g]) x[i] = 0;
        }
      check_sums(check, upload(std::span<const T>(others)), x, s.groups);
    }
  });
}

Summation by_row(std::uint64_t rows, std::uint64_t cols) {
  return {TL_OP_reduce_sum_by_row, text_of({rows, cols}), axis_groups(rows, cols, 1), rows * cols,
          [=](const Buffer &x) { return reduce_sum_by_row(x, rows, cols); }};
}

Summation along(const Dims &dims, std::uint64_t axis) {
  const auto middle = dims.begin() + static_cast<std::ptrdiff_t>(axis);
  const std::uint64_t outer = product({dims.begin(), middle});
  const std::uint64_t inner = dims.empty() ? 1 : product({middle + 1, dims.end()});
  const std::uint64_t n = dims.empty() ? 1 : *middle;
  return {TL_OP_reduce_sum_axis, text_of(dims) + " axis " + std::to_string(axis),
          axis_groups(outer, n, inner), product(dims),
          [=](const Buffer &x) { return reduce_sum_axis(x, dims, axis); }};
}

Summation to_shape(const Broadcast &b) {
  return {TL_OP_reduce_from_broadcast,
          text_of(b.out) + " to " + text_of(b.in) + " by " + text_of(b.map), broadcast_groups(b),
          product(b.out),
          [=](const Buffer &x) { return reduce_from_broadcast(x, b.in, b.out, b.map); }};
}

void add_sums(Table &table) {
  for (const auto &[rows, cols] : {std::pair<std::uint64_t, std::uint64_t>{1, 1},
                                   {1, 1009},
                                   {31, 1},
                                   {7, 13},
                                   {127, 257},
                                   {65537, 2},
                                   {0, 3},
                                   {3, 0},
                                   {0, 0}})
    add_summation(table, by_row(rows, cols));
  add_summation(table, along({}, 0));
  add_summation(table, along({1009}, 0));
  add_summation(table, along({3, 50, 2}, 1));
  add_summation(table, along({7, 13, 5}, 0));
  add_summation(table, along({7, 13, 5}, 2));
  add_summation(table, along({257, 129}, 0));
  add_summation(table, along({2, 1, 31}, 1));
  add_summation(table, along({3, 0, 2}, 1));
  add_summation(table, along({0, 3}, 1));
  add_summation(table, along({3, 0}, 0));
  add_summation(table, to_shape({{}, {}, {}}));
  add_summation(table, to_shape({{}, {3, 5}, {0, 0}}));
  add_summation(table, to_shape({{3}, {50, 3}, {0, 1}}));
  add_summation(table, to_shape({{3}, {3, 50}, {1, 0}}));
  add_summation(table, to_shape({{1}, {1009}, {1}}));
  add_summation(table, to_shape({{2, 3}, {3, 2}, {2, 1}}));
  add_summation(table, to_shape({{2, 1, 3}, {4, 3, 7, 2}, {0, 3, 2, 1}}));
  add_summation(table, to_shape({{1, 31}, {31, 7, 257}, {2, 0, 1}}));
  add_summation(table, to_shape({{3}, {0, 3}, {0, 1}}));
  add_summation(table, to_shape({{1}, {0}, {1}}));
  add_summation(table, to_shape({{0}, {3, 0}, {0, 1}}));
}

void add_wrong_sums(Table &table) {
  table.refuse_operands(TL_OP_reduce_sum_axis, {6}, [](const Operands &x, tl_buffer **out) {
    const std::uint64_t dims[] = {2, 3};
    return tl_reduce_sum_axis(x[0], dims, 2, 1, out);
  });
  table.add(TL_OP_reduce_sum_axis, Kind::wrong, "dims and axis", []<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{1, 2, 3, 4, 5, 6});
    const auto refuse = [&](const char *what, const Dims &dims, std::uint64_t axis) {
      check.refused(what, [&](tl_buffer **out) {
        return tl_reduce_sum_axis(x.get(), dims.data(), dims.size(), axis, out);
      });
    };
    refuse("an axis that is none", {2, 3}, 2);
    refuse("another product", {2, 4}, 0);
    refuse("65 axes", Dims(65, 1), 0);
    refuse("no axis", {}, 1);
    check.refused("no dims",
                  [&](tl_buffer **out) { return tl_reduce_sum_axis(x.get(), nullptr, 2, 0, out); });
  });
  const auto call = [](const tl_buffer *x, const Broadcast &b, tl_buffer **out) {
    return tl_reduce_from_broadcast(x, b.in.data(), b.in.size(), b.out.data(), b.out.size(),
                                    b.map.data(), b.map.size(), out);
  };
  table.refuse_operands(TL_OP_reduce_from_broadcast, {15}, [=](const Operands &x, tl_buffer **out) {
    return call(x[0], {{3}, {5, 3}, {0, 1}}, out);
  });
  table.add(TL_OP_reduce_from_broadcast, Kind::wrong, "lists", [=]<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>(15, 1));
    const auto refuse = [&](const char *what, const Broadcast &b) {
      check.refused(what, [&](tl_buffer **out) { return call(x.get(), b, out); });
    };
    refuse("an input axis that is missing", {{3}, {5, 3}, {0, 0}});
    refuse("an input axis twice", {{3}, {3, 5}, {1, 1}});
    refuse("an input axis that is none", {{3}, {5, 3}, {0, 2}});
    refuse("sizes that differ", {{3}, {3, 5}, {0, 1}});
    refuse("another product", {{3}, {6, 3}, {0, 1}});
  });
}

// ---- Operations on the rows of a matrix --------------------------------------------------------

// Rows of (rows, cols), or columns.
template <class T>
std::vector<std::vector<T>> lines_of(const std::vector<T> &x, std::uint64_t rows,
                                     std::uint64_t cols, bool columns) {
  std::vector<std::vector<T>> lines;
  for (const auto &group : columns ? axis_groups(1, rows, cols) : axis_groups(rows, cols, 1)) {
    lines.emplace_back();
    for (const std::size_t i : group) lines.back().push_back(x[i]);
  }
  return lines;
}

// NaN is skipped; an empty line gives 0.
template <class T>
T maximum_of(const std::vector<T> &line) {
  T best = line.empty() ? T(0) : -Values<T>::inf;
  for (const T value : line)
    if (value > best) best = value;
  return best;
}

template <class T>
std::vector<T> first_maximum(const std::vector<T> &line) {
  std::vector<T> mask(line.size(), 0);
  const auto first = std::find(line.begin(), line.end(), maximum_of(line));
  if (first != line.end()) mask[static_cast<std::size_t>(first - line.begin())] = 1;
  return mask;
}

template <class T>
std::vector<T> top(const std::vector<T> &line, std::uint64_t k) {
  std::vector<T> mask(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    std::uint64_t beaten_by = 0;
    for (std::size_t j = 0; j < line.size(); ++j)
      if (line[j] > line[i] || (!(line[i] > line[j]) && j < i)) ++beaten_by;
    mask[i] = beaten_by < k ? 1 : 0;
  }
  return mask;
}

struct RowOperation {
  tl_operation operation;
  std::string label;
  std::function<tl_status(const tl_buffer *x, std::uint64_t rows, std::uint64_t cols, tl_buffer **)>
      call;
};

// lines(x) gives the results of every row or column, in order.
template <class Lines>
void add_row_operation(Table &table, const RowOperation &o, const Lines &lines) {
  const auto judge = [o, lines]<class T>(Check &check, const std::vector<T> &x, std::uint64_t rows,
                                         std::uint64_t cols) {
    check.either_zero(detail::result(o.call, check.input(x).get(), rows, cols),
                      lines(x, rows, cols));
  };
  for (const auto &[rows, cols] : {std::pair<std::uint64_t, std::uint64_t>{1, 1},
                                   {1, 257},
                                   {31, 1},
                                   {7, 13},
                                   {127, 129},
                                   {65537, 2},
                                   {2, 1009}})
    table.add(o.operation, Kind::ordinary, text_of({rows, cols}) + o.label,
              [judge, rows = rows, cols = cols]<class T>(Check &check) {
                judge(check, normal_values<T>(rows * cols), rows, cols);
                // Many ties.
                std::vector<T> tied = normal_values<T>(rows * cols);
                for (T &value : tied) value = std::floor(2 * value);
                judge(check, tied, rows, cols);
              });
  table.add(o.operation, Kind::special, "rows of special values" + o.label,
            [judge]<class T>(Check &check) {
              std::mt19937_64 random(5);
              using V = Values<T>;
              const T sorts[] = {0, T(-0.0), 1, -1, V::inf, -V::inf, V::nan, -V::nan, V::tiny};
              std::vector<T> x(600);
              for (const std::uint64_t cols : {2, 3, 5, 12}) {
                for (T &value : x) value = sorts[random() % 9];
                judge(check, x, x.size() / cols, cols);
              }
              judge(check, std::vector<T>(12, V::nan), 3, 4);
              judge(check, std::vector<T>(12, -V::inf), 3, 4);
              judge(check, any_patterns<T>(2002), 26, 77);
            });
  table.add(o.operation, Kind::empty, "no row, no column" + o.label,
            [judge]<class T>(Check &check) {
              judge(check, std::vector<T>{}, 0, 3);
              judge(check, std::vector<T>{}, 3, 0);
              judge(check, std::vector<T>{}, 0, 0);
            });
}

void add_wrong_matrix(Table &table, const RowOperation &o) {
  table.refuse_operands(o.operation, {6}, [o](const Operands &x, tl_buffer **out) {
    return o.call(x[0], 2, 3, out);
  });
  table.add(o.operation, Kind::wrong, "rows and columns", [o]<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{1, 2, 3, 4, 5, 6});
    const auto refuse = [&](const char *what, std::uint64_t rows, std::uint64_t cols) {
      check.refused(what,
                    [&, rows, cols](tl_buffer **out) { return o.call(x.get(), rows, cols, out); });
    };
    refuse("another product", 2, 4);
    refuse("no rows", 0, 6);
    refuse("a product that is 6 in 64 bits", (std::uint64_t{1} << 63U) + 3, 2);
  });
}

void add_rows(Table &table) {
  add_wrong_matrix(table, {TL_OP_reduce_sum_by_row, "", tl_reduce_sum_by_row});
  for (const bool columns : {false, true}) {
    const RowOperation o = {columns ? TL_OP_reduce_max_by_column : TL_OP_reduce_max_by_row, "",
                            columns ? tl_reduce_max_by_column : tl_reduce_max_by_row};
    add_row_operation(table, o, [columns](const auto &x, std::uint64_t rows, std::uint64_t cols) {
      std::decay_t<decltype(x)> maxima;
      for (const auto &line : lines_of(x, rows, cols, columns)) maxima.push_back(maximum_of(line));
      return maxima;
    });
    add_wrong_matrix(table, o);
  }
  const auto of_each_row = [](auto mask_of) {
    return [=](const auto &x, std::uint64_t rows, std::uint64_t cols) {
      std::decay_t<decltype(x)> all;
      for (const auto &line : lines_of(x, rows, cols, false))
        for (const auto value : mask_of(line)) all.push_back(value);
      return all;
    };
  };
  const RowOperation first = {TL_OP_first_max_mask_by_row, "", tl_first_max_mask_by_row};
  add_row_operation(table, first,
                    of_each_row([](const auto &line) { return first_maximum(line); }));
  add_wrong_matrix(table, first);
  for (const std::uint64_t k :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{1} << 40U}) {
    const RowOperation o = {
        TL_OP_top_k_mask_by_row, ", k=" + std::to_string(k),
        [k](const tl_buffer *x, std::uint64_t rows, std::uint64_t cols, tl_buffer **out) {
          return tl_top_k_mask_by_row(x, rows, cols, k, out);
        }};
    add_row_operation(table, o, of_each_row([k](const auto &line) { return top(line, k); }));
    if (k == 1) add_wrong_matrix(table, o);
  }
  table.add(TL_OP_first_max_mask_by_row, Kind::special, "by hand", []<class T>(Check &check) {
    using V = Values<T>;
    const std::vector<T> x = {V::nan,  2,       2,       V::nan,  V::nan, V::nan,
                              -V::inf, -V::inf, -V::inf, T(-0.0), 0,      -1};
    check.exact(first_max_mask_by_row(check.input(x), 4, 3),
                std::vector<T>{0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0});
  });
  table.add(TL_OP_top_k_mask_by_row, Kind::special, "by hand", []<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{1, 3, 2, 3, -1});
    check.exact(top_k_mask_by_row(x, 1, 5, 3), std::vector<T>{0, 1, 1, 1, 0});
    // A NaN neither wins nor loses: earlier entries beat it, and it beats later ones.
    const Buffer &with_nan = check.input(std::vector<T>{1, Values<T>::nan, 2});
    check.exact(top_k_mask_by_row(with_nan, 1, 3, 1), std::vector<T>{0, 0, 0});
  });
}

}  // namespace

void add_reduction(Table &table) {
  add_totals(table);
  add_sums(table);
  add_wrong_sums(table);
  add_rows(table);
}

}  // namespace torchlean::conformance
