/// What an operation does, in the few letters that fit beside its arcs.
#pragma once

#include <string_view>

#include "sim/ops/tile_op.h"

namespace attnscope::app {

/// "Q Kᵀ", "rowmax", "rescale"; empty for what moves bytes and where the tiles say enough.
std::string_view operation_label(const TileOp& op);

}  // namespace attnscope::app
