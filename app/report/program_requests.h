/// The bytes that a kernel's program requests in addition to the tiles of its schedule.
#pragma once

#include <vector>

#include "kernels/recording/recording.h"
#include "sim/simulation.h"

namespace attnscope {

/// The bytes of each launch of the model, in its order. Programs with Hopper's instructions also
/// request the parts of their boxes beyond the tensors and the unused rows in pieces of dQ
/// (box_counter.h), and take the numbers of row tiles with atomic additions.
std::vector<Bytes> requests_beyond_tiles(const SimulationReport& model, const GpuDescription& gpu,
                                         const RecordingRow& run);

}  // namespace attnscope
