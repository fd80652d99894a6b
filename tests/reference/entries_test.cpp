// What holds for every entry: failing allocations, malformed arguments.
#include "fixture.hpp"
#include "support/oracle.hpp"

#include <functional>

using namespace torchlean::test;

namespace {

// One good call of each entry that makes storages. Each can be spoilt through its members.
struct Calls {
  explicit Calls(Backend &with) : backend(with) {}

  Backend &backend;
  Buffer<float> x{backend, {1, 2, 3, 4, 5, 6}};
  Buffer<float> y{backend, {6, 5, 4, 3, 2, 1}};
  tl_scalars scalars = {sizeof scalars, {0.5, 0.75}};
  tl_adam_params adam = {sizeof adam, 0.9, 0.1, 0.99, 0.01, 1.5, 1.25, 1e-8, 0, -0.1};
  tl_broadcast_params broadcast = {sizeof broadcast, 2, 0, {6, 2}, {1, 0}};
  tl_broadcast_params sum_to_shape = {sizeof sum_to_shape, 2, 0, {2, 3}, {0, 1}};
  tl_bmm_params bmm = {sizeof bmm, 1, 2, 3, 2, 0, 0};
  Buffer<float> one{backend, {0.5}};
  tl_layer_norm_bwd_params layer_norm_bwd = {sizeof layer_norm_bwd, 1, 6, 6, 1.0 / 6};
  uint32_t replay = 0;
  // Six elements of everything: six output channels, one window on the first of six positions.
  tl_convolution_params convolution = {
      sizeof convolution, 1,         1,         6,         1,         1,         0,
      {1, 1, 6},          {1, 1, 1}, {1, 1, 6}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}};
  tl_pooling_params pooling = {sizeof pooling, 1,         {1, 1, 6}, {1, 1, 3},
                               {1, 1, 1},      {0, 0, 1}, {1, 1, 6}, 1.5};

  struct Call {
    const char *name;
    std::vector<uint64_t> counts;  // of the results
    std::function<tl_status(const tl_operand *x, const tl_operand *y, tl_storage **out)> run;
  };

  std::vector<Call> all() {
    const BackendVTable &t = *backend.table;
    tl_instance *const i = backend.instance;
    static const double words[6] = {1.1, 1e-40, 3.3, 1e-42, 5.5, 6.6};
    static const uint32_t indices[2] = {1, 1};
    using In = const tl_operand *;
    using Out = tl_storage **;
    return {
        {"fill",
         {6},
         [=, &t](In, In, Out out) { return t.memory->fill(i, TL_FLOAT32, 4, 6, 2.5, 0, out); }},
        {"copy", {6}, [=, &t](In a, In, Out out) { return t.memory->copy(i, a, 0, out); }},
        {"upload",
         {6},
         [=, &t](In, In, Out out) {
           return t.transfer->upload(i, words, TL_FLOAT64, TL_FLOAT32, 4, 6, 0, out);
         }},
        {"generate",
         {6},
         [=, &t, this](In, In, Out out) {
           return t.random->generate(i, TL_RANDOM_NORMAL, TL_FLOAT32, 6, 1, &scalars, 0, out);
         }},
        {"unary",
         {6},
         [=, &t, this](In a, In, Out out) {
           return t.elementwise->unary(i, TL_UNARY_EXP, a, &scalars, 0, out);
         }},
        {"binary",
         {6},
         [=, &t, this](In a, In b, Out out) {
           return t.elementwise->binary(i, TL_BINARY_DIV, a, b, &scalars, 0, out);
         }},
        {"select_bwd",
         {6, 6},
         [=, &t](In a, In b, Out out) {
           return t.elementwise->select_bwd(i, TL_SELECT_MAX_BWD, a, b, a, 0, out);
         }},
        {"adam_step",
         {6, 6, 6},
         [=, &t, this](In a, In b, Out out) {
           return t.optimizer->adam_step(i, a, b, a, b, &adam, 0, out);
         }},
        {"reduce",
         {2},
         [=, &t](In a, In, Out out) {
           return t.reduction->reduce(i, TL_REDUCE_SUM, a, 2, 3, 1, 0, out);
         }},
        {"sum_to_shape",
         {3},
         [=, &t, this](In a, In, Out out) {
           return t.reduction->sum_to_shape(i, a, &sum_to_shape, 3, 0, out);
         }},
        {"row_mask",
         {6},
         [=, &t](In a, In, Out out) {
           return t.reduction->row_mask(i, TL_ROW_MASK_TOP_K, a, 2, 3, 1, 0, out);
         }},
        {"concat", {12}, [=, &t](In a, In b, Out out) { return t.view->concat(i, a, b, 0, out); }},
        {"slice", {3}, [=, &t](In a, In, Out out) { return t.view->slice(i, a, 2, 3, 0, out); }},
        {"broadcast",
         {12},
         [=, &t, this](In a, In, Out out) { return t.view->broadcast(i, a, &broadcast, 0, out); }},
        {"swap",
         {6},
         [=, &t](In a, In, Out out) { return t.view->swap(i, a, 1, 2, 3, 1, 0, out); }},
        {"bmm",
         {4},
         [=, &t, this](In a, In b, Out out) { return t.matmul->bmm(i, a, b, &bmm, 0, out); }},
        {"bmm_scaled",
         {4},
         [=, &t, this](In a, In b, Out out) {
           return t.matmul->bmm_scaled(i, a, b, &bmm, 0.5, 0, out, &replay);
         }},
        {"gather_rows",
         {6},
         [=, &t](In a, In, Out out) {
           return t.indexing->gather_rows(i, a, 2, 3, indices, 2, 0, out);
         }},
        {"scatter_add_rows",
         {6},
         [=, &t](In a, In b, Out out) {
           return t.indexing->scatter_add_rows(i, a, b, 2, 3, indices, 2, 0, out);
         }},
        {"softmax",
         {6},
         [=, &t](In a, In, Out out) { return t.normalization->softmax(i, a, 1, 3, 2, 0, out); }},
        {"masked_softmax",
         {6},
         [=, &t](In a, In b, Out out) {
           return t.normalization->masked_softmax(i, a, b, 2, 3, 0, out);
         }},
        {"layer_norm",
         {6, 6, 1},
         [=, &t](In a, In b, Out out) {
           return t.normalization->layer_norm(i, a, b, b, 1, 6, 0.5, 0, out);
         }},
        {"layer_norm_bwd",
         {6, 6, 6},
         [=, &t, this](In a, In b, Out out) {
           return t.normalization->layer_norm_bwd(i, a, b, one.operand(), b, &layer_norm_bwd, 0,
                                                  out);
         }},
        {"loss",
         {1},
         [=, &t](In a, In b, Out out) {
           return t.loss->loss(i, TL_LOSS_CROSS_ENTROPY, a, b, 2, 3, 0, out);
         }},
        {"transform",
         {8},
         [=, &t](In a, In, Out out) {
           return t.fourier->transform(i, TL_FOURIER_RFFT, a, 1, 6, 0, out);
         }},
        {"scan forward",
         {6},
         [=, &t](In a, In b, Out out) {
           return t.scan->forward(i, TL_SCAN_VARYING, a, b, a, b, 1, 6, 0, out);
         }},
        {"scan backward",
         {6, 6, 6, 6},
         [=, &t](In a, In b, Out out) {
           return t.scan->backward(i, TL_SCAN_CONSTANT, a, b, a, b, a, b, 1, 6, 0, out);
         }},
        {"convolution forward",
         {6},
         [=, &t, this](In a, In b, Out out) {
           return t.convolution->forward(i, TL_CONVOLUTION, a, b, b, &convolution, 0, out);
         }},
        {"convolution backward",
         {6, 6, 6},
         [=, &t, this](In a, In b, Out out) {
           return t.convolution->backward(i, TL_CONVOLUTION, a, b, b, &convolution, 0, out);
         }},
        {"pooling forward",
         {6},
         [=, &t, this](In a, In, Out out) {
           return t.pooling->forward(i, TL_POOLING_SMOOTH_MAX, a, &pooling, 0, out);
         }},
        {"pooling backward",
         {6},
         [=, &t, this](In a, In b, Out out) {
           return t.pooling->backward(i, TL_POOLING_SMOOTH_MAX, b, a, &pooling, 0, out);
         }},
    };
  }

  tl_status run(const Call &call, tl_storage **out) {
    return call.run(x.operand(), y.operand(), out);
  }

  void release(const Call &call, tl_storage **out) {
    for (size_t i = 0; i < call.counts.size(); ++i)
      backend.table->memory->release(backend.instance, out[i]);
  }
};

tl_storage *const untouched = reinterpret_cast<tl_storage *>(0x1234);

// Runs a call that must fail, and checks that it leaves nothing behind.
void check_failure(const char *name, tl_status expected,
                   const std::function<tl_status(tl_storage **)> &run) {
  INFO(name);
  tl_storage *out[4] = {untouched, untouched, untouched, untouched};
  const int64_t before = live_bytes;
  error_text.clear();
  CHECK(run(out) == expected);
  CHECK(!error_text.empty());
  CHECK(live_bytes == before);
  for (const tl_storage *storage : out) CHECK(storage == untouched);
}

}  // namespace

TEST_CASE("B3: a failing allocation gives a status, no storage and no leak, in every entry") {
  Backend backend;
  Calls calls(backend);
  for (const auto &call : calls.all()) {
    INFO(call.name);
    for (const bool from_there_on : {false, true}) {
      fails_from_there_on = from_there_on;
      int64_t failing = 1;
      for (;; ++failing) {
        tl_storage *out[4] = {untouched, untouched, untouched, untouched};
        const int64_t before = live_bytes;
        allocations = 0;
        failing_allocation = failing;
        const tl_status status = calls.run(call, out);
        failing_allocation = 0;
        if (status == TL_OK) {
          calls.release(call, out);
          CHECK(live_bytes == before);
          break;
        }
        CHECK(status == TL_OUT_OF_MEMORY);
        CHECK(live_bytes == before);
        for (const tl_storage *storage : out) CHECK(storage == untouched);
      }
      CHECK(failing == allocations + 1);
      CHECK(allocations == static_cast<int64_t>(call.counts.size()));
    }
  }
}

TEST_CASE("T6: NULL, contradictory operands and unknown dtypes are refused by every entry") {
  Backend backend;
  Calls calls(backend);
  const Buffer<double> other(backend, {1, 2, 3, 4, 5, 6});
  tl_operand unknown_dtype = *calls.x.operand(), wrong_width = *calls.x.operand(),
             too_long = *calls.x.operand(), encoded = *calls.x.operand();
  unknown_dtype.dtype = 7;
  wrong_width.width = 8;
  too_long.count = 7;
  encoded.dtype = TL_ENCODED;
  for (const auto &call : calls.all()) {
    check_failure(call.name, TL_INVALID_ARGUMENT,
                  [&](tl_storage **) { return calls.run(call, nullptr); });
    const std::string name = call.name;
    if (name == "fill" || name == "upload" || name == "generate") continue;  // take no operand
    const auto with = [&](const tl_operand *x) {
      return [&, x](tl_storage **out) { return call.run(x, calls.y.operand(), out); };
    };
    check_failure(call.name, TL_INVALID_ARGUMENT, with(nullptr));
    check_failure(call.name, TL_INVALID_ARGUMENT, with(&wrong_width));
    check_failure(call.name, TL_INVALID_ARGUMENT, with(&too_long));
    check_failure(call.name, TL_UNSUPPORTED, with(&unknown_dtype));
    if (name == "copy" || name == "slice") continue;  // move any words, and have one operand
    check_failure(call.name, name == "concat" ? TL_INVALID_ARGUMENT : TL_UNSUPPORTED,
                  with(&encoded));
    if (name != "reduce" && name != "sum_to_shape" && name != "row_mask" && name != "broadcast" &&
        name != "swap" && name != "unary" && name != "gather_rows" && name != "softmax" &&
        name != "transform" && name != "pooling forward")
      check_failure(call.name, TL_INVALID_ARGUMENT, with(other.operand()));
  }
}

TEST_CASE("T6: structures smaller than their first form are refused, larger ones are read") {
  Backend backend;
  Calls calls(backend);
  size_t *const sizes[] = {&calls.scalars.struct_size,     &calls.adam.struct_size,
                           &calls.broadcast.struct_size,   &calls.sum_to_shape.struct_size,
                           &calls.bmm.struct_size,         &calls.layer_norm_bwd.struct_size,
                           &calls.convolution.struct_size, &calls.pooling.struct_size};
  for (size_t *size : sizes) *size /= 2;
  for (const auto &call : calls.all()) {
    const std::string name = call.name;
    if (name == "generate" || name == "unary" || name == "binary" || name == "adam_step" ||
        name == "sum_to_shape" || name == "broadcast" || name == "bmm" || name == "bmm_scaled" ||
        name == "layer_norm_bwd" || name.starts_with("convolution") || name.starts_with("pooling"))
      check_failure(call.name, TL_INVALID_ARGUMENT,
                    [&](tl_storage **out) { return calls.run(call, out); });
  }
  for (size_t *size : sizes) *size = *size * 2 + 64;
  for (const auto &call : calls.all()) {
    tl_storage *out[4];
    REQUIRE(calls.run(call, out) == TL_OK);
    calls.release(call, out);
  }
}

TEST_CASE("T6: shapes that contradict the operands are refused") {
  Backend backend;
  Calls calls(backend);
  const BackendVTable &t = *backend.table;
  tl_instance *const i = backend.instance;
  const tl_operand *x = calls.x.operand(), *y = calls.y.operand();
  const auto refused = [&](const char *name, auto run) {
    check_failure(name, TL_INVALID_ARGUMENT, run);
  };
  const uint64_t huge = uint64_t{1} << 63;
  refused("reduce", [&](tl_storage **out) {
    return t.reduction->reduce(i, TL_REDUCE_SUM, x, 2, 2, 1, 0, out);
  });
  refused("reduce", [&](tl_storage **out) {
    return t.reduction->reduce(i, TL_REDUCE_SUM, x, huge, 0, 3, 0, out);
  });
  refused("row_mask", [&](tl_storage **out) {
    return t.reduction->row_mask(i, TL_ROW_MASK_TOP_K, x, huge, 6, 1, 0, out);
  });
  refused("swap", [&](tl_storage **out) { return t.view->swap(i, x, 1, 2, 2, 1, 0, out); });
  refused("slice", [&](tl_storage **out) { return t.view->slice(i, x, 4, 3, 0, out); });
  refused("slice", [&](tl_storage **out) { return t.view->slice(i, x, UINT64_MAX, 2, 0, out); });
  refused("fill",
          [&](tl_storage **out) { return t.memory->fill(i, TL_FLOAT32, 4, huge, 0, 0, out); });
  refused("fill",
          [&](tl_storage **out) { return t.memory->fill(i, TL_ENCODED, 2, 6, 1.0, 0, out); });
  refused("fill",
          [&](tl_storage **out) { return t.memory->fill(i, TL_ENCODED, 33, 6, 0, 0, out); });
  refused("upload", [&](tl_storage **out) {
    return t.transfer->upload(i, nullptr, TL_FLOAT32, TL_FLOAT32, 4, 6, 0, out);
  });
  refused("upload", [&](tl_storage **out) {
    return t.transfer->upload(i, out, TL_ENCODED, TL_FLOAT32, 4, 1, 0, out);
  });
  for (const auto &[rank, dim, stride] : {std::tuple(33u, 6ul, 1ul),
                                          {1u, 7ul, 1ul},
                                          {1u, huge, 0ul},
                                          {1u, 0ul, 1ul},
                                          {1u, 6ul, huge}}) {
    calls.broadcast.rank = rank;
    calls.broadcast.dims[0] = dim;
    calls.broadcast.strides[0] = stride;
    refused("broadcast",
            [&](tl_storage **out) { return t.view->broadcast(i, x, &calls.broadcast, 0, out); });
  }
  refused("sum_to_shape", [&](tl_storage **out) {
    return t.reduction->sum_to_shape(i, x, &calls.sum_to_shape, 2, 0, out);
  });
  calls.bmm.transpose_a = 2;
  refused("bmm", [&](tl_storage **out) { return t.matmul->bmm(i, x, y, &calls.bmm, 0, out); });
  calls.bmm = {sizeof calls.bmm, huge, 2, 3, 2, 0, 0};
  refused("bmm", [&](tl_storage **out) { return t.matmul->bmm(i, x, y, &calls.bmm, 0, out); });
  const uint32_t indices[2] = {0, 1};
  refused("gather_rows", [&](tl_storage **out) {
    return t.indexing->gather_rows(i, x, 2, 2, indices, 2, 0, out);
  });
  refused("gather_rows", [&](tl_storage **out) {
    return t.indexing->gather_rows(i, x, 2, 3, nullptr, 2, 0, out);
  });
  refused("gather_rows", [&](tl_storage **out) {
    return t.indexing->gather_rows(i, x, 2, 3, indices, huge, 0, out);
  });
  refused("scatter_add_rows", [&](tl_storage **out) {
    return t.indexing->scatter_add_rows(i, x, y, 2, 3, nullptr, 2, 0, out);
  });
  refused("scatter_add_rows", [&](tl_storage **out) {
    return t.indexing->scatter_add_rows(i, x, y, 2, 3, indices, 1, 0, out);
  });
  refused("softmax",
          [&](tl_storage **out) { return t.normalization->softmax(i, x, huge, 6, 2, 0, out); });
  refused("masked_softmax", [&](tl_storage **out) {
    return t.normalization->masked_softmax(i, x, calls.one.operand(), 2, 3, 0, out);
  });
  for (const uint64_t cols : {0, 3})  // gamma and beta are for 6
    refused("layer_norm", [&](tl_storage **out) {
      return t.normalization->layer_norm(i, x, y, y, 2, cols, 0.5, 0, out);
    });
  for (const uint64_t rows : {0, 2}) {
    calls.layer_norm_bwd.rows = rows;
    refused("layer_norm_bwd", [&](tl_storage **out) {
      return t.normalization->layer_norm_bwd(i, x, y, calls.one.operand(), y, &calls.layer_norm_bwd,
                                             0, out);
    });
  }
  for (uint32_t op = 0; op < TL_LOSS_OP_COUNT; ++op)
    refused("loss", [&](tl_storage **out) { return t.loss->loss(i, op, x, y, 2, 2, 0, out); });
  for (uint32_t op = 0; op < TL_FOURIER_OP_COUNT; ++op)
    for (const uint64_t n : {uint64_t{0}, uint64_t{5}, huge})
      refused("transform", [&](tl_storage **out) {
        return t.fourier->transform(i, op, x, n == 5 ? 2 : 1, n, 0, out);
      });
  double words[1];
  CHECK(t.matmul->dgemm(i, nullptr, words, 1, 1, 1, words) == TL_INVALID_ARGUMENT);
  CHECK(t.transfer->download(i, x, TL_ENCODED, words) == TL_INVALID_ARGUMENT);
  CHECK(t.transfer->download(i, x, 9, words) == TL_UNSUPPORTED);
  CHECK(t.memory->copy(nullptr, x, 0, nullptr) == TL_INVALID_ARGUMENT);
}

TEST_CASE("B6, B7: every enumerator of the header is known, and none beyond") {
  Backend backend;
  Calls calls(backend);
  const BackendVTable &t = *backend.table;
  tl_instance *const i = backend.instance;
  const auto try_all = [&](uint32_t known, auto run) {
    for (uint32_t op = 0; op < known; ++op) {
      tl_storage *out[4] = {};
      CHECK(run(op, out) == TL_OK);
      for (tl_storage *storage : out)
        if (storage != nullptr) t.memory->release(i, storage);
    }
    check_failure("beyond", TL_UNSUPPORTED, [&](tl_storage **out) { return run(known, out); });
  };
  const tl_operand *x = calls.x.operand(), *y = calls.y.operand();
  try_all(TL_UNARY_OP_COUNT, [&](uint32_t op, tl_storage **out) {
    return t.elementwise->unary(i, op, x, &no_scalars, 0, out);
  });
  try_all(TL_BINARY_OP_COUNT, [&](uint32_t op, tl_storage **out) {
    return t.elementwise->binary(i, op, x, y, &no_scalars, 0, out);
  });
  try_all(TL_SELECT_BWD_OP_COUNT, [&](uint32_t op, tl_storage **out) {
    return t.elementwise->select_bwd(i, op, x, y, x, 0, out);
  });
  try_all(TL_RANDOM_OP_COUNT, [&](uint32_t op, tl_storage **out) {
    return t.random->generate(i, op, TL_FLOAT64, 3, 1, &no_scalars, 0, out);
  });
  try_all(TL_REDUCE_OP_COUNT, [&](uint32_t op, tl_storage **out) {
    return t.reduction->reduce(i, op, x, 1, 6, 1, 0, out);
  });
  try_all(TL_ROW_MASK_OP_COUNT, [&](uint32_t op, tl_storage **out) {
    return t.reduction->row_mask(i, op, x, 2, 3, 1, 0, out);
  });
  try_all(TL_LOSS_OP_COUNT,
          [&](uint32_t op, tl_storage **out) { return t.loss->loss(i, op, x, y, 2, 3, 0, out); });
  try_all(TL_FOURIER_OP_COUNT, [&](uint32_t op, tl_storage **out) {
    return t.fourier->transform(i, op, x, 1, op == TL_FOURIER_RFFT ? 6 : 4, 0, out);
  });
  try_all(TL_SCAN_OP_COUNT, [&](uint32_t op, tl_storage **out) {
    return t.scan->forward(i, op, x, y, x, y, 1, 6, 0, out);
  });
  try_all(TL_SCAN_OP_COUNT, [&](uint32_t op, tl_storage **out) {
    return t.scan->backward(i, op, x, y, x, y, x, y, 1, 6, 0, out);
  });
  calls.convolution.stride[2] = 1;  // six windows of six positions, either way
  calls.convolution.in_channels = calls.convolution.out_channels = 1;
  calls.convolution.out[2] = 6;
  try_all(TL_CONVOLUTION_OP_COUNT, [&](uint32_t op, tl_storage **out) {
    return t.convolution->forward(i, op, x, calls.one.operand(), calls.one.operand(),
                                  &calls.convolution, 0, out);
  });
  try_all(TL_CONVOLUTION_OP_COUNT, [&](uint32_t op, tl_storage **out) {
    return t.convolution->backward(i, op, x, calls.one.operand(), y, &calls.convolution, 0, out);
  });
  try_all(TL_POOLING_OP_COUNT, [&](uint32_t op, tl_storage **out) {
    return t.pooling->forward(i, op, x, &calls.pooling, 0, out);
  });
  try_all(TL_POOLING_OP_COUNT, [&](uint32_t op, tl_storage **out) {
    return t.pooling->backward(i, op, x, y, &calls.pooling, 0, out);
  });
}

TEST_CASE("supports follows the table: native kernels, and encoded where words are only moved") {
  Backend backend;
  const auto supports = [&](tl_operation operation, tl_dtype dtype) {
    return backend.table->supports(backend.instance, operation, dtype) == TL_OK;
  };
  CHECK(supports(TL_OP_exp, TL_FLOAT32));
  CHECK(supports(TL_OP_exp, TL_FLOAT64));
  CHECK_FALSE(supports(TL_OP_exp, TL_ENCODED));
  CHECK(supports(TL_OP_concat1d, TL_ENCODED));
  CHECK(supports(TL_OP_upload_encoded, TL_ENCODED));
  CHECK_FALSE(supports(TL_OP_zeros, TL_ENCODED));
  CHECK(supports(TL_OP_softmax, TL_FLOAT32));
  CHECK_FALSE(supports(TL_OP_softmax, TL_ENCODED));
  CHECK_FALSE(supports(TL_OP_COUNT, TL_FLOAT32));
  CHECK_FALSE(supports(TL_OP_copy, TL_DTYPE_COUNT));
}

TEST_CASE("encoded words of any width are moved bit for bit") {
  Backend backend;
  const BackendVTable &t = *backend.table;
  const unsigned char words[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  tl_operand x = {nullptr, 3, TL_ENCODED, 3}, part = {nullptr, 2, TL_ENCODED, 3},
             both = {nullptr, 5, TL_ENCODED, 3};
  REQUIRE(t.transfer->upload(backend.instance, words, TL_ENCODED, TL_ENCODED, 3, 3, 0,
                             &x.storage) == TL_OK);
  REQUIRE(t.view->slice(backend.instance, &x, 1, 2, 0, &part.storage) == TL_OK);
  REQUIRE(t.view->concat(backend.instance, &part, &x, 0, &both.storage) == TL_OK);
  unsigned char back[15];
  REQUIRE(t.transfer->download(backend.instance, &both, TL_ENCODED, back) == TL_OK);
  const unsigned char expected[] = {4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  CHECK(std::memcmp(back, expected, sizeof back) == 0);
  for (const tl_operand &operand : {x, part, both})
    t.memory->release(backend.instance, operand.storage);
}

TEST_CASE("transfers round to float and keep NaN payloads of their own kind, at any address") {
  Backend backend;
  const BackendVTable &t = *backend.table;
  char bytes[17];
  const double sent[] = {1.0 + 0x1p-24 + 0x1p-50, 1e300};
  std::memcpy(bytes + 1, sent, sizeof sent);
  tl_operand x = {nullptr, 2, TL_FLOAT32, 4};
  REQUIRE(t.transfer->upload(backend.instance, bytes + 1, TL_FLOAT64, TL_FLOAT32, 4, 2, 0,
                             &x.storage) == TL_OK);
  REQUIRE(t.transfer->download(backend.instance, &x, TL_FLOAT64, bytes + 1) == TL_OK);
  double got[2];
  std::memcpy(got, bytes + 1, sizeof got);
  CHECK(got[0] == 1.0 + 0x1p-23);
  CHECK(got[1] == std::numeric_limits<double>::infinity());
  t.memory->release(backend.instance, x.storage);

  const float payload = std::bit_cast<float>(0xff812345u);
  CHECK(std::bit_cast<uint32_t>(Buffer<float>(backend, {payload}).values()[0]) == 0xff812345u);
}

TEST_CASE("the device is this host, with figures of its own storages") {
  Backend backend;
  const tl_device_table &device = *backend.table->device;
  tl_device_properties properties = {};
  properties.struct_size = sizeof properties;
  REQUIRE(device.properties(backend.instance, 0, &properties) == TL_OK);
  CHECK(std::string(properties.name).ends_with("(reference)"));
  CHECK(properties.is_cuda == 0);
  CHECK(properties.total_bytes > 0);
  CHECK(device.properties(backend.instance, 1, &properties) == TL_INVALID_ARGUMENT);

  tl_memory_info info = {};
  info.struct_size = sizeof info;
  {
    const Buffer<double> x(backend, {1, 2, 3});
    REQUIRE(device.memory_info(backend.instance, &info) == TL_OK);
    CHECK(info.allocated_bytes == 24);
  }
  REQUIRE(device.memory_info(backend.instance, &info) == TL_OK);
  CHECK(info.allocated_bytes == 0);
  CHECK(info.peak_allocated_bytes == 24);
  CHECK(device.set_setting(backend.instance, TL_SETTING_CUDNN, 1) == TL_UNSUPPORTED);
}

TEST_CASE("only the host's processor is a device, and only a core of this build is served") {
  const BackendVTable *table = torchlean_backend_entry(&test_host);
  tl_instance *instance = nullptr;
  tl_create_options how = {sizeof how, "cuda:0", 0, 1, nullptr};
  CHECK(table->create(&how, &instance) == TL_UNAVAILABLE);
  CHECK(error_text.find("cuda:0") != std::string::npos);
  how.device = "";
  CHECK(table->create(&how, &instance) == TL_OK);
  table->destroy(instance);
  CHECK(table->create(nullptr, &instance) == TL_INVALID_ARGUMENT);
  how.device = nullptr;
  CHECK(table->create(&how, &instance) == TL_INVALID_ARGUMENT);

  tl_host other = test_host;
  other.abi_version = TL_ABI_VERSION + 1;
  CHECK(torchlean_backend_entry(&other) == nullptr);
}
