// The seam: all that the rest of this backend asks of a device. Two files stand behind it,
// device_api.cu (the CUDA runtime) and emulation/device_api.cpp (the host in the device's place).
//
// Each function that can fail throws torchlean::Failure, worded with `operation`, the operation on
// whose behalf it is called. The calling thread's current device is set where that matters.
#pragma once

#include <torchlean/backend.hpp>

#include <cstddef>
#include <cstdint>

namespace torchlean::cuda::device {

// One device and the queue in which an instance's work runs in order. Defined behind the seam.
struct Stream;

uint32_t count();

// `device` as in tl_create_options; a device that is not there is TL_UNAVAILABLE. `host` stays
// valid.
Stream *create_stream(const tl_host &host, const char *device);
void destroy_stream(Stream *stream) noexcept;

// bytes > 0. The contents are undefined. Exhausted memory is TL_OUT_OF_MEMORY.
void *allocate(Stream &stream, const char *operation, size_t bytes);
// Work submitted before may still use the block.
void deallocate(Stream &stream, void *block, size_t bytes) noexcept;

// `from` may be reused at once.
void copy_to_device(Stream &stream, const char *operation, void *to, const void *from,
                    size_t bytes);
// Waits; `to` is complete.
void copy_to_host(Stream &stream, const char *operation, void *to, const void *from, size_t bytes);
void copy_on_device(Stream &stream, const char *operation, void *to, const void *from,
                    size_t bytes);
// Sets every byte to 0.
void clear(Stream &stream, const char *operation, void *block, size_t bytes);

// Waits for all submitted work; reports faults of earlier operations.
void synchronize(Stream &stream, const char *operation);

// Fills a structure whose members are zero, all but struct_size.
void describe(Stream &stream, tl_device_properties &out);
// The whole device's memory.
void memory_of_device(Stream &stream, uint64_t &out_free, uint64_t &out_total);

// Blocks that keep the whole device busy: more in one grid gain nothing.
uint32_t full_grid(const Stream &stream);

}  // namespace torchlean::cuda::device
