// A classifier of two layers (64 -> 32 -> 10, relu between them, softmax cross-entropy above),
// written out in buffer operations: forward, backward, Adam.
#pragma once

#include <torchlean/runtime.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace digits {

inline constexpr std::uint64_t hidden = 32;

// The operations of operations.def that this program calls.
inline constexpr std::array operations = {"upload",
                                          "download",
                                          "zeros",
                                          "rand_normal",
                                          "slice1d",
                                          "bmm_with_transpose",
                                          "broadcast_to",
                                          "add",
                                          "relu",
                                          "relu_bwd",
                                          "reduce_max_by_row",
                                          "broadcast_vec_to_cols",
                                          "sub",
                                          "exp",
                                          "reduce_sum_by_row",
                                          "div",
                                          "log",
                                          "mul",
                                          "scale",
                                          "reduce_sum",
                                          "reduce_sum_axis",
                                          "adam_step",
                                          "first_max_mask_by_row"};

// A batch on the backend: images (count, 64), one-hot targets (count, 10).
struct Batch {
  std::uint64_t count = 0;
  torchlean::Buffer images;
  torchlean::Buffer targets;
};

class Network {
 public:
  // Weights are normal with variance 2 / inputs, biases zero.
  Network(tl_dtype dtype, std::uint64_t seed);

  // One step of Adam on the mean loss of the batch. Returns the sum of the samples' losses, one
  // element.
  torchlean::Buffer train(const Batch &batch);

  // How many samples get their right digit.
  std::uint64_t count_correct(const Batch &batch) const;

  // 64-bit FNV-1a hash of all parameters' words: equal results, equal number.
  std::uint64_t checksum() const;

 private:
  struct Layer {
    std::uint64_t inputs;
    std::uint64_t outputs;
    torchlean::AdamState weights;  // (inputs, outputs)
    torchlean::AdamState bias;     // (outputs)
  };

  static Layer make_layer(std::uint64_t inputs, std::uint64_t outputs, tl_dtype dtype,
                          std::uint64_t key);
  static torchlean::Buffer forward(const Layer &layer, const torchlean::Buffer &x,
                                   std::uint64_t rows);
  void update(Layer &layer, const torchlean::Buffer &x, const torchlean::Buffer &d_out,
              std::uint64_t rows);

  Layer first_;
  Layer second_;
  // Powers of Adam's two decay rates.
  double beta1_power_ = 1;
  double beta2_power_ = 1;
};

}  // namespace digits
