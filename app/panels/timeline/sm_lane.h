/// A lane of the timeline by SM: the thread blocks of one run on one SM.
#pragma once

#include <optional>
#include <vector>

#include "app/draw/canvas.h"
#include "app/draw/chart.h"
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

/// The highlighted block and tile; other blocks are dimmed.
struct SmHighlight {
  std::optional<BlockId> block;
  // The tile under the playhead
  Index i = 0;
  Index j = 0;
};

/// The colours of a predicted block's steps and of its waiting, and of an SM without a block.
struct SmColors {
  ImU32 steps = 0, waiting = 0, idle = 0;
};
/// Bright steps, a mid tone for waiting, and nearly the card's colour for idle SMs. `dimmed`: for
/// a block while another one is highlighted.
SmColors sm_colors(const Theme& theme, bool dimmed);

/// The meaning of the lanes' colours, in as many words as fit in one line of this width; empty if
/// the fewest do not. `highlights`: a block is highlighted.
std::vector<draw::LegendEntry> sm_legend(const draw::Canvas& canvas, const SmRunPair& pair,
                                         bool highlights, float width);

/// The place of a block, which may be outside the visible time, in a lane that covers `bar`.
Rect sm_block_rect(const SmTimeAxis& axis, const SmRun& run, const SmBlock& block, const Rect& bar);

/// Fills `bar` with the blocks of a run on one SM, a row for each slot. Every pixel is drawn at
/// most once, and neighbours of the same colour form one rectangle, so the cost depends on the
/// number of pixels, not of blocks. Only the outline of the highlighted block is drawn over other
/// pixels.
void draw_sm_lane(const draw::Canvas& canvas, const SmTimeAxis& axis, const SmRun& run, Index sm,
                  const Rect& bar, const SmHighlight& highlight);

}  // namespace attnscope::app
