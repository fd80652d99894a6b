// Elementwise family: n elements in, n elements out.
#include "dispatch/call.hpp"

namespace torchlean {
namespace {

constexpr auto unary_operations = operations_of<TL_UNARY_OP_COUNT>("elementwise", "unary");
constexpr auto binary_operations = operations_of<TL_BINARY_OP_COUNT>("elementwise", "binary");
constexpr auto select_operations =
    operations_of<TL_SELECT_BWD_OP_COUNT>("elementwise", "select_bwd");

// The enumerators that tl_unary and tl_binary take: those whose row names that function.
bool takes_no_scalars(tl_operation operation, std::string_view function) {
  return function == operation_rows[operation].runtime;
}

tl_status unary(tl_unary_op op, const tl_buffer *x, double first, double second, tl_buffer **out) {
  Call call(unary_operations[op]);
  const tl_operand *operand = call.native("x", x);
  if (call.failed()) return call.status();
  const tl_scalars scalars = call.scalars(first, second);
  return call.result(out, operand->count, [&](Backend &backend, tl_storage **storage) {
    return backend.elementwise.unary(backend.instance, op, operand, &scalars, 0, storage);
  });
}

struct Names {
  const char *first;
  const char *second;
};

tl_status binary(tl_binary_op op, const Names &names, const tl_buffer *a, const tl_buffer *b,
                 double first, double second, tl_buffer **out) {
  Call call(binary_operations[op]);
  const tl_operand *left = call.native(names.first, a);
  const tl_operand *right = call.native(names.second, b);
  call.check_same_count(names.second, right, left);
  if (call.failed()) return call.status();
  const tl_scalars scalars = call.scalars(first, second);
  return call.result(out, left->count, [&](Backend &backend, tl_storage **storage) {
    return backend.elementwise.binary(backend.instance, op, left, right, &scalars, 0, storage);
  });
}

Names operand_names(tl_binary_op op) {
  switch (op) {
    case TL_BINARY_MASK: return {"values", "allowed"};
    case TL_BINARY_ABS_BWD:
    case TL_BINARY_SQRT_BWD:
    case TL_BINARY_RELU_BWD:
    case TL_BINARY_GELU_BWD: return {"x", "dLdy"};
    default: return {"a", "b"};
  }
}

}  // namespace
}  // namespace torchlean

using namespace torchlean;

extern "C" {

tl_status tl_unary(tl_unary_op op, const tl_buffer *x, tl_buffer **out) {
  if (op >= TL_UNARY_OP_COUNT || !takes_no_scalars(unary_operations[op], "tl_unary")) {
    return fail(TL_INVALID_ARGUMENT,
                "unary: op is {}, expected a one-operand operation without scalars", op);
  }
  return unary(op, x, 0.0, 0.0, out);
}

tl_status tl_binary(tl_binary_op op, const tl_buffer *a, const tl_buffer *b, tl_buffer **out) {
  if (op >= TL_BINARY_OP_COUNT || !takes_no_scalars(binary_operations[op], "tl_binary")) {
    return fail(TL_INVALID_ARGUMENT,
                "binary: op is {}, expected a two-operand operation without scalars", op);
  }
  return binary(op, operand_names(op), a, b, 0.0, 0.0, out);
}

tl_status tl_scale(const tl_buffer *x, double factor, tl_buffer **out) {
  return unary(TL_UNARY_SCALE, x, factor, 0.0, out);
}

tl_status tl_clamp(const tl_buffer *x, double lo, double hi, tl_buffer **out) {
  return unary(TL_UNARY_CLAMP, x, lo, hi, out);
}

tl_status tl_clamp_bwd(const tl_buffer *x, const tl_buffer *gradient, double lo, double hi,
                       tl_buffer **out) {
  return binary(TL_BINARY_CLAMP_BWD, {"x", "dLdy"}, x, gradient, lo, hi, out);
}

tl_status tl_axpy(const tl_buffer *a, const tl_buffer *b, double factor, tl_buffer **out) {
  return binary(TL_BINARY_AXPY, {"a", "b"}, a, b, factor, 0.0, out);
}

tl_status tl_scaled_prod_exp(const tl_buffer *x, const tl_buffer *y, double factor,
                             tl_buffer **out) {
  return binary(TL_BINARY_SCALED_PROD_EXP, {"x", "y"}, x, y, factor, 0.0, out);
}

tl_status tl_select_bwd(tl_select_bwd_op op, const tl_buffer *a, const tl_buffer *b,
                        const tl_buffer *gradient, tl_buffer **out_da, tl_buffer **out_db) {
  if (op >= TL_SELECT_BWD_OP_COUNT) {
    return fail(TL_INVALID_ARGUMENT, "select_bwd: op is {}, expected 0 (max) or 1 (min)", op);
  }
  Call call(select_operations[op]);
  const tl_operand *left = call.native("a", a);
  const tl_operand *right = call.native("b", b);
  const tl_operand *upstream = call.native("dLdy", gradient);
  call.check_same_count("b", right, left);
  call.check_same_count("dLdy", upstream, left);
  if (call.failed()) return call.status();
  return call.results<2>({out_da, out_db}, {left->count, left->count},
                         [&](Backend &backend, tl_storage **storages) {
                           return backend.elementwise.select_bwd(backend.instance, op, left, right,
                                                                 upstream, 0, storages);
                         });
}

}  // extern "C"
