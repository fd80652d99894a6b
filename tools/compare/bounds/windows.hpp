// What the results of convolutions and pools are held against, and the terms of their elements.
#pragma once

#include "compare/standard.hpp"

namespace torchlean::tools {

Terms conv_terms(const Case &, const Place &);
Terms conv_bwd_terms(const Case &, const Place &);
Terms convtranspose_terms(const Case &, const Place &);
Terms convtranspose_bwd_terms(const Case &, const Place &);

Standard conv_standard(const Case &, const Outcome &, const Outcome &, const Setting &);
Standard conv_bwd_standard(const Case &, const Outcome &, const Outcome &, const Setting &);
Standard convtranspose_standard(const Case &, const Outcome &, const Outcome &, const Setting &);
Standard convtranspose_bwd_standard(const Case &, const Outcome &, const Outcome &,
                                    const Setting &);

// Of a pool the entries of the window; of its gradient those of all windows over the position, with
// their gradients in front.
Terms pool_terms(const Case &, const Place &);
Terms pool_bwd_terms(const Case &, const Place &);

Standard maxpool_bwd_standard(const Case &, const Outcome &, const Outcome &, const Setting &);
Standard avgpool_standard(const Case &, const Outcome &, const Outcome &, const Setting &);
Standard avgpool_bwd_standard(const Case &, const Outcome &, const Outcome &, const Setting &);
Standard smooth_maxpool_standard(const Case &, const Outcome &, const Outcome &, const Setting &);
Standard smooth_maxpool_bwd_standard(const Case &, const Outcome &, const Outcome &,
                                     const Setting &);

}  // namespace torchlean::tools
