// Convolutions, ordinary and transposed, and their gradients: as products in tiles, or directly.
#include "accumulator.cuh"
#include "convolution_products.cuh"
#include "instance.hpp"
#include "operation_names.hpp"
#include "places.cuh"
#include "row_threads.cuh"

#include <optional>

namespace torchlean::cuda {

namespace {

// ---- Kernels ------------------------------------------------------------------------------------

// A product over taps of a few rows, which would leave a tile nearly empty: each thread sums up
// results by itself. Neighbours read neighbouring elements of the source.
template <class T>
__global__ void direct_kernel(uint64_t n, T *out, const T *kernel, const T *source, const T *bias,
                              GatheredProduct product, Places places, Divisor channels) {
  for (uint64_t i = first_element(); i < n; i += element_stride()) {
    const Places::Place place = places.place(i);
    const Divided in_sample = channels.divide(place.channel);
    const auto channel = static_cast<uint32_t>(in_sample.remainder);
    const uint32_t group = channel / product.rows;
    Digits digits = {static_cast<uint32_t>(in_sample.quotient), {}};
    uint64_t phase_number = 0;
    for (uint32_t a = 0; a < 3; ++a) {
      const int64_t stride = product.axis[a].stride;
      const int64_t lap = stride > 1 ? place.at[a] / stride : place.at[a];
      digits.at[a] = static_cast<uint32_t>(lap);
      phase_number = phase_number * product.axis[a].phases +
                     static_cast<uint64_t>(stride > 1 ? place.at[a] - lap * stride : 0);
    }
    ProductPhase phase;
    phase.set(product, phase_number);
    const Offsets column = phase.column(product, digits);
    const uint64_t source_start = group * product.group_source + column.source;
    const uint64_t kernel_start =
        group * product.group_matrix + (channel - group * product.rows) * product.row_matrix;
    const ProductPhase::Bounds bounds = phase.bounds();
    T sum = T(0);
    Digits term;
    for (term.outer = 0; term.outer < product.outer_terms; ++term.outer) {
      for (term.at[0] = 0; term.at[0] < phase.terms.size[0]; ++term.at[0]) {
        for (term.at[1] = 0; term.at[1] < phase.terms.size[1]; ++term.at[1]) {
          for (term.at[2] = 0; term.at[2] < phase.terms.size[2]; ++term.at[2]) {
            const Offsets added = phase.term(product, term);
            if (bounds.hold(column, added)) {
              sum = fma_rn(kernel[kernel_start + added.other], source[source_start + added.source],
                           sum);
            }
          }
        }
      }
    }
    out[i] = bias == nullptr ? sum : add_rn(sum, bias[channel]);
  }
}

template <class T>
__global__ void nonfinite_kernel(uint64_t n, unsigned *found, const T *x) {
  bool any = false;
  for (uint64_t i = first_element(); i < n; i += element_stride()) {
    any = any || !(absolute(x[i]) < T(elementary::infinity));
  }
  if (any) {
    atomicOr(found, 1u);
  }
}

// out[i] = the sum of the chunks' parts of it, plus the bias of its channel.
template <class T>
__global__ void sum_chunks_kernel(uint64_t n, T *out, const T *parts, uint64_t chunks,
                                  const T *bias, Divisor channel_size, Divisor channels) {
  for (uint64_t i = first_element(); i < n; i += element_stride()) {
    T sum = parts[i];
    for (uint64_t chunk = 1; chunk < chunks; ++chunk) {
      sum = add_rn(sum, parts[chunk * n + i]);
    }
    if (bias != nullptr) {
      sum = add_rn(sum, bias[channels.divide(channel_size.divide(i).quotient).remainder]);
    }
    out[i] = sum;
  }
}

// out[c] = the sum of channel c over all samples.
template <class Threads, class T>
__global__ void bias_gradient_kernel(uint64_t channels, T *out, const T *g, uint64_t samples,
                                     uint64_t size) {
  for (uint64_t c = Threads::first_row(); c < channels; c += Threads::row_stride()) {
    Accumulator<T> sum;
    for (uint64_t n = 0; n < samples; ++n) {
      const T *const channel = g + (n * channels + c) * size;
      for_own<Threads>(
          size, [&](uint64_t i) { return channel[i]; }, [&](uint64_t, T x) { sum.add(x); });
    }
    const double total = Threads::fold(sum.value(), Add());
    if (Threads::index() == 0) {
      out[c] = convert<T>(total);
    }
  }
}

// ---- Launches -----------------------------------------------------------------------------------

template <class T>
struct Values {
  const T *values = nullptr;
  uint64_t count = 0;
};

// Whether a thread for each result is no slower than tiles: of which so few rows would use a small
// part, unless there is nothing else to share the work by than the terms.
bool suits_direct(const GatheredProduct &product, uint64_t results) {
  return product.rows <= 4 && (results >= 4096 || product.terms() <= 1024);
}

uint64_t divided_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

template <class T>
struct Call {
  tl_instance &instance;
  const char *operation;
  const Convolution &at;

  device::Stream &stream() const { return *instance.stream; }

  Result over_taps(bool is_forward, Values<T> kernel, Values<T> source, const T *bias) const {
    const SlidingAxis *axes = at.shape.axes.data();
    const ConvolutionSide &side = is_forward ? at.out : at.in;
    const bool on_windows = is_forward != at.is_transposed;
    const GatheredProduct product = product_over_taps(at, is_forward);
    const uint64_t count = at.shape.params.batch * side.channels * side.size;
    if (!suits_direct(product, count)) {
      return in_tiles(product, count, kernel, source, bias, Divisor(side.size),
                      Divisor(side.channels));
    }
    Result result(instance, operation, count, sizeof(T));
    const auto along = [&](size_t a) {
      return unsigned_of(on_windows ? axes[a].windows : axes[a].positions);
    };
    launch(stream(), operation, count, &direct_kernel<T>, result.template elements<T>(),
           kernel.values, source.values, bias, product, Places(along(0), along(1), along(2)),
           Divisor(side.channels));
    return result;
  }

  Result kernel_gradient(Values<T> x, Values<T> g) const {
    return in_tiles(product_over_windows(at), at.shape.kernel_count, at.is_transposed ? x : g,
                    at.is_transposed ? g : x, nullptr, Divisor(), Divisor());
  }

  Result bias_gradient(Values<T> g) const {
    const uint64_t channels = at.out.channels;
    Result result(instance, operation, channels, sizeof(T));
    launch_rows<BlockPerRow>(stream(), operation, channels, &bias_gradient_kernel<BlockPerRow, T>,
                             result.template elements<T>(), g.values, at.shape.params.batch,
                             at.out.size);
    return result;
  }

 private:
  Result in_tiles(const GatheredProduct &product, uint64_t count, Values<T> matrix,
                  Values<T> source, const T *bias, Divisor channel_size, Divisor channels) const {
    // Larger tiles read less, but there must be enough of them.
    if constexpr (sizeof(T) == sizeof(float)) {
      const ProductGrid large = grid_of<8>(product, count);
      if (product.rows >= 96 && large.tiles() * 4 >= full_grid(stream())) {
        return in_tiles<8>(product, large, count, matrix, source, bias, channel_size, channels);
      }
    }
    return in_tiles<4>(product, grid_of<4>(product, count), count, matrix, source, bias,
                       channel_size, channels);
  }

  template <uint32_t per_thread>
  ProductGrid grid_of(const GatheredProduct &product, uint64_t count) const {
    using Tile = ProductTile<T, per_thread>;
    ProductGrid grid{};
    uint64_t columns = product.outer_columns;
    uint64_t terms = product.outer_terms;
    grid.phases = 1;
    for (const ProductAxis &axis : product.axis) {
      // The first phase has as many as any.
      columns *= divided_up(axis.columns, unsigned_of(axis.stride));
      terms *= divided_up(axis.terms, unsigned_of(axis.stride));
      grid.phases *= axis.phases;
    }
    grid.row_tiles = divided_up(product.rows, Tile::extent);
    grid.column_tiles = divided_up(columns, Tile::extent);
    grid.groups = product.groups;
    // Few tiles with many terms each: several blocks share a tile's terms.
    constexpr uint64_t least_steps = 8;
    const uint64_t steps = divided_up(terms, Tile::depth);
    const uint64_t wanted =
        std::min<uint64_t>({steps / least_steps, full_grid(stream()) / grid.tiles(), 64});
    grid.chunk_terms =
        Tile::depth * std::max<uint64_t>(1, divided_up(steps, std::max<uint64_t>(1, wanted)));
    grid.chunks = std::max<uint64_t>(1, divided_up(terms, grid.chunk_terms));
    grid.chunk_result = count;
    return grid;
  }

  template <uint32_t per_thread>
  Result in_tiles(const GatheredProduct &product, const ProductGrid &grid, uint64_t count,
                  Values<T> matrix, Values<T> source, const T *bias, Divisor channel_size,
                  Divisor channels) const {
    std::optional<Result> nonfinite;
    unsigned *found = nullptr;
    if (product.may_miss() && matrix.count > 0) {
      found =
          nonfinite.emplace(instance, operation, 1, sizeof(unsigned)).template elements<unsigned>();
      device::clear(stream(), operation, found, sizeof(unsigned));
      launch(stream(), operation, matrix.count, &nonfinite_kernel<T>, found, matrix.values);
    }
    Result result(instance, operation, count * grid.chunks, sizeof(T));
    if (product.rows * product.groups * product.columns() < count) {
      // Blocks of the kernel that join two groups stay 0.
      device::clear(stream(), operation, result.template elements<void>(),
                    count * grid.chunks * sizeof(T));
    }
    const bool is_whole = grid.chunks == 1;
    launch_blocks(stream(), operation,
                  {blocks_for(stream(), grid.tiles() * grid.chunks), product_threads},
                  &product_kernel<T, per_thread>, product, grid, result.template elements<T>(),
                  matrix.values, source.values, is_whole ? bias : nullptr, found);
    if (is_whole) {
      return result;
    }
    Result sum(instance, operation, count, sizeof(T));
    launch(stream(), operation, count, &sum_chunks_kernel<T>, sum.template elements<T>(),
           result.template elements<T>(), grid.chunks, bias, channel_size, channels);
    return sum;
  }
};

// ---- Entries ------------------------------------------------------------------------------------

template <class T>
Values<T> checked_values(const char *operation, const char *argument, const tl_operand &operand,
                         uint64_t count) {
  check_operand(operation, argument, operand, native_dtype<T>, count);
  return {count == 0 ? nullptr : elements<T>(operand), count};
}

// Results that lie on positions come without dilation (tl_convolution_params).
void check_not_dilated(const char *operation, const tl_convolution_params &params) {
  for (const int64_t dilation : params.dilation) {
    if (dilation != 1) {
      throw Failure(TL_UNSUPPORTED, std::string(operation) + ": params.dilation is " +
                                        std::to_string(dilation) + ", expected 1");
    }
  }
}

constexpr auto forward_names = operation_names<TL_CONVOLUTION_OP_COUNT>("forward", "convolution");
constexpr auto backward_names = operation_names<TL_CONVOLUTION_OP_COUNT>("backward", "convolution");

void forward(tl_instance *instance, tl_convolution_op op, const tl_operand *input,
             const tl_operand *kernel, const tl_operand *bias, const tl_convolution_params *params,
             tl_flags, tl_storage **out) {
  const char *operation = name_of(forward_names, "convolution forward", op);
  with_native(operation, input->dtype, [&]<class T>() {
    const ConvolutionShape shape = checked_shape(operation, op, *params);
    const auto x = checked_values<T>(operation, "input", *input, shape.input_count);
    const auto w = checked_values<T>(operation, "kernel", *kernel, shape.kernel_count);
    const auto b = checked_values<T>(operation, "bias", *bias, shape.params.out_channels);
    if (op == TL_CONVOLUTION_TRANSPOSED) {
      check_not_dilated(operation, shape.params);
    }
    const Convolution at(op, shape);
    *out = Call<T>{*instance, operation, at}.over_taps(true, w, x, b.values).hand_over();
  });
}

void backward(tl_instance *instance, tl_convolution_op op, const tl_operand *input,
              const tl_operand *kernel, const tl_operand *gradient,
              const tl_convolution_params *params, tl_flags, tl_storage *out[3]) {
  const char *operation = name_of(backward_names, "convolution backward", op);
  with_native(operation, input->dtype, [&]<class T>() {
    const ConvolutionShape shape = checked_shape(operation, op, *params);
    const auto x = checked_values<T>(operation, "input", *input, shape.input_count);
    const auto w = checked_values<T>(operation, "kernel", *kernel, shape.kernel_count);
    const auto g = checked_values<T>(operation, "gradient", *gradient, shape.output_count);
    check_not_dilated(operation, shape.params);
    const Convolution at(op, shape);
    const Call<T> call{*instance, operation, at};
    Result d_bias = call.bias_gradient(g);
    std::optional<Result> d_kernel;
    std::optional<Result> d_input;
    if (w.count > 0) {
      d_kernel.emplace(call.kernel_gradient(x, g));
    }
    if (x.count > 0) {
      d_input.emplace(call.over_taps(false, w, g, nullptr));
    }
    out[0] = d_kernel ? d_kernel->hand_over() : nullptr;
    out[1] = d_bias.hand_over();
    out[2] = d_input ? d_input->hand_over() : nullptr;
  });
}

}  // namespace

const tl_convolution_table convolution_table = {
    .struct_size = sizeof(tl_convolution_table),
    .forward = entry<forward>,
    .backward = entry<backward>,
};

}  // namespace torchlean::cuda
