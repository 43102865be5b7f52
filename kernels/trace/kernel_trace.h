/// What a kernel's instrumented build recorded, on one clock: when each thread block ran on which
/// SM, step by step, and m, l and alpha of chosen rows. Schema "attnscope.kernel_trace/1". Plain
/// C++: programs without CUDA read it.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/recording/recording.h"
#include "kernels/trace/trace_buffer.h"

namespace attnscope {

/// A step of a thread block, as its first warp went through it.
struct TracedStep {
  kernels::TraceStep step = kernels::TraceStep::wait;
  std::int32_t i = 0;
  std::int32_t j = 0;
  bool done = true;    ///< false: left out, since alpha is 1 in all rows of the warp
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

/// m, l and alpha of one row after each column tile; NaN where the row has no such tile. m is the
/// maximum of the scaled scores, as the model has it. In split_kv the row begins anew with each
/// split: column tile j's are those of the keys of j's split, up to j's last.
struct TracedRow {
  Index batch = 0;
  Index head = 0;
  Index row = 0;
  std::vector<kernels::TraceRow> states;
  /// Where P warps share the keys of a column tile (split_kv), what they recorded: warp w has keys
  /// [w Bc / P, (w + 1) Bc / P) of each tile, and m, l and alpha of its own. `states` then is what
  /// these merge to, as the warps' outputs do when a split ends.
  std::vector<std::vector<kernels::TraceRow>> parts = {};
};

struct KernelTrace {
  Recording header;           ///< device, build, date; no rows
  ResolvedRun run;            ///< one pass of a kernel on drawn inputs
  std::string launch;         ///< the traced launch of the pass
  double time_s = 0.0;        ///< one pass with the instrumented launch, by CUDA events
  double plain_time_s = 0.0;  ///< one pass without
  double sm_clock_mhz = 0.0;  ///< while the launch ran: cycles over the global timer
  /// Of the global timer: how far apart its readings were at least. Nothing where they lie too far
  /// apart to tell, as those of a few blocks do.
  std::optional<Index> timer_step_ns;
  std::vector<TracedBlock> blocks;  ///< in order of the grid
  std::vector<TracedRow> rows;

  Index end_ps() const;
  Index step_count() const;
};

/// The kernels' own records, wherever they stand.
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

/// Puts the records on one clock and adds them to `trace`, whose problem and device are known.
/// Cycles of an SM become time by the rate that all SMs together show against the global timer (the
/// device's highest clock where the run is too short for one), and each SM's place on that clock is
/// the mean of its blocks' readings: exact to a few cycles within an SM, to a part of the timer's
/// step between SMs. failed when records contradict each other.
std::optional<Error> decode_trace(const TraceRecords& records, KernelTrace& trace);

/// Which of its SM's resident blocks each block is: the lowest number that is free when it begins.
std::vector<Index> block_slots(const KernelTrace& trace);

/// invalid_request with one line and the place; `name` stands for the file.
Result<KernelTrace> parse_kernel_trace(std::string_view text, std::string_view name);
Result<KernelTrace> read_kernel_trace(const std::filesystem::path& path);

/// Header first, then one block a line. The problem has no block mask.
std::string kernel_trace_text(const KernelTrace& trace);

}  // namespace attnscope
