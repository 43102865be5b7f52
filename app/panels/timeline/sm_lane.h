/// A lane of the timeline by SM: the thread blocks of one run on one SM.
#pragma once

#include <optional>

#include "app/draw/canvas.h"
#include "app/draw/zoom.h"
#include "app/panels/timeline/timeline.h"
#include "app/ui/named_rects.h"

namespace attnscope::app {

/// How the picture maps time to pixels.
struct SmTimeAxis {
  Rect bars;         ///< the lanes, without their labels
  Index end_ps = 1;  ///< the end of the whole axis, which begins at 0
  draw::ZoomedAxis shown = {};

  float x_of(Index ps) const;
  Index ps_at(float x) const;
};

/// What is highlighted: the other blocks are dimmed.
struct SmHighlight {
  std::optional<BlockId> block;
  // The tile under the playhead
  Index i = 0;
  Index j = 0;
};

/// The place of a block, which may be outside the visible time, in a lane that covers `bar`.
Rect sm_block_rect(const SmTimeAxis& axis, const SmRun& run, const SmBlock& block, const Rect& bar);

/// Fills `bar` with the blocks of a run on one SM, a row for each slot. Every pixel is drawn at
/// most once, and neighbours of the same colour form one rectangle, so the cost depends on the
/// number of pixels, not of blocks. Only the outline of the highlighted block is drawn over other
/// pixels.
void draw_sm_lane(const draw::Canvas& canvas, const SmTimeAxis& axis, const SmRun& run, Index sm,
                  const Rect& bar, const SmHighlight& highlight);

}  // namespace attnscope::app
