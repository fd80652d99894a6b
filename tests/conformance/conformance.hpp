// The conformance table: what every backend must compute, with values that come from the
// specification (docs/operations.md) and never from a backend.
//
// A case is an operation, a kind, a name and a lambda that calls the operation through runtime.hpp
// and says what must come out. Each family adds its cases in a file of its own. The table runs on
// any backend; an operation that a backend does not claim must be refused as unsupported.
#pragma once

#include "support/number.hpp"

#include <torchlean/runtime.hpp>

#include <cstdio>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace torchlean::conformance {

using namespace torchlean::test;

// Half as many digits as in other tests take a third less time: nothing here is judged more closely
// than by the last place of a result.
using Number = Real<192>;

// What the C++ wrapper does not let through: lists whose lengths do not fit together.
using List = std::vector<std::uint64_t>;
inline tl_list raw(const List &values) { return {values.data(), values.size()}; }

// ---- Values ------------------------------------------------------------------------------------

template <class T>
struct Values {
  using Limits = std::numeric_limits<T>;
  static constexpr T inf = Limits::infinity();
  static constexpr T nan = Limits::quiet_NaN();
  static constexpr T signalling = Limits::signaling_NaN();
  static constexpr T largest = Limits::max();
  static constexpr T normal = Limits::min();  // the smallest
  static constexpr T tiny = Limits::denorm_min();
  static constexpr T eps = Limits::epsilon();

  // One of each sort.
  static std::vector<T> all() {
    return {0,    T(-0.0), 1,     -1,     T(0.5),     2,      -3,      1 + eps,
            tiny, inf,     -inf,  -nan,   signalling, normal, largest, -largest,
            nan,  -tiny,   T(88), T(-88), T(710),     T(-710)};
  }
};

template <class T>
std::vector<T> any_patterns(std::size_t n, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<T> x(n);
  for (T &value : x) value = any_pattern<T>(random);
  return x;
}

// "1.5 (0x3fc00000)"
template <class T>
std::string text_of(T value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g (0x%0*llx)", static_cast<double>(value),
                static_cast<int>(2 * sizeof(T)),
                static_cast<unsigned long long>(std::bit_cast<Bits<T>>(value)));
  return text;
}

// ---- A case ------------------------------------------------------------------------------------

enum class Kind {
  ordinary,
  special,    // NaN, infinities, zeros, subnormals, overflow, cancellation
  empty,      // no element, no row, no batch ...
  wrong,      // arguments that must be refused (rule T6)
  order,      // bits that deterministic mode fixes
  ownership,  // one buffer as two operands, results that outlive their operands
};
inline constexpr std::size_t kind_count = 6;
const char *kind_name(Kind kind);

// One run of one case: makes operands, judges results, collects what is wrong.
class Check {
 public:
  // An operand. It must be unchanged at the end of the case.
  template <class T>
  const Buffer &input(const std::vector<T> &values);

  // What follows judges `got`, a Buffer or a std::vector<T>; in the text of a failure it is `what`.

  // The same bits, of NaN too.
  template <class T, class Got>
  void same_bits(const Got &got, const std::vector<T> &expected, const char *what = "result");

  // The same bits; any NaN stands for any other.
  template <class T, class Got>
  void exact(const Got &got, const std::vector<T> &expected, const char *what = "result");

  // The same values; any NaN stands for any other, either zero for the other.
  template <class T, class Got>
  void either_zero(const Got &got, const std::vector<T> &expected, const char *what = "result");

  // At most `bound` representable numbers from the correctly rounded value, below the normal range
  // two more; a value that is NaN or infinite exactly so.
  template <class T, class Got>
  void ulps(const Got &got, const std::vector<Number> &exact, double bound,
            const char *what = "result");

  // |got - exact| <= bound, below the normal range two smallest subnormals more.
  template <class T, class Got>
  void within(const Got &got, const std::vector<Number> &exact, const std::vector<Number> &bounds,
              const char *what = "result");

  // Calls judge(i, value), which returns what was expected, or "" if the value is fine.
  template <class T>
  using Judge = std::function<std::string(std::size_t i, T value)>;
  template <class T, class Got>
  void each(const Got &got, std::size_t count, const char *what, const Judge<T> &judge);

  void require(bool holds, const std::string &fact) {
    if (!holds) fail("it does not hold that " + fact);
  }

  // call(out) with room for four results is refused as an invalid argument by a text that begins
  // with the operation's name, writes no result and changes no counter.
  void refused(const std::string &what, const std::function<tl_status(tl_buffer **)> &call);

  void fail(const std::string &text) { failures_.push_back(text); }

  // For the one who runs the case.
  void begin(const char *operation) { operation_ = operation; }
  void check_inputs();
  const std::vector<std::string> &failures() const { return failures_; }

 private:
  struct Input {
    Buffer buffer;
    std::vector<std::byte> words;
  };

  // The elements of the operands that an elementwise result comes from.
  template <class T>
  std::string operands_at(std::size_t i, std::size_t count) const;

  const char *operation_ = "";
  std::deque<Input> inputs_;
  std::vector<std::string> failures_;
};

struct Case {
  tl_operation operation;
  Kind kind;
  tl_dtype dtype;
  std::string name;
  std::function<void(Check &)> run;

  std::string label() const;  // "exp[float32, special, table]"
};

// Deterministic mode, while it lives.
class Deterministic {
 public:
  Deterministic() : former_(set_setting(TL_SETTING_DETERMINISTIC, true)) {}
  Deterministic(const Deterministic &) = delete;
  Deterministic &operator=(const Deterministic &) = delete;
  ~Deterministic() { tl_set_setting(TL_SETTING_DETERMINISTIC, former_ ? 1 : 0, nullptr); }

 private:
  bool former_;
};

// ---- The table ---------------------------------------------------------------------------------

using Operands = std::vector<const tl_buffer *>;

// Calls an operation through runtime.h, rightly or wrongly.
using Call = std::function<tl_status(const Operands &x, tl_buffer **out)>;

class Table {
 public:
  // In float32 and float64: body is []<class T>(Check &check) { ... }.
  template <class Body>
  void add(tl_operation operation, Kind kind, const std::string &name, const Body &body) {
    add_one<float>(operation, kind, name, body);
    add_one<double>(operation, kind, name, body);
  }
  template <class T, class Body>
  void add_one(tl_operation operation, Kind kind, const std::string &name, const Body &body) {
    add(operation, kind, dtype_of<T>, name,
        [body](Check &check) { body.template operator()<T>(check); });
  }
  void add(tl_operation operation, Kind kind, tl_dtype dtype, const std::string &name,
           std::function<void(Check &)> run) {
    cases_.push_back({operation, kind, dtype, name, std::move(run)});
  }

  // Rule T6: call(x, out) is good with operands of `counts` elements, and must be refused where one
  // of them is missing, released, encoded, of the other dtype, or of another length (unless the
  // operation takes any).
  enum class Lengths { told, any };
  void refuse_operands(tl_operation operation, const std::vector<std::uint64_t> &counts,
                       const Call &call, Lengths lengths = Lengths::told);

  // Why an operation has no case of a kind that every operation should have.
  void has_none(tl_operation operation, Kind kind, const std::string &why) {
    reasons_.push_back({operation, kind, why});
  }

  const std::vector<Case> &cases() const { return cases_; }
  // "zeros has no special case: it reads no value"
  std::vector<std::string> reasons() const;
  // What is missing: an operation without a case of a kind, and without a reason for that.
  std::vector<std::string> gaps() const;

 private:
  struct Reason {
    tl_operation operation;
    Kind kind;
    std::string why;
  };
  std::vector<Case> cases_;
  std::vector<Reason> reasons_;
};

void add_memory(Table &table);
void add_transfer(Table &table);
void add_random(Table &table);
void add_elementwise(Table &table);
void add_optimizer(Table &table);
void add_reduction(Table &table);
void add_view(Table &table);
void add_indexing(Table &table);
void add_matmul(Table &table);
void add_normalization(Table &table);
void add_loss(Table &table);
void add_fourier(Table &table);
void add_scan(Table &table);
void add_convolution(Table &table);
void add_pooling(Table &table);

}  // namespace torchlean::conformance
