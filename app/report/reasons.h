/// Why a recorded number differs from the modelled one: sentences derived from the data.
#pragma once

#include "app/report/compare.h"

namespace attnscope {

/// The rows of O for which standard's output product read V once, derived from its bytes: a library
/// chooses that tile separately from the tile of the scores. Nothing when the bytes match no whole
/// number of reads within 1 %, or when fewer than 16 rows share a read, which cannot be a tile.
std::optional<Index> fitted_output_rows(const RecordingRow& run);

/// Adds the gap and its reason to a line with both numbers, or a phrase in place of the ratio: for
/// a time below kLaunchLatencySeconds, or DRAM bytes below kSmallDramBytes.
void add_gap(ComparisonLine& line, const SimulationReport& model, const GpuDescription& gpu,
             const RecordingRow& run);

}  // namespace attnscope
