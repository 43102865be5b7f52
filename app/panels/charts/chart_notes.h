/// Sentences above a chart of sizes that keep a reader from misreading it.
#pragma once

#include <string>
#include <vector>

#include "app/panels/charts/charts.h"

namespace attnscope::app {

/// A sentence in several wordings, the longest first; empty if there is nothing to say.
using ChartNote = std::vector<std::string>;

/// How far along the axis most of a predicted time is spent waiting: "mostly launch latency:
/// standard up to N = 2k; mostly idle SMs: flash2 up to N = 4k, flash1 at every N".
ChartNote latency_note(const SizeSweep& sweep);

/// The chart's tiles, if they differ from those of the run on the screen: its bytes and times then
/// differ from the ledger's. Empty if they are the same, or if the chart lacks the run.
ChartNote tiles_note(const SizeSweep& sweep, const ResolvedRun& shown);

/// Why no algorithm has a recorded point: the nearest recorded run of this GPU and pass, or that
/// there is none.
ChartNote no_recording_note(const SizeSweep& sweep, const GpuDescription& gpu,
                            const Measurements& measurements);

/// All notes of size_chart(), for the run on the screen. `has_recorded`: whether an algorithm has
/// a recorded or measured point.
std::vector<ChartNote> size_notes(const SizeSweep& sweep, ChartQuantity quantity,
                                  const ResolvedRun& shown, bool has_recorded,
                                  const GpuDescription& gpu, const Measurements& measurements);

}  // namespace attnscope::app
