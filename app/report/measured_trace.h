/// The trace of a real run as a Chrome trace like the model's, and as a short description.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/measure/trace/kernel_trace.h"
#include "kernels/recording/recording.h"
#include "sim/trace/chrome_trace.h"

namespace attnscope {

/// The run and its GPU: "flash2, N 1024, d 64, ..., tiles 128x128, mma.sync, on NVIDIA H200".
std::string describe(const KernelTrace& trace);

/// The run of a trace as a row of a recording, with its time but no counters.
RecordingRow row_of(const KernelTrace& trace);

/// The folder of shipped traces in assets/.
inline constexpr std::string_view kTracesFolder = "recordings/traces";

/// A trace in kTracesFolder.
struct ShippedTrace {
  std::string name;
  Result<KernelTrace> trace;
};
/// The shipped traces, sorted by name. Read at the first call; files saved later are found after a
/// restart.
const std::vector<ShippedTrace>& shipped_traces();

/// Writes the trace with one process per SM; each resident block has one track for the whole block
/// and one for the steps of its first warp. Returns false if a piece could not be written. Sets
/// `events` to the number of events.
bool write_measured_trace(const KernelTrace& trace, const TextSink& sink, Index& events);

}  // namespace attnscope
