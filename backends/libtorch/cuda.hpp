// What instances on a GPU need of CUDA, without CUDA's headers: LibTorch's CUDA half, which is
// opened at run time and only where it is asked for, and functions of the CUDA runtime by name.
//
// All but open() need an open() that succeeded. Every function that can fail throws.
#pragma once

#include "libtorch.hpp"

namespace torchlean::libtorch::cuda {

// The index in "cuda" or "cuda:<index>"; any other text throws.
c10::DeviceIndex index_of(std::string_view device);

// Opens libtorch_cuda.so and finds a device; throws TL_UNAVAILABLE, naming what is missing and how
// to get it. Must come before anything asks ATen for CUDA: ATen looks once.
void open(bool has_nvidia_driver);

uint32_t count();

// Makes the device ready: its allocator, no TF32. Throws where there is no such device.
void prepare(c10::DeviceIndex index);

tl_device_properties properties(c10::DeviceIndex index);
tl_memory_info memory_info(c10::DeviceIndex index);
void empty_cache();
void set_memory_fraction(c10::DeviceIndex index, double fraction);
void synchronize(c10::DeviceIndex index);

// Numbers like 13000.
uint32_t driver_version();
uint32_t runtime_version();

// Settings of the whole process in ATen. Deterministic mode is cuDNN's part of it alone: what ATen
// would refuse in that mode is composed otherwise here.
void set_setting(tl_setting setting, bool enabled);

// Whether the device has failed for good, after one of its errors.
bool is_lost(c10::DeviceIndex index) noexcept;

}  // namespace torchlean::libtorch::cuda
