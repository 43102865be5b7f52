/// The arithmetic behind the L2 measurements: how many chunks the SMs share, where a curve rises,
/// and which half of L2 each SM is close to. Plain C++.
#pragma once

#include <optional>
#include <vector>

#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// The smallest number of chunks, at least `wanted` and 1, such that each of `sms` SMs visits every
/// chunk if it advances by `sms` chunks after each visit, cyclically.
Index shared_chunks(Index wanted, Index sms);

/// The x at which a curve first rises from below the threshold, `fraction` of the way from `low` to
/// `high`, to at least the threshold; interpolated linearly between the two points. Points at the
/// beginning that are not below it are passed over. Nothing if there is no such rise, or if `high`
/// is not above `low`. `x` ascends and is as long as `y`.
std::optional<double> where_risen(const std::vector<double>& x, const std::vector<double>& y,
                                  double low, double high, double fraction);

/// The half of L2, 0 or 1, that each SM is close to: `latencies` are [SMs, lines]. SMs whose
/// latencies rise and fall with the same lines are in one half: the halves are the signs of the
/// first principal component of the table minus the means of its rows and columns. Without such a
/// pattern the halves are meaningless, but neither is empty unless there is only one SM.
std::vector<int> halves_of(const std::vector<std::vector<double>>& latencies);

}  // namespace attnscope::kernels
