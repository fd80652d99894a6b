// The operations as the backend's table has them.
#include "operations.hpp"

#include <doctest/doctest.h>

using fake_host::backend;

namespace {

// The values of a kernel's results, of which call(instance, out) makes as many as there are counts.
template <class T, size_t size, class Call>
std::array<Values<T>, size> results(const Session &session,
                                    const std::array<uint64_t, size> &counts, Call call) {
  std::array<tl_storage *, size> storages{};
  require_ok(call(session.get(), storages.data()));
  std::array<Values<T>, size> values;
  for (size_t i = 0; i < size; ++i)
    values[i] =
        Buffer(session, storages[i], counts[i], dtype_of<T>, sizeof(T)).template values<T>();
  CHECK(fake_host::broken_fences() == 0);
  return values;
}

}  // namespace

template <class T>
Values<T> Operations<T>::gather_rows(Mode mode, const Values<T> &source, uint64_t cols,
                                     const std::vector<uint32_t> &indices) {
  const Session session(mode.deterministic, mode.threads);
  const Buffer x(session, source);
  return results<T, 1>(
      session, {indices.size() * cols}, [&](tl_instance *instance, tl_storage **out) {
        return backend().indexing->gather_rows(instance, x.operand(), source.size() / cols, cols,
                                               indices.data(), indices.size(), 0, out);
      })[0];
}

template <class T>
Values<T> Operations<T>::scatter_add_rows(Mode mode, const Values<T> &base, const Values<T> &values,
                                          uint64_t cols, const std::vector<uint32_t> &indices) {
  const Session session(mode.deterministic, mode.threads);
  const Buffer start(session, base);
  const Buffer added(session, values);
  auto result = results<T, 1>(session, {base.size()}, [&](tl_instance *instance, tl_storage **out) {
    return backend().indexing->scatter_add_rows(instance, start.operand(), added.operand(),
                                                base.size() / cols, cols, indices.data(),
                                                indices.size(), 0, out);
  });
  CHECK(same_bits(start.values<T>(), base));
  return result[0];
}

template <class T>
Values<T> Operations<T>::softmax(Mode mode, const Values<T> &x, uint64_t outer, uint64_t n,
                                 uint64_t inner) {
  const Session session(mode.deterministic, mode.threads);
  const Buffer operand(session, x);
  return results<T, 1>(session, {x.size()}, [&](tl_instance *instance, tl_storage **out) {
    return backend().normalization->softmax(instance, operand.operand(), outer, n, inner, 0, out);
  })[0];
}

template <class T>
Values<T> Operations<T>::masked_softmax(Mode mode, const Values<T> &scores, const Values<T> &mask,
                                        uint64_t cols) {
  const Session session(mode.deterministic, mode.threads);
  const Buffer x(session, scores);
  const Buffer allowed(session, mask);
  return results<T, 1>(session, {scores.size()}, [&](tl_instance *instance, tl_storage **out) {
    return backend().normalization->masked_softmax(instance, x.operand(), allowed.operand(),
                                                   scores.size() / cols, cols, 0, out);
  })[0];
}

template <class T>
std::array<Values<T>, 3> Operations<T>::layer_norm(Mode mode, const Values<T> &x,
                                                   const Values<T> &gamma, const Values<T> &beta,
                                                   double epsilon) {
  const Session session(mode.deterministic, mode.threads);
  const Buffer operand(session, x);
  const Buffer factor(session, gamma);
  const Buffer offset(session, beta);
  const uint64_t rows = x.size() / gamma.size();
  return results<T, 3>(
      session, {x.size(), x.size(), rows}, [&](tl_instance *instance, tl_storage **out) {
        return backend().normalization->layer_norm(instance, operand.operand(), factor.operand(),
                                                   offset.operand(), rows, gamma.size(), epsilon, 0,
                                                   out);
      });
}

template <class T>
std::array<Values<T>, 3> Operations<T>::layer_norm_bwd(Mode mode, const Values<T> &d_out,
                                                       const Values<T> &normalized,
                                                       const Values<T> &inv_std,
                                                       const Values<T> &gamma, double cols_scale,
                                                       double inv_cols) {
  const Session session(mode.deterministic, mode.threads);
  const Buffer gradient(session, d_out);
  const Buffer output(session, normalized);
  const Buffer deviation(session, inv_std);
  const Buffer factor(session, gamma);
  const tl_layer_norm_bwd_params params = {sizeof params, inv_std.size(), gamma.size(), cols_scale,
                                           inv_cols};
  return results<T, 3>(session, {d_out.size(), gamma.size(), gamma.size()},
                       [&](tl_instance *instance, tl_storage **out) {
                         return backend().normalization->layer_norm_bwd(
                             instance, gradient.operand(), output.operand(), deviation.operand(),
                             factor.operand(), &params, 0, out);
                       });
}

template <class T>
Values<T> Operations<T>::loss(Mode mode, tl_loss_op op, const Values<T> &prediction,
                              const Values<T> &target, uint64_t cols) {
  const Session session(mode.deterministic, mode.threads);
  const Buffer x(session, prediction);
  const Buffer t(session, target);
  const uint64_t count = op == TL_LOSS_DISTILLATION_GRADIENT ? prediction.size() : 1;
  return results<T, 1>(session, {count}, [&](tl_instance *instance, tl_storage **out) {
    return backend().loss->loss(instance, op, x.operand(), t.operand(), prediction.size() / cols,
                                cols, 0, out);
  })[0];
}

namespace {

// The buffers of a scan.
template <class T>
struct ScanBuffers {
  ScanBuffers(const Session &session, const ScanInputs<T> &inputs)
      : a(session, inputs.a),
        b(session, inputs.b),
        x(session, inputs.x),
        h0(session, inputs.h0),
        op(inputs.varying() ? TL_SCAN_VARYING : TL_SCAN_CONSTANT),
        state(inputs.h0.size()),
        time(inputs.x.size() / state) {}
  Buffer a, b, x, h0;
  tl_scan_op op;
  uint64_t state, time;
};

}  // namespace

template <class T>
Values<T> Operations<T>::scan(Mode mode, const ScanInputs<T> &inputs) {
  const Session session(mode.deterministic, mode.threads);
  const ScanBuffers<T> s(session, inputs);
  return results<T, 1>(session, {inputs.x.size()}, [&](tl_instance *instance, tl_storage **out) {
    return backend().scan->forward(instance, s.op, s.a.operand(), s.b.operand(), s.x.operand(),
                                   s.h0.operand(), s.time, s.state, 0, out);
  })[0];
}

template <class T>
std::array<Values<T>, 4> Operations<T>::scan_bwd(Mode mode, const ScanInputs<T> &inputs,
                                                 const Values<T> &h, const Values<T> &d_y) {
  const Session session(mode.deterministic, mode.threads);
  const ScanBuffers<T> s(session, inputs);
  const Buffer states(session, h);
  const Buffer gradient(session, d_y);
  return results<T, 4>(session, {inputs.a.size(), inputs.b.size(), inputs.x.size(), s.state},
                       [&](tl_instance *instance, tl_storage **out) {
                         return backend().scan->backward(
                             instance, s.op, s.a.operand(), s.b.operand(), s.x.operand(),
                             s.h0.operand(), states.operand(), gradient.operand(), s.time, s.state,
                             0, out);
                       });
}

template struct Operations<float>;
template struct Operations<double>;
