// Blocks of storages: classes of size, figures, what is kept and given back.
#include "allocator.hpp"

#include "reference/fixture.hpp"

#include <thread>

using namespace torchlean::cpu;
using namespace torchlean::test;

namespace {

// Under a host that lets so many MiB be kept.
struct Kept {
  explicit Kept(const char *mebibytes)
      : allocator((options["TORCHLEAN_HOST_CACHE"] = mebibytes, test_host)) {}
  ~Kept() {
    allocator.trim();
    options.clear();
  }
  void *alloc(size_t bytes) {
    void *const block = allocator.alloc(bytes);
    REQUIRE(block != nullptr);
    return block;
  }
  void free(void *block, size_t bytes) { allocator.free(block, bytes); }

  Allocator allocator;
};

constexpr size_t kibibyte = 1024;
constexpr size_t mebibyte = 1024 * kibibyte;

}  // namespace

TEST_CASE(
    "a class of sizes wastes at most a quarter, a large one an eighth, and is its own class") {
  Kept kept("64");
  size_t former = 0;
  for (size_t bytes = 1; bytes < 40 * mebibyte; bytes += 1 + bytes / 37) {
    const size_t size = kept.allocator.block_size(bytes);
    CAPTURE(bytes);
    CHECK(size >= bytes);
    CHECK(size % 64 == 0);
    CHECK(size >= former);
    if (bytes > 512) CHECK(size - bytes < bytes / (bytes < mebibyte ? 4 : 8) + 1);
    CHECK(kept.allocator.block_size(size) == size);
    former = size;
  }
}

TEST_CASE("a freed block serves the next request of its class, and no other") {
  Kept kept("1024");
  for (const size_t bytes : {1UL, 64UL, 100UL, 5000UL, 300 * kibibyte, 3 * mebibyte}) {
    CAPTURE(bytes);
    kept.allocator.trim();
    void *const block = kept.alloc(bytes);
    kept.free(block, bytes);
    const int64_t before = allocations.load();
    void *const again = kept.alloc(kept.allocator.block_size(bytes));
    CHECK(again == block);
    CHECK(allocations.load() == before);
    void *const other = kept.alloc(bytes + kept.allocator.block_size(bytes));
    CHECK(allocations.load() == before + 1);
    kept.free(again, kept.allocator.block_size(bytes));
    kept.free(other, bytes + kept.allocator.block_size(bytes));
  }
}

TEST_CASE("a thread gets the blocks that it freed, which may be in its processor's cache") {
  Kept kept("1024");
  void *const own = kept.alloc(kibibyte);
  void *const other = kept.alloc(kibibyte);
  kept.free(own, kibibyte);
  std::thread([&] { kept.free(other, kibibyte); }).join();
  CHECK(kept.alloc(kibibyte) == own);
  CHECK(kept.alloc(kibibyte) == other);  // there is no other
  kept.free(own, kibibyte);
  kept.free(other, kibibyte);
}

TEST_CASE("figures are exact: bytes in use as asked for, whole blocks reserved, peaks of both") {
  Kept kept("64");
  const int64_t live = live_bytes.load();
  void *const small = kept.alloc(100);
  void *const large = kept.alloc(2 * mebibyte);
  CHECK(kept.allocator.allocated().now() == 100 + 2 * mebibyte);
  CHECK(kept.allocator.reserved().now() == 128 + 2 * mebibyte);
  kept.free(small, 100);
  kept.free(large, 2 * mebibyte);
  CHECK(kept.allocator.allocated().now() == 0);
  CHECK(kept.allocator.allocated().peak() == 100 + 2 * mebibyte);
  CHECK(kept.allocator.reserved().now() == 128 + 2 * mebibyte);
  CHECK(live_bytes.load() == live + 128 + int64_t{2 * mebibyte});
  kept.allocator.trim();
  CHECK(kept.allocator.reserved().now() == 0);
  CHECK(kept.allocator.reserved().peak() == 128 + 2 * mebibyte);
  CHECK(live_bytes.load() == live);
}

TEST_CASE("no more is kept than the host allows") {
  Kept kept("8");
  std::vector<std::pair<void *, size_t>> blocks;
  for (size_t bytes = 64; bytes < 4 * mebibyte; bytes += bytes / 3)
    for (int i = 0; i < 4; ++i) blocks.emplace_back(kept.alloc(bytes), bytes);
  CHECK(kept.allocator.allocated().now() > 16 * mebibyte);
  for (const auto &[block, bytes] : blocks) kept.free(block, bytes);
  CHECK(kept.allocator.reserved().now() <= 8 * mebibyte);
  CHECK(kept.allocator.reserved().now() > mebibyte);
}

TEST_CASE("nothing is kept, and sizes are as asked for, where the host allows none") {
  Kept kept("0");
  const int64_t live = live_bytes.load();
  for (const size_t bytes : {100UL, 3 * mebibyte + 1}) {
    void *const block = kept.alloc(bytes);
    CHECK(live_bytes.load() == live + static_cast<int64_t>(bytes));
    kept.free(block, bytes);
    CHECK(live_bytes.load() == live);
  }
}

TEST_CASE("what is kept goes back before a request finds no memory") {
  Kept kept("64");
  const int64_t live = live_bytes.load();
  kept.free(kept.alloc(100), 100);
  kept.free(kept.alloc(2 * mebibyte), 2 * mebibyte);
  CHECK(live_bytes.load() > live);
  failing_allocation = allocations + 1;
  void *const block = kept.alloc(1000);  // asked for again after the cache was emptied
  failing_allocation = 0;
  CHECK(live_bytes.load() < live + int64_t{2 * kibibyte});
  kept.free(block, 1000);

  failing_allocation = allocations + 1;
  fails_from_there_on = true;
  CHECK(kept.allocator.alloc(5000) == nullptr);
  failing_allocation = 0;
  fails_from_there_on = false;
  CHECK(kept.allocator.allocated().now() == 0);
  CHECK(live_bytes.load() == live);
}
