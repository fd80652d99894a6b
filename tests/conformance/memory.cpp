// Constants and copies: every bit is told.
#include "elementwise.hpp"
#include "encoded.hpp"

namespace torchlean::conformance {
namespace {

constexpr std::uint64_t too_many = std::uint64_t{1} << 32U;

void add_fill(Table &table) {
  for (const std::uint64_t n : {1, 2, 31, 1009, 65537}) {
    const std::string name = "n=" + std::to_string(n);
    table.add(TL_OP_zeros, Kind::ordinary, name, [n]<class T>(Check &check) {
      check.same_bits(zeros(n, dtype_of<T>), std::vector<T>(n, T(0)));
    });
    table.add(TL_OP_full, Kind::ordinary, name, [n]<class T>(Check &check) {
      check.same_bits(full(n, 2.5, dtype_of<T>), std::vector<T>(n, T(2.5)));
    });
    table.add(TL_OP_zeros_like, Kind::ordinary, name, [n]<class T>(Check &check) {
      const Buffer &reference = check.input(std::vector<T>{1, 2});
      check.same_bits(zeros_like(reference, n), std::vector<T>(n, T(0)));
    });
  }
  table.has_none(TL_OP_zeros, Kind::special, "it reads no value");
  table.add(TL_OP_full, Kind::special, "values rounded once", []<class T>(Check &check) {
    using V = Values<T>;
    for (const double value : {0.0, -0.0, 0.1, 1e-45, 1e300, -HUGE_VAL, 0x1.000001p0, 0x1.0000011p0,
                               double{V::tiny}, double{V::tiny} / 2, double{V::largest}})
      check.same_bits(full(3, value, dtype_of<T>), std::vector<T>(3, static_cast<T>(value)));
    check.exact(full(3, std::nan(""), dtype_of<T>), std::vector<T>(3, V::nan));
  });
  table.add(
      TL_OP_zeros_like, Kind::special, "whatever the reference holds", []<class T>(Check &check) {
        const Buffer &reference = check.input(Values<T>::all());
        check.same_bits(zeros_like(reference, 3), std::vector<T>(3, T(0)));
        check.same_bits(zeros_like(check.input(std::vector<T>{}), 3), std::vector<T>(3, T(0)));
      });
  table.add(TL_OP_zeros, Kind::empty, "n=0", []<class T>(Check &check) {
    check.same_bits(zeros(0, dtype_of<T>), std::vector<T>{});
  });
  table.add(TL_OP_full, Kind::empty, "n=0", []<class T>(Check &check) {
    check.same_bits(full(0, 1, dtype_of<T>), std::vector<T>{});
  });
  table.add(TL_OP_zeros_like, Kind::empty, "n=0", []<class T>(Check &check) {
    check.same_bits(zeros_like(check.input(std::vector<T>{1}), 0), std::vector<T>{});
  });
  table.add(TL_OP_zeros, Kind::wrong, "length and dtype", []<class T>(Check &check) {
    check.refused("2^32 elements",
                  [](tl_buffer **out) { return tl_zeros(too_many, dtype_of<T>, out); });
    check.refused("encoded", [](tl_buffer **out) { return tl_zeros(1, TL_ENCODED, out); });
    check.refused("an unknown dtype", [](tl_buffer **out) { return tl_zeros(1, 9, out); });
  });
  table.add(TL_OP_full, Kind::wrong, "length and dtype", []<class T>(Check &check) {
    check.refused("2^32 elements",
                  [](tl_buffer **out) { return tl_full(too_many, 1, dtype_of<T>, out); });
    check.refused("encoded", [](tl_buffer **out) { return tl_full(1, 1, TL_ENCODED, out); });
  });
  table.refuse_operands(
      TL_OP_zeros_like, {3},
      [](const Operands &x, tl_buffer **out) { return tl_zeros_like(x[0], 5, out); },
      Table::Lengths::any);
  table.add(TL_OP_zeros_like, Kind::wrong, "length", []<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{1});
    check.refused("2^32 elements",
                  [&](tl_buffer **out) { return tl_zeros_like(x.get(), too_many, out); });
  });
}

// Both operations give copies.
const struct {
  tl_operation operation;
  std::size_t outs;
  Call call;
} copies[] = {
    {TL_OP_copy, 1, [](const Operands &x, tl_buffer **out) { return tl_copy(x[0], out); }},
    {TL_OP_duplicate, 2,
     [](const Operands &x, tl_buffer **out) { return tl_duplicate(x[0], &out[0], &out[1]); }},
};

std::vector<Buffer> copies_of(const Call &call, std::size_t outs, const Buffer &x) {
  tl_buffer *out[2] = {};
  check(call({x.get()}, out));
  std::vector<Buffer> buffers;
  for (std::size_t k = 0; k < outs; ++k) buffers.emplace_back(out[k]);
  return buffers;
}

void add_copies(Table &table) {
  for (const auto &[operation, outs, call] : copies) {
    const auto add = [&, operation = operation, outs = outs, call = call](
                         Kind kind, const std::string &name, auto values) {
      table.add(operation, kind, name, [=]<class T>(Check &check) {
        const std::vector<T> x = values.template operator()<T>();
        for (const Buffer &copied : copies_of(call, outs, check.input(x)))
          check.same_bits(copied, x);
      });
    };
    for (const std::size_t n : {1, 2, 31, 1009, 65537})
      add(Kind::ordinary, "n=" + std::to_string(n), [n]<class T>() { return normal_values<T>(n); });
    add(Kind::special, "any bits, NaN payloads too",
        []<class T>() { return any_patterns<T>(4001); });
    add(Kind::empty, "n=0", []<class T>() { return std::vector<T>{}; });
    table.add(operation, Kind::ownership, "copies outlive what they come from, and each other",
              [outs = outs, call = call]<class T>(Check &check) {
                const std::vector<T> x = normal_values<T>(1009);
                Buffer original = upload(std::span<const T>(x));
                std::vector<Buffer> copied = copies_of(call, outs, original);
                original.release();
                for (Buffer &one : copied) {
                  const Buffer other = full(1009, 7, dtype_of<T>);  // where the original was
                  check.same_bits(one, x);
                  one.release();
                }
              });
    table.refuse_operands(operation, {3}, call, Table::Lengths::any);
  }
}

void add_encoded_words(Table &table) {
  for (const auto &[name, format] : formats) {
    table.add(TL_OP_zeros_like, Kind::ordinary, TL_ENCODED, name, [format = format](Check &check) {
      const Buffer y = zeros_like(upload_encoded(encoded_words(format, 7), format), 31);
      check_words(check, y, format, std::vector<std::byte>(31 * width_of(format)));
    });
    for (const auto &[operation, outs, call] : copies)
      table.add(operation, Kind::ordinary, TL_ENCODED, name,
                [=, format = format, outs = outs, call = call](Check &check) {
                  const auto words = encoded_words(format, 257);
                  const Buffer x = upload_encoded(words, format);
                  for (const Buffer &copied : copies_of(call, outs, x))
                    check_words(check, copied, format, words);
                });
  }
  for (const tl_operation operation : {TL_OP_zeros_like, TL_OP_copy, TL_OP_duplicate}) {
    const auto call = [operation](const tl_buffer *x, tl_buffer **out) {
      return operation == TL_OP_copy        ? tl_copy(x, out)
             : operation == TL_OP_duplicate ? tl_duplicate(x, &out[0], &out[1])
                                            : tl_zeros_like(x, 0, out);
    };
    table.add(operation, Kind::special, TL_ENCODED, "every word of a byte", [=](Check &check) {
      const auto words = encoded_words(e5m2, 256);
      const Buffer x = upload_encoded(words, e5m2);
      tl_buffer *out[2] = {};
      torchlean::check(call(x.get(), out));
      const Buffer first(out[0]), second(out[1]);
      check_words(check, first, e5m2, operation == TL_OP_zeros_like ? decltype(words){} : words);
    });
    table.add(operation, Kind::empty, TL_ENCODED, "no word", [=](Check &check) {
      const Buffer x = upload_encoded({}, e5m2);
      tl_buffer *out[2] = {};
      torchlean::check(call(x.get(), out));
      const Buffer first(out[0]), second(out[1]);
      check_words(check, first, e5m2, {});
    });
    table.add(operation, Kind::wrong, TL_ENCODED, "released", [=](Check &check) {
      Buffer x = upload_encoded(encoded_words(e5m2, 3), e5m2);
      x.release();
      check.refused("a released operand", [&](tl_buffer **out) { return call(x.get(), out); });
    });
  }
}

}  // namespace

void add_memory(Table &table) {
  add_fill(table);
  add_copies(table);
  add_encoded_words(table);
}

}  // namespace torchlean::conformance
