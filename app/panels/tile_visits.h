/// What a mask leaves of the tile grid, for closed forms of traffic: from the mask alone, apart
/// from the schedules.
#pragma once

#include "sim/ops/tile_grid.h"

namespace attnscope::app {

struct Visits {
  Index keys = 0;          ///< sum over row tiles of the keys in the column tiles that each visits
  Index rows = 0;          ///< sum over visited tiles of their query rows
  Index keys_seen = 0;     ///< keys in the column tiles that any row tile visits
  Index keys_in_band = 0;  ///< the same, when a block mask leaves every tile
};

/// Of batch entry `b`, whose key length may be its own: with skips_padded_keys, keys behind it do
/// not count, as ScheduleOptions has it.
Visits count_visits(const AttentionProblem& problem, const Tiling& tiling, Index b,
                    bool skips_padded_keys = false);

}  // namespace attnscope::app
