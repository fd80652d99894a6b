// The seam: all that the rest of this backend asks of a device. Two files stand behind it,
// device_api.cpp (the CUDA runtime) and emulation/device_api.cpp (the host in the device's place).
//
// Each function that can fail throws torchlean::Failure, worded with `operation`, the operation on
// whose behalf it is called. The calling thread's current device is set where that matters. Once
// the device is lost every function that needs it says so, TL_DEVICE_LOST.
#pragma once

#include <torchlean/backend.hpp>

#include <cstddef>
#include <cstdint>

namespace torchlean::cuda::device {

// One device and the queue in which an instance's work runs in order. Defined behind the seam.
struct Stream;

uint32_t count();

// The device that is asked for. One that is not there is TL_UNAVAILABLE.
uint32_t index_of(const tl_create_options &options);

// `host` stays valid. index < count().
Stream *create_stream(const tl_host &host, uint32_t index);
void destroy_stream(Stream *stream) noexcept;
uint32_t index_of(const Stream &stream);

// bytes > 0. The contents are undefined. Exhausted memory is TL_OUT_OF_MEMORY, as is more than the
// memory fraction admits.
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

// Fills a structure whose members are zero, all but struct_size. index < count().
void describe(uint32_t index, tl_device_properties &out);

// The allocator's figures, of all streams of the device. Fills as describe() does.
void memory_info(Stream &stream, tl_memory_info &out);
// Gives memory that no block uses back to the device.
void empty_cache(Stream &stream);
// 0 < fraction <= 1, for the device.
void set_memory_fraction(Stream &stream, double fraction);

// CUDA's numbers (13000 for 13.0), 0 where there is no CUDA.
void versions(uint32_t &out_driver, uint32_t &out_runtime);

// Blocks that keep the whole device busy: more in one grid gain nothing.
uint32_t full_grid(const Stream &stream);

}  // namespace torchlean::cuda::device
