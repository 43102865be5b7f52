/// Code shared by the backward schedules: loading K and V, storing dK and dV under grouped heads,
/// converting dQ.
#pragma once

#include "sim/schedule/algorithm.h"

namespace attnscope {

/// Loads K_j and V_j, for a whole sweep over the rows; not when all of them are padding, or when
/// the sweep is empty and ScheduleVariant::skip_unused_kv is set.
void load_keys(const TileGrid& g, std::int32_t j, Program& program);

/// Stores dK_j and dV_j: to their tensors, or, where several query heads share a KV head, to the
/// query head's part of dK_heads and dV_heads.
void store_key_gradients(const TileGrid& g, std::int32_t j, Program& program);
/// The same for one of the two, named by its on-chip tile.
void store_key_gradient(const TileGrid& g, Tile on_chip, Program& program);

/// "convert": dQ = dQ_accum in the problem's precision.
Launch convert_dq_launch();

/// With grouped heads, adds "sum_heads": dK and dV of a KV head are the sums over its query heads.
void add_head_sum_launch(const ScheduleOptions& options, Pass& pass);

}  // namespace attnscope
