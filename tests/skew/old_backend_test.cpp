// L8: the present core with a backend that was compiled against the frozen headers, and programs of
// other versions that ask the core for its structures.
#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <string>
#include <torchlean/runtime.hpp>
#include <vector>

using namespace torchlean;

TEST_CASE("L8: a backend of the frozen headers serves") {
  const Backend backend(OLD_BACKEND);
  CHECK(backend.info().name == "old");
  const ThreadBackend guard(backend);
  const Buffer x = upload(std::vector<float>{1.5F, -2.0F});
  CHECK(download<float>(add(x, x)) == std::vector<float>{3.0F, -4.0F});
  CHECK(download<double>(add(x, x)) == std::vector<double>{3.0, -4.0});
  CHECK(backend.supports(TL_OP_add, TL_FLOAT32));
  CHECK_FALSE(backend.supports(TL_OP_exp, TL_FLOAT32));
  tl_buffer *out = nullptr;
  CHECK(tl_unary(TL_UNARY_EXP, x.get(), &out) == TL_UNSUPPORTED);
  CHECK(out == nullptr);
}

namespace {

// A query of runtime.h, told where to write.
template <class Structure>
void check_sizes(const char *name, const std::function<tl_status(Structure *)> &query) {
  CAPTURE(std::string(name));
  struct {
    Structure value;
    std::byte behind[64];
  } whole;
  std::memset(static_cast<void *>(&whole), 0, sizeof whole);
  whole.value.struct_size = sizeof(Structure);
  REQUIRE(query(&whole.value) == TL_OK);
  const std::size_t sizes[] = {2 * sizeof(std::size_t), sizeof(Structure) - sizeof(void *),
                               sizeof(Structure), sizeof(Structure) + 32};
  for (const std::size_t size : sizes) {
    CAPTURE(size);
    decltype(whole) given;
    std::memset(static_cast<void *>(&given), 0xA5, sizeof given);
    given.value.struct_size = size;
    REQUIRE(query(&given.value) == TL_OK);
    CHECK(given.value.struct_size == size);
    const auto *bytes = reinterpret_cast<const unsigned char *>(&given);
    for (std::size_t i = std::min(size, sizeof(Structure)); i < sizeof given; ++i) {
      REQUIRE(bytes[i] == 0xA5);
    }
    CHECK(bytes[sizeof(std::size_t)] ==
          reinterpret_cast<const unsigned char *>(&whole)[sizeof(std::size_t)]);
  }
  for (const std::size_t size : {std::size_t{0}, sizeof(std::size_t)}) {
    Structure given = {};
    given.struct_size = size;
    CHECK(query(&given) == TL_INVALID_ARGUMENT);
    CHECK(std::string(tl_last_error()).find("struct_size") != std::string::npos);
  }
  CHECK(query(nullptr) == TL_INVALID_ARGUMENT);
}

}  // namespace

TEST_CASE("L8: each structure is filled as far as the program knows it") {
  check_sizes<tl_runtime_info>("runtime_info", tl_get_runtime_info);
  check_sizes<tl_attempt>("attempt", [](auto *out) { return tl_get_attempt(0, out); });
  check_sizes<tl_variable>("variable", [](auto *out) { return tl_get_variable(0, out); });
  check_sizes<tl_operation_info>("operation", [](auto *out) { return tl_get_operation(0, out); });
  check_sizes<tl_backend_info>("backend_info",
                               [](auto *out) { return tl_get_backend_info(nullptr, out); });
  check_sizes<tl_device_info>("device_info", [](auto *out) { return tl_get_device_info(0, out); });
  check_sizes<tl_counters>("counters", tl_get_counters);
  check_sizes<tl_memory_figures>("memory_figures", tl_get_memory_figures);
}
