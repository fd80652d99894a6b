// exp, log, log1p, sin, cos and tanh, within 2 ulp.
#include "elementary.hpp"

#include "kernels.hpp"

#include <ATen/ops/cos.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tanh.h>

namespace torchlean::libtorch {
namespace {

// glibc's tanh is known to be up to 2.2 ulp off in either precision; the next wider type leaves
// only the rounding.
float tanh_value(float x) { return static_cast<float>(std::tanh(static_cast<double>(x))); }
double tanh_value(double x) { return static_cast<double>(std::tanh(static_cast<long double>(x))); }

template <class T>
void by_c_library(Elementary function, T *y, const T *x, int64_t n) {
  const auto all = [=](auto value) {
    each(n, costly_grain, [=](int64_t i) { y[i] = value(x[i]); });
  };
  switch (function) {
    case Elementary::exp: return all([](T v) { return std::exp(v); });
    case Elementary::log: return all([](T v) { return std::log(v); });
    case Elementary::log1p: return all([](T v) { return std::log1p(v); });
    case Elementary::sin: return all([](T v) { return std::sin(v); });
    case Elementary::cos: return all([](T v) { return std::cos(v); });
    case Elementary::tanh: return all([](T v) { return tanh_value(v); });
  }
}

void by_c_library(Elementary function, at::Tensor &y, const at::Tensor &x) {
  if (x.scalar_type() == at::kFloat) {
    by_c_library(function, y.mutable_data_ptr<float>(), x.const_data_ptr<float>(), x.numel());
  } else {
    by_c_library(function, y.mutable_data_ptr<double>(), x.const_data_ptr<double>(), x.numel());
  }
}

void elementary_into(const tl_instance &instance, Elementary function, at::Tensor &y,
                     const at::Tensor &x) {
  if (instance.deterministic && !instance.composed) return by_c_library(function, y, x);
  switch (function) {
    case Elementary::exp: at::exp_out(y, x); return;
    case Elementary::log: at::log_out(y, x); return;
    case Elementary::log1p: at::log1p_out(y, x); return;
    case Elementary::sin: at::sin_out(y, x); return;
    case Elementary::cos: at::cos_out(y, x); return;
    case Elementary::tanh: at::tanh_out(y, x); return;
  }
}

}  // namespace

at::Tensor elementary(const tl_instance &instance, Elementary function, const at::Tensor &x) {
  at::Tensor y = instance.composed ? at::empty_like(x) : empty(x.numel(), x.scalar_type());
  elementary_into(instance, function, y, x);
  return y;
}

void elementary_in_place(const tl_instance &instance, Elementary function, at::Tensor &x) {
  elementary_into(instance, function, x, x);
}

}  // namespace torchlean::libtorch
