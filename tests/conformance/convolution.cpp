// Convolutions and their gradients as sums over all pairs of windows and positions.
#include "windows.hpp"

namespace torchlean::conformance {
namespace {

struct Layer {
  Axes axes;
  std::uint64_t in_channels = 1, out_channels = 1, batch = 1, groups = 1;
  bool transposed = false;

  std::vector<std::int64_t> in() const {
    std::vector<std::int64_t> lengths;
    for (const Axis &a : axes) lengths.push_back(a.in);
    return lengths;
  }
  std::vector<std::int64_t> out() const {
    std::vector<std::int64_t> lengths;
    for (const Axis &a : axes)
      lengths.push_back(
          transposed
              ? std::max<std::int64_t>(0, (a.in - 1) * a.stride + a.kernel - a.before - a.after)
              : window_count(a.in, a.kernel, a.stride, a.before, a.after, a.dilation));
    return lengths;
  }
  std::uint64_t in_count() const { return batch * in_channels * volume(in()); }
  std::uint64_t out_count() const { return batch * out_channels * volume(out()); }
  std::uint64_t kernel_count() const {
    return in_channels * out_channels * volume(axes, &Axis::kernel);
  }
  std::string text() const {
    return conformance::text_of(axes) + ", " + std::to_string(batch) + " of " +
           std::to_string(in_channels) + " to " + std::to_string(out_channels) + " in " +
           std::to_string(groups);
  }

  // visit(x, w, y): the flat indices of every product.
  template <class Visit>
  void each_product(const Visit &visit) const {
    const auto all = transposed ? meetings_of(axes, in(), out()) : meetings_of(axes, out(), in());
    const std::uint64_t in_part = in_channels / groups, out_part = out_channels / groups;
    const std::uint64_t taps = volume(axes, &Axis::kernel);
    for (std::uint64_t n = 0; n < batch; ++n)
      for (std::uint64_t c = 0; c < in_channels; ++c)
        for (std::uint64_t o = c / in_part * out_part; o < (c / in_part + 1) * out_part; ++o)
          for (const Meeting &m : all) {
            const std::uint64_t block = transposed ? c * out_channels + o : o * in_channels + c;
            visit((n * in_channels + c) * volume(in()) + (transposed ? m.window : m.position),
                  block * taps + m.tap,
                  (n * out_channels + o) * volume(out()) + (transposed ? m.position : m.window));
          }
  }
  // The channel of an output element.
  std::uint64_t channel(std::uint64_t y) const { return y / volume(out()) % out_channels; }

  Buffer forward(const Buffer &x, const Buffer &w, const Buffer &bias, bool general) const {
    if (!general) {
      const auto call = transposed ? convtranspose_fwd : conv_fwd;
      return call(x, w, bias, windows_of(axes), {in_channels, out_channels});
    }
    ConvolutionLists lists = {{in_channels},
                              {out_channels, in_channels},
                              list_of(axes, &Axis::stride),
                              list_of(axes, &Axis::before),
                              list_of(axes, &Axis::after),
                              list_of(axes, &Axis::dilation)};
    if (batch != 1) lists.input_dims = {batch, in_channels};
    for (const Axis &a : axes) {
      lists.input_dims.push_back(static_cast<std::uint64_t>(a.in));
      lists.kernel_dims.push_back(static_cast<std::uint64_t>(a.kernel));
    }
    return conv(x, w, bias, lists, groups);
  }
};

// Operands and results of one layer.
template <class T>
struct Operands3 {
  std::vector<T> x, w, bias, g;
};

template <class T>
Operands3<T> normal_operands(const Layer &layer) {
  return {
      normal_values<T>(layer.in_count(), 0, 1, 1), normal_values<T>(layer.kernel_count(), 0, 1, 2),
      normal_values<T>(layer.out_channels, 0, 1, 3), normal_values<T>(layer.out_count(), 0, 1, 4)};
}

template <class T>
void check_forward(Check &check, const Layer &layer, const Operands3<T> &o, bool general) {
  Accumulated<T> y(layer.out_count());
  for (std::size_t i = 0; i < y.sums.size(); ++i) y.add(i, o.bias[layer.channel(i)]);
  layer.each_product(
      [&](std::size_t x, std::size_t w, std::size_t i) { y.add(i, Number(o.x[x]) * o.w[w]); });
  y.check(check, layer.forward(check.input(o.x), check.input(o.w), check.input(o.bias), general),
          "result");
}

template <class T>
void check_backward(Check &check, const Layer &layer, const Operands3<T> &o) {
  Accumulated<T> d_w(layer.kernel_count()), d_bias(layer.out_channels), d_x(layer.in_count());
  layer.each_product([&](std::size_t x, std::size_t w, std::size_t y) {
    d_w.add(w, Number(o.x[x]) * o.g[y]);
    d_x.add(x, Number(o.w[w]) * o.g[y]);
  });
  for (std::size_t y = 0; y < o.g.size(); ++y) d_bias.add(layer.channel(y), o.g[y]);
  const auto call = layer.transposed ? convtranspose_bwd : conv_bwd;
  const ConvolutionGradients got =
      call(check.input(o.x), check.input(o.w), check.input(o.g), windows_of(layer.axes),
           {layer.in_channels, layer.out_channels});
  d_w.check(check, got.kernel, "dKernel");
  d_bias.check(check, got.bias, "dBias");
  d_x.check(check, got.input, "dInput");
}

// A form of convolution: what it computes and which layers it takes.
const struct Form {
  tl_operation forward;
  tl_operation backward;  // TL_OP_COUNT: none
  bool general;           // batches, groups, dilation, one-sided padding
  bool transposed;
} forms[] = {
    {TL_OP_conv, TL_OP_COUNT, true, false},
    {TL_OP_conv_fwd, TL_OP_conv_bwd, false, false},
    {TL_OP_convtranspose_fwd, TL_OP_convtranspose_bwd, false, true},
};

Layer random_layer(std::mt19937_64 &random, const Form &form) {
  Layer layer;
  layer.transposed = form.transposed;
  const auto any = [&](std::int64_t low, std::int64_t high) {
    return static_cast<std::uint64_t>(pick(random, low, high));
  };
  if (form.general) layer.batch = any(1, 3), layer.groups = any(1, 3);
  layer.in_channels = layer.groups * any(1, 2);
  layer.out_channels = layer.groups * any(1, 2);
  for (std::uint64_t rank = any(1, 3); rank > 0; --rank) {
    Axis axis = {pick(random, 1, 7), pick(random, 1, 4), pick(random, 1, 3), pick(random, 0, 3)};
    axis.after = axis.before;
    if (form.general) axis.after = pick(random, 0, 3), axis.dilation = pick(random, 1, 3);
    layer.axes.push_back(axis);
  }
  return layer;
}

// Calls add(operation, run) for both directions of a form.
template <class Add>
void both_directions(const Form &form, const Add &add) {
  add(form.forward, [general = form.general]<class T>(Check &check, const Layer &layer,
                                                      const Operands3<T> &operands) {
    check_forward(check, layer, operands, general);
  });
  if (form.backward != TL_OP_COUNT)
    add(form.backward, []<class T>(Check &check, const Layer &layer, const Operands3<T> &operands) {
      check_backward(check, layer, operands);
    });
}

void add_convolution_values(Table &table, const Form &form) {
  both_directions(form, [&](tl_operation operation, auto run) {
    const auto add = [&](Kind kind, const Layer &layer) {
      table.add(operation, kind, layer.text(),
                [=]<class T>(Check &check) { run(check, layer, normal_operands<T>(layer)); });
    };
    const bool transposed = form.transposed;
    std::vector<Layer> layers = {{{{1, 1}}},
                                 {{{31, 3}}, 2, 3},
                                 {{{1009, 5, 2, 2, 2}}},
                                 {{{13, 3, 1, 1, 1}, {11, 3, 1, 1, 1}}, 3, 5},
                                 {{{9, 3, 2, 1, 1}, {8, 2, 3}}, 4, 2},
                                 {{{5, 2}, {4, 3, 1, 1, 1}, {6, 2, 2}}, 2, 3},
                                 {{{1, 1}, {1, 1}}, 17, 13}};
    for (Layer &layer : layers) {
      layer.transposed = transposed;
      add(Kind::ordinary, layer);
    }
    if (form.general)
      for (const Layer &layer : {Layer{{{9, 3, 1, 1, 1}, {7, 2, 1, 0, 0, 2}}, 4, 6, 3, 2},
                                 Layer{{{31, 3, 1, 2, 0, 3}}, 6, 6, 1, 6},
                                 Layer{{{5, 3, 2, 0, 2}, {5, 2, 2, 3, 0}, {4, 2}}, 2, 4, 2, 2}})
        add(Kind::ordinary, layer);
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      table.add(operation, Kind::ordinary, "five random layers from seed " + std::to_string(seed),
                [=]<class T>(Check &check) {
                  std::mt19937_64 random(seed);
                  for (int i = 0; i < 5; ++i) {
                    const Layer layer = random_layer(random, form);
                    run(check, layer, normal_operands<T>(layer));
                  }
                });
    for (Layer layer : {Layer{{{2, 3}}, 2, 3},           // the window does not fit
                        Layer{{{2, 3}, {5, 2}}, 2, 3},   // not along one axis
                        Layer{{{0, 2}}, 2, 3},           // no input, no output
                        Layer{{{0, 3, 1, 2, 2}}, 2, 3},  // no input, but output: the bias
                        Layer{{{4, 2}}, 0, 3},           // no input channel: the bias
                        Layer{{{4, 2}}, 3, 0}}) {        // no output channel
      layer.transposed = transposed;
      if (transposed && layer.axes[0].in == 2) layer.axes[0] = {1, 2, 1, 1, 1};  // all padded away
      if (layer.in_channels == 0 || layer.out_channels == 0) layer.groups = 1;
      add(Kind::empty, layer);
    }
    if (form.general) add(Kind::empty, Layer{{{4, 2}}, 2, 3, 0});
  });
}

void add_convolution_specials(Table &table, const Form &form) {
  both_directions(form, [&](tl_operation operation, auto run) {
    const auto add = [&](const char *name, const Layer &plain, auto spoil) {
      Layer layer = plain;
      layer.transposed = form.transposed;
      table.add(operation, Kind::special, name, [=]<class T>(Check &check) {
        Operands3<T> operands = normal_operands<T>(layer);
        spoil(operands);
        run(check, layer, operands);
      });
    };
    const Layer wide_layer{{{7, 3, 1, 1, 1}, {5, 2}}, 2, 3};
    add("what is not finite reaches its own windows only", wide_layer, [](auto &o) {
      using V = Values<std::decay_t<decltype(o.x[0])>>;
      o.x[30] = V::nan;
      o.w[7] = V::inf;
      if (o.g.size() > 12) o.g[12] = -V::inf;
    });
    add("taps in the padding count nothing, whatever the kernel holds", {{{2, 3, 1, 1, 1}}},
        [](auto &o) { o.w[0] = Values<std::decay_t<decltype(o.w[0])>>::inf; });
    add("NaN in the padding's tap", {{{2, 3, 1, 1, 1}}},
        [](auto &o) { o.w[2] = Values<std::decay_t<decltype(o.w[0])>>::nan; });
    add("magnitudes that differ widely", wide_layer, [](auto &o) {
      using T = std::decay_t<decltype(o.x[0])>;
      const int span = std::numeric_limits<T>::max_exponent / 2 - 8;
      for (auto *values : {&o.x, &o.w, &o.g})
        for (std::size_t i = 0; i < values->size(); ++i)
          (*values)[i] = std::ldexp((*values)[i], i % 5 == 0 ? -span - 12 : i % 3 == 0 ? span : 0);
    });
    add("terms that cancel", wide_layer, [](auto &o) {
      for (std::size_t i = 1; i < o.x.size(); i += 2) o.x[i] = -o.x[i - 1];
      for (std::size_t i = 1; i < o.w.size(); i += 2) o.w[i] = o.w[i - 1];
    });
    if (form.general)
      add("blocks of the kernel off the diagonal are not read", Layer{{{5, 2}}, 4, 4, 1, 2},
          [](auto &o) {  // kernel (4, 4, 2), groups of 2
            using V = Values<std::decay_t<decltype(o.w[0])>>;
            for (std::size_t i = 0; i < o.w.size(); ++i)
              if ((i / 8 < 2) != (i / 2 % 4 < 2)) o.w[i] = i % 2 == 0 ? V::nan : V::inf;
          });
  });
}

void add_convolution_by_hand(Table &table) {
  table.add(TL_OP_conv, Kind::special, "by hand: no flip, padding in front, stride 2",
            []<class T>(Check &check) {
              const Layer layer{{{5, 3, 2, 1, 0}}};
              check.exact(layer.forward(check.input(std::vector<T>{1, 2, 3, 4, 5}),
                                        check.input(std::vector<T>{1, 2, 3}),
                                        check.input(std::vector<T>{10}), true),
                          std::vector<T>{18, 30});
            });
  table.add(TL_OP_convtranspose_fwd, Kind::special,
            "by hand: windows overlap, both ends padded off", []<class T>(Check &check) {
              const Layer layer{{{2, 3, 2, 1, 1}}, 1, 1, 1, 1, true};
              check.exact(layer.forward(check.input(std::vector<T>{1, 2}),
                                        check.input(std::vector<T>{1, 2, 3}),
                                        check.input(std::vector<T>{10}), false),
                          std::vector<T>{12, 15, 14});
            });
  table.add(TL_OP_convtranspose_bwd, Kind::special, "by hand", []<class T>(Check &check) {
    const ConvolutionGradients got =
        convtranspose_bwd(check.input(std::vector<T>{1, 2}), check.input(std::vector<T>{1, 2, 3}),
                          check.input(std::vector<T>{1, 10, 100}), {{2}, {3}, {2}, {1}}, {1, 1});
    check.exact(got.kernel, std::vector<T>{20, 201, 10}, "dKernel");
    check.exact(got.bias, std::vector<T>{111}, "dBias");
    check.exact(got.input, std::vector<T>{32, 210}, "dInput");
  });
  table.add(TL_OP_conv_bwd, Kind::special, "by hand", []<class T>(Check &check) {
    const ConvolutionGradients got =
        conv_bwd(check.input(std::vector<T>{1, 2, 3}), check.input(std::vector<T>{1, 2}),
                 check.input(std::vector<T>{1, 10}), {{3}, {2}, {1}, {0}}, {1, 1});
    check.exact(got.kernel, std::vector<T>{21, 32}, "dKernel");
    check.exact(got.bias, std::vector<T>{11}, "dBias");
    check.exact(got.input, std::vector<T>{1, 12, 20}, "dInput");
  });
}

// ---- Wrong arguments ---------------------------------------------------------------------------

void add_wrong_general(Table &table) {
  struct Lists {
    List input = {2, 5}, kernel = {3, 2, 2}, strides = {1}, before = {0}, after = {0},
         dilations = {1};
    std::uint64_t groups = 1;
  };
  const auto call = [](const tl_buffer *x, const tl_buffer *w, const tl_buffer *bias,
                       const Lists &l, tl_buffer **out) {
    const tl_conv_lists lists = {sizeof lists,  raw(l.input), raw(l.kernel),   raw(l.strides),
                                 raw(l.before), raw(l.after), raw(l.dilations)};
    return tl_conv(x, w, bias, &lists, l.groups, out);
  };
  table.refuse_operands(TL_OP_conv, {10, 12, 3}, [=](const Operands &x, tl_buffer **out) {
    return call(x[0], x[1], x[2], {}, out);
  });
  table.add(TL_OP_conv, Kind::wrong, "lists", [=]<class T>(Check &check) {
    const Buffer &x = check.input(std::vector<T>(10, 1)), &w = check.input(std::vector<T>(12, 1)),
                 &bias = check.input(std::vector<T>(3, 1));
    const auto refuse = [&](const char *what, const Lists &lists) {
      check.refused(
          what, [&](tl_buffer **out) { return call(x.get(), w.get(), bias.get(), lists, out); });
    };
    refuse("no spatial axis", {.input = {2}, .kernel = {3, 2}});
    refuse("four spatial axes", {.input = {2, 5, 1, 1, 1}, .kernel = {3, 2, 2, 1, 1, 1}});
    refuse("no input channels", {.input = {5}});
    refuse("other input channels", {.kernel = {3, 4, 1}});
    refuse("a kernel of 0", {.kernel = {3, 2, 0}});
    refuse("a stride of 0", {.strides = {0}});
    refuse("two strides", {.strides = {1, 1}});
    refuse("no padding in front", {.before = {}});
    refuse("a padding of 2^32", {.after = {std::uint64_t{1} << 32U}});
    refuse("a dilation of 0", {.dilations = {0}});
    refuse("groups of 0", {.groups = 0});
    refuse("groups that do not divide", {.groups = 2});
    refuse("another product", {.input = {2, 6}});
    refuse("another kernel", {.kernel = {3, 2, 3}});
    check.refused("no lists", [&](tl_buffer **out) {
      return tl_conv(x.get(), w.get(), bias.get(), nullptr, 1, out);
    });
  });
}

void add_wrong_sample(Table &table, const Form &form) {
  struct Lists {
    List in = {5}, kernel = {2}, stride = {1}, padding = {0};
  };
  const std::uint64_t out_count = 3 * (form.transposed ? 6 : 4);
  const auto fwd = form.transposed ? tl_convtranspose_fwd : tl_conv_fwd;
  const auto bwd = form.transposed ? tl_convtranspose_bwd : tl_conv_bwd;
  const auto forward = [=](const tl_buffer *x, const tl_buffer *w, const tl_buffer *bias,
                           const Lists &l, tl_buffer **out) {
    return fwd(x, w, bias, raw(l.in), raw(l.kernel), raw(l.stride), raw(l.padding), 2, 3, out);
  };
  const auto backward = [=](const tl_buffer *x, const tl_buffer *w, const tl_buffer *g,
                            const Lists &l, tl_buffer **out) {
    return bwd(x, w, g, raw(l.in), raw(l.kernel), raw(l.stride), raw(l.padding), 2, 3, &out[0],
               &out[1], &out[2]);
  };
  const auto add = [&](tl_operation operation, std::uint64_t third, auto call) {
    table.refuse_operands(operation, {10, 12, third}, [=](const Operands &x, tl_buffer **out) {
      return call(x[0], x[1], x[2], Lists{}, out);
    });
    table.add(operation, Kind::wrong, "lists", [=]<class T>(Check &check) {
      const Buffer &x = check.input(std::vector<T>(10, 1)), &w = check.input(std::vector<T>(12, 1)),
                   &last = check.input(std::vector<T>(third, 1));
      const auto refuse = [&](const char *what, const Lists &lists) {
        check.refused(
            what, [&](tl_buffer **out) { return call(x.get(), w.get(), last.get(), lists, out); });
      };
      refuse("no spatial axis", {.in = {}});
      refuse("four spatial axes", {.in = {5, 1, 1, 1}});
      refuse("a kernel of 0", {.kernel = {0}});
      refuse("two kernels", {.kernel = {2, 1}});
      refuse("a stride of 0", {.stride = {0}});
      refuse("two paddings", {.padding = {0, 0}});
      refuse("another product", {.in = {6}});
      refuse("another kernel", {.kernel = {3}});
    });
  };
  add(form.forward, 3, forward);
  add(form.backward, out_count, backward);
}

}  // namespace

void add_convolution(Table &table) {
  for (const Form &form : forms) {
    add_convolution_values(table, form);
    add_convolution_specials(table, form);
    if (!form.general) add_wrong_sample(table, form);
  }
  add_convolution_by_hand(table);
  add_wrong_general(table);
}

}  // namespace torchlean::conformance
