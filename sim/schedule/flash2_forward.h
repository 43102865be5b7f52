/// FlashAttention-2 forward (arXiv 2307.08691, Algorithm 1).
#pragma once

#include "sim/schedule/algorithm.h"

namespace attnscope {

/// The program of one thread block: row tile `block` of one head. O_i, m_i, l_i stay on chip for
/// the whole sweep over j. Reads per head N d + 2 d (keys visited by each row tile); writes N d and
/// N row statistics.
void flash2_forward(const TileGrid& g, Index block, Program& program);

/// The same for the column tiles in `columns`, without the stores of O_i and LSE_i, which stay on
/// chip.
void flash2_sweep(const TileGrid& g, std::int32_t i, const TileRange& columns, Program& program);

Pass flash2_forward_pass(const ScheduleOptions& options);

}  // namespace attnscope
