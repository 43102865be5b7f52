/// A problem's score parameters and lists of tiles, with the arrays in device memory. Internal.
#pragma once

#include "kernels/forward_parameters.h"

namespace attnscope::kernels {

/// score_parameters() with score_arrays() on the current device. Throws CudaError.
ScoreParameters device_scores(const AttentionProblem& problem,
                              ScoreUnit unit = ScoreUnit::before_scale);

/// Lists of tiles on the current device.
const int* device_lists(const std::vector<int>& lists);

}  // namespace attnscope::kernels
