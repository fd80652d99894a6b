// Storages, elementwise operations, random numbers and the Adam step, composed of ATen's.
#include "composed.hpp"

#include "kernels.hpp"
#include "libtorch.hpp"

#include <ATen/ops/abs.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/bitwise_xor.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/le.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <numbers>

namespace torchlean::libtorch::composed {
namespace {

at::ScalarType scalar_type_of(tl_dtype dtype) {
  return dtype == TL_FLOAT32 ? at::kFloat : dtype == TL_FLOAT64 ? at::kDouble : at::kByte;
}

// ---- What ATen rounds correctly on CUDA only ----------------------------------------------------

// On the host, for libtorch-composed: value(x[i], others[i]...) by a loop.
template <class Value, class... Tensors>
at::Tensor on_host(Value value, const at::Tensor &x, const Tensors &...others) {
  at::Tensor result = at::empty(x.sizes(), x.options());
  with_native(x.scalar_type() == at::kFloat ? TL_FLOAT32 : TL_FLOAT64, [&]<class T>(T) {
    const auto loop = [&](const auto &...dense) {
      each(x.numel(),
           [=, to = result.mutable_data_ptr<T>(), from = x.const_data_ptr<T>()](int64_t i) {
             to[i] = value(from[i], dense.template const_data_ptr<T>()[i]...);
           });
    };
    loop(others.expand_as(x).contiguous()...);
  });
  return result;
}

// x * y + z of the shape of x, rounded once. ATen's kernel for CUDA uses std::fma where the factor
// of the product is 1, that for the host now and then.
at::Tensor fused(const at::Tensor &x, const at::Tensor &y, const at::Tensor &z) {
  if (!x.is_cpu()) return at::addcmul(z, x, y);
  return on_host([](auto a, auto b, auto c) { return std::fma(a, b, c); }, x, y, z);
}

// CUDA has an instruction; on the host ATen asks MKL, which may be 1 ulp off.
at::Tensor square_root(const at::Tensor &x) {
  if (!x.is_cpu()) return at::sqrt(x);
  return on_host([](auto a) { return std::sqrt(a); }, x);
}

// ---- Steps --------------------------------------------------------------------------------------

at::Tensor scalar_like(const at::Tensor &x, double value) {
  return at::full({}, value, x.options());
}

at::Tensor fused(const at::Tensor &x, double y, const at::Tensor &z) {
  return fused(x, scalar_like(x, y), z);
}

at::Tensor where_positive(const at::Tensor &x, const at::Tensor &value) {
  return at::where(at::gt(x, 0), value, 0);
}

// A bound that is NaN bounds nothing.
at::Tensor at_least(const at::Tensor &x, double low) {
  return std::isnan(low) ? x : at::where(at::gt(x, low), x, low);
}
at::Tensor at_most(const at::Tensor &x, double high) {
  return std::isnan(high) ? x : at::where(at::lt(x, high), x, high);
}

// The value of a constant in the dtype of x.
double rounded(double value, const at::Tensor &x) {
  return x.scalar_type() == at::kFloat ? static_cast<float>(value) : value;
}

at::Tensor gelu_tanh(const at::Tensor &x) {
  const at::Tensor cube = at::mul(at::mul(at::mul(x, rounded(0.044715, x)), x), x);
  return at::tanh(at::mul(at::add(x, cube), rounded(0.7978845608028654, x)));
}

at::Tensor gelu(const at::Tensor &x) { return at::mul(at::mul(x, at::add(gelu_tanh(x), 1)), 0.5); }

at::Tensor gelu_bwd(const at::Tensor &x, const at::Tensor &gradient) {
  const at::Tensor t = gelu_tanh(x);
  const at::Tensor h = at::add(at::neg(at::mul(t, t)), 1);
  const at::Tensor square = at::mul(at::mul(x, rounded(0.134145, x)), x);
  const at::Tensor d = at::mul(at::add(square, 1), rounded(0.7978845608028654, x));
  const at::Tensor slope = at::add(at::add(t, 1), at::mul(at::mul(x, h), d));
  return at::mul(at::mul(slope, 0.5), gradient);
}

}  // namespace

// ---- Storages -----------------------------------------------------------------------------------

at::Tensor fill(at::Device device, tl_dtype dtype, uint32_t width, int64_t count, double value) {
  const auto options = at::device(device).dtype(scalar_type_of(dtype));
  return dtype == TL_ENCODED ? at::zeros({count * width}, options)
                             : at::full({count}, value, options);
}

// Words are moved as bytes, since the caller's may lie at any address, and converted on the device.
at::Tensor upload(at::Device device, const void *words, tl_dtype source, tl_dtype dtype,
                  uint32_t width, int64_t count) {
  const int64_t size = source == dtype ? width : source == TL_FLOAT32 ? 4 : 8;
  at::Tensor bytes = at::empty({count * size}, at::device(device).dtype(at::kByte));
  bytes.copy_(at::from_blob(const_cast<void *>(words), {count * size}, at::kByte));
  return bytes.view(scalar_type_of(source)).to(scalar_type_of(dtype));
}

void download(const at::Tensor &x, tl_dtype target, void *words) {
  // A single element may have any stride, which ATen minds.
  const at::Tensor dense = x.as_strided({x.numel()}, {1});
  const at::Tensor bytes = dense.to(scalar_type_of(target)).view(at::kByte);
  at::from_blob(words, {bytes.numel()}, at::kByte).copy_(bytes);
}

// ---- Elementwise --------------------------------------------------------------------------------

at::Tensor unary(tl_unary_op op, const at::Tensor &x, double first, double second) {
  switch (op) {
    case TL_UNARY_ABS: return at::abs(x);
    case TL_UNARY_NEG: return at::neg(x);
    case TL_UNARY_FLOOR: return at::floor(x);
    case TL_UNARY_SQRT: return at::where(at::le(x, 0), 0, square_root(x));
    case TL_UNARY_INV: return at::reciprocal(x);
    case TL_UNARY_RELU: return where_positive(x, x);
    case TL_UNARY_EXP: return at::exp(x);
    case TL_UNARY_LOG: return at::log(x);
    case TL_UNARY_LOG1P: return at::log1p(x);
    case TL_UNARY_SIN: return at::sin(x);
    case TL_UNARY_COS: return at::cos(x);
    case TL_UNARY_TANH: return at::tanh(x);
    case TL_UNARY_SIGMOID: return at::reciprocal(at::add(at::exp(at::neg(x)), 1));
    case TL_UNARY_GELU: return gelu(x);
    case TL_UNARY_SCALE: return at::mul(x, first);
    case TL_UNARY_CLAMP: {
      const at::Tensor clamped = at_most(at_least(x, first), second);
      return clamped.is_same(x) ? x.clone() : clamped;
    }
    default: throw unknown("op", op);
  }
}

at::Tensor binary(tl_binary_op op, const at::Tensor &a, const at::Tensor &b, double first,
                  double second) {
  switch (op) {
    case TL_BINARY_ADD: return at::add(a, b);
    case TL_BINARY_SUB: return at::sub(a, b);
    case TL_BINARY_MUL: return at::mul(a, b);
    case TL_BINARY_DIV: return at::div(a, b);
    case TL_BINARY_MAX: return at::where(at::logical_or(at::isnan(b), at::gt(a, b)), a, b);
    case TL_BINARY_MIN: return at::where(at::logical_or(at::isnan(b), at::lt(a, b)), a, b);
    case TL_BINARY_MASK: return at::where(at::ne(b, 0), a, 0);
    case TL_BINARY_ABS_BWD: return at::mul(at::sign(a), b);
    case TL_BINARY_SQRT_BWD:
      return where_positive(a, at::mul(b, at::reciprocal(at::mul(square_root(a), 2))));
    case TL_BINARY_RELU_BWD: return where_positive(a, b);
    case TL_BINARY_GELU_BWD: return gelu_bwd(a, b);
    case TL_BINARY_CLAMP_BWD:
      return at::where(at::logical_and(at::gt(a, first), at::lt(a, second)), b, 0);
    case TL_BINARY_AXPY: return fused(b, first, a);
    case TL_BINARY_SCALED_PROD_EXP: return at::exp(at::mul(at::mul(a, first), b));
    default: throw unknown("op", op);
  }
}

std::array<at::Tensor, 2> select_bwd(tl_select_bwd_op op, const at::Tensor &a, const at::Tensor &b,
                                     const at::Tensor &gradient) {
  if (op >= TL_SELECT_BWD_OP_COUNT) throw unknown("op", op);
  const at::Tensor greater = at::gt(a, b);
  const at::Tensor less = at::lt(a, b);
  const at::Tensor &to_a = op == TL_SELECT_MAX_BWD ? greater : less;
  const at::Tensor &to_b = op == TL_SELECT_MAX_BWD ? less : greater;
  const at::Tensor half = at::mul(gradient, 0.5);
  return {at::where(to_a, gradient, at::where(to_b, 0, half)),
          at::where(to_b, gradient, at::where(to_a, 0, half))};
}

// ---- Optimizer ----------------------------------------------------------------------------------

std::array<at::Tensor, 3> adam_step(const at::Tensor &p, const at::Tensor &g, const at::Tensor &m,
                                    const at::Tensor &v, const tl_adam_params &s) {
  const at::Tensor first = fused(g, s.one_minus_beta1, at::mul(m, s.beta1));
  const at::Tensor second = fused(at::mul(g, g), s.one_minus_beta2, at::mul(v, s.beta2));
  const at::Tensor deviation =
      at::add(square_root(at::mul(second, s.second_correction)), s.epsilon);
  const at::Tensor update = at::div(at::mul(first, s.first_correction), deviation);
  return {fused(update, s.update_scale, fused(p, s.decay, p)), first, second};
}

// ---- Random numbers -----------------------------------------------------------------------------

namespace {

// The low halves of SplitMix64's finalizer of key, key + step ...; 64-bit arithmetic wraps around.
at::Tensor random_bits(at::Device device, int64_t count, uint64_t key, int64_t step) {
  const auto word = [](uint64_t bits) { return static_cast<int64_t>(bits); };
  at::Tensor z = at::arange(count, at::device(device).dtype(at::kLong));
  z.mul_(step).add_(word(key + 0x9E3779B97F4A7C15));
  const auto fold = [&](int64_t shift) {
    const int64_t kept = word(~uint64_t{0} >> shift);  // the shift is an arithmetic one
    z.bitwise_xor_(at::bitwise_and(at::bitwise_right_shift(z, shift), kept));
  };
  fold(30);
  z.mul_(word(0xBF58476D1CE4E5B9));
  fold(27);
  z.mul_(word(0x94D049BB133111EB));
  fold(31);
  return z.bitwise_and_(int64_t{0xFFFFFFFF});
}

at::Tensor uniform(const at::Tensor &bits, at::ScalarType type) {
  return bits.to(at::kDouble).mul_(0x1p-32).to(type);
}

at::Tensor normal(at::Device device, at::ScalarType type, int64_t count, uint64_t key, double mean,
                  double deviation) {
  at::Tensor u1 = random_bits(device, count, key, 2).to(at::kDouble).add_(1);
  // By a tensor: ATen multiplies with the reciprocal of a number.
  u1 = u1.div_(scalar_like(u1, 4294967297.0)).to(type);
  const at::Tensor u2 = uniform(random_bits(device, count, key + 1, 2), type);
  const at::Tensor square = at::mul(at::log(u1), -2);
  const at::Tensor radius = square_root(where_positive(square, square));
  const at::Tensor angle = at::mul(u2, rounded(2 * std::numbers::pi, u2));
  return fused(at::mul(radius, deviation), at::cos(angle), scalar_like(angle, mean));
}

}  // namespace

at::Tensor random(tl_random_op op, at::Device device, tl_dtype dtype, int64_t count, uint64_t key,
                  double first, double second) {
  const at::ScalarType type = scalar_type_of(dtype);
  switch (op) {
    case TL_RANDOM_UNIFORM: return uniform(random_bits(device, count, key, 1), type);
    case TL_RANDOM_NORMAL: return normal(device, type, count, key, first, second);
    case TL_RANDOM_BERNOULLI:
      // float32's uniform can be 1; a NaN is below nothing.
      if (first >= 1) return at::full({count}, 1, at::device(device).dtype(type));
      return at::lt(uniform(random_bits(device, count, key, 1), type), first).to(type);
    default: throw unknown("op", op);
  }
}

}  // namespace torchlean::libtorch::composed
