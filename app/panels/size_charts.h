/// Bytes, time and memory against N as charts: modelled lines, recorded or measured points.
#pragma once

#include "app/chart_choice.h"
#include "app/measurements.h"
#include "app/panels/shown_chart.h"
#include "app/panels/size_sweep.h"

namespace attnscope::app {

/// The settings to chart: those of the problem where a GPU ran them, else the nearest that one did
/// (bf16, d = 64 or 128), else those of the problem.
SweepKey charted_key(const AttentionProblem& problem, std::string_view gpu, PassKind pass,
                     const Measurements& measurements);
/// Whether these are the problem's own settings.
bool charts_own(const SweepKey& key, const AttentionProblem& problem);

/// One of the charts of sizes. Every series names its kind in words.
ShownChart size_chart(const SizeSweep& sweep, ChartChoice quantity, bool own,
                      const GpuDescription& gpu, const Measurements& measurements,
                      const Theme& theme);

}  // namespace attnscope::app
