// Views: the same bits in another place.
#include "encoded.hpp"
#include "shapes.hpp"

namespace torchlean::conformance {
namespace {

// ---- Joining and cutting -----------------------------------------------------------------------

void add_concat(Table &table) {
  const auto add = [&](Kind kind, const std::string &name, std::size_t n, std::size_t m) {
    table.add(TL_OP_concat1d, kind, name, [=]<class T>(Check &check) {
      const auto a = any_patterns<T>(n, 1), b = any_patterns<T>(m, 2);
      std::vector<T> both = a;
      both.insert(both.end(), b.begin(), b.end());
      check.same_bits(concat(check.input(a), check.input(b)), both);
    });
  };
  for (const auto &[n, m] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {3, 5}, {31, 1009}, {1, 65536}, {4099, 2}})
    add(Kind::ordinary, std::to_string(n) + " and " + std::to_string(m), n, m);
  add(Kind::special, "any bits, NaN payloads too", 2003, 2003);
  add(Kind::empty, "nothing in front", 0, 5);
  add(Kind::empty, "nothing behind", 5, 0);
  add(Kind::empty, "nothing at all", 0, 0);
  table.add(TL_OP_concat1d, Kind::ownership, "one buffer twice", []<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{1, 2, 3});
    check.same_bits(concat(x, x), std::vector<T>{1, 2, 3, 1, 2, 3});
  });
  table.refuse_operands(TL_OP_concat1d, {3, 4}, [](const Operands &x, tl_buffer **out) {
    return tl_concat1d(x[0], x[1], 3, 4, out);
  });
  table.add(TL_OP_concat1d, Kind::wrong, "sizes", []<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{1, 2, 3});
    check.refused("another first size",
                  [&](tl_buffer **out) { return tl_concat1d(x.get(), x.get(), 2, 3, out); });
    check.refused("another second size",
                  [&](tl_buffer **out) { return tl_concat1d(x.get(), x.get(), 3, 4, out); });
    const Buffer encoded = upload_encoded(encoded_words(e5m2, 3), e5m2);
    check.refused("one encoded operand",
                  [&](tl_buffer **out) { return tl_concat1d(x.get(), encoded.get(), 3, 3, out); });
  });
}

void add_slice(Table &table) {
  const auto add = [&](Kind kind, std::size_t n, std::size_t start, std::size_t length) {
    table.add(
        TL_OP_slice1d, kind,
        std::to_string(length) + " from " + std::to_string(start) + " of " + std::to_string(n),
        [=]<class T>(Check &check) {
          const auto x = any_patterns<T>(n);
          const auto first = x.begin() + static_cast<std::ptrdiff_t>(start);
          check.same_bits(slice(check.input(x), start, length),
                          std::vector<T>(first, first + static_cast<std::ptrdiff_t>(length)));
        });
  };
  add(Kind::ordinary, 1, 0, 1);
  add(Kind::ordinary, 1009, 0, 31);
  add(Kind::ordinary, 1009, 1, 1007);
  add(Kind::ordinary, 65537, 65536, 1);
  add(Kind::special, 4001, 0, 4001);
  add(Kind::empty, 0, 0, 0);
  add(Kind::empty, 5, 5, 0);
  add(Kind::empty, 5, 2, 0);
  table.refuse_operands(TL_OP_slice1d, {5}, [](const Operands &x, tl_buffer **out) {
    return tl_slice1d(x[0], 5, 1, 3, out);
  });
  table.add(TL_OP_slice1d, Kind::wrong, "beyond the end", []<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{1, 2, 3, 4, 5});
    const auto refuse = [&](const char *what, std::uint64_t size, std::uint64_t start,
                            std::uint64_t length) {
      check.refused(what, [&, size, start, length](tl_buffer **out) {
        return tl_slice1d(x.get(), size, start, length, out);
      });
    };
    refuse("one element too many", 5, 3, 3);
    refuse("a start beyond the end", 5, 6, 0);
    refuse("32 bits that wrap around", 5, 0xFFFFFFFF, 2);
    refuse("64 bits that wrap around", 5, 4, UINT64_MAX);
    refuse("another size", 4, 0, 4);
  });
}

void add_encoded(Table &table) {
  for (const auto &[name, format] : formats) {
    const auto add = [&table, format = format](tl_operation operation, Kind kind,
                                               const std::string &shape, std::size_t n,
                                               std::size_t cut) {
      table.add(operation, kind, TL_ENCODED, shape, [=](Check &check) {
        const auto words = encoded_words(format, n);
        const auto middle = words.begin() + static_cast<std::ptrdiff_t>(cut * width_of(format));
        const std::vector<std::byte> front(words.begin(), middle), back(middle, words.end());
        if (operation == TL_OP_concat1d) {
          check_words(check, concat(upload_encoded(front, format), upload_encoded(back, format)),
                      format, words);
        } else {
          const Buffer whole = upload_encoded(words, format);
          check_words(check, slice(whole, 0, cut), format, front);
          check_words(check, slice(whole, cut, n - cut), format, back);
        }
      });
    };
    for (const tl_operation operation : {TL_OP_concat1d, TL_OP_slice1d}) {
      add(operation, Kind::ordinary, name, 257, 100);
      add(operation, Kind::empty, name, 31, 0);
      add(operation, Kind::special, name, 256, 255);
    }
  }
  table.add(TL_OP_concat1d, Kind::wrong, TL_ENCODED, "two formats", [](Check &check) {
    const Buffer x = upload_encoded(encoded_words(e5m2, 4), e5m2);
    const tl_format others[] = {{4, 3, 15, TL_ENCODING_IEEE},
                                {5, 2, 16, TL_ENCODING_IEEE},
                                {5, 2, 15, TL_ENCODING_FINITE_UNSIGNED_ZERO}};
    for (const tl_format &other : others) {
      const Buffer y = upload_encoded(encoded_words(other, 4), other);
      check.refused("another format",
                    [&](tl_buffer **out) { return tl_concat1d(x.get(), y.get(), 4, 4, out); });
    }
  });
  table.add(TL_OP_slice1d, Kind::wrong, TL_ENCODED, "beyond the end", [](Check &check) {
    const Buffer x = upload_encoded(encoded_words(e5m2, 4), e5m2);
    check.refused("one word too many",
                  [&](tl_buffer **out) { return tl_slice1d(x.get(), 4, 2, 3, out); });
  });
}

// ---- Broadcasting and transposing --------------------------------------------------------------

void add_broadcast_vec(Table &table) {
  const auto add = [&](Kind kind, std::uint64_t rows, std::uint64_t cols) {
    table.add(TL_OP_broadcast_vec_to_cols, kind, text_of({rows, cols}), [=]<class T>(Check &check) {
      const auto x = any_patterns<T>(rows);
      std::vector<T> expected;
      for (const T value : x) expected.insert(expected.end(), cols, value);
      check.same_bits(broadcast_vec_to_cols(check.input(x), rows, cols), expected);
    });
  };
  for (const auto &[rows, cols] :
       {std::pair(1, 1), {1, 31}, {31, 1}, {7, 13}, {127, 257}, {65537, 2}})
    add(Kind::ordinary, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols));
  add(Kind::special, 2003, 3);
  add(Kind::empty, 0, 3);
  add(Kind::empty, 3, 0);
  table.refuse_operands(TL_OP_broadcast_vec_to_cols, {3}, [](const Operands &x, tl_buffer **out) {
    return tl_broadcast_vec_to_cols(x[0], 3, 2, out);
  });
  table.add(TL_OP_broadcast_vec_to_cols, Kind::wrong, "too large", []<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{1, 2});
    check.refused("2^33 elements", [&](tl_buffer **out) {
      return tl_broadcast_vec_to_cols(x.get(), 2, std::uint64_t{1} << 32U, out);
    });
    check.refused("a product beyond 64 bits", [&](tl_buffer **out) {
      return tl_broadcast_vec_to_cols(x.get(), 2, std::uint64_t{1} << 63U, out);
    });
  });
}

void add_broadcast(Table &table) {
  const auto add = [&](Kind kind, const Broadcast &b) {
    table.add(TL_OP_broadcast_to, kind,
              text_of(b.in) + " to " + text_of(b.out) + " by " + text_of(b.map),
              [b]<class T>(Check &check) {
                const auto x = any_patterns<T>(product(b.in));
                std::vector<T> expected(product(b.out));
                for (std::uint64_t i = 0; i < expected.size(); ++i) expected[i] = x[b.source(i)];
                check.same_bits(broadcast_to(check.input(x), b.in, b.out, b.map), expected);
              });
  };
  add(Kind::ordinary, {{}, {}, {}});
  add(Kind::ordinary, {{}, {3, 5}, {0, 0}});
  add(Kind::ordinary, {{3}, {5, 3}, {0, 1}});
  add(Kind::ordinary, {{3}, {3, 5}, {1, 0}});
  add(Kind::ordinary, {{1}, {1009}, {1}});
  add(Kind::ordinary, {{2, 3}, {3, 2}, {2, 1}});
  add(Kind::ordinary, {{2, 1, 3}, {4, 3, 7, 2}, {0, 3, 2, 1}});
  add(Kind::ordinary, {{2, 3, 4}, {4, 2, 3}, {3, 1, 2}});
  add(Kind::ordinary, {{1, 1, 31}, {257, 31, 2}, {1, 3, 2}});
  // 64 axes, of which only every ninth is more than 1.
  Broadcast deep{Dims(32, 1), Dims(64, 1), Dims(64, 0)};
  for (std::size_t axis = 0; axis < 32; ++axis) deep.map[2 * axis] = axis + 1;
  for (std::size_t axis = 0; axis < 64; axis += 9) deep.out[axis] = 2;
  deep.in[9] = 2;
  table.add(TL_OP_broadcast_to, Kind::ordinary, "64 axes", [deep]<class T>(Check &check) {
    const auto x = any_patterns<T>(2);
    std::vector<T> expected(product(deep.out));
    for (std::uint64_t i = 0; i < expected.size(); ++i) expected[i] = x[deep.source(i)];
    check.same_bits(broadcast_to(check.input(x), deep.in, deep.out, deep.map), expected);
  });
  add(Kind::special, {{2003}, {2003}, {1}});
  add(Kind::empty, {{0}, {3, 0}, {0, 1}});
  add(Kind::empty, {{3}, {0, 3}, {0, 1}});
  add(Kind::empty, {{1}, {0}, {1}});
  table.add(TL_OP_broadcast_to, Kind::ownership, "a broadcast to the same shape is a copy",
            []<class T>(Check &check) {
              const auto values = normal_values<T>(1009);
              Buffer x = upload(std::span<const T>(values));
              const Buffer y = broadcast_to(x, {1009}, {1009}, {1});
              x.release();
              const Buffer other = full(1009, 7, dtype_of<T>);
              check.same_bits(y, values);
            });
  const auto call = [](const tl_buffer *x, const Broadcast &b, tl_buffer **out) {
    return tl_broadcast_to(x, b.in.data(), b.in.size(), b.out.data(), b.out.size(), b.map.data(),
                           b.map.size(), out);
  };
  table.refuse_operands(TL_OP_broadcast_to, {3}, [=](const Operands &x, tl_buffer **out) {
    return call(x[0], {{3}, {5, 3}, {0, 1}}, out);
  });
  table.add(TL_OP_broadcast_to, Kind::wrong, "lists", [=]<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{1, 2, 3});
    const auto refuse = [&](const char *what, const Broadcast &b) {
      check.refused(what, [&](tl_buffer **out) { return call(x.get(), b, out); });
    };
    refuse("an input axis that is missing", {{3}, {5, 3}, {0, 0}});
    refuse("an input axis twice", {{3}, {3, 3}, {1, 1}});
    refuse("an input axis that is none", {{3}, {5, 3}, {0, 2}});
    refuse("a map too short", {{3}, {5, 3}, {1}});
    refuse("sizes that differ", {{3}, {3, 5}, {0, 1}});
    refuse("2^32 elements", {{3}, {std::uint64_t{1} << 32U, 3}, {0, 1}});
    refuse("a product beyond 64 bits",
           {{3}, {std::uint64_t{1} << 40U, std::uint64_t{1} << 40U, 3}, {0, 0, 1}});
    Broadcast long_lists{{3}, Dims(65, 1), Dims(65, 0)};
    long_lists.out[64] = 3, long_lists.map[64] = 1;
    refuse("65 axes", long_lists);
  });
}

void add_swap(Table &table) {
  const auto add = [&](Kind kind, const Dims &dims, std::uint64_t depth) {
    table.add(TL_OP_swap_adjacent_at_depth, kind, text_of(dims) + " at " + std::to_string(depth),
              [=]<class T>(Check &check) {
                const auto x = any_patterns<T>(product(dims));
                Dims swapped = dims;
                std::swap(swapped[depth], swapped[depth + 1]);
                std::vector<T> expected(x.size());
                for (std::uint64_t i = 0; i < x.size(); ++i) {
                  Dims at = coordinates(i, dims);
                  std::swap(at[depth], at[depth + 1]);
                  expected[flat(at, swapped)] = x[i];
                }
                check.same_bits(swap_adjacent_at_depth(check.input(x), dims, depth), expected);
              });
  };
  add(Kind::ordinary, {1, 1}, 0);
  add(Kind::ordinary, {3, 5}, 0);
  add(Kind::ordinary, {127, 257}, 0);
  add(Kind::ordinary, {65537, 2}, 0);
  add(Kind::ordinary, {2, 3, 5, 7}, 0);
  add(Kind::ordinary, {2, 3, 5, 7}, 1);
  add(Kind::ordinary, {2, 3, 5, 7}, 2);
  add(Kind::special, {40, 51}, 0);
  add(Kind::empty, {0, 5}, 0);
  add(Kind::empty, {5, 3, 0}, 0);
  table.add(TL_OP_swap_adjacent_at_depth, Kind::ownership, "a swap of axes of 1 is a copy",
            []<class T>(Check &check) {
              const auto values = normal_values<T>(1009);
              Buffer x = upload(std::span<const T>(values));
              const Buffer y = swap_adjacent_at_depth(x, {1, 1009}, 0);
              x.release();
              const Buffer other = full(1009, 7, dtype_of<T>);
              check.same_bits(y, values);
            });
  const auto call = [](const tl_buffer *x, const Dims &dims, std::uint64_t depth, tl_buffer **out) {
    return tl_swap_adjacent_at_depth(x, dims.data(), dims.size(), depth, out);
  };
  table.refuse_operands(TL_OP_swap_adjacent_at_depth, {6}, [=](const Operands &x, tl_buffer **out) {
    return call(x[0], {2, 3}, 0, out);
  });
  table.add(
      TL_OP_swap_adjacent_at_depth, Kind::wrong, "dims and depth", [=]<class T>(Check &check) {
        const Buffer &x = check.input(std::vector<T>{1, 2, 3, 4, 5, 6});
        const auto refuse = [&](const char *what, const Dims &dims, std::uint64_t depth) {
          check.refused(what, [&](tl_buffer **out) { return call(x.get(), dims, depth, out); });
        };
        refuse("the last axis", {2, 3}, 1);
        refuse("an axis that is none", {2, 3}, 2);
        refuse("a depth that wraps around", {2, 3}, UINT64_MAX);
        refuse("one axis", {6}, 0);
        refuse("no axis", {}, 0);
        refuse("another product", {2, 4}, 0);
        refuse("65 axes", Dims(65, 1), 0);
      });
}

}  // namespace

void add_view(Table &table) {
  add_concat(table);
  add_slice(table);
  add_encoded(table);
  add_broadcast_vec(table);
  add_broadcast(table);
  add_swap(table);
}

}  // namespace torchlean::conformance
