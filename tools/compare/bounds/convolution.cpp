// Bounds of convolutions: 2 N eps times the magnitudes of the N products that meet in an element.
#include "compare/bounds/magnitudes.hpp"
#include "compare/bounds/windows.hpp"
#include "compare/windows.hpp"

namespace torchlean::tools {
namespace {

using Term = Terms::value_type;

// Visits what an output element is the sum of: visit(element) or visit(factor, factor). The inputs
// are input, kernel, and bias or gradient.
template <class Visit>
void each_forward_term(const ConvolutionGeometry &at, const Place &place, Visit visit) {
  const std::uint64_t i = place.index % at.out_count;
  const std::uint64_t o = place.index / at.out_count % at.out_channels;
  const std::uint64_t n = place.index / at.out_count / at.out_channels;
  visit(Term(2, o));
  const std::vector<Meeting> meetings = at.windows.meetings(at.windows.out(), i);
  for (std::uint64_t c = 0; c < at.in_channels; ++c) {
    if (!at.same_group(o, c)) continue;
    for (const Meeting &met : meetings) {
      visit(Term(0, at.input(n, c, met[at.windows.in()])),
            Term(1, at.kernel(o, c, met[WindowSide::tap])));
    }
  }
}

// The same for the gradients of kernel, bias and input: of one sample, without groups.
template <class Visit>
void each_backward_term(const ConvolutionGeometry &at, const Place &place, Visit visit) {
  const WindowSide in = at.windows.in();
  const WindowSide out = at.windows.out();
  if (place.output == 0) {
    const std::uint64_t block = place.index / at.taps;
    const std::uint64_t inner = at.is_transposed ? at.out_channels : at.in_channels;
    const std::uint64_t o = at.is_transposed ? block % inner : block / inner;
    const std::uint64_t c = at.is_transposed ? block / inner : block % inner;
    for (const Meeting &met : at.windows.meetings(WindowSide::tap, place.index % at.taps)) {
      visit(Term(0, at.input(0, c, met[in])), Term(2, at.output(0, o, met[out])));
    }
  } else if (place.output == 1) {
    for (std::uint64_t i = 0; i < at.out_count; ++i) visit(Term(2, at.output(0, place.index, i)));
  } else {
    const std::uint64_t c = place.index / at.in_count;
    for (const Meeting &met : at.windows.meetings(in, place.index % at.in_count)) {
      for (std::uint64_t o = 0; o < at.out_channels; ++o) {
        visit(Term(1, at.kernel(o, c, met[WindowSide::tap])), Term(2, at.output(0, o, met[out])));
      }
    }
  }
}

template <bool is_backward, class Visit>
void each_term(const ConvolutionGeometry &at, const Place &place, Visit visit) {
  if constexpr (is_backward) {
    each_backward_term(at, place, visit);
  } else {
    each_forward_term(at, place, visit);
  }
}

template <bool is_transposed, bool is_backward>
Terms terms_of(const Case &one, const Place &place) {
  Terms terms;
  each_term<is_backward>(ConvolutionGeometry(one.windows, is_transposed), place,
                         [&](auto... factors) { (terms.push_back(factors), ...); });
  return terms;
}

template <bool is_transposed, bool is_backward>
Standard standard_of(const Case &one, const Outcome &baseline) {
  const ConvolutionGeometry at(one.windows, is_transposed);
  const Limits &limits = limits_of(one.dtype);
  const auto value = [&](const Term &term) -> long double {
    return one.inputs[term.first].value(term.second);
  };
  Standard standard;
  for (std::size_t k = 0; k < baseline.outputs.size(); ++k) {
    const Array &expected = baseline.outputs[k];
    std::vector<Allowance> &allowances = standard.allowances.emplace_back();
    allowances.reserve(expected.size());
    for (std::uint64_t i = 0; i < expected.size(); ++i) {
      const Place place{k, i, expected.value(i)};
      Magnitudes magnitudes;
      each_term<is_backward>(
          at, place, [&](auto... factors) { magnitudes.add((value(factors) * ...), limits); });
      allowances.push_back(
          relative_to(one, place, magnitudes, 2 * static_cast<double>(magnitudes.count)));
    }
  }
  return standard;
}

}  // namespace

Terms conv_terms(const Case &one, const Place &place) { return terms_of<false, false>(one, place); }
Terms conv_bwd_terms(const Case &one, const Place &place) {
  return terms_of<false, true>(one, place);
}
Terms convtranspose_terms(const Case &one, const Place &place) {
  return terms_of<true, false>(one, place);
}
Terms convtranspose_bwd_terms(const Case &one, const Place &place) {
  return terms_of<true, true>(one, place);
}

Standard conv_standard(const Case &one, const Outcome &baseline, const Outcome &, const Setting &) {
  return standard_of<false, false>(one, baseline);
}
Standard conv_bwd_standard(const Case &one, const Outcome &baseline, const Outcome &,
                           const Setting &) {
  return standard_of<false, true>(one, baseline);
}
Standard convtranspose_standard(const Case &one, const Outcome &baseline, const Outcome &,
                                const Setting &) {
  return standard_of<true, false>(one, baseline);
}
Standard convtranspose_bwd_standard(const Case &one, const Outcome &baseline, const Outcome &,
                                    const Setting &) {
  return standard_of<true, true>(one, baseline);
}

}  // namespace torchlean::tools
