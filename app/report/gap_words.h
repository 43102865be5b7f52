/// The words of a comparison where a ratio would mislead.
#pragma once

#include <optional>
#include <string>

#include "app/report/compare.h"

namespace attnscope {

/// The text in place of a ratio.
struct GapWords {
  std::string brief;   ///< "launch latency", "output in L2", "not comparable: spills"
  std::string reason;  ///< "launch latency; 4 of 132 SMs"
};

/// The words for requested bytes of a kernel that spills, for a time that is mostly launch latency,
/// and for DRAM bytes below kSmallDramBytes; nothing for other lines.
std::optional<GapWords> words_in_place_of_gap(const ComparisonLine& line,
                                              const SimulationReport& model,
                                              const GpuDescription& gpu, const RecordingRow& run);

/// Thread blocks of the launch that requests the most bytes; none: 0.
Index thread_blocks_of_main_launch(const SimulationReport& model);

}  // namespace attnscope
