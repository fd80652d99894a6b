// How a flat index of an array (channels, first, second, third) splits, in kernels.
#pragma once

#include "division.cuh"

namespace torchlean::cuda {

class Places {
 public:
  struct Place {
    uint64_t channel;
    uint64_t index;  // in the channel
    int64_t at[3];
  };

  Places(uint64_t first, uint64_t second, uint64_t third)
      : channel_(first * second * third), second_(second), third_(third) {}

  __device__ Place place(uint64_t flat) const {
    const Divided in_channel = channel_.divide(flat);
    const Divided in_line = third_.divide(in_channel.remainder);
    const Divided in_plane = second_.divide(in_line.quotient);
    return {in_channel.quotient,
            in_channel.remainder,
            {static_cast<int64_t>(in_plane.quotient), static_cast<int64_t>(in_plane.remainder),
             static_cast<int64_t>(in_line.remainder)}};
  }
  __device__ uint64_t channel_size() const { return channel_.value(); }
  // Within a channel.
  __device__ uint64_t flat(int64_t first, int64_t second, int64_t third) const {
    return (static_cast<uint64_t>(first) * second_.value() + static_cast<uint64_t>(second)) *
               third_.value() +
           static_cast<uint64_t>(third);
  }

 private:
  Divisor channel_;
  Divisor second_;
  Divisor third_;
};

}  // namespace torchlean::cuda
