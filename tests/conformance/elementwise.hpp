// Cases of operations that work element by element, from the formula of one element.
#pragma once

#include "conformance.hpp"

#include <array>
#include <tuple>

namespace torchlean::conformance {

// The results of a good call.
template <std::size_t outs>
std::array<Buffer, outs> results(const Call &call, const Operands &x) {
  std::array<tl_buffer *, outs> out = {};
  check(call(x, out.data()));
  std::array<Buffer, outs> buffers;
  for (std::size_t k = 0; k < outs; ++k) buffers[k] = Buffer(out[k]);
  return buffers;
}

// One vector for each operand.
template <class T, std::size_t ins>
using Columns = std::array<std::vector<T>, ins>;

// What a formula of several results gives, and one of a single result.
template <class T, std::size_t n>
std::array<T, n> as_array(const std::array<T, n> &values) {
  return values;
}
template <class T>
std::array<T, 1> as_array(T value) {
  return {value};
}

// The operation with the given scalars, and what they add to the names of its cases.
struct Subject {
  tl_operation operation;
  Call call;
  std::string label = "";
};

enum class Zeros { exact, either };

// The formula of one element. Erased, so that the cases are compiled once for each number of
// operands and results and not once for each operation.
template <class T, std::size_t ins, std::size_t outs>
using Formula = std::function<std::array<T, outs>(const std::array<T, ins> &)>;

// f of every element.
template <class T, std::size_t ins, std::size_t outs>
Columns<T, outs> expected_of(const Formula<T, ins, outs> &formula, const Columns<T, ins> &x) {
  Columns<T, outs> expected;
  for (std::size_t i = 0; i < x[0].size(); ++i) {
    std::array<T, ins> element;
    for (std::size_t k = 0; k < ins; ++k) element[k] = x[k][i];
    const std::array<T, outs> values = formula(element);
    for (std::size_t k = 0; k < outs; ++k) expected[k].push_back(values[k]);
  }
  return expected;
}

template <class T, std::size_t ins, std::size_t outs>
void check_exact(Check &check, const Call &call, const Columns<T, ins> &x,
                 const Columns<T, outs> &expected, Zeros zeros) {
  Operands operands;
  for (const auto &column : x) operands.push_back(check.input(column).get());
  const auto got = results<outs>(call, operands);
  for (std::size_t k = 0; k < outs; ++k) {
    const std::string what = outs == 1 ? "result" : "result " + std::to_string(k);
    if (zeros == Zeros::exact)
      check.exact(got[k], expected[k], what.c_str());
    else
      check.either_zero(got[k], expected[k], what.c_str());
  }
}

// Every combination of one of each sort of value.
template <class T, std::size_t ins>
Columns<T, ins> combinations() {
  const std::vector<T> all = Values<T>::all();
  std::size_t count = 1;
  for (std::size_t k = 0; k < ins; ++k) count *= all.size();
  Columns<T, ins> x;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0, rest = i; k < ins; ++k, rest /= all.size())
      x[k].push_back(all[rest % all.size()]);
  return x;
}

template <class T, std::size_t ins>
Columns<T, ins> normal_columns(std::size_t n, double deviation = 1) {
  Columns<T, ins> x;
  for (std::size_t k = 0; k < ins; ++k) x[k] = normal_values<T>(n, 0, deviation, k + 1);
  return x;
}

// One element, primes, powers of two and their neighbours.
inline constexpr std::size_t lengths[] = {1, 2, 3, 31, 64, 127, 257, 1009};

// What needs no formula: no element, wrong operands, and that an element's result depends on its
// operands alone, wherever it lies (asked for in deterministic mode).
template <std::size_t ins, std::size_t outs>
void add_common(Table &table, const Subject &subject) {
  table.add(subject.operation, Kind::empty, "no element" + subject.label,
            [call = subject.call]<class T>(Check &check) {
              check_exact<T, ins, outs>(check, call, {}, {}, Zeros::exact);
            });
  table.add(subject.operation, Kind::order, "place" + subject.label,
            [call = subject.call]<class T>(Check &check) {
              constexpr std::size_t period = 61, n = 65537;
              Columns<T, ins> x = normal_columns<T, ins>(period, 3);
              for (auto &column : x)
                for (std::size_t i = period; i < n; ++i) column.push_back(column[i - period]);
              Operands operands;
              for (const auto &column : x) operands.push_back(check.input(column).get());
              const Deterministic mode;
              for (const Buffer &got : results<outs>(call, operands)) {
                std::vector<T> expected = download<T>(got);
                for (std::size_t i = period; i < expected.size(); ++i)
                  expected[i] = expected[i - period];
                check.exact(got, expected);
              }
            });
  table.refuse_operands(subject.operation, std::vector<std::uint64_t>(ins, 5), subject.call,
                        ins == 1 ? Table::Lengths::any : Table::Lengths::told);
}

// The cases of an exact operation in one dtype. specials: operands and results of one element a
// row.
template <class T, std::size_t ins, std::size_t outs>
void add_exact_in(Table &table, const Subject &subject, const Formula<T, ins, outs> &formula,
                  const std::vector<std::vector<T>> &specials, Zeros zeros) {
  using Operand = std::function<Columns<T, ins>()>;
  const auto add = [&](Kind kind, const std::string &name, const Operand &columns) {
    table.add(subject.operation, kind, dtype_of<T>, name + subject.label,
              [=, call = subject.call](Check &check) {
                const Columns<T, ins> x = columns();
                check_exact<T>(check, call, x, expected_of<T, ins, outs>(formula, x), zeros);
              });
  };
  for (const std::size_t n : lengths)
    add(Kind::ordinary, "n=" + std::to_string(n), [n] { return normal_columns<T, ins>(n); });
  add(Kind::special, "any bits", [] {
    Columns<T, ins> x;
    for (std::size_t k = 0; k < ins; ++k) x[k] = any_patterns<T>(2003, k + 1);
    return x;
  });
  add(Kind::special, "combinations", combinations<T, ins>);
  table.add(subject.operation, Kind::special, dtype_of<T>, "table" + subject.label,
            [=, call = subject.call](Check &check) {
              Columns<T, ins> x;
              Columns<T, outs> expected;
              for (const std::vector<T> &row : specials) {
                for (std::size_t k = 0; k < ins; ++k) x[k].push_back(row.at(k));
                for (std::size_t k = 0; k < outs; ++k) expected[k].push_back(row.at(ins + k));
              }
              check_exact<T>(check, call, x, expected, zeros);
            });
  if constexpr (ins > 1)
    table.add(subject.operation, Kind::ownership, dtype_of<T>,
              "one buffer for every operand" + subject.label,
              [=, call = subject.call](Check &check) {
                Columns<T, ins> x;
                x.fill(Values<T>::all());
                const auto expected = expected_of<T, ins, outs>(formula, x);
                const Buffer &operand = check.input(x[0]);
                const auto got = results<outs>(call, Operands(ins, operand.get()));
                for (std::size_t k = 0; k < outs; ++k)
                  if (zeros == Zeros::exact)
                    check.exact(got[k], expected[k]);
                  else
                    check.either_zero(got[k], expected[k]);
              });
}

// An exact operation. formula(x...) is the result of one element, or the array of results;
// specials.operator()<T>() lists operands and results of one element a row.
template <std::size_t ins, class OfElement, class Specials>
void add_exact(Table &table, const Subject &subject, const OfElement &formula,
               const Specials &specials, Zeros zeros = Zeros::exact) {
  constexpr std::size_t outs =
      decltype(as_array(std::apply(formula, std::array<float, ins>{}))){}.size();
  const auto add = [&]<class T>(T) {
    add_exact_in<T, ins, outs>(
        table, subject,
        [formula](const std::array<T, ins> &x) { return as_array(std::apply(formula, x)); },
        specials.template operator()<T>(), zeros);
  };
  add(float());
  add(double());
  add_common<ins, outs>(table, subject);
}

}  // namespace torchlean::conformance
