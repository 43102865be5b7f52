/// Bytes, time and memory against N as charts: modelled lines, recorded or measured points.
#pragma once

#include "app/draw/chart.h"
#include "app/measurements.h"
#include "app/panels/size_sweep.h"
#include "app/view_state.h"

namespace attnscope::app {

/// Every series names its kind in words.
draw::Chart size_chart(const SizeSweep& sweep, ChartQuantity quantity, const GpuDescription& gpu,
                       const Measurements& measurements, const Theme& theme);

}  // namespace attnscope::app
