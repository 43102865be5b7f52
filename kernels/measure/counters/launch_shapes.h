/// Records the kernels that each launch of a pass starts, and their shapes, with CUPTI callbacks on
/// the driver functions that launch a kernel.
#pragma once

#include <optional>
#include <vector>

#include "kernels/launch.h"
#include "kernels/measure/stream.h"
#include "kernels/recording/measurement.h"
#include "reference/result.h"

namespace attnscope::kernels {

/// Runs the pass once, outside the range profiler, and adds to each launch the kernels that start
/// between its marks; copies and memory sets do not count as kernels. `launches` are those of the
/// same pass, from CounterProfiler::collect(). On an error they are unchanged: unavailable if CUPTI
/// or a function of the driver is missing, or another tool receives the callbacks, since CUPTI
/// serves only one; failed if the pass fails or starts other launches. Throws CudaError.
std::optional<Error> add_launch_shapes(const Stream& stream, const Pass& pass,
                                       std::vector<LaunchCounters>& launches);

}  // namespace attnscope::kernels
