/// Shared memory and barriers of both partitions, of one operation and of the pass, as a table.
#pragma once

#include "app/panel.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// The partitions from left to right, as in the paper's figure.
inline constexpr WarpPartition kShownPartitions[] = {WarpPartition::sliced_k,
                                                     WarpPartition::split_q};

/// As the papers write them.
std::string_view partition_title(WarpPartition partition);

float warp_table_height(const PanelContext& context);
void draw_warp_table(const Snapshot& snapshot, const PanelContext& context, const Rect& rect);

}  // namespace attnscope::app
