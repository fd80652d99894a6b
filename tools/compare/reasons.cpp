// Why each budget is what it is.
#include "common/backends.hpp"
#include "compare/operations.hpp"

namespace torchlean::tools {
namespace {

struct Reason {
  const char *names;  // a pattern
  const char *text;
};

constexpr const char *elementary =
    "two steps from the correctly rounded value, within which good libraries stay";

constexpr Reason reasons[] = {
    {"exp", elementary},
    {"log", elementary},
    {"log1p", elementary},
    {"sin", elementary},
    {"cos", elementary},
    {"tanh", elementary},
    {"sigmoid", "an exponential of 2 ulp, a sum and a quotient, each rounded"},
    {"gelu", "a tanh of 2 ulp beside 1, then rounded products"},
    {"gelu_bwd", "a tanh of 2 ulp in products and sums, each rounded"},
    {"scaled_prod_exp", "an exponential of 2 ulp of a product that is rounded as written"},
    {"rand_normal", "logarithm, root and cosine of rounded numbers, each within 2 ulp"},
    {"reduce_mean", "as the sum, and two roundings more for the reciprocal and the product"},
    {"reduce_*",
     "any order of additions that is not one after the other: a tree, blocks, or a "
     "wider type"},
    {"scatter_add*", "one rounded addition for each update of the row, in any order"},
    {"bmm_scaled", "as the product, and two roundings more of the scaled operands"},
    {"bmm_with_transpose", "n products and n - 1 sums, each rounded, in any order"},
    {"dgemm", "n products and n - 1 sums, each rounded, in any order"},
    {"*softmax*", "an exponential of a rounded difference, over a sum of such"},
    {"layer_norm_fwd",
     "sums and differences of binary64, of which rows with a large mean lose most"},
    {"layer_norm_bwd", "two sums over the row in steps that are each rounded"},
    {"cross_entropy", "a logarithm of a sum of exponentials in each row, and a sum over all"},
    {"distillation", "two softmaxes, and a sum over all"},
    {"*rfft1d*", "about log2 n rounded additions for each element, whatever the algorithm"},
    {"selective_scan_*", "the recurrence as written, or a scan in about log2 n steps"},
    {"conv*", "N products and sums, each rounded, in any order"},
    {"maxpool_bwd", "the gradients of the windows won are added; nothing is computed for one"},
    {"avgpool_*", "N sums and a quotient, or a product with a rounded reciprocal"},
    {"smooth_maxpool_fwd", "exponentials of distances to the pivot, the logarithm of their sum"},
    {"smooth_maxpool_bwd", "softmax's weights, times the gradients of windows that are added"}};

}  // namespace

const char *budget_reason(const Operation &operation) {
  switch (operation.rule) {
    case Rule::bits: return "words are moved, nothing is computed";
    case Rule::exact: return "every rounding is one of IEEE 754, in the order that is written";
    case Rule::exact_either_zero: return "nothing is rounded, and zeros of either sign are equal";
    case Rule::bounded: break;
  }
  for (const Reason &reason : reasons) {
    if (matches(reason.names, operation.name)) return reason.text;
  }
  return "";
}

}  // namespace torchlean::tools
