/// Bytes, time and memory against N as charts: modelled lines, recorded or measured points.
#pragma once

#include "app/draw/chart.h"
#include "app/measurements.h"
#include "app/panels/size_sweep.h"
#include "app/view_state.h"

namespace attnscope::app {

/// The settings to chart: those of the problem where a GPU ran them, else the nearest that one did
/// (bf16, d = 64 or 128), else those of the problem.
SweepKey charted_key(const AttentionProblem& problem, std::string_view gpu, PassKind pass,
                     const Measurements& measurements);

/// Every series names its kind in words.
draw::Chart size_chart(const SizeSweep& sweep, ChartQuantity quantity, const GpuDescription& gpu,
                       const Measurements& measurements, const Theme& theme);

}  // namespace attnscope::app
