/// Why a recorded number differs from the modelled one: sentences derived from the data.
#pragma once

#include <string>

#include "app/report/compare.h"

namespace attnscope {

/// `line` has both numbers and its gap; the launch is named by line.launch.
std::string gap_reason(const ComparisonLine& line, const SimulationReport& model,
                       const GpuDescription& gpu, const RecordingRow& run);

/// How far the time is from its lower bound, and what the bound leaves out: idle SMs, exponentials
/// that wait for other units, the bytes that did reach DRAM.
std::string time_reason(const ComparisonLine& line, const SimulationReport& model,
                        const GpuDescription& gpu, const RecordingRow& run);

}  // namespace attnscope
