/// The Chrome trace format (Trace Event Format, which Perfetto and chrome://tracing open), event by
/// event: processes and tracks with names, events with a time. One process per SM.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "reference/attention_problem.h"

namespace attnscope {

/// Takes pieces of the file in order; false when one could not be written.
using TextSink = std::function<bool(std::string_view)>;

/// A JSON string.
std::string json_text(std::string_view text);
/// Picoseconds in the format's unit, microseconds, without rounding.
std::string microseconds(Index ps);
/// `"ts":...,"dur":...` of a slice, in microseconds: both ends rounded to whole nanoseconds, which
/// is what Perfetto keeps. Perfetto rounds begin and duration separately, and drops a slice that
/// then overlaps the next one by a nanosecond.
std::string slice_times(Index begin_ps, Index end_ps);

class ChromeEvents {
 public:
  /// Launches and counters; SM s is process s + 1.
  static constexpr Index kTotalsProcess = 0;
  static constexpr int kLaunchTrack = 1;  ///< of that process

  /// The file's metadata: what ran, the kind of its numbers ("modelled", "measured"), and its
  /// clock.
  struct Header {
    std::string run;
    std::string kind;
    std::string clock;
  };

  ChromeEvents(const Header& header, TextSink sink);

  /// One event as JSON.
  void write(const std::string& event);
  /// Each written once.
  void name_process(Index pid, std::string_view name);
  void name_track(Index pid, int tid, std::string_view name);
  void name_sm_track(Index sm, int tid, std::string_view name);
  /// Writes the file's end. False when any piece could not be written.
  bool finish();

  Index count() const { return count_; }

 private:
  TextSink sink_;
  bool good_ = true;
  Index count_ = 0;
  std::set<std::pair<Index, int>> named_;  ///< tracks and processes already named
};

}  // namespace attnscope
