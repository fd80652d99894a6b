// The report of live buffers: lines in fixed memory, since there may be no other left.
#include "buffers/memory_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "buffers/counters.hpp"
#include "dispatch/operations.hpp"
#include "status/log.hpp"

namespace torchlean::memory_report {
namespace {

using counters::Share;

double mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// At warning level, which is on unless the user turned it off.
template <class... Arguments>
void line(fmt::format_string<Arguments...> format, Arguments &&...arguments) noexcept {
  char text[200];  // spdlog allocates for longer ones
  try {
    const auto made =
        fmt::format_to_n(text, sizeof text, format, std::forward<Arguments>(arguments)...);
    log(TL_LOG_WARN, {text, std::min(made.size, sizeof text)});
  } catch (...) {
    // The call that ran out of memory says so anyway.
  }
}

}  // namespace

void start() noexcept { counters::tell_operations_apart(); }

void write(const char *operation, std::uint64_t bytes) noexcept {
  if (!counters::operations_are_told_apart()) return;
  const counters::Shares shares = counters::live_by_operation();
  std::array<tl_operation, TL_OP_COUNT> order = {};
  Share all;
  for (tl_operation which = 0; which < TL_OP_COUNT; ++which) {
    order[which] = which;
    all.buffers += shares[which].buffers;
    all.bytes += shares[which].bytes;
  }
  std::sort(order.begin(), order.end(), [&](tl_operation a, tl_operation b) {
    return shares[a].bytes != shares[b].bytes ? shares[a].bytes > shares[b].bytes : a < b;
  });
  line("memory ran out in {}, whose results need {:.3f} MiB; {} live buffers hold {:.3f} MiB:",
       operation, mebibytes(bytes), all.buffers, mebibytes(all.bytes));
  for (const tl_operation which : order) {
    if (shares[which].buffers == 0) break;
    line("  {:.3f} MiB in {} made by {}", mebibytes(shares[which].bytes), shares[which].buffers,
         operation_name(which));
  }
}

}  // namespace torchlean::memory_report
