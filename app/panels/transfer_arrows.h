/// Arrows between HBM and SRAM for the last operation and the next one, with their bytes.
#pragma once

#include "app/panels/hbm_box.h"
#include "app/panels/sram_box.h"

namespace attnscope::app {

/// `gap` is the room between the two boxes, where the labels stand.
void draw_transfers(const Snapshot& snapshot, const PanelContext& context, const SramBox& sram,
                    const HbmBox& hbm, const Rect& gap);

}  // namespace attnscope::app
