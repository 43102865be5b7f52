/// The screen while two algorithms race: each with its memory, its scores and its progress.
#pragma once

#include <optional>

#include "app/ui/widgets.h"

namespace attnscope::app {

/// Where one racer's parts are; presenter mode has neither its online softmax nor its totals.
struct RaceSide {
  Rect head;
  std::map<Slot, Rect> panels;
  std::optional<Rect> totals;
};

/// The cards of both, side by side within `body`.
std::vector<RaceSide> lay_out_race(const Frame& frame, const Rect& body);

/// Bytes and operations of one racer so far, beside those of its whole pass.
void draw_race_totals(const Frame& frame, const Rect& rect, const Snapshot& snapshot);

/// Name, progress and totals of one racer; `rival` selects which.
void draw_race_head(const Frame& frame, const Rect& rect, const Snapshot& snapshot, bool rival);

/// The boxes that start a race against another algorithm, and choose its clock.
void draw_race_field(const Frame& frame, const Rect& box);
void draw_race_clock_field(const Frame& frame, const Rect& box);

}  // namespace attnscope::app
