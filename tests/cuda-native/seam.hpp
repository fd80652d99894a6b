// What the tests of the CUDA side of the seam share.
#pragma once

#include "device_api.hpp"

#include <memory>
#include <string>
#include <utility>

// What the call throws: its status and text.
template <class Call>
std::pair<tl_status, std::string> failure_of(const Call &call) {
  try {
    call();
  } catch (const torchlean::Failure &failure) {
    return {failure.status(), failure.what()};
  }
  return {TL_OK, ""};
}

struct DestroyStream {
  void operator()(torchlean::cuda::device::Stream *stream) const {
    torchlean::cuda::device::destroy_stream(stream);
  }
};
using OwnedStream = std::unique_ptr<torchlean::cuda::device::Stream, DestroyStream>;

inline OwnedStream stream_on(uint32_t index) {
  static const tl_host host{};
  return OwnedStream(torchlean::cuda::device::create_stream(host, index));
}
