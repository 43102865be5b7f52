/// Fusion, step by step, as bars: bytes of every launch of every step.
#pragma once

#include <string>
#include <vector>

#include "app/panels/shown_chart.h"
#include "app/work_control.h"
#include "reference/result.h"
#include "sim/studies/fusion.h"

namespace attnscope::app {

/// What the steps depend on: problem, tiling and GPU.
using FusionKey = RunSpec;

/// Figure 2 (left) of arXiv 2205.14135, or the problem without its block mask, which the dense
/// algorithms do not take.
FusionKey figure2_key(std::string gpu);
FusionKey fusion_key(const AttentionProblem& problem, const Tiling& tiling, std::string gpu);

/// fusion_steps(), with progress.
Result<std::vector<FusionStep>> count_fusion(const FusionKey& key, const GpuDescription& gpu,
                                             WorkControl& control);

/// A bar a step, of launches that are cut into read and written; beside it what the figure prints,
/// for its own problem. What one number a row takes (m, l, LSE, D) stands at the end, as the
/// figure leaves it out.
ShownChart fusion_chart(const FusionKey& key, const std::vector<FusionStep>& steps,
                        const Theme& theme);

}  // namespace attnscope::app
