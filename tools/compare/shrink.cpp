// Delta debugging on shapes and values.
#include "compare/shrink.hpp"

#include <algorithm>
#include <utility>

namespace torchlean::tools {
namespace {

using Clock = std::chrono::steady_clock;

class Shrinking {
 public:
  Shrinking(const Operation &row, const Case &one,
            const std::function<bool(const Case &)> &still_fails, Clock::time_point deadline)
      : row_(row), still_fails_(still_fails), deadline_(deadline), smallest_(one) {
    smallest_.kind = literal_kind;
  }

  Case run() {
    while (reduce_shape()) {
    }
    reduce_words();
    reduce_scalars();
    return std::move(smallest_);
  }

 private:
  bool accept(Case candidate) {
    if (Clock::now() > deadline_ || !still_fails_(candidate)) return false;
    smallest_ = std::move(candidate);
    return true;
  }

  // Halves first, then ever smaller pieces, from the end. True if anything could go.
  bool reduce_shape() {
    bool has_changed = false;
    const Extents extents = row_.shape.extents(smallest_);
    for (std::size_t e = 0; e < extents.sizes.size() - extents.derived; ++e) {
      std::uint64_t size = row_.shape.extents(smallest_).sizes[e];
      for (std::uint64_t piece = size / 2; piece > 0; piece /= 2) {
        for (std::uint64_t end = size; end >= piece && size > piece; end -= piece) {
          if (Clock::now() > deadline_) return false;
          if (!accept(without(smallest_, row_.shape, e, end - piece, piece))) continue;
          size -= piece;
          has_changed = true;
        }
      }
    }
    return has_changed;
  }

  // One, or an encoded zero: a value that nobody gets wrong without a reason.
  static std::uint64_t plain_word(const Array &array) {
    return array.dtype == TL_ENCODED ? 0 : to_bits(array.dtype, 1);
  }

  void reduce_words() {
    for (std::size_t k = 0; k < smallest_.inputs.size(); ++k) {
      const std::uint64_t size = smallest_.inputs[k].size();
      const std::uint64_t plain = plain_word(smallest_.inputs[k]);
      for (std::uint64_t piece = size; piece > 0; piece /= 2) {
        for (std::uint64_t first = 0; first < size; first += piece) {
          if (Clock::now() > deadline_) return;
          Case candidate = smallest_;
          const auto begin = candidate.inputs[k].bits.begin() + static_cast<std::ptrdiff_t>(first);
          const auto end = begin + static_cast<std::ptrdiff_t>(std::min(piece, size - first));
          if (std::all_of(begin, end, [&](std::uint64_t word) { return word == plain; })) continue;
          std::fill(begin, end, plain);
          accept(std::move(candidate));
        }
      }
    }
  }

  void reduce_scalars() {
    for (std::size_t k = 0; k < smallest_.scalars.size(); ++k) {
      if (smallest_.scalars[k] == 1) continue;
      Case candidate = smallest_;
      candidate.scalars[k] = 1;
      accept(std::move(candidate));
    }
  }

  const Operation &row_;
  const std::function<bool(const Case &)> &still_fails_;
  const Clock::time_point deadline_;
  Case smallest_;
};

}  // namespace

Case shrink(const Operation &row, const Case &one,
            const std::function<bool(const Case &)> &still_fails, Clock::time_point deadline) {
  return Shrinking(row, one, still_fails, deadline).run();
}

}  // namespace torchlean::tools
