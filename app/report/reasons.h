/// Why a recorded number differs from the modelled one: sentences derived from the data.
#pragma once

#include <string>

#include "app/report/compare.h"

namespace attnscope {

/// What is said instead of a ratio.
struct SmallRunWords {
  std::string brief;   ///< "launch latency", "output in L2"
  std::string reason;  ///< "launch latency; 4 of 132 SMs"
};

/// The words for a time below kLaunchLatencySeconds or DRAM bytes below kSmallDramBytes; nothing
/// for other lines. `line` has both numbers.
std::optional<SmallRunWords> small_run_words(const ComparisonLine& line,
                                             const SimulationReport& model,
                                             const GpuDescription& gpu);

/// `line` has both numbers and its gap; the launch is named by line.launch.
std::string gap_reason(const ComparisonLine& line, const SimulationReport& model,
                       const GpuDescription& gpu, const RecordingRow& run);

/// Thread blocks of the launch that requests the most bytes; none: 0.
Index thread_blocks_of_main_launch(const SimulationReport& model);

/// How far the time is from its lower bound, and what the bound leaves out: idle SMs, exponentials
/// that wait for other units, the bytes that did reach DRAM.
std::string time_reason(const ComparisonLine& line, const SimulationReport& model,
                        const GpuDescription& gpu, const RecordingRow& run);

}  // namespace attnscope
