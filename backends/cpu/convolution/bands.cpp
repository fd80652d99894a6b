// Convolutions as matrix products whose right operand is never packed: a tile reads its columns
// where they lie in a band (convolution/band.hpp), since every tap is an offset there.
//
// Columns run through the lines of a band. What lies between lines is computed and dropped.
#include "blocks.hpp"
#include "convolution/kernel_rows.hpp"

namespace torchlean::cpu {
namespace {

// Columns of a task and bytes of its band: both stay in a second-level cache. Half as many columns
// are 2 to 3 % slower (3 x 3, 64 and 128 channels).
constexpr int64_t most_cols = 1600;
constexpr int64_t most_bytes = 384 << 10;

template <class T>
class Bands {
 public:
  Bands(const Correlation<T> &at, const Phases &phase)
      : at_(at),
        phase_(phase),
        kernels_(gemm_kernels<T>(at.instance.target)),
        rows_(at.targets.count),
        taps_(static_cast<int64_t>(phase[0]->taps.size() * phase[1]->taps.size() *
                                   phase[2]->taps.size())),
        block_(depth_block<T>(at.sources.count * taps_)),
        most_channels_(std::min(at.sources.count, (block_ + taps_ - 2) / taps_ + 1)),
        pieces_(blocks_in(phase[2]->count, most_cols)),
        band_(fitting_band()),
        strips_(strips()) {}

  // Does packing cost more than the columns that are dropped? A packed vector takes about as long
  // as 6 rows' products with it (Zen 4).
  bool is_worth() const {
    const int64_t lines = blocks_in(phase_[1]->count, strips_);
    const int64_t places = lines * length();
    const int64_t cols = vectors((lines - 1) * band_.line_stride() + length()) * kernels_.lanes;
    return cols * rows_ <= places * (rows_ + 6) && band_bytes(band_) <= most_bytes;
  }

  void run() {
    KernelRows<T> kernel(at_, phase_, true);
    const int64_t lines = phase_[1]->count;
    const int64_t most_lines = blocks_in(lines, strips_);
    const int64_t tasks = at_.batch * at_.groups * phase_[0]->count * strips_ * pieces_;
    const int64_t products = rows_ * at_.sources.count * taps_ * most_lines * length();
    each_task(at_.instance, tasks, products, [&](int64_t begin, int64_t end) {
      Work work(at_.instance, *this);
      for (int64_t task = begin; task < end; ++task) {
        const int64_t piece = task % pieces_;
        const int64_t strip = task / pieces_ % strips_;
        const int64_t plane = task / pieces_ / strips_;
        const int64_t line = strip * lines / strips_;
        const int64_t col = piece * length();
        const Places places{plane % phase_[0]->count, line, (strip + 1) * lines / strips_ - line,
                            col, std::min(length(), phase_[2]->count - col)};
        const int64_t group = plane / phase_[0]->count;
        multiply(kernel.rows(group % at_.groups, 0, rows_), group, places, work);
      }
    });
  }

 private:
  using Piece = Scattered::Piece;

  // What a thread needs.
  struct Work {
    Work(tl_instance &instance, const Bands &bands)
        : band(instance, static_cast<uint64_t>(bands.most_channels_ * bands.band_.channel_stride() +
                                               3 * bands.kernels_.lanes)),
          dense(instance, bands.in_order() ? 0 : static_cast<uint64_t>(bands.rows_ * most_cols)),
          rows(static_cast<size_t>(bands.block_)) {}
    Result<T> band;
    Result<T> dense;
    std::vector<int64_t> rows;
    Places last{0, 0, 0, 0, 0};
    std::vector<Piece> pieces;
    std::vector<size_t> ends;  // of each vector's pieces
  };

  bool in_order() const { return phase_[2]->step == 1; }
  int64_t length() const { return blocks_in(phase_[2]->count, pieces_); }
  int64_t vectors(int64_t cols) const { return blocks_in(cols, kernels_.lanes); }

  int64_t band_bytes(const Band<T> &band) const {
    return most_channels_ * band.channel_stride() * static_cast<int64_t>(sizeof(T));
  }

  // For as many lines as fit.
  Band<T> fitting_band() const {
    const auto of = [&](int64_t lines) {
      return Band<T>(convolution_kernels<T>(at_.instance.target), phase_, lines, length());
    };
    int64_t lines = std::clamp<int64_t>(most_cols / length(), 1, phase_[1]->count);
    for (;; lines = (lines + 1) / 2) {
      Band<T> band = of(lines);
      if (lines == 1 || band_bytes(band) <= most_bytes) return band;
    }
  }

  // How many parts lines are shared out in: as few as fit, but enough for the threads.
  int64_t strips() const {
    const int64_t lines = phase_[1]->count;
    const int64_t threads = at_.instance.threads.load(std::memory_order_relaxed);
    const int64_t others = at_.batch * at_.groups * phase_[0]->count * pieces_;
    const int64_t wanted = threads == 1 ? 1 : blocks_in(2 * threads, others);
    return std::clamp(blocks_in(lines, band_.lines()), std::min(wanted, lines), lines);
  }

  // Where the columns of these places go, vector by vector.
  void lay_pieces(const Places &places, Work &work) const {
    if (places.lines == work.last.lines && places.length == work.last.length) return;
    work.last = places;
    work.pieces.clear();
    work.ends.clear();
    const int64_t stride = band_.line_stride();
    const int64_t to_stride =
        in_order() ? phase_[1]->step * at_.windows[2].size[at_.to] : places.length;
    const int64_t cols = (places.lines - 1) * stride + places.length;
    for (int64_t at = 0; at < cols; at += kernels_.lanes) {
      const int64_t end = std::min(at + kernels_.lanes, cols);
      for (int64_t i = at; i < end;) {
        const int64_t line = i / stride;
        const int64_t place = i % stride;
        const int64_t line_end = std::min(end, line * stride + places.length);
        if (i < line_end) work.pieces.push_back({i - at, line_end - i, line * to_stride + place});
        i = std::max(line_end, std::min(end, (line + 1) * stride));
      }
      work.ends.push_back(work.pieces.size());
    }
  }

  void multiply(const Left<T> &left, int64_t group, const Places &places, Work &work) const {
    lay_pieces(places, work);
    const int64_t depth = at_.sources.count * taps_;
    const int64_t first_channel = group * rows_;
    T *const to =
        in_order() ? at_.target_of(phase_, first_channel, places.first, places.second, places.third)
                   : work.dense.begin();
    const int64_t to_row = in_order() ? at_.target_size() : places.lines * places.length;
    const T *const start = at_.start == nullptr ? nullptr : at_.start + group % at_.groups * rows_;
    for (int64_t k = 0; k < depth; k += block_) {
      const int64_t deep = std::min(block_, depth - k);
      const int64_t channel = k / taps_;
      const int64_t channels = (k + deep - 1) / taps_ + 1 - channel;
      band_.fill(places, at_.source_of(group) + channel * at_.source_size(), channels,
                 work.band.begin());
      for (int64_t i = 0; i < deep; ++i)
        work.rows[static_cast<size_t>(i)] = ((k + i) / taps_ - channel) * band_.channel_stride() +
                                            band_.taps()[static_cast<size_t>((k + i) % taps_)];
      for (int64_t i = 0; i < rows_; i += kernels_.rows) {
        const int64_t high = std::min(kernels_.rows, rows_ - i);
        const T *const panel = left.panels + k * rows_ + i * deep;
        multiply_row({.depth = deep,
                      .a = panel,
                      .a_row = 1,
                      .a_step = high,
                      .b = work.band.begin(),
                      .b_step = 0,
                      .c = to + i * to_row,
                      .c_row = to_row,
                      .cols = 0,
                      .start = start == nullptr ? nullptr : start + i,
                      .add = k > 0,
                      .ahead = panel + high * deep,
                      .ahead_step = high},
                     high, work);
      }
    }
    if (!in_order()) scatter(first_channel, places, work.dense.begin());
  }

  // A tile's rows by all columns.
  void multiply_row(Tile<T> tile, int64_t high, const Work &work) const {
    const auto count = static_cast<int64_t>(work.ends.size());
    Scattered where{work.rows.data(), work.pieces.data(), {}};
    for (int64_t v = 0; v < count; v += 3) {
      const int64_t here = std::min<int64_t>(3, count - v);
      for (int64_t j = 0; j < here; ++j)
        where.ends[j] = work.pieces.data() + work.ends[static_cast<size_t>(v + j)];
      kernels_.scattered[high - 1][here - 1](tile, where);
      where.pieces = where.ends[here - 1];
      tile.b += here * kernels_.lanes;
    }
  }

  void scatter(int64_t first_channel, const Places &places, const T *dense) const {
    for (int64_t r = 0; r < rows_; ++r)
      for (int64_t i = 0; i < places.lines; ++i, dense += places.length)
        at_.put(phase_, first_channel + r, places.first, places.second + i, places.third, dense,
                places.length);
  }

  const Correlation<T> &at_;
  const Phases &phase_;
  const GemmKernels<T> &kernels_;
  const int64_t rows_;
  const int64_t taps_;
  const int64_t block_;
  const int64_t most_channels_;
  const int64_t pieces_;  // of a line
  const Band<T> band_;
  const int64_t strips_;  // of a plane
};

}  // namespace

template <class T>
bool correlate_by_bands(const Correlation<T> &at, const Phases &phase) {
  Bands<T> bands(at, phase);
  if (!bands.is_worth()) return false;
  bands.run();
  return true;
}

template bool correlate_by_bands(const Correlation<float> &, const Phases &);
template bool correlate_by_bands(const Correlation<double> &, const Phases &);

}  // namespace torchlean::cpu
