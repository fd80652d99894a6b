// Refusals, unchanged operands, and what the table must contain.
#include "conformance.hpp"

#include "common/backends.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

namespace torchlean::conformance {
namespace {

constexpr tl_format binary16 = {5, 10, 15, TL_ENCODING_IEEE};

// Room for results, of which a failing call must write none.
struct Room {
  Room() { out.fill(untouched()); }
  Room(const Room &) = delete;
  Room &operator=(const Room &) = delete;
  ~Room() {
    for (tl_buffer *buffer : out)
      if (buffer != untouched()) tl_buffer_free(buffer);
  }
  bool is_untouched() const {
    return std::all_of(out.begin(), out.end(), [](auto *b) { return b == untouched(); });
  }

  std::array<tl_buffer *, 4> out;

 private:
  static tl_buffer *untouched() {
    static char place;
    return reinterpret_cast<tl_buffer *>(&place);
  }
};

struct Row {
  const char *name;
  std::string_view dtypes;
};
constexpr Row rows[] = {
#define TL_OPERATION(name, family, entry, enumerator, accuracy, state, runtime, lean, dtypes) \
  {#name, #dtypes},
#include <torchlean/operations.def>
#undef TL_OPERATION
};

std::vector<tl_dtype> dtypes_of(tl_operation operation) {
  const std::string_view column = rows[operation].dtypes;
  if (column == "native") return {TL_FLOAT32, TL_FLOAT64};
  if (column == "float64") return {TL_FLOAT64};
  if (column == "encoded") return {TL_ENCODED};
  return {TL_FLOAT32, TL_FLOAT64, TL_ENCODED};
}

}  // namespace

const char *kind_name(Kind kind) {
  static constexpr std::array<const char *, kind_count> names = {
      "ordinary", "special", "empty", "wrong", "order", "ownership"};
  return names[static_cast<std::size_t>(kind)];
}

std::string Case::label() const {
  return std::string(rows[operation].name) + "[" + tools::dtype_name(dtype) + ", " +
         kind_name(kind) + ", " + name + "]";
}

void Check::refused(const std::string &what, const std::function<tl_status(tl_buffer **)> &call) {
  const tl_counters before = counters();
  Room room;
  const tl_status status = call(room.out.data());
  const std::string text = status == TL_OK ? "" : tl_last_error();
  if (status != TL_INVALID_ARGUMENT)
    fail(what + ": expected a refusal as invalid argument, got " + tl_status_name(status) + ": " +
         text);
  else if (text.rfind(std::string(operation_) + ": ", 0) != 0)
    fail(what + ": the text does not begin with the operation's name: " + text);
  if (status != TL_OK && !room.is_untouched()) fail(what + ": a refused call wrote a result");
  const tl_counters after = counters();
  if (status != TL_OK &&
      (after.created_buffers != before.created_buffers || after.live_bytes != before.live_bytes))
    fail(what + ": a refused call changed the counters");
}

void Check::check_inputs() {
  for (const Input &input : inputs_) {
    if (input.buffer.size() == 0) continue;  // empty, or released by the case
    std::vector<std::byte> words(input.words.size());
    if (tl_download(input.buffer.get(), input.buffer.dtype(), words.data(), words.size()) != TL_OK)
      fail(std::string("an operand cannot be read afterwards: ") + tl_last_error());
    else if (words != input.words)
      fail("an operand has changed");
  }
}

// ---- Judgements: compiled here, once for each dtype and sort of result
// ---------------------------

template <class T>
static std::vector<std::byte> words_of(const std::vector<T> &values) {
  const auto words = std::as_bytes(std::span<const T>(values));
  return {words.begin(), words.end()};
}

template <class T>
const Buffer &Check::input(const std::vector<T> &values) {
  inputs_.push_back({upload(std::span<const T>(values)), words_of(values)});
  return inputs_.back().buffer;
}

template <class T, class Got>
void Check::same_bits(const Got &got, const std::vector<T> &expected, const char *what) {
  each<T>(got, expected.size(), what, [&](std::size_t i, T value) {
    return std::bit_cast<Bits<T>>(value) == std::bit_cast<Bits<T>>(expected[i])
               ? ""
               : text_of(expected[i]);
  });
}

template <class T, class Got>
void Check::exact(const Got &got, const std::vector<T> &expected, const char *what) {
  each<T>(got, expected.size(), what, [&](std::size_t i, T value) {
    return same(value, expected[i]) ? "" : text_of(expected[i]);
  });
}

template <class T, class Got>
void Check::either_zero(const Got &got, const std::vector<T> &expected, const char *what) {
  each<T>(got, expected.size(), what, [&](std::size_t i, T value) {
    return same(value, expected[i]) || value == expected[i] ? "" : text_of(expected[i]);
  });
}

template <class T, class Got>
void Check::ulps(const Got &got, const std::vector<Number> &exact, double bound, const char *what) {
  each<T>(got, exact.size(), what, [&](std::size_t i, T value) -> std::string {
    const T expected = exact[i].rounded<T>();
    const bool is_fine =
        std::isnan(expected)
            ? std::isnan(value)
            : steps(value, expected) <= bound + (std::fabs(expected) < Values<T>::normal ? 2 : 0);
    return is_fine ? "" : text_of(expected) + " within " + std::to_string(bound) + " ulp";
  });
}

template <class T, class Got>
void Check::within(const Got &got, const std::vector<Number> &exact,
                   const std::vector<Number> &bounds, const char *what) {
  each<T>(got, exact.size(), what, [&](std::size_t i, T value) -> std::string {
    const T expected = exact[i].rounded<T>();
    Number bound = bounds[i];
    if (std::fabs(expected) < Values<T>::normal) bound += Number(2) * Values<T>::tiny;
    return std::isfinite(value) && abs(Number(value) - exact[i]) <= bound
               ? ""
               : text_of(expected) + " within " + text_of(bound.rounded<double>());
  });
}

template <class T, class Got>
void Check::each(const Got &got, std::size_t count, const char *what, const Judge<T> &judge) {
  std::vector<T> values;
  if constexpr (std::is_same_v<Got, Buffer>) {
    if (got.dtype() != dtype_of<T>) fail(std::string(what) + " has another dtype");
    values = download<T>(got);
  } else {
    values = got;
  }
  if (values.size() != count) {
    fail(std::string(what) + " has " + std::to_string(values.size()) + " elements, expected " +
         std::to_string(count));
    return;
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string expected = judge(i, values[i]);
    if (expected.empty() || ++wrong > 3) continue;
    fail(std::string(what) + "[" + std::to_string(i) + "]: expected " + expected + ", got " +
         text_of(values[i]) + operands_at<T>(i, count));
  }
  if (wrong > 3) fail("and " + std::to_string(wrong - 3) + " elements more");
}

template <class T>
std::string Check::operands_at(std::size_t i, std::size_t count) const {
  std::string text;
  for (const Input &input : inputs_) {
    if (input.words.size() != count * sizeof(T)) continue;
    T value;
    std::copy_n(&input.words[i * sizeof(T)], sizeof(T), reinterpret_cast<std::byte *>(&value));
    text += (text.empty() ? "; operands " : ", ") + text_of(value);
  }
  return text;
}

#define TL_INSTANTIATE_RESULT(T, Got)                                                           \
  template void Check::same_bits(const Got &, const std::vector<T> &, const char *);            \
  template void Check::exact(const Got &, const std::vector<T> &, const char *);                \
  template void Check::either_zero(const Got &, const std::vector<T> &, const char *);          \
  template void Check::ulps<T>(const Got &, const std::vector<Number> &, double, const char *); \
  template void Check::within<T>(const Got &, const std::vector<Number> &,                      \
                                 const std::vector<Number> &, const char *);                    \
  template void Check::each<T>(const Got &, std::size_t, const char *, const Judge<T> &);
#define TL_INSTANTIATE(T)                                      \
  template const Buffer &Check::input(const std::vector<T> &); \
  TL_INSTANTIATE_RESULT(T, Buffer)                             \
  TL_INSTANTIATE_RESULT(T, std::vector<T>)
TL_INSTANTIATE(float)
TL_INSTANTIATE(double)
#undef TL_INSTANTIATE
#undef TL_INSTANTIATE_RESULT

void Table::refuse_operands(tl_operation operation, const std::vector<std::uint64_t> &counts,
                            const Call &call, Lengths lengths) {
  add(operation, Kind::wrong, "operands", [=]<class T>(Check &check) {
    std::vector<Buffer> good;
    good.reserve(counts.size());
    for (const std::uint64_t count : counts) good.push_back(full(count, 0.5, dtype_of<T>));
    const auto call_with = [&](std::size_t k, const tl_buffer *spoilt, tl_buffer **out) {
      Operands x;
      x.reserve(good.size());
      for (const Buffer &buffer : good) x.push_back(buffer.get());
      if (k < x.size()) x[k] = spoilt;
      return call(x, out);
    };
    Room room;
    torchlean::check(call_with(counts.size(), nullptr, room.out.data()));
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const auto refuse = [&](const char *how, const tl_buffer *spoilt) {
        check.refused("operand " + std::to_string(k) + " " + how,
                      [&](tl_buffer **out) { return call_with(k, spoilt, out); });
      };
      Buffer released = full(counts[k], 0.5, dtype_of<T>);
      released.release();
      refuse("is NULL", nullptr);
      refuse("is released", released.get());
      const std::vector<std::byte> words(2 * counts[k]);
      if (rows[operation].dtypes != "any" && supports(TL_OP_upload_encoded, TL_ENCODED))
        refuse("is encoded", upload_encoded(words, binary16).get());
      constexpr tl_dtype other = sizeof(T) == 4 ? TL_FLOAT64 : TL_FLOAT32;
      if (counts.size() > 1) refuse("has the other dtype", full(counts[k], 0.5, other).get());
      if (lengths == Lengths::told)
        refuse("is too long", full(counts[k] + 1, 0.5, dtype_of<T>).get());
    }
  });
}

std::vector<std::string> Table::reasons() const {
  std::vector<std::string> lines;
  for (const Reason &reason : reasons_)
    lines.push_back(std::string(rows[reason.operation].name) + " has no " + kind_name(reason.kind) +
                    " case: " + reason.why);
  return lines;
}

std::vector<std::string> Table::gaps() const {
  std::vector<std::string> gaps;
  for (tl_operation operation = 0; operation < TL_OP_COUNT; ++operation)
    for (const Kind kind : {Kind::ordinary, Kind::special, Kind::empty, Kind::wrong}) {
      const bool is_excused = std::any_of(reasons_.begin(), reasons_.end(), [&](const Reason &r) {
        return r.operation == operation && r.kind == kind;
      });
      for (const tl_dtype dtype : dtypes_of(operation)) {
        const bool is_there = std::any_of(cases_.begin(), cases_.end(), [&](const Case &c) {
          return c.operation == operation && c.kind == kind && c.dtype == dtype;
        });
        if (is_there == is_excused)
          gaps.push_back(
              Case{operation, kind, dtype, is_there ? "there, and excused" : "missing", {}}
                  .label());
      }
    }
  return gaps;
}

}  // namespace torchlean::conformance
