/// Bytes, time and memory against N as charts: modelled lines, recorded or measured points.
#pragma once

#include "app/chart_choice.h"
#include "app/measurements.h"
#include "app/panels/shown_chart.h"
#include "app/panels/size_sweep.h"

namespace attnscope::app {

/// The problem of the screen: everything but the length is its own.
SweepKey charted_key(const ResolvedRun& run, std::string_view gpu);
/// 16k tokens in all: in the problem's d and precision where a GPU ran them, else the nearest that
/// one did (bf16, d = 64 or 128), else in the problem's.
SweepKey recorded_key(const ResolvedRun& run, std::string_view gpu,
                      const Measurements& measurements);

/// One of the charts of sizes. Every series names its kind in words.
ShownChart size_chart(const SizeSweep& sweep, ChartChoice quantity, const GpuDescription& gpu,
                      const Measurements& measurements, const Theme& theme);

}  // namespace attnscope::app
