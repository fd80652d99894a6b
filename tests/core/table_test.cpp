// Negotiation: what is refused, and how tables of other sizes are completed (rules L7, L8).
#include "loader/table.hpp"

#include <doctest/doctest.h>

#include <cstddef>

using namespace torchlean;

namespace {

tl_status ok_count(tl_instance *, std::uint32_t *) { return TL_OK; }
tl_status ok_synchronize(tl_instance *) { return TL_OK; }
void release(tl_instance *, tl_storage *) {}
tl_status ok_fill(tl_instance *, tl_dtype, std::uint32_t, std::uint64_t, double, tl_flags,
                  tl_storage **) {
  return TL_OK;
}
tl_status ok_copy(tl_instance *, const tl_operand *, tl_flags, tl_storage **) { return TL_OK; }

// A complete, minimal backend that each test then spoils.
struct Minimal {
  tl_device_table device = {};
  tl_memory_table memory = {};
  BackendVTable vtable = {};

  Minimal() {
    device.struct_size = sizeof device;
    device.count = ok_count;
    device.synchronize = ok_synchronize;
    memory.struct_size = sizeof memory;
    memory.release = release;
    memory.fill = ok_fill;
    memory.copy = ok_copy;
    vtable.struct_size = sizeof vtable;
    vtable.magic = TL_BACKEND_MAGIC;
    vtable.abi_version = TL_ABI_VERSION;
    vtable.name = "minimal";
    vtable.version = "1";
    vtable.library = "";
    vtable.create = [](const tl_create_options *, tl_instance **) -> tl_status { return TL_OK; };
    vtable.destroy = [](tl_instance *) {};
    vtable.supports = [](tl_instance *, tl_operation, tl_dtype) -> tl_status { return TL_OK; };
    vtable.device = &device;
    vtable.memory = &memory;
  }
};

}  // namespace

TEST_CASE("a minimal table is accepted") {
  const Minimal minimal;
  CHECK(reject_reason(&minimal.vtable).empty());
}

TEST_CASE("L7: each defect of a table is refused with a reason") {
  const auto refused = [](const auto &spoil) {
    Minimal minimal;
    spoil(minimal);
    return !reject_reason(&minimal.vtable).empty();
  };
  CHECK(refused([](Minimal &m) { m.vtable.magic = 0; }));
  CHECK(refused([](Minimal &m) { m.vtable.abi_version = TL_ABI_VERSION + 1; }));
  CHECK(refused([](Minimal &m) { m.vtable.struct_size = 0; }));
  CHECK(refused([](Minimal &m) { m.vtable.struct_size = offsetof(BackendVTable, memory); }));
  CHECK(refused([](Minimal &m) { m.vtable.struct_size = std::size_t{1} << 40U; }));
  CHECK(refused([](Minimal &m) { m.vtable.struct_size = sizeof(BackendVTable) - 3; }));
  CHECK(refused([](Minimal &m) { m.vtable.name = nullptr; }));
  CHECK(refused([](Minimal &m) { m.vtable.create = nullptr; }));
  CHECK(refused([](Minimal &m) { m.vtable.destroy = nullptr; }));
  CHECK(refused([](Minimal &m) { m.vtable.supports = nullptr; }));
  CHECK(refused([](Minimal &m) { m.vtable.device = nullptr; }));
  CHECK(refused([](Minimal &m) { m.vtable.memory = nullptr; }));
  CHECK(refused([](Minimal &m) { m.memory.release = nullptr; }));
  CHECK(refused([](Minimal &m) { m.device.synchronize = nullptr; }));
  CHECK(refused([](Minimal &m) { m.memory.struct_size = 0; }));
}

TEST_CASE("L8: missing families and entries answer unsupported and leave outputs unwritten") {
  const Minimal minimal;
  const FullTable full = complete(minimal.vtable);
  tl_storage *out = nullptr;
  auto *const untouched = reinterpret_cast<tl_storage *>(&out);
  out = untouched;
  CHECK(full.view.slice(nullptr, nullptr, 0, 0, 0, &out) == TL_UNSUPPORTED);
  CHECK(full.device.empty_cache(nullptr) == TL_UNSUPPORTED);
  CHECK(out == untouched);
  CHECK(full.memory.fill(nullptr, 0, 4, 1, 0.0, 0, &out) == TL_OK);
}

TEST_CASE("L8: a smaller sub-table keeps its prefix and loses the rest") {
  Minimal minimal;
  minimal.memory.struct_size = offsetof(tl_memory_table, copy);
  const FullTable full = complete(minimal.vtable);
  CHECK((full.memory.fill == ok_fill));
  CHECK((full.memory.copy != ok_copy));
  CHECK(full.memory.copy(nullptr, nullptr, 0, nullptr) == TL_UNSUPPORTED);
}

TEST_CASE("L8: a smaller vtable has only the families inside it") {
  Minimal minimal;
  tl_view_table view = {};
  view.struct_size = sizeof view;
  view.slice = [](tl_instance *, const tl_operand *, std::uint64_t, std::uint64_t, tl_flags,
                  tl_storage **) -> tl_status { return TL_OK; };
  minimal.vtable.view = &view;
  CHECK(complete(minimal.vtable).view.slice(nullptr, nullptr, 0, 0, 0, nullptr) == TL_OK);
  minimal.vtable.struct_size = offsetof(BackendVTable, view);
  CHECK(reject_reason(&minimal.vtable).empty());
  CHECK(complete(minimal.vtable).view.slice(nullptr, nullptr, 0, 0, 0, nullptr) == TL_UNSUPPORTED);
}

TEST_CASE("L8: a larger sub-table from a newer backend is used as far as it is known") {
  struct Newer {
    tl_memory_table known;
    void *later[4];
  } newer = {};
  Minimal minimal;
  newer.known = minimal.memory;
  newer.known.struct_size = sizeof newer;
  minimal.vtable.memory = &newer.known;
  CHECK(reject_reason(&minimal.vtable).empty());
  CHECK((complete(minimal.vtable).memory.copy == ok_copy));
  CHECK(complete(minimal.vtable).memory.struct_size == sizeof(tl_memory_table));
}
