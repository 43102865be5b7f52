/// A race of two runs, each with its memory, its scores and its progress.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/screen/top_bar.h"
#include "app/screen/widgets.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// The places of one racer's parts; in presenter mode, only its heading and its memory.
struct RaceSide {
  Rect head;
  std::map<Slot, Rect> panels;
  std::optional<Rect> totals;
};

struct RaceLayout {
  Rect bar;  ///< has the rival's fields and the verdict
  std::vector<RaceSide> sides;
};
/// Places the bar within `body`, and below it the cards of both racers side by side.
RaceLayout lay_out_race(const Frame& frame, const Rect& body);

/// Draws a racer's bytes and operations so far beside those of its whole pass.
void draw_race_totals(const Frame& frame, const Rect& rect, const Snapshot& snapshot);

/// Draws the name, progress and totals of one racer: the rival if `rival`, else the chosen run.
void draw_race_head(const Frame& frame, const Rect& rect, const Snapshot& snapshot, bool rival);

/// Draws the bar above both racers: the rival's fields to edit, and the verdict at its right end;
/// in presenter mode the verdict alone. Named rectangle: "race.verdict".
void draw_race_bar(const Frame& frame, const Rect& rect, TopBar& rival_fields);
/// "rival requests less: 59,392 / 20,736 bytes = 2.9x": the bytes that both runs request in the
/// displayed head; the run that requests fewer is ahead.
std::string race_verdict(const RunInfo& chosen, const RunInfo& rival);

}  // namespace attnscope::app
