/// The screen while two algorithms race: each with its memory, its scores and how far it is.
#pragma once

#include <optional>

#include "app/panel.h"
#include "app/screen/layout.h"
#include "app/ui/frame.h"

namespace attnscope::app {

/// Where one racer's parts are.
struct RaceSide {
  Rect head, memory, scores;
  std::optional<Rect> softmax, totals;  ///< absent in presenter mode
};

/// The cards of both, side by side within `body`.
std::vector<RaceSide> lay_out_race(const Frame& frame, const Rect& body);

/// What one racer has spent so far: bytes and operations, beside those of its whole pass.
void draw_race_totals(const Frame& frame, const Rect& rect, const Snapshot& snapshot);

/// Name, progress and totals of one racer; `rival` tells which.
void draw_race_head(const Frame& frame, const Rect& rect, const Snapshot& snapshot, bool rival);

}  // namespace attnscope::app
