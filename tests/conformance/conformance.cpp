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
