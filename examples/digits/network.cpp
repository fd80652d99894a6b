// The classifier's arithmetic.
#include "network.hpp"

#include "dataset.hpp"

#include <cmath>
#include <cstddef>
#include <span>

namespace digits {
namespace {

using torchlean::Buffer;

constexpr double learning_rate = 0.01;
constexpr double beta1 = 0.9;
constexpr double beta2 = 0.999;

torchlean::AdamState with_zero_moments(Buffer parameters, tl_dtype dtype) {
  const std::uint64_t count = parameters.size();
  return {std::move(parameters), torchlean::zeros(count, dtype), torchlean::zeros(count, dtype)};
}

template <class T>
void hash_words(std::uint64_t &hash, const Buffer &buffer) {
  const std::vector<T> values = torchlean::download<T>(buffer);
  for (const std::byte byte : std::as_bytes(std::span(values))) {
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001B3U;
  }
}

void hash_words(std::uint64_t &hash, const Buffer &buffer) {
  buffer.dtype() == TL_FLOAT32 ? hash_words<float>(hash, buffer) : hash_words<double>(hash, buffer);
}

}  // namespace

Network::Network(tl_dtype dtype, std::uint64_t seed)
    // Elements of one key use consecutive counters, so the two keys lie far apart.
    : first_(make_layer(pixels, hidden, dtype, seed)),
      second_(make_layer(hidden, classes, dtype, seed ^ 0x8000000000000000U)) {}

Network::Layer Network::make_layer(std::uint64_t inputs, std::uint64_t outputs, tl_dtype dtype,
                                   std::uint64_t key) {
  const double deviation = std::sqrt(2.0 / static_cast<double>(inputs));
  return {
      inputs, outputs,
      with_zero_moments(torchlean::rand_normal(inputs * outputs, 0, deviation, key, dtype), dtype),
      with_zero_moments(torchlean::zeros(outputs, dtype), dtype)};
}

// x W + b
Buffer Network::forward(const Layer &layer, const Buffer &x, std::uint64_t rows) {
  const Buffer product = torchlean::bmm(x, layer.weights.parameters,
                                        {.m = rows, .n = layer.inputs, .p = layer.outputs});
  return torchlean::add(product, torchlean::broadcast_to(layer.bias.parameters, {layer.outputs},
                                                         {rows, layer.outputs}, {0, 1}));
}

Buffer Network::train(const Batch &batch) {
  const std::uint64_t rows = batch.count;
  const auto to_columns = [rows](const Buffer &vec) {
    return torchlean::broadcast_vec_to_cols(vec, rows, classes);
  };

  const Buffer before = forward(first_, batch.images, rows);
  const Buffer active = torchlean::relu(before);
  const Buffer logits = forward(second_, active, rows);

  // Softmax and cross-entropy: with s = logits - max, loss = log sum exp s - s[label].
  const Buffer shifted =
      torchlean::sub(logits, to_columns(torchlean::reduce_max_by_row(logits, rows, classes)));
  const Buffer exponentials = torchlean::exp(shifted);
  const Buffer total = torchlean::reduce_sum_by_row(exponentials, rows, classes);
  const Buffer chosen =
      torchlean::reduce_sum_by_row(torchlean::mul(shifted, batch.targets), rows, classes);
  Buffer loss = torchlean::reduce_sum(torchlean::sub(torchlean::log(total), chosen));

  const Buffer probabilities = torchlean::div(exponentials, to_columns(total));
  const Buffer d_logits = torchlean::scale(torchlean::sub(probabilities, batch.targets),
                                           1.0 / static_cast<double>(rows));
  const Buffer d_active =
      torchlean::bmm(d_logits, second_.weights.parameters,
                     {.m = rows, .n = classes, .p = hidden, .transpose_b = true});
  const Buffer d_before = torchlean::relu_bwd(before, d_active);

  beta1_power_ *= beta1;
  beta2_power_ *= beta2;
  update(second_, active, d_logits, rows);
  update(first_, batch.images, d_before, rows);
  return loss;
}

// The layer's own gradients, from its input x and the gradient of its output, and the step.
void Network::update(Layer &layer, const Buffer &x, const Buffer &d_out, std::uint64_t rows) {
  const Buffer d_weights = torchlean::bmm(
      x, d_out, {.m = layer.inputs, .n = rows, .p = layer.outputs, .transpose_a = true});
  const Buffer d_bias = torchlean::reduce_sum_axis(d_out, {rows, layer.outputs}, 0);

  const tl_adam_scalars scalars = {.struct_size = sizeof scalars,
                                   .beta1 = beta1,
                                   .one_minus_beta1 = 1 - beta1,
                                   .beta2 = beta2,
                                   .one_minus_beta2 = 1 - beta2,
                                   .first_correction = 1 / (1 - beta1_power_),
                                   .second_correction = 1 / (1 - beta2_power_),
                                   .epsilon = 1e-8,
                                   .decay = 0,
                                   .update_scale = -learning_rate};
  layer.weights = torchlean::adam_step(layer.weights, d_weights, scalars);
  layer.bias = torchlean::adam_step(layer.bias, d_bias, scalars);
}

std::uint64_t Network::count_correct(const Batch &batch) const {
  const Buffer active = torchlean::relu(forward(first_, batch.images, batch.count));
  const Buffer answers =
      torchlean::first_max_mask_by_row(forward(second_, active, batch.count), batch.count, classes);
  const Buffer hits = torchlean::reduce_sum(torchlean::mul(answers, batch.targets));
  return static_cast<std::uint64_t>(torchlean::download<double>(hits).at(0));
}

std::uint64_t Network::checksum() const {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const Layer *layer : {&first_, &second_}) {
    hash_words(hash, layer->weights.parameters);
    hash_words(hash, layer->bias.parameters);
  }
  return hash;
}

}  // namespace digits
