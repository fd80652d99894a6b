// Windows that slide over spatial axes: what convolutions and pools have in common.
//
// Lists of one entry per spatial axis are padded in front to three axes. Entries are below 2^32, so
// that lengths fit signed 64-bit numbers.
#pragma once

#include <torchlean/runtime.h>

#include "dispatch/call.hpp"

namespace torchlean {

inline constexpr std::size_t spatial_axes = 3;

using Axes = std::int64_t[spatial_axes];

// A checked list of the caller: at most 64 entries, each below 2^32.
std::span<const std::uint64_t> entries(Call &call, const char *argument,
                                       const tl_list &list) noexcept;

// Refuses a spatial rank other than 1 to 3; `argument` is the list that it comes from.
void check_spatial_rank(Call &call, const char *argument, std::size_t rank) noexcept;

// Checks that the list has one entry per spatial axis behind its first `skipped` ones, none of them
// below `smallest`, and writes them with `neutral` on the axes in front.
void write_axes(Call &call, const char *argument, std::span<const std::uint64_t> list,
                std::size_t skipped, std::size_t rank, std::uint64_t smallest, std::int64_t neutral,
                Axes &axes) noexcept;

// Places of a window on one axis: floor((padded - dilation * (kernel - 1) - 1) / stride) + 1, and 0
// where the window does not fit.
std::int64_t window_places(std::int64_t padded, std::int64_t kernel, std::int64_t dilation,
                           std::int64_t stride) noexcept;

// The product of the axes and of the numbers in front of them.
std::uint64_t volume(Call &call, const char *argument, std::span<const std::uint64_t> front,
                     const Axes &axes) noexcept;

}  // namespace torchlean
