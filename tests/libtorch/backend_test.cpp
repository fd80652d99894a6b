// Life cycle, device figures, coverage, and failing allocations in every entry.
#include "fake_host.hpp"

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <thread>

using fake_host::backend;

namespace {

tl_status create(const char *device, tl_instance **out) {
  tl_create_options options{};
  options.struct_size = sizeof options;
  options.device = device;
  return backend().create(&options, out);
}

// One call of every entry that allocates: the status, and the results' places.
struct Call {
  const char *name;
  size_t results;
  std::function<tl_status(tl_storage **)> run;
};

std::vector<Call> calls(const Session &session, const Buffer &x, const Buffer &one,
                        const Buffer &channels, const Buffer &encoded) {
  tl_instance *const instance = session.get();
  const tl_operand *const operand = x.operand();
  const uint64_t n = operand->count;
  static const std::vector<double> words(n, 1.5);
  static const tl_scalars scalars{sizeof(tl_scalars), {0.5, 2}};
  static const tl_adam_params adam{sizeof(tl_adam_params), 0.5, 0.5, 0.5, 0.5, 2, 2, 1, 0, -1};
  static const tl_bmm_params bmm{sizeof(tl_bmm_params), 1, 48, 48, 48, 1, 0};
  static const tl_broadcast_params up{sizeof(tl_broadcast_params), 2, 0, {3, n}, {0, 1}};
  static const tl_broadcast_params down{sizeof(tl_broadcast_params), 2, 0, {n / 48, 48}, {0, 1}};
  static const tl_broadcast_params both{sizeof(tl_broadcast_params), 3, 0, {12, 16, 12}, {0, 1, 0}};
  std::vector<Call> list;
  const auto add = [&](const char *name, auto call) { list.push_back({name, 1, call}); };
  const BackendVTable &table = backend();
  add("fill", [=, &table](tl_storage **out) {
    return table.memory->fill(instance, TL_FLOAT64, 8, n, 1, 0, out);
  });
  add("copy",
      [=, &table](tl_storage **out) { return table.memory->copy(instance, operand, 0, out); });
  add("copy encoded", [=, &table, &encoded](tl_storage **out) {
    return table.memory->copy(instance, encoded.operand(), 0, out);
  });
  add("upload", [=, &table](tl_storage **out) {
    return table.transfer->upload(instance, words.data(), TL_FLOAT64, TL_FLOAT64, 8, n, 0, out);
  });
  for (tl_random_op op = 0; op < TL_RANDOM_OP_COUNT; ++op)
    add("generate", [=, &table](tl_storage **out) {
      return table.random->generate(instance, op, TL_FLOAT64, n, 1, &scalars, 0, out);
    });
  for (tl_unary_op op = 0; op < TL_UNARY_OP_COUNT; ++op)
    add("unary", [=, &table](tl_storage **out) {
      return table.elementwise->unary(instance, op, operand, &scalars, 0, out);
    });
  for (tl_binary_op op = 0; op < TL_BINARY_OP_COUNT; ++op)
    add("binary", [=, &table](tl_storage **out) {
      return table.elementwise->binary(instance, op, operand, operand, &scalars, 0, out);
    });
  for (tl_select_bwd_op op = 0; op < TL_SELECT_BWD_OP_COUNT; ++op)
    list.push_back({"select_bwd", 2, [=, &table](tl_storage **out) {
                      return table.elementwise->select_bwd(instance, op, operand, operand, operand,
                                                           0, out);
                    }});
  list.push_back({"adam_step", 3, [=, &table](tl_storage **out) {
                    return table.optimizer->adam_step(instance, operand, operand, operand, operand,
                                                      &adam, 0, out);
                  }});
  for (tl_reduce_op op = 0; op < TL_REDUCE_OP_COUNT; ++op)
    add("reduce", [=, &table](tl_storage **out) {
      return table.reduction->reduce(instance, op, operand, 1, n, 1, 0, out);
    });
  add("reduce columns", [=, &table](tl_storage **out) {
    return table.reduction->reduce(instance, TL_REDUCE_SUM, operand, 2, n / 4, 2, 0, out);
  });
  add("sum_to_shape", [=, &table](tl_storage **out) {
    return table.reduction->sum_to_shape(instance, operand, &down, 48, 0, out);
  });
  add("sum_to_shape on both sides", [=, &table](tl_storage **out) {
    return table.reduction->sum_to_shape(instance, operand, &both, 16, 0, out);
  });
  for (tl_row_mask_op op = 0; op < TL_ROW_MASK_OP_COUNT; ++op)
    add("row_mask", [=, &table](tl_storage **out) {
      return table.reduction->row_mask(instance, op, operand, n / 48, 48, 5, 0, out);
    });
  add("concat", [=, &table](tl_storage **out) {
    return table.view->concat(instance, operand, operand, 0, out);
  });
  add("slice",
      [=, &table](tl_storage **out) { return table.view->slice(instance, operand, 1, 7, 0, out); });
  add("broadcast", [=, &table](tl_storage **out) {
    return table.view->broadcast(instance, operand, &up, 0, out);
  });
  add("swap", [=, &table](tl_storage **out) {
    return table.view->swap(instance, operand, 2, 24, 8, 6, 0, out);
  });
  add("bmm", [=, &table](tl_storage **out) {
    return table.matmul->bmm(instance, operand, operand, &bmm, 0, out);
  });
  for (const double scale : {0.5, 2.0})
    add("bmm_scaled", [=, &table](tl_storage **out) {
      uint32_t replay;
      return table.matmul->bmm_scaled(instance, operand, operand, &bmm, scale, 0, out, &replay);
    });
  static const std::vector<uint32_t> indices = {3, 3, 0, 99, 47};
  static const tl_layer_norm_bwd_params layer_norm{sizeof(tl_layer_norm_bwd_params), 1, n,
                                                   static_cast<double>(n), 1.0 / 2304};
  add("gather_rows", [=, &table](tl_storage **out) {
    return table.indexing->gather_rows(instance, operand, 48, 48, indices.data(), 5, 0, out);
  });
  static const std::vector<uint32_t> all_rows(48, 7);
  add("scatter_add_rows", [=, &table](tl_storage **out) {
    return table.indexing->scatter_add_rows(instance, operand, operand, 48, 48, all_rows.data(), 48,
                                            0, out);
  });
  for (const uint64_t inner : {uint64_t{1}, uint64_t{4}})
    add("softmax", [=, &table](tl_storage **out) {
      return table.normalization->softmax(instance, operand, 12, n / 12 / inner, inner, 0, out);
    });
  add("masked_softmax", [=, &table](tl_storage **out) {
    return table.normalization->masked_softmax(instance, operand, operand, 48, 48, 0, out);
  });
  list.push_back({"layer_norm", 3, [=, &table](tl_storage **out) {
                    return table.normalization->layer_norm(instance, operand, operand, operand, 1,
                                                           n, 1, 0, out);
                  }});
  list.push_back({"layer_norm_bwd", 3, [=, &table, &one](tl_storage **out) {
                    return table.normalization->layer_norm_bwd(
                        instance, operand, operand, one.operand(), operand, &layer_norm, 0, out);
                  }});
  for (tl_loss_op op = 0; op < TL_LOSS_OP_COUNT; ++op)
    add("loss", [=, &table](tl_storage **out) {
      return table.loss->loss(instance, op, operand, operand, 48, 48, 0, out);
    });
  for (tl_fourier_op op = 0; op < TL_FOURIER_OP_COUNT; ++op)
    add("transform", [=, &table](tl_storage **out) {
      return table.fourier->transform(instance, op, operand, 48, op == TL_FOURIER_RFFT ? 48 : 46, 0,
                                      out);
    });
  add("scan forward", [=, &table](tl_storage **out) {
    return table.scan->forward(instance, TL_SCAN_CONSTANT, operand, operand, operand, operand, 1, n,
                               0, out);
  });
  list.push_back({"scan backward", 4, [=, &table](tl_storage **out) {
                    return table.scan->backward(instance, TL_SCAN_VARYING, operand, operand,
                                                operand, operand, operand, operand, 1, n, 0, out);
                  }});
  // 24 channels in two groups, 96 places, kernels of 4 taps.
  static const tl_convolution_params convolution{sizeof(tl_convolution_params),
                                                 1,
                                                 24,
                                                 24,
                                                 2,
                                                 1,
                                                 0,
                                                 {1, 1, 96},
                                                 {1, 1, 4},
                                                 {1, 1, 1},
                                                 {0, 0, 2},
                                                 {0, 0, 1},
                                                 {1, 1, 1},
                                                 {1, 1, 96}};
  for (tl_convolution_op op = 0; op < TL_CONVOLUTION_OP_COUNT; ++op) {
    add("convolution forward", [=, &table, &channels](tl_storage **out) {
      return table.convolution->forward(instance, op, operand, operand, channels.operand(),
                                        &convolution, 0, out);
    });
    list.push_back({"convolution backward", 3, [=, &table](tl_storage **out) {
                      return table.convolution->backward(instance, op, operand, operand, operand,
                                                         &convolution, 0, out);
                    }});
  }
  static const tl_pooling_params pooling{
      sizeof(tl_pooling_params), 1, {1, 48, 48}, {1, 1, 3}, {1, 1, 1}, {0, 0, 1}, {1, 48, 48}, 1};
  for (tl_pooling_op op = 0; op < TL_POOLING_OP_COUNT; ++op) {
    add("pooling forward", [=, &table](tl_storage **out) {
      return table.pooling->forward(instance, op, operand, &pooling, 0, out);
    });
    add("pooling backward", [=, &table](tl_storage **out) {
      return table.pooling->backward(instance, op, operand, operand, &pooling, 0, out);
    });
  }
  list.push_back({"dgemm", 0, [=, &table](tl_storage **) {
                    std::vector<double> result(48 * 48);
                    return table.matmul->dgemm(instance, words.data(), words.data(), 48, 48, 48,
                                               result.data());
                  }});
  return list;
}

void release(const Session &session, std::array<tl_storage *, 4> &out) {
  for (tl_storage *&storage : out) {
    if (storage != nullptr) backend().memory->release(session.get(), storage);
    storage = nullptr;
  }
}

void fail_each_allocation(bool deterministic, bool ever_after) {
  const Session session(deterministic);
  std::vector<double> values(48 * 48);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i % 3 == 0 ? 0 : static_cast<double>(i % 7) - 3;
  const Buffer x(session, values);
  const Buffer one(session, std::vector<double>{0.5});
  const Buffer channels(session, std::vector<double>(24, 0.5));
  const Buffer encoded(session, std::vector<uint8_t>(100, 7));
  for (const Call &call : calls(session, x, one, channels, encoded)) {
    CAPTURE(call.name);
    std::array<tl_storage *, 4> out{};
    require_ok(call.run(out.data()));  // whatever is set up once is set up now
    release(session, out);
    const int64_t before = fake_host::allocations();
    require_ok(call.run(out.data()));
    const int64_t needed = fake_host::allocations() - before;
    release(session, out);
    CHECK(needed > 0);
    const int64_t live = fake_host::live_blocks();
    int64_t n = 1;
    for (;; ++n) {
      REQUIRE(n <= needed + 1);
      fake_host::fail_allocation(n, ever_after);
      const tl_status status = call.run(out.data());
      fake_host::fail_allocation(0, false);
      if (status == TL_OK) break;
      CHECK(status == TL_OUT_OF_MEMORY);
      CHECK(fake_host::error().find("host memory is exhausted") != std::string::npos);
      for (tl_storage *storage : out) CHECK(storage == nullptr);
      CHECK(fake_host::live_blocks() == live);
    }
    CHECK(n == needed + 1);
    release(session, out);
    CHECK(fake_host::live_blocks() == live);
  }
  CHECK(same_bits(x.values<double>(), values));
  CHECK(fake_host::broken_fences() == 0);
}

}  // namespace

TEST_CASE("B3: each failing allocation is a status, leaks nothing and spoils nothing") {
  for (const bool deterministic : {false, true})
    for (const bool ever_after : {false, true}) fail_each_allocation(deterministic, ever_after);
}

TEST_CASE("the table says what computes") {
  CHECK(backend().magic == TL_BACKEND_MAGIC);
  CHECK(std::string(backend().name) == "libtorch");
  CHECK(std::string(backend().library).starts_with("LibTorch 2."));
}

TEST_CASE("without a driver only the host is a device") {
  tl_instance *instance = nullptr;
  for (const char *device : {"cuda", "cuda:0"}) {
    CHECK(create(device, &instance) == TL_UNAVAILABLE);
    CHECK(fake_host::error() ==
          std::string("create: device is \"") + device + "\": no NVIDIA driver was found");
    CHECK(instance == nullptr);
  }
  for (const char *device : {"tpu", "cpu:1", "cuda:", "cuda:x", "cuda:-1", "cuda:0x"}) {
    CHECK(create(device, &instance) == TL_UNAVAILABLE);
    CHECK(fake_host::error() == std::string("create: device is \"") + device +
                                    "\": expected \"cpu\", \"cuda\" or \"cuda:<index>\"");
    CHECK(instance == nullptr);
  }
  REQUIRE(create("cpu", &instance) == TL_OK);
  uint32_t number = 0;
  const tl_device_table &device = *backend().device;
  CHECK(device.count(instance, &number) == TL_OK);
  CHECK(number == 1);
  CHECK(device.select(instance, 0) == TL_OK);
  CHECK(device.select(instance, 1) == TL_INVALID_ARGUMENT);
  tl_device_properties properties{};
  properties.struct_size = sizeof properties;
  CHECK(device.properties(instance, 0, &properties) == TL_OK);
  CHECK(properties.name[0] != 0);
  CHECK(properties.is_cuda == 0);
  CHECK(properties.capability == 0);
  CHECK(properties.total_bytes > 0);
  tl_device_properties older{};
  older.struct_size = offsetof(tl_device_properties, total_bytes);
  older.total_bytes = 77;
  CHECK(device.properties(instance, 0, &older) == TL_OK);
  CHECK(older.total_bytes == 77);
  CHECK(device.synchronize(instance) == TL_OK);
  CHECK(device.empty_cache(instance) == TL_OK);
  CHECK(device.set_setting(instance, TL_SETTING_MATMUL_TF32, 1) == TL_UNSUPPORTED);
  CHECK(device.set_num_threads(instance, 3) == TL_OK);
  CHECK(device.num_threads(instance, &number) == TL_OK);
  CHECK(number == 3);
  CHECK(device.set_num_threads(instance, 1'000'000) == TL_INVALID_ARGUMENT);
  CHECK(device.set_num_threads(instance, 0) == TL_OK);
  CHECK(device.num_threads(instance, &number) == TL_OK);
  CHECK(number >= 1);
  backend().destroy(instance);
}

TEST_CASE("memory figures count every block") {
  const Session session;
  const auto info = [&] {
    tl_memory_info figures{};
    figures.struct_size = sizeof figures;
    require_ok(backend().device->memory_info(session.get(), &figures));
    return figures;
  };
  const uint64_t before = info().allocated_bytes;
  {
    const Buffer x(session, std::vector<double>(1'000));
    CHECK(info().allocated_bytes == before + 8'000);
    CHECK(info().peak_allocated_bytes >= before + 8'000);
  }
  CHECK(info().allocated_bytes == before);
  CHECK(info().device_total_bytes > 0);
}

TEST_CASE("what it does not have is not claimed, and encoded only where words are moved") {
  const Session session;
  const auto supports = [&](tl_operation operation, tl_dtype dtype) {
    return backend().supports(session.get(), operation, dtype);
  };
  CHECK(supports(TL_OP_add, TL_FLOAT32) == TL_OK);
  CHECK(supports(TL_OP_bmm_scaled, TL_FLOAT64) == TL_OK);
  CHECK(supports(TL_OP_add, TL_ENCODED) == TL_UNSUPPORTED);
  CHECK(supports(TL_OP_copy, TL_ENCODED) == TL_OK);
  CHECK(supports(TL_OP_upload_encoded, TL_FLOAT32) == TL_UNSUPPORTED);
  CHECK(supports(TL_OP_softmax, TL_FLOAT32) == TL_OK);
  CHECK(supports(TL_OP_softmax, TL_ENCODED) == TL_UNSUPPORTED);
  CHECK(supports(TL_OP_dgemm, TL_FLOAT32) == TL_UNSUPPORTED);
  CHECK(supports(TL_OP_COUNT, TL_FLOAT32) == TL_UNSUPPORTED);
  CHECK(supports(TL_OP_add, 17) == TL_UNSUPPORTED);
}

TEST_CASE("operands that contradict themselves are refused") {
  const Session session;
  const Buffer x(session, std::vector<float>{1, 2, 3});
  tl_storage *out = nullptr;
  const auto copy = [&](tl_operand operand) {
    return backend().memory->copy(session.get(), &operand, 0, &out);
  };
  tl_operand wrong = *x.operand();
  wrong.count = 4;
  CHECK(copy(wrong) == TL_INVALID_ARGUMENT);
  wrong = *x.operand();
  wrong.dtype = TL_FLOAT64;
  wrong.width = 8;
  CHECK(copy(wrong) == TL_INVALID_ARGUMENT);
  wrong = *x.operand();
  wrong.width = 8;
  CHECK(copy(wrong) == TL_INVALID_ARGUMENT);
  wrong = *x.operand();
  wrong.dtype = 9;
  CHECK(copy(wrong) == TL_UNSUPPORTED);
  wrong = *x.operand();
  wrong.storage = nullptr;
  CHECK(copy(wrong) == TL_INVALID_ARGUMENT);
  CHECK(out == nullptr);
}

TEST_CASE("many threads call at once, with thread counts of their own") {
  std::vector<std::thread> threads;
  std::array<bool, 4> right{};
  for (size_t i = 0; i < right.size(); ++i)
    threads.emplace_back([&, i] {
      const Session session(i % 2 == 0, static_cast<uint32_t>(i + 1));
      const std::vector<float> values(100'000, static_cast<float>(i));
      right[i] = true;
      for (int round = 0; round < 20; ++round) {
        const Buffer x(session, values);
        const tl_scalars scalars{sizeof(tl_scalars), {2, 0}};
        tl_storage *out = nullptr;
        require_ok(backend().elementwise->unary(session.get(), TL_UNARY_SCALE, x.operand(),
                                                &scalars, 0, &out));
        const Buffer y(session, out, values.size(), TL_FLOAT32, 4);
        right[i] = right[i] && y.values<float>() == std::vector<float>(100'000, 2.0f * i);
      }
    });
  for (std::thread &thread : threads) thread.join();
  for (const bool one : right) CHECK(one);
  CHECK(fake_host::broken_fences() == 0);
}
