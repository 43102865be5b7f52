/// Two runs racing: each with its memory, its scores and its progress.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/screen/top_bar.h"
#include "app/screen/widgets.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// Where one racer's parts are; presenter mode has only its memory and its scores.
struct RaceSide {
  Rect head;
  std::map<Slot, Rect> panels;
  std::optional<Rect> totals;
};

struct RaceLayout {
  Rect bar;  ///< of the rival's fields and the verdict
  std::vector<RaceSide> sides;
};
/// The bar, and the cards of both side by side below it, within `body`.
RaceLayout lay_out_race(const Frame& frame, const Rect& body);

/// Bytes and operations of one racer so far, beside those of its whole pass.
void draw_race_totals(const Frame& frame, const Rect& rect, const Snapshot& snapshot);

/// Name, progress and totals of one racer; `rival` selects which.
void draw_race_head(const Frame& frame, const Rect& rect, const Snapshot& snapshot, bool rival);

/// The line of a race's rival above both: its fields to edit, and the verdict at its right end;
/// in presenter mode the verdict alone. Named rectangle: "race.verdict".
void draw_race_bar(const Frame& frame, const Rect& rect, TopBar& rival_fields);
/// "59,392 / 20,736 bytes = 2.9x" of the bytes that both runs request in the shown head; which of
/// them requests more.
std::string race_verdict(const RunInfo& chosen, const RunInfo& rival);

}  // namespace attnscope::app
