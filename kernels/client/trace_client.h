/// Converts the C interface's trace to AttnScope's. Internal to kernels/client.
#pragma once

#include <optional>

#include "kernels/attnscope_kernels.h"
#include "kernels/trace/kernel_trace.h"

namespace attnscope {

/// Decodes the records into the trace, whose problem and device are known, with the tiling that
/// ran, the launch and the times.
std::optional<Error> add_records(const attnscope_trace& records, KernelTrace& trace);

}  // namespace attnscope
