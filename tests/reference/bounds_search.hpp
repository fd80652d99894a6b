// A search for the case that uses most of an operation's bound: random cases of many styles, and
// small changes to the worst one so far.
//
// An operation is a struct with
//   static constexpr const char *name, *bound;
//   template <class T> static Case<T> draw(Random &random);
//   template <class T> static Share<T> share(Backend &backend, const Case<T> &c);
// share() computes exact values from the specification's formula in 400 digits.
#pragma once

#include "fixture.hpp"
#include "support/number.hpp"
#include "support/window_oracle.hpp"

#include <ctime>
#include <sstream>

namespace torchlean::test {

using Random = std::mt19937_64;

inline bool chance(Random &random, double probability) {
  return std::bernoulli_distribution(probability)(random);
}

inline double uniform(Random &random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

// Mostly short, since few roundings come close to a bound.
inline uint64_t length(Random &random, int64_t longest) {
  return static_cast<uint64_t>(
      pick(random, 1, chance(random, 0.8) ? std::min<int64_t>(4, longest) : longest));
}

template <class T>
constexpr T eps = std::numeric_limits<T>::epsilon();

// Numbers whose rounding errors tend to be large, or to add up, or to be left over.
template <class T>
std::vector<T> values(Random &random, uint64_t n, double scale = 1) {
  enum Style { ordinary, just_above, just_below, spread, cancelling, equal };
  const auto style = static_cast<Style>(pick(random, ordinary, equal));
  const bool signs = chance(random, 0.5);
  std::normal_distribution<double> normal;
  const double common = uniform(random, 1, 2);
  std::vector<T> x(n);
  for (uint64_t i = 0; i < n; ++i) {
    const auto few = static_cast<double>(pick(random, 0, 3)) * eps<T>;
    double value = common;
    switch (style) {
      case ordinary: value = normal(random); break;
      case just_above: value = 1 + few; break;
      case just_below: value = 2 - few; break;
      case spread:
        value = std::ldexp(normal(random), static_cast<int>(pick(random, -30, 30)));
        break;
      case cancelling: value = i % 2 == 0 ? normal(random) : -x[i - 1] / scale * (1 + few); break;
      case equal: break;
    }
    if (signs && chance(random, 0.5)) value = -value;
    x[i] = static_cast<T>(scale * value);
  }
  return x;
}

// One call: what it needs beside its operands means something to its operation alone.
template <class T>
struct Case {
  std::vector<uint64_t> sizes;
  std::vector<double> scalars;
  std::vector<std::vector<T>> inputs;

  uint64_t elements() const {
    uint64_t n = 0;
    for (const auto &input : inputs) n += input.size();
    return n;
  }

  bool finite() const {
    return std::all_of(inputs.begin(), inputs.end(), [](const std::vector<T> &input) {
      return std::all_of(input.begin(), input.end(), [](T x) { return std::isfinite(x); });
    });
  }

  // Is every element 0 or so far from the ends of the range that a few products are, too?
  bool moderate() const {
    return std::all_of(inputs.begin(), inputs.end(), [](const std::vector<T> &input) {
      return std::all_of(input.begin(), input.end(), [](T x) {
        return x == 0 || (std::fabs(x) > T(0x1p-30) && std::fabs(x) < T(0x1p30));
      });
    });
  }

  std::string text() const {
    std::ostringstream line;
    line << std::hexfloat;
    for (const uint64_t size : sizes) line << size << ' ';
    for (const double scalar : scalars) line << scalar << ' ';
    for (const auto &input : inputs) {
      line << '{';
      for (size_t i = 0; i < std::min<size_t>(input.size(), 6); ++i) line << ' ' << input[i];
      line << (input.size() > 6 ? " ...} " : " } ");
    }
    return line.str();
  }
};

// A case that differs in a few elements.
template <class T>
Case<T> changed(Case<T> c, Random &random) {
  for (int64_t i = pick(random, 1, 3); i > 0; --i) {
    auto &input =
        c.inputs[static_cast<size_t>(pick(random, 0, static_cast<int64_t>(c.inputs.size()) - 1))];
    if (input.empty()) continue;
    const auto any = [&]() -> T & {
      return input[static_cast<size_t>(pick(random, 0, static_cast<int64_t>(input.size()) - 1))];
    };
    T &x = any();
    switch (pick(random, 0, 5)) {
      case 0: x = -x; break;
      case 1: x = any(); break;
      case 2: x = std::ldexp(x, chance(random, 0.5) ? 1 : -1); break;
      case 3: x *= static_cast<T>(uniform(random, 0.5, 2)); break;
      default: x += x * eps<T> * static_cast<T>(pick(random, -9, 9)) / 2; break;
    }
  }
  return c;
}

// How much of the bound the worst element of a call uses: 1 is all of it.
template <class T>
class Share {
 public:
  // Where the exact value lies below the normal range, two smallest subnormals are added.
  void add(T got, const Number &exact, Number bound) {
    using Limits = std::numeric_limits<T>;
    if (!std::isfinite(got)) return fail();
    if (!(Number(Limits::min()) <= abs(exact))) bound += Number(2) * Limits::denorm_min();
    add_ratio(abs(got - exact), bound);
  }
  void add_ratio(const Number &error, const Number &bound) {
    if (error <= 0) return;
    if (bound <= 0) return fail();
    value_ = std::max(value_, (error / bound).template rounded<double>());
  }
  void fail() { value_ = std::numeric_limits<double>::infinity(); }
  double value() const { return value_; }

 private:
  double value_ = 0;
};

// What a term, a weight or an elementary result below the normal range adds to a bound, times the
// factors applied to it afterwards.
template <class T>
Number underflow(const Number &term) {
  using Limits = std::numeric_limits<T>;
  return Number(Limits::min()) <= abs(term) ? Number(0) : Number(4) * Limits::denorm_min();
}

// Where terms overflow, no bound holds.
template <class T>
bool fits(const Number &magnitude) {
  return magnitude <= std::numeric_limits<T>::max();
}

// An exact sum of terms.
struct Sum {
  Number value = 0;
  Number magnitude = 0;
  uint64_t terms = 0;

  void add(const Number &term) {
    value += term;
    magnitude += abs(term);
    ++terms;
  }
};

inline double log2_of(uint64_t n) { return std::max(1.0, std::log2(static_cast<double>(n))); }

// Section 4's bound of a sum, and the one of products.
template <class T>
Number sum_bound(const Sum &sum) {
  const auto n = static_cast<double>(sum.terms);
  return Number(std::min(n - 1, 8 * log2_of(sum.terms)) * eps<T>) * sum.magnitude;
}
template <class T>
Number product_bound(const Sum &sum) {
  return Number(2 * static_cast<double>(sum.terms) * eps<T>) * sum.magnitude;
}

// Uploads the inputs and calls entry(operands, out) for as many results as there are counts.
template <class T, class Entry>
std::vector<std::vector<T>> call(Backend &backend, const std::vector<std::vector<T>> &inputs,
                                 const std::vector<uint64_t> &counts, Entry entry) {
  std::vector<Buffer<T>> buffers;
  buffers.reserve(inputs.size());
  for (const auto &input : inputs) buffers.emplace_back(backend, input);
  std::vector<const tl_operand *> operands;
  operands.reserve(inputs.size());
  for (const auto &buffer : buffers) operands.push_back(buffer.operand());
  return results<T>(backend, counts, [&](tl_storage **out) { return entry(operands.data(), out); });
}

// ---- Searches -----------------------------------------------------------------------------------

struct Budget {
  uint64_t seed;
  double seconds;  // of one core, for each search; 0: a fixed amount of work
};

struct Worst {
  double share = 0;
  std::string text;
  uint64_t calls = 0;
};

template <class Operation, class T>
Worst search(const Budget &budget) {
  constexpr uint64_t fixed_work = 1500;  // elements
  const std::clock_t start = std::clock();
  const auto goes_on = [&](uint64_t work) {
    const double passed = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    return budget.seconds > 0 ? passed < budget.seconds : work < fixed_work;
  };
  Backend backend;
  Random random(budget.seed);
  Case<T> worst_case;
  Worst worst;
  for (uint64_t work = 0; goes_on(work); ++worst.calls) {
    const bool fresh = worst.share == 0 || chance(random, 0.5);
    const Case<T> c = fresh ? Operation::template draw<T>(random) : changed(worst_case, random);
    work += c.elements() + 4;
    if (!c.finite()) continue;
    const double share = Operation::template share<T>(backend, c).value();
    if (share <= worst.share) continue;
    worst_case = c;
    worst.share = share;
    worst.text = c.text();
  }
  return worst;
}

struct Search {
  const char *name;
  const char *bound;
  Worst (*in_float)(const Budget &);  // NULL where the operation has no float32
  Worst (*in_double)(const Budget &);
};

template <class... Operations>
std::vector<Search> searches() {
  return {{Operations::name, Operations::bound, search<Operations, float>,
           search<Operations, double>}...};
}

std::vector<Search> elementwise_searches();
std::vector<Search> sum_searches();
std::vector<Search> window_searches();
std::vector<Search> row_searches();
std::vector<Search> series_searches();

}  // namespace torchlean::test
