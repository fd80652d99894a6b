// Checking the lists of convolutions and pools, and counting the places of a window.
#include "dispatch/windows.hpp"

namespace torchlean {

std::span<const std::uint64_t> entries(Call &call, const char *argument,
                                       const tl_list &list) noexcept {
  const std::span<const std::uint64_t> values = call.list(argument, list.values, list.length);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > largest_count) {
      call.refuse(TL_INVALID_ARGUMENT, "{}[{}] is {}, expected at most {}", argument, i, values[i],
                  largest_count);
      return {};
    }
  }
  return values;
}

void check_spatial_rank(Call &call, const char *argument, std::size_t rank) noexcept {
  if (rank >= 1 && rank <= spatial_axes) return;
  call.refuse(TL_INVALID_ARGUMENT, "{} has {} spatial axes, expected 1 to {}", argument, rank,
              spatial_axes);
}

void write_axes(Call &call, const char *argument, std::span<const std::uint64_t> list,
                std::size_t skipped, std::size_t rank, std::uint64_t smallest, std::int64_t neutral,
                Axes &axes) noexcept {
  if (call.failed()) return;
  if (list.size() != skipped + rank) {
    call.refuse(TL_INVALID_ARGUMENT, "{} has {} entries, expected one per spatial axis, {}",
                argument, list.size(), rank);
    return;
  }
  const std::size_t front = spatial_axes - rank;
  for (std::size_t i = 0; i < front; ++i) axes[i] = neutral;
  for (std::size_t i = skipped; i < list.size(); ++i) {
    if (list[i] < smallest) {
      call.refuse(TL_INVALID_ARGUMENT, "{}[{}] is {}, expected at least {}", argument, i, list[i],
                  smallest);
      return;
    }
    axes[front + i - skipped] = static_cast<std::int64_t>(list[i]);
  }
}

std::int64_t window_places(std::int64_t padded, std::int64_t kernel, std::int64_t dilation,
                           std::int64_t stride) noexcept {
  // Below 2^64, but not below 2^63.
  const std::uint64_t reach =
      static_cast<std::uint64_t>(dilation) * static_cast<std::uint64_t>(kernel - 1) + 1;
  if (reach > static_cast<std::uint64_t>(padded)) return 0;
  return (padded - static_cast<std::int64_t>(reach)) / stride + 1;
}

std::uint64_t volume(Call &call, const char *argument, std::span<const std::uint64_t> front,
                     const Axes &axes) noexcept {
  std::array<std::uint64_t, largest_rank + spatial_axes> dims;
  std::copy(front.begin(), front.end(), dims.begin());
  std::copy(std::begin(axes), std::end(axes), dims.begin() + front.size());
  return call.product(argument, std::span(dims).first(front.size() + spatial_axes));
}

}  // namespace torchlean
