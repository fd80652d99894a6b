// The shapes of convolutions and pools: windows, taps and channels may go, and so may strides,
// padding and dilation. A gradient's extents follow from the others.
#include "compare/shapes.hpp"
#include "compare/windows.hpp"

namespace torchlean::tools {
namespace {

using Sizes = std::vector<std::uint64_t>;
using Axes = std::vector<std::size_t>;

Sizes output_lengths(const WindowShape &shape, WindowKind kind) {
  const WindowGeometry geometry(shape, kind);
  Sizes lengths;
  for (std::size_t a = 0; a < shape.in.size(); ++a) {
    lengths.push_back(geometry.length(a, geometry.out()));
  }
  return lengths;
}

enum class Part { input, kernel, bias, gradient };

// Where the sizes of a case lie: one after the other, padding one more than it is, so that it can
// become 0.
class Layout {
 public:
  Layout(const WindowShape &shape, WindowKind kind) : kind_(kind) {
    leading_ = put(shape.leading, 0);
    groups_ = sizes_.size();
    sizes_.insert(sizes_.end(), {shape.groups, shape.in_channels / shape.groups,
                                 shape.out_channels / shape.groups});
    in_ = put(shape.in, 0);
    kernel_ = put(shape.kernel, 0);
    put(shape.stride, 0);
    put(shape.before, 1);
    put(shape.after, 1);
    put(shape.dilation, 0);
    out_ = put(output_lengths(shape, kind), 0);
  }

  const Sizes &sizes() const { return sizes_; }
  std::size_t derived() const { return out_.size(); }

  Axes of(Part part) const {
    Axes in_channels = {groups_, groups_ + 1};
    Axes out_channels = {groups_, groups_ + 2};
    switch (part) {
      case Part::input: return joined({leading_, in_channels, in_});
      case Part::kernel:
        return kind_ == WindowKind::transposed ? joined({in_channels, out_channels, kernel_})
                                               : joined({out_channels, in_channels, kernel_});
      case Part::bias: return out_channels;
      default: return joined({kind_ == WindowKind::pool ? in_channels : out_channels, out_});
    }
  }

 private:
  Axes put(const Sizes &list, std::uint64_t more) {
    Axes axes;
    for (const std::uint64_t size : list) {
      axes.push_back(sizes_.size());
      sizes_.push_back(size + more);
    }
    return axes;
  }
  static Axes joined(const std::vector<Axes> &parts) {
    Axes all;
    for (const Axes &part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  WindowKind kind_;
  Sizes sizes_;
  std::size_t groups_;
  Axes leading_;
  Axes in_;
  Axes kernel_;
  Axes out_;
};

template <WindowKind kind, Part... parts>
Extents extents_of(const Case &one) {
  const Layout layout(one.windows, kind);
  Extents extents{layout.sizes(), {layout.of(parts)...}};
  extents.derived = layout.derived();
  return extents;
}

// The array with other lengths behind its channels: what is new is 1.
Array fitted(const Array &array, std::uint64_t channels, const Sizes &from, const Sizes &to) {
  Array result{array.dtype, {}, {}};
  result.bits.assign(channels * product_of(to), to_bits(array.dtype, 1));
  for (std::uint64_t i = 0; i < array.size(); ++i) {
    std::uint64_t rest = i;
    std::uint64_t place = 0;
    std::uint64_t step = 1;
    bool is_inside = true;
    for (std::size_t a = from.size(); a-- > 0;) {
      const std::uint64_t coordinate = rest % from[a];
      is_inside = is_inside && coordinate < to[a];
      place += coordinate * step;
      rest /= from[a];
      step *= to[a];
    }
    if (is_inside) result.bits[rest * step + place] = array.bits[i];
  }
  return result;
}

template <WindowKind kind, bool has_gradient>
void resize(Case &one, const Sizes &sizes) {
  WindowShape &shape = one.windows;
  const Sizes before = output_lengths(shape, kind);
  auto size = sizes.begin();
  for (std::uint64_t &dim : shape.leading) dim = *size++;
  shape.groups = *size++;
  shape.in_channels = shape.groups * *size++;
  shape.out_channels = shape.groups * *size++;
  for (auto *list : {&shape.in, &shape.kernel, &shape.stride}) {
    for (std::uint64_t &entry : *list) entry = *size++;
  }
  for (auto *list : {&shape.before, &shape.after}) {
    for (std::uint64_t &entry : *list) entry = *size++ - 1;
  }
  for (std::uint64_t &entry : shape.dilation) entry = *size++;
  if constexpr (has_gradient) {
    const std::uint64_t channels =
        kind == WindowKind::pool ? shape.in_channels : shape.out_channels;
    one.inputs.back() = fitted(one.inputs.back(), channels, before, output_lengths(shape, kind));
  }
}

template <WindowKind kind>
constexpr Shape forward_shape = {extents_of<kind, Part::input, Part::kernel, Part::bias>,
                                 resize<kind, false>};
template <WindowKind kind>
constexpr Shape backward_shape = {extents_of<kind, Part::input, Part::kernel, Part::gradient>,
                                  resize<kind, true>};

}  // namespace

const Shape conv_shape = forward_shape<WindowKind::convolution>;
const Shape conv_bwd_shape = backward_shape<WindowKind::convolution>;
const Shape convtranspose_shape = forward_shape<WindowKind::transposed>;
const Shape convtranspose_bwd_shape = backward_shape<WindowKind::transposed>;
const Shape pool_shape = {extents_of<WindowKind::pool, Part::input>,
                          resize<WindowKind::pool, false>};
const Shape pool_bwd_shape = {extents_of<WindowKind::pool, Part::input, Part::gradient>,
                              resize<WindowKind::pool, true>};
const Shape avgpool_bwd_shape = {extents_of<WindowKind::pool, Part::gradient>,
                                 resize<WindowKind::pool, true>};

}  // namespace torchlean::tools
