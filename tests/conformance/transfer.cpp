// Words between host and backend: unchanged, or rounded once.
#include "encoded.hpp"

#include <cstring>

namespace torchlean::conformance {
namespace {

template <class T>
using Other = std::conditional_t<sizeof(T) == 4, double, float>;

template <class T>
std::vector<T> uploaded_words(std::size_t n) {
  std::vector<T> words = any_patterns<T>(n);
  for (const T value : Values<T>::all()) words.push_back(value);
  return words;
}

// Numbers of double that a float cannot hold, and where they are rounded to.
const std::pair<double, float> roundings[] = {
    {0.1, 0x1.99999ap-4F},
    {0x1.000001p0, 1},  // a tie, to even
    {0x1.000003p0, 0x1.000004p0F},
    {0x1.0000010000001p0, 0x1.000002p0F},
    {0x1p-150, 0},
    {0x1.0000000000001p-150, 0x1p-149F},
    {-0x1p-150, -0.0F},
    {0x1.fffffefffffffp127, 0x1.fffffep127F},
    {0x1.ffffffp127, HUGE_VALF},
    {-1e300, -HUGE_VALF},
    {0x1.8p-149, 0x1p-148F},
    {-0.0, -0.0F},
};

void add_native(Table &table) {
  for (const std::size_t n : {1, 2, 31, 1009, 65537}) {
    const std::string name = "n=" + std::to_string(n);
    const auto there_and_back = [n]<class T>(Check &check) {
      const std::vector<T> words = normal_values<T>(n);
      check.same_bits(upload(std::span<const T>(words)), words);
    };
    table.add(TL_OP_upload, Kind::ordinary, name, there_and_back);
    table.add(TL_OP_download, Kind::ordinary, name, there_and_back);
  }
  const auto every_bit = []<class T>(Check &check) {
    const auto words = uploaded_words<T>(4001);
    check.same_bits(upload(std::span<const T>(words)), words);
  };
  table.add(TL_OP_upload, Kind::special, "NaN payloads keep every bit", every_bit);
  table.add(TL_OP_download, Kind::special, "NaN payloads keep every bit", every_bit);
  table.add(TL_OP_upload, Kind::special, "words of the other dtype", []<class T>(Check &check) {
    const auto words = uploaded_words<Other<T>>(4001);
    check.exact(upload(std::span<const Other<T>>(words), dtype_of<T>),
                std::vector<T>(words.begin(), words.end()));
  });
  table.add(TL_OP_download, Kind::special, "words of the other dtype", []<class T>(Check &check) {
    const auto words = uploaded_words<T>(4001);
    check.exact(download<Other<T>>(check.input(words)),
                std::vector<Other<T>>(words.begin(), words.end()));
  });
  const auto rounded = []<class T>(Check &check) {
    std::vector<double> wide;
    std::vector<float> expected;
    for (const auto &[from, to] : roundings) wide.push_back(from), expected.push_back(to);
    check.exact(upload(std::span<const double>(wide), TL_FLOAT32), expected, "upload");
    check.exact(download<float>(check.input(wide)), expected, "download");
  };
  table.add_one<float>(TL_OP_upload, Kind::special, "roundings by hand", rounded);
  table.add_one<double>(TL_OP_download, Kind::special, "roundings by hand", rounded);
  table.add(TL_OP_upload, Kind::special, "words at any address", []<class T>(Check &check) {
    const auto words = any_patterns<T>(257);
    std::vector<std::byte> bytes(1 + words.size() * sizeof(T));
    std::memcpy(&bytes[1], words.data(), bytes.size() - 1);
    const auto shifted = std::span<const std::byte>(bytes).subspan(1);
    check.same_bits(upload_words(shifted, dtype_of<T>, dtype_of<T>), words);
  });
  const auto none = []<class T>(Check &check) {
    check.same_bits(upload(std::span<const T>{}), std::vector<T>{});
    check.same_bits(upload(std::span<const Other<T>>{}, dtype_of<T>), std::vector<T>{});
  };
  table.add(TL_OP_upload, Kind::empty, "n=0", none);
  table.add(TL_OP_download, Kind::empty, "n=0", none);
  table.add(TL_OP_upload, Kind::wrong, "payload and dtype", []<class T>(Check &check) {
    static const T words[4] = {};
    const auto refuse = [&](const char *what, const void *from, std::uint64_t bytes,
                            tl_dtype source, tl_dtype dtype) {
      check.refused(what,
                    [=](tl_buffer **out) { return tl_upload(from, bytes, source, dtype, out); });
    };
    refuse("half a word", words, sizeof(T) + 2, dtype_of<T>, dtype_of<T>);
    refuse("no words", nullptr, sizeof words, dtype_of<T>, dtype_of<T>);
    refuse("an encoded source", words, sizeof words, TL_ENCODED, dtype_of<T>);
    refuse("an encoded result", words, sizeof words, dtype_of<T>, TL_ENCODED);
    refuse("an unknown source", words, sizeof words, 9, dtype_of<T>);
  });
  table.add(TL_OP_download, Kind::wrong, "room and dtype", []<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>{1, 2, 3});
    T words[3] = {7, 7, 7};
    const auto refuse = [&](const char *what, const Buffer &from, tl_dtype target, void *to,
                            std::uint64_t bytes) {
      check.refused(what, [&, target, to, bytes](tl_buffer **) {
        return tl_download(from.get(), target, to, bytes);
      });
    };
    Buffer released = full(3, 1, dtype_of<T>);
    released.release();
    refuse("too little room", x, dtype_of<T>, words, sizeof words - 1);
    refuse("too much room", x, dtype_of<T>, words, sizeof words + sizeof(T));
    refuse("no room", x, dtype_of<T>, nullptr, sizeof words);
    refuse("an encoded target", x, TL_ENCODED, words, sizeof words);
    refuse("a released buffer", released, dtype_of<T>, words, 0);
    check.same_bits(std::vector<T>(words, words + 3), std::vector<T>(3, 7), "room");
  });
}

void add_encoded(Table &table) {
  for (const tl_operation operation : {TL_OP_upload_encoded, TL_OP_download_encoded}) {
    for (const auto &[name, format] : formats)
      table.add(operation, Kind::ordinary, TL_ENCODED, name, [format = format](Check &check) {
        const auto words = encoded_words(format, 257);
        check_words(check, upload_encoded(words, format), format, words);
      });
    table.add(operation, Kind::special, TL_ENCODED, "every word of a byte", [](Check &check) {
      const auto words = encoded_words(e5m2, 256);
      check_words(check, upload_encoded(words, e5m2), e5m2, words);
    });
    table.add(operation, Kind::empty, TL_ENCODED, "no word",
              [](Check &check) { check_words(check, upload_encoded({}, e5m2), e5m2, {}); });
  }
  table.add(TL_OP_upload_encoded, Kind::wrong, TL_ENCODED, "words and format", [](Check &check) {
    static const std::byte words[4] = {std::byte{0x0F}, std::byte{0x10}};
    const auto refuse = [&](const char *what, tl_format format, std::uint64_t bytes,
                            std::uint64_t width) {
      check.refused(what, [=](tl_buffer **out) {
        return tl_upload_encoded(words, bytes, &format, width, out);
      });
    };
    refuse("bits above the format's", {2, 1, 1, TL_ENCODING_FINITE}, 2, 1);
    refuse("another width", e5m2, 4, 2);
    refuse("half a word", {5, 10, 15, TL_ENCODING_IEEE}, 3, 2);
    refuse("an exponent of one bit", {1, 3, 7, TL_ENCODING_IEEE}, 4, 1);
    refuse("no fraction", {4, 0, 7, TL_ENCODING_IEEE}, 4, 1);
    refuse("257 bits", {20, 236, 7, TL_ENCODING_IEEE}, 0, 33);
    refuse("a bias of 2^62", {4, 3, std::uint64_t{1} << 62U, TL_ENCODING_IEEE}, 4, 1);
    refuse("an unknown encoding", {4, 3, 7, 9}, 4, 1);
  });
  table.add(TL_OP_download_encoded, Kind::wrong, TL_ENCODED, "room and kind", [](Check &check) {
    const Buffer x = upload_encoded(encoded_words(e5m2, 3), e5m2);
    const Buffer native = zeros(3, TL_FLOAT32);
    std::byte words[12];
    check.refused("too little room",
                  [&](tl_buffer **) { return tl_download_encoded(x.get(), words, 2); });
    check.refused("a native buffer",
                  [&](tl_buffer **) { return tl_download_encoded(native.get(), words, 12); });
  });
}

}  // namespace

void add_transfer(Table &table) {
  add_native(table);
  add_encoded(table);
}

}  // namespace torchlean::conformance
