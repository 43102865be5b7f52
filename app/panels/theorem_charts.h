/// The IO theorems drawn against the counts: bytes against N, d, M, block size or density.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/chart_choice.h"
#include "app/measurements.h"
#include "app/panels/shown_chart.h"
#include "app/work_control.h"
#include "reference/result.h"
#include "sim/studies/io_theorems.h"

namespace attnscope::app {

/// What a curve depends on.
struct TheoremKey {
  IoAxis axis = IoAxis::seq_len;
  RunSpec run;  ///< pass, GPU, SRAM of a thread block, and of the problem what is not on the axis
  bool operator==(const TheoremKey&) const = default;
};

/// The key of the screen's problem as the theorems have it: dense, every head with keys of its own.
TheoremKey theorem_key(IoAxis axis, PassKind pass, const AttentionProblem& shown,
                       const GpuDescription& gpu);

/// The axis of a chart of theorems; nothing for the other charts.
std::optional<IoAxis> io_axis_of(ChartChoice chart);

using TheoremPoints = std::vector<IoPoint>;
/// The study's points at its usual values. Tells how far it is; ends soon when it was cancelled.
Result<TheoremPoints> count_theorems(const TheoremKey& key, const GpuDescription& gpu,
                                     WorkControl& control);

/// Counted points, the closed form, its leading term, drawn for d <= M <= N d, and the order of the
/// lower bound, drawn for d^2 <= M <= N d. Along Bc and the SRAM: what this GPU showed of flash1's
/// kernel, for as many heads; its bytes depend on Bc alone, so that another Br changes nothing.
ShownChart theorem_chart(const TheoremKey& key, const TheoremPoints& points,
                         const GpuDescription& gpu, const Measurements& measurements,
                         const Theme& theme);

}  // namespace attnscope::app
