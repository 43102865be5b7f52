/// Chrome traces: the format, and a modelled timeline in it, with one process per SM, one track per
/// unit of each resident thread block, and counters of the bytes requested so far.
#pragma once

#include <array>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "reference/algorithm.h"
#include "reference/attention_problem.h"
#include "sim/schedule/algorithm.h"
#include "sim/simulation.h"
#include "sim/trace/timeline.h"

namespace attnscope {

// The Chrome trace format (Trace Event Format, which Perfetto and chrome://tracing open), event by
// event: processes and tracks with names, events with a time. One process per SM.

/// Receives the pieces of the file in order; false if one could not be written.
using TextSink = std::function<bool(std::string_view)>;

/// A JSON string.
std::string json_text(std::string_view text);
/// Picoseconds in the format's unit, microseconds, without rounding.
std::string microseconds(Index ps);
/// `"ts":...,"dur":...` of a slice, in microseconds: both ends rounded to whole nanoseconds, which
/// is Perfetto's resolution. Perfetto rounds start and duration separately, and drops a slice if it
/// then overlaps the next one by a nanosecond.
std::string slice_times(Index begin_ps, Index end_ps);

class ChromeEvents {
 public:
  /// The process of launches and counters; SM s is process s + 1.
  static constexpr Index kTotalsProcess = 0;
  static constexpr int kLaunchTrack = 1;  ///< in kTotalsProcess

  /// The file's metadata: the run, the kind of its numbers ("modelled", "measured") and its clock.
  struct Header {
    std::string run;
    std::string kind;
    std::string clock;
  };

  ChromeEvents(const Header& header, TextSink sink);

  /// One event as JSON.
  void write(const std::string& event);
  /// Name a process or a track; each name is written only once.
  void name_process(Index pid, std::string_view name);
  void name_track(Index pid, int tid, std::string_view name);
  void name_sm_track(Index sm, int tid, std::string_view name);
  /// Writes the file's end. False if any piece could not be written.
  bool finish();

  Index count() const { return count_; }

 private:
  TextSink sink_;
  bool good_ = true;
  Index count_ = 0;
  std::set<std::pair<Index, int>> named_;  ///< tracks and processes already named
};

// The modelled timeline in this format.

/// Writes a stream: its memory does not grow with the number of operations.
class ChromeTraceWriter : public TimelineSink {
 public:
  /// `description` is the first entry of the file's metadata. `pass` supplies the pseudo-code.
  ChromeTraceWriter(const Pass& pass, const std::string& description, TextSink sink);

  void begin_launch(std::string_view name, Index blocks_per_sm) override;
  void add_op(const TimedOp& op) override;
  void add_block(const BlockId& block, const Placement& place, Picoseconds begin,
                 Picoseconds end) override;
  void end_launch(std::string_view name, Picoseconds begin, Picoseconds end) override;
  /// Writes the counters and the file's end. False if any piece could not be written.
  bool finish();

  Index event_count() const { return events_.count(); }

 private:
  static constexpr std::size_t kBins = 512;

  void name_track(const Placement& place, int tid, std::string_view what);
  void count(const TimedOp& op);
  void write_counters();

  const Pass& pass_;
  ChromeEvents events_;
  std::size_t next_launch_ = 0;
  std::vector<std::string> lines_;  ///< of the launch's pseudo-code, as JSON strings

  /// Bytes over time, in bins whose width doubles when the time exceeds them.
  std::array<Index, kBins> read_bytes_{}, written_bytes_{};
  Picoseconds bin_width_ = 1000;
};

// A problem's modelled run as a Chrome trace.

/// The largest number of operations in a trace: about 250 MB of JSON, which a browser can still
/// open.
inline constexpr Index kMaxTraceOps = 1'000'000;

/// A summary of the written trace.
struct TraceSummary {
  SimulationReport report;
  Index events = 0;
  Picoseconds end_ps = 0;
};

/// Runs the pass over every head as a timeline on the GPU; `report` is the result of its
/// simulation. Returns when the last block ends. `beside` (may be null) observes the same
/// operations.
Picoseconds run_timeline(const Pass& pass, const PassRun& run, const SimulationReport& report,
                         const GpuDescription& gpu, TimelineSink& sink,
                         Index warps_per_block = kPaperWarps, Observer* beside = nullptr);

/// Runs the run's pass over every head and streams the trace to `sink`; `progress` (may be empty)
/// receives the completed fraction. invalid_request as in simulate(), and for more than
/// kMaxTraceOps operations, before anything is written. failed if the sink cannot write.
Result<TraceSummary> write_trace(const ResolvedRun& run, const GpuDescription& gpu,
                                 const BlockOrder& order, const TextSink& sink,
                                 const std::function<void(double)>& progress);

}  // namespace attnscope
