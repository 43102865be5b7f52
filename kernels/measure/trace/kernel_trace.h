/// The records of a traced kernel, on a common clock: the time and SM of each thread block, step by
/// step, and m, l and alpha of chosen rows. Schema "attnscope.kernel_trace/1". Plain C++: programs
/// without CUDA read it.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/device/trace_buffer.cuh"
#include "kernels/recording/recording.h"

namespace attnscope {

/// A step of a thread block, as executed by its first warp.
struct TracedStep {
  kernels::TraceStep step = kernels::TraceStep::wait;
  std::int32_t i = 0;
  std::int32_t j = 0;
  bool done = true;    ///< false: skipped, since alpha is 1 in all rows of the warp
  Index begin_ps = 0;  ///< since the first block began
  Index end_ps = 0;
};

struct TracedBlock {
  Index sm = 0;
  Index batch = 0;
  Index head = 0;
  Index block = 0;  ///< within the head
  Index begin_ps = 0;
  Index end_ps = 0;
  std::vector<TracedStep> steps;
};

/// m, l and alpha of one row after each column tile; NaN if the row has no such tile. m is the
/// maximum of the scaled scores, as in the model. In split_kv, the row starts afresh in each split:
/// the values at column tile j are over the keys of j's split, up to and including tile j.
struct TracedRow {
  Index batch = 0;
  Index head = 0;
  Index row = 0;
  std::vector<kernels::TraceRow> states;
  /// If P warps share the keys of a column tile (split_kv, and other kernels with
  /// partition=sliced-k), the records of each: warp w has keys [w Bc / P, (w + 1) Bc / P) of each
  /// tile, and its own m, l and alpha. `states` then holds the merged values, merged like the
  /// warps' outputs at the end of a split or of the row tile.
  std::vector<std::vector<kernels::TraceRow>> parts = {};
};

struct KernelTrace {
  Recording header;           ///< device, build, date; no rows
  ResolvedRun run;            ///< one pass of a kernel on generated inputs, without a block mask
  std::string unidentified;   ///< as in RecordingRow
  std::string launch;         ///< the traced launch of the pass
  std::string instructions;   ///< of its matrix products: "mma.sync"; "" in older files
  double time_s = 0.0;        ///< one pass with the traced launch, by CUDA events
  double plain_time_s = 0.0;  ///< one pass without a trace
  double sm_clock_mhz = 0.0;  ///< during the launch: cycles per time of the global timer
  /// Resolution of the global timer: the smallest difference between its readings. Nothing if
  /// they are too far apart to tell it, as with only a few blocks.
  std::optional<Index> timer_step_ns;
  std::vector<TracedBlock> blocks;  ///< head by head
  std::vector<TracedRow> rows;

  Index end_ps() const;
  Index step_count() const;
};

/// The kernels' records, wherever they are stored.
struct TraceRecords {
  std::span<const kernels::TraceBlock> blocks;
  std::span<const kernels::TraceEvent> events;  ///< [blocks, events_per_block]
  std::size_t events_per_block = 0;
  std::span<const kernels::TraceRow> rows;  ///< [row_parts, B, H, rows_per_head, column_tiles]
  std::size_t row_step = 0;
  std::size_t rows_per_head = 0;
  std::size_t column_tiles = 0;
  std::size_t row_parts = 1;
};

/// Puts the records on one clock and adds them to `trace`, whose problem and device are known. The
/// cycles of an SM are converted to time with the rate of all SMs relative to the global timer (the
/// device's highest clock if the run is too short), and each SM's offset on that clock is the mean
/// over its blocks' readings: exact to a few cycles within an SM, and to a fraction of the timer's
/// step between SMs. failed if records contradict each other.
std::optional<Error> decode_trace(const TraceRecords& records, KernelTrace& trace);

/// The slot of each block among its SM's resident blocks: the lowest slot that is free when it
/// begins.
std::vector<Index> block_slots(const KernelTrace& trace);

/// Parses a trace; `name` is the file's name in messages. invalid_request, in one line with the
/// position, for any other text.
Result<KernelTrace> parse_kernel_trace(std::string_view text, std::string_view name);
Result<KernelTrace> read_kernel_trace(const std::filesystem::path& path);

/// The text of a trace: the header, then one block per line. The problem has no block mask.
std::string kernel_trace_text(const KernelTrace& trace);

}  // namespace attnscope
