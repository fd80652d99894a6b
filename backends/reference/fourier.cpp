// Real Fourier transforms of any length, computed in the wider type (../host/wide_fourier.hpp).
#include "reference.hpp"
#include "wide.hpp"

#include "../host/wide_fourier.hpp"

namespace torchlean::reference {
namespace {

void transform(tl_instance &instance, tl_fourier_op op, const tl_operand *operand, uint64_t batch,
               uint64_t n, tl_flags, tl_storage **out) {
  if (op >= TL_FOURIER_OP_COUNT) throw unknown("op", op);
  expect_given("x", operand);
  if (n == 0) throw invalid("n is 0, expected at least 1");
  check_count(n);
  with_native(operand->dtype, [&]<class T>(T) {
    const auto x = values_of<T>("x", operand);
    const uint64_t half = 2 * (n / 2 + 1);
    const bool to_bins = op == TL_FOURIER_RFFT;
    const uint64_t in = to_bins ? n : half;
    const uint64_t width = to_bins ? half : n;
    expect_equal("x.count", x.size(), product({batch, in}));
    check_count(product({batch, width}));
    Result<T> y(instance, batch * width);
    if (!x.empty()) {
      const wide_fourier::Transform<Wide<T>> plan(n);
      for (uint64_t b = 0; b < batch; ++b) {
        const auto row = x.subspan(b * in, in);
        const std::span<T> result(y.begin() + b * width, width);
        if (to_bins)
          wide_fourier::forward(plan, row, result.data());
        else
          wide_fourier::inverse(plan, row, op == TL_FOURIER_IRFFT ? n : 1, result);
      }
    }
    hand_out(out, y);
  });
}

}  // namespace

const tl_fourier_table fourier_table = {
    .struct_size = sizeof(tl_fourier_table),
    .transform = entry<"transform", transform>,
};

}  // namespace torchlean::reference
