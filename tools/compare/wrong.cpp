// Making them.
#include "compare/wrong.hpp"

#include <fmt/format.h>

namespace torchlean::tools {
namespace {

constexpr tl_format binary16 = {5, 10, 15, TL_ENCODING_IEEE};

}  // namespace

void wrong_operands(const Generator &generator, const std::function<void(Case &, Random &)> &right,
                    const OperandRules &rules) {
  Case sample;
  sample.dtype = generator.dtype();
  Random random(0);
  right(sample, random);
  const std::size_t operands = sample.inputs.size();
  for (std::size_t k = 0; k < operands; ++k) {
    const auto refuse = [&](const char *what, const std::function<void(Case &, Random &)> &spoil) {
      generator.refuse(fmt::format("input-{}-{}", k, what), [&](Case &one, Random &numbers) {
        right(one, numbers);
        spoil(one, numbers);
      });
    };
    refuse("released", [&](Case &one, Random &) { one.released = k; });
    if (!rules.takes_encoded || (operands > 1 && generator.dtype() != TL_ENCODED)) {
      refuse("encoded", [&](Case &one, Random &numbers) {
        one.inputs[k] = encoded_words(numbers, binary16, one.inputs[k].size());
      });
    }
    if (operands > 1 && generator.dtype() == TL_ENCODED) {
      refuse("other-format", [&](Case &one, Random &numbers) {
        one.inputs[k] = encoded_words(numbers, binary16, one.inputs[k].size());
      });
    }
    if (operands > 1) {
      refuse("other-dtype", [&](Case &one, Random &numbers) {
        const tl_dtype other = one.inputs[k].dtype == TL_FLOAT32 ? TL_FLOAT64 : TL_FLOAT32;
        one.inputs[k] = ordinary_values(numbers, other, one.inputs[k].size());
      });
    }
    if (rules.has_fixed_length) {
      refuse("longer", [&](Case &one, Random &) { one.inputs[k].bits.push_back(0); });
      refuse("shorter", [&](Case &one, Random &) { one.inputs[k].bits.pop_back(); });
    }
  }
}

void wrong_axis_maps(const Generator &generator,
                     const std::function<void(Case &, Random &)> &right) {
  const auto refuse = [&](const char *label, std::vector<std::uint64_t> out_dims,
                          std::vector<std::uint64_t> map) {
    generator.refuse(label, [&](Case &one, Random &random) {
      right(one, random);
      one.out_dims = out_dims;
      one.axis_map = map;
    });
  };
  refuse("axis-missing", {5, 3}, {0, 0});
  refuse("axis-repeated", {3, 3}, {1, 1});
  refuse("axis-of-nobody", {5, 3}, {0, 2});
  refuse("map-too-short", {5, 3}, {1});
  refuse("sizes-that-differ", {3, 5}, {0, 1});
  refuse("overflowing-dims", {too_many, too_many, 3}, {0, 0, 1});
  refuse("too-many-dims", std::vector<std::uint64_t>(65, 1), std::vector<std::uint64_t>(65, 0));
}

void refuse_windows(const Generator &generator,
                    const std::function<void(Case &, Random &)> &right) {
  const auto refuse = [&](const char *label, void (*spoil)(WindowShape &)) {
    generator.refuse(label, [&](Case &one, Random &random) {
      right(one, random);
      spoil(one.windows);
    });
  };
  // The same elements along `rank` axes.
  static constexpr auto spread = [](WindowShape &windows, std::size_t rank) {
    for (auto *list : {&windows.in, &windows.kernel, &windows.stride, &windows.before,
                       &windows.after, &windows.dilation}) {
      if (list->empty()) continue;
      const bool is_padding = list == &windows.before || list == &windows.after;
      list->resize(rank, is_padding ? 0 : 1);
    }
  };
  refuse("rank-0", [](WindowShape &windows) { spread(windows, 0); });
  refuse("rank-4", [](WindowShape &windows) { spread(windows, 4); });
  refuse("kernel-extent-of-0", [](WindowShape &windows) { windows.kernel = {0}; });
  refuse("stride-of-0", [](WindowShape &windows) { windows.stride = {0}; });
  refuse("stride-missing", [](WindowShape &windows) { windows.stride = {}; });
  refuse("stride-too-many", [](WindowShape &windows) { windows.stride = {1, 1}; });
  refuse("padding-missing", [](WindowShape &windows) { windows.before = {}; });
  refuse("padding-over-32-bits", [](WindowShape &windows) { windows.before = {too_many}; });
  refuse("other-input-length", [](WindowShape &windows) { ++windows.in[0]; });
  refuse("more-channels", [](WindowShape &windows) { ++windows.in_channels; });
  refuse("overflowing-dims", [](WindowShape &windows) {
    windows.in_channels = std::uint64_t{1} << 63U;
    windows.in = {4};
  });
}

void wrong_axis(const Generator &generator) {
  const auto right = [](Case &one, Random &random) {
    one.inputs = {ordinary_values(random, one.dtype, 24)};
    one.dims = {2, 3, 4};
    one.number = 1;
  };
  wrong_operands(generator, right);
  const auto refuse = [&](const char *label, std::vector<std::uint64_t> dims, std::uint64_t axis) {
    generator.refuse(label, [&](Case &one, Random &random) {
      right(one, random);
      one.dims = dims;
      one.number = axis;
    });
  };
  refuse("axis-of-rank", {2, 3, 4}, 3);
  refuse("overflowing-dims", {too_many, too_many}, 0);
  refuse("too-many-dims", std::vector<std::uint64_t>(65, 1), 0);
}

void wrong_matrix(const Generator &generator) {
  const auto right = [](Case &one, Random &random) {
    one.inputs = {ordinary_values(random, one.dtype, 15)};
    one.dims = {3, 5};
    one.number = 2;
  };
  wrong_operands(generator, right);
  generator.refuse("overflowing-dims", [&](Case &one, Random &random) {
    right(one, random);
    one.dims = {too_many, too_many};  // a product of 0 in 64 bits
  });
  generator.refuse("zero-rows", [&](Case &one, Random &random) {
    right(one, random);
    one.dims = {0, 5};
  });
}

}  // namespace torchlean::tools
