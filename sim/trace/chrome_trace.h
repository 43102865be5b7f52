/// Writes a timeline as Chrome trace JSON (the Trace Event Format), which Perfetto and
/// chrome://tracing open: one process an SM, one track for each unit of each resident thread block,
/// counters of the bytes requested so far.
#pragma once

#include <array>
#include <functional>
#include <set>
#include <string>

#include "sim/schedule/algorithm.h"
#include "sim/trace/timeline.h"

namespace attnscope {

/// Takes pieces of the file in order; false when one could not be written.
using TextSink = std::function<bool(std::string_view)>;

/// Streams: what it keeps does not grow with the number of operations.
class ChromeTraceWriter : public TimelineSink {
 public:
  /// `description` heads the file's metadata. `pass` is the one that runs, for its pseudo-code.
  ChromeTraceWriter(const Pass& pass, const std::string& description, TextSink sink);

  void begin_launch(std::string_view name, Index blocks_per_sm) override;
  void add_op(const TimedOp& op) override;
  void add_block(const BlockId& block, const Placement& place, Picoseconds begin,
                 Picoseconds end) override;
  void end_launch(std::string_view name, Picoseconds begin, Picoseconds end) override;
  /// Writes the counters and the file's end. False when any piece could not be written.
  bool finish();

  Index event_count() const { return event_count_; }

 private:
  static constexpr std::size_t kBins = 512;

  void name_track(const Placement& place, int tid, std::string_view what);
  void name_process(Index pid, std::string_view name);
  void write_event(const std::string& event);
  void count(const TimedOp& op);
  void write_counters();

  const Pass& pass_;
  TextSink sink_;
  bool good_ = true;
  bool first_event_ = true;
  Index event_count_ = 0;
  std::size_t next_launch_ = 0;
  std::vector<std::string> lines_;         ///< of the launch's pseudo-code, as JSON strings
  std::set<std::pair<Index, int>> named_;  ///< tracks and processes that have their name

  /// Bytes by time, in bins whose width doubles when the time outgrows them.
  std::array<Index, kBins> read_bytes_{}, written_bytes_{};
  Picoseconds bin_width_ = 1000;
};

}  // namespace attnscope
