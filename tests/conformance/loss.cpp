// Cross entropy, distillation and its gradient against their formulas in many digits.
#include "shapes.hpp"
#include "sums.hpp"

namespace torchlean::conformance {
namespace {

// One row: softmax(x), d_j = (max - x_j) + log sum exp(x_k - max), and max - x_j.
template <class T>
struct Row {
  Row(const std::vector<T> &x, std::size_t first, std::size_t cols) {
    Number sum = 0;
    for (std::size_t j = 0; j < cols; ++j) maximum = std::max(maximum, x[first + j]);
    for (std::size_t j = 0; j < cols; ++j) {
      depth.push_back(Number(maximum) - x[first + j]);
      if (std::isfinite(x[first + j])) sum += exp(Number(0) - depth.back());
    }
    const Number log_sum = log(sum);
    for (std::size_t j = 0; j < cols; ++j) {
      probability.push_back(std::isfinite(x[first + j]) ? exp(Number(0) - depth[j]) / sum : 0);
      distance.push_back(depth[j] + log_sum);
    }
  }
  T maximum = -Values<T>::inf;
  std::vector<Number> probability, distance, depth;
};

double log2_of(std::size_t n) { return std::log2(static_cast<double>(n)); }

// |error| <= (16 + 2 log2 n) eps sum |w|(|d| + 1) / rows; where d overflows |max| + |x| more.
template <class T>
void check_cross_entropy(Check &check, std::size_t rows, std::size_t cols, const std::vector<T> &x,
                         const std::vector<T> &w) {
  Number exact = 0, magnitude = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const Row<T> one(x, row * cols, cols);
    for (std::size_t j = 0; j < cols; ++j) {
      const Number weight(w[row * cols + j]);
      if (w[row * cols + j] == 0) continue;
      exact += weight * one.distance[j] / rows;
      const bool overflows = !(one.distance[j] <= Number(Values<T>::largest));
      magnitude += abs(weight) / rows *
                   (abs(one.distance[j]) + 1 +
                    (overflows ? abs(Number(one.maximum)) + abs(Number(x[row * cols + j])) : 0));
    }
  }
  check.within<T>(cross_entropy(check.input(x), check.input(w), rows, cols), {exact},
                  {Number(16 + 2 * log2_of(rows * cols)) * Values<T>::eps * magnitude});
}

template <class T>
void check_distillation(Check &check, std::size_t rows, std::size_t cols, const std::vector<T> &s,
                        const std::vector<T> &t) {
  const Number eps(Values<T>::eps);
  const double log2_n = log2_of(rows * cols), log2_cols = log2_of(cols);
  Number exact = 0, bound = 0;
  std::vector<Number> gradients, gradient_bounds;
  for (std::size_t row = 0; row < rows; ++row) {
    const Row<T> student(s, row * cols, cols), teacher(t, row * cols, cols);
    for (std::size_t j = 0; j < cols; ++j) {
      const Number &p = teacher.probability[j], &q = student.probability[j];
      gradients.push_back((q - p) / rows);
      const auto part = [&](const Number &weight, const Number &depth) {
        return weight <= 0 ? Number(0) : weight * (6 + depth + 2 * Number(log2_cols));
      };
      gradient_bounds.push_back(eps / rows *
                                    (part(q, student.depth[j]) + part(p, teacher.depth[j])) +
                                2 * Number(Values<T>::tiny));
      if (p <= 0) continue;  // skipped, even where the distance is infinite
      exact += p * student.distance[j] / rows;
      bound += eps * p * (16 + teacher.depth[j] + 2 * Number(log2_n)) *
               (abs(student.distance[j]) + 1) / rows;
    }
  }
  const Buffer &student = check.input(s), &teacher = check.input(t);
  check.within<T>(distillation(student, teacher, rows, cols), {exact}, {bound}, "loss");
  check.within<T>(distillation_gradient(student, teacher, rows, cols), gradients, gradient_bounds,
                  "gradient");
}

template <class T>
Buffer loss_of(Check &check, tl_operation operation, const std::vector<T> &x,
               const std::vector<T> &y) {
  const Buffer &a = check.input(x), &b = check.input(y);
  return operation == TL_OP_cross_entropy ? cross_entropy(a, b, 1, x.size())
                                          : distillation(a, b, 1, x.size());
}

void add_loss_values(Table &table) {
  for (const auto &[rows, cols] : {std::pair<std::size_t, std::size_t>{1, 1},
                                   {1, 2},
                                   {7, 3},
                                   {5, 101},
                                   {127, 33},
                                   {2, 1009},
                                   {1009, 2}})
    for (const double spread : {0.1, 1.0, 20.0}) {
      const std::string name = text_of({rows, cols}) + ", spread " + std::to_string(spread);
      table.add(TL_OP_cross_entropy, Kind::ordinary, name,
                [=, rows = rows, cols = cols]<class T>(Check &check) {
                  const auto x = normal_values<T>(rows * cols, 0, spread, 1);
                  check_cross_entropy(check, rows, cols, x, normal_values<T>(rows * cols, 0, 1, 2));
                  std::vector<T> one_hot(rows * cols);
                  for (std::size_t row = 0; row < rows; ++row) one_hot[row * cols + row % cols] = 1;
                  check_cross_entropy(check, rows, cols, x, one_hot);
                });
      table.add(TL_OP_distillation, Kind::ordinary, name,
                [=, rows = rows, cols = cols]<class T>(Check &check) {
                  check_distillation(check, rows, cols, normal_values<T>(rows * cols, 0, spread, 1),
                                     normal_values<T>(rows * cols, 0, spread, 2));
                });
    }
  table.add(TL_OP_distillation, Kind::special, "an offset of every row", []<class T>(Check &check) {
    for (const T offset : {T(1e4), T(-1e6)}) {
      auto s = normal_values<T>(93, 0, 1, 1), t = normal_values<T>(93, 0, 1, 2);
      for (std::size_t i = 0; i < s.size(); ++i) s[i] += offset, t[i] -= offset;
      check_distillation(check, 3, 31, s, t);
      check_cross_entropy(check, 3, 31, s, t);
    }
  });
  table.add(TL_OP_cross_entropy, Kind::special, "a loss next to nothing",
            []<class T>(Check &check) {
              check_cross_entropy<T>(check, 1, 2, {0, -50}, {1, 0});
            });
}

void add_loss_specials(Table &table) {
  table.add(TL_OP_cross_entropy, Kind::special, "-Inf beside a finite maximum is absent",
            []<class T>(Check &check) {
              const T inf = Values<T>::inf;
              const std::vector<T> logits = {0, -inf, 0};
              check_cross_entropy<T>(check, 1, 3, logits, {1, 0, 0});
              check_cross_entropy<T>(check, 1, 3, logits, {T(0.5), T(-0.0), T(0.5)});
              const auto with = [&](const std::vector<T> &w) {
                return loss_of(check, TL_OP_cross_entropy, logits, w);
              };
              check.exact(with({1, 1, 0}), std::vector<T>{inf});
              check.exact(with({1, -1, 0}), std::vector<T>{-inf});
            });
  table.add(
      TL_OP_distillation, Kind::special, "-Inf beside a finite maximum is absent",
      []<class T>(Check &check) {
        const T inf = Values<T>::inf;
        const std::vector<T> student = {0, -inf, 0};
        for (const T absent : {-inf, -Values<T>::largest})
          check_distillation<T>(check, 1, 3, student, {3, absent, 3});
        check.exact(loss_of<T>(check, TL_OP_distillation, student, {3, 3, 3}), std::vector<T>{inf});
      });
  table.add(TL_OP_cross_entropy, Kind::special, "a distance that overflows",
            []<class T>(Check &check) {
              const T big = Values<T>::largest;
              check_cross_entropy<T>(check, 1, 2, {big, -big}, {0, T(0.25)});
              check_cross_entropy<T>(check, 1, 2, {big, -big}, {0, 0});
            });
  for (const tl_operation operation : {TL_OP_cross_entropy, TL_OP_distillation}) {
    table.add(operation, Kind::special, "NaN shows", [=]<class T>(Check &check) {
      check.exact(loss_of<T>(check, operation, {1, Values<T>::nan}, {1, 1}),
                  std::vector<T>{Values<T>::nan});
    });
    table.add(operation, Kind::empty, "no rows, no columns", [=]<class T>(Check &check) {
      const Buffer &none = check.input(std::vector<T>{});
      const auto loss = operation == TL_OP_cross_entropy ? cross_entropy : distillation;
      check.exact(loss(none, none, 0, 3), std::vector<T>{Values<T>::nan});
      check.exact(loss(none, none, 0, 0), std::vector<T>{Values<T>::nan});
      check.exact(loss(none, none, 3, 0), std::vector<T>{0});
      if (operation == TL_OP_cross_entropy) return;
      check.exact(distillation_gradient(none, none, 0, 3), std::vector<T>{});
      check.exact(distillation_gradient(none, none, 3, 0), std::vector<T>{});
    });
  }
  table.add(TL_OP_distillation, Kind::ownership, "a student that is its own teacher",
            []<class T>(Check &check) {
              const auto x = normal_values<T>(35, 0, 4);
              const Buffer &both = check.input(x);
              const Row<T> row(x, 0, 35);
              std::vector<Number> bounds;
              for (std::size_t j = 0; j < 35; ++j)
                bounds.push_back(row.probability[j] * Values<T>::eps *
                                     (12 + 2 * row.depth[j] + 4 * Number(log2_of(35))) +
                                 2 * Number(Values<T>::tiny));
              check.within<T>(distillation_gradient(both, both, 1, 35), std::vector<Number>(35, 0),
                              bounds);
            });
}

void add_wrong_loss(Table &table) {
  table.refuse_operands(TL_OP_cross_entropy, {6, 6}, [](const Operands &x, tl_buffer **out) {
    return tl_cross_entropy(x[0], x[1], 2, 3, out);
  });
  for (const std::uint32_t gradient : {0U, 1U})
    table.refuse_operands(TL_OP_distillation, {6, 6}, [=](const Operands &x, tl_buffer **out) {
      return tl_distillation(x[0], x[1], 2, 3, gradient, out);
    });
  table.add(TL_OP_distillation, Kind::wrong, "flag and dims", []<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>(6, 1));
    check.refused("a flag of 2",
                  [&](tl_buffer **out) { return tl_distillation(x.get(), x.get(), 2, 3, 2, out); });
    check.refused("another product",
                  [&](tl_buffer **out) { return tl_distillation(x.get(), x.get(), 3, 3, 0, out); });
  });
}

}  // namespace

void add_loss(Table &table) {
  add_loss_values(table);
  add_loss_specials(table);
  add_wrong_loss(table);
}

}  // namespace torchlean::conformance
