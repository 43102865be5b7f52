/// A lesson on the screen: the places of its card (lesson_card.h) and of its step's panels, the
/// covers and marks over panels, the keys, and the list of lessons. The state of the lesson is in
/// app/play/lesson_player.h.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "app/play/lesson_player.h"
#include "app/screen/widgets.h"

namespace attnscope::app {

/// The slots of the panels that the step shows; if it names none, those of presenter mode.
std::set<Slot> slots_of(const lessons::Show& show);

/// The slots whose numbers would give away the answer to the step's question: never SCORES or the
/// pseudo-code; memory only if the question is about memory, or a choice about what is stored.
std::set<Slot> telling_slots(const lessons::Step& step);

/// One of two runs side by side: its heading and its panels.
struct LessonSide {
  Rect head;
  std::map<Slot, Rect> panels;
};

/// Places the card on the left of the body, and the panels of these slots in the rest: those of one
/// run in `layout`, those of two in `sides`.
struct LessonLayout {
  Rect card;
  Layout layout;
  std::vector<LessonSide> sides = {};
};
LessonLayout layout_lesson(const Layout& screen, const Scales& scales, const std::set<Slot>& slots,
                           bool presenter, bool has_two_runs);

/// Draws the heading of one of two runs: "FlashAttention-2, broken: alpha is always 1".
void draw_lesson_head(const Frame& frame, const Rect& rect, const RunInfo& run,
                      const RunInfo& other);

/// Draws a cover with this text instead of a panel: it would give away the answer, or does not show
/// the step's run yet. Named rectangle: "lesson.cover.PANEL".
void draw_lesson_cover(const Frame& frame, const Panel& panel, const Rect& rect,
                       std::string_view text);

/// Outlines the tensors and the lines of the ledger that the step highlights, adjacent lines as
/// one; `rects` are those of one run's panels. Call after they are drawn. Named rectangles, except
/// in a rival's panels: "lesson.mark.WIDGET", named after the first of adjacent lines.
void mark_lesson_tensors(const Frame& frame, const NamedRects& rects);

/// The thing that panels highlight if the question asks for a tile: the chosen tile or, once it is
/// revealed, the correct one.
std::optional<Thing> lesson_tile(const App& app);

/// Handles the keys of the open lesson: Page Up, Page Down, Enter, Escape.
void handle_lesson_keys(const Frame& frame);

/// The dialog that lists every lesson with the user's progress: key L, or the list of scenes.
class LessonList {
 public:
  void draw(const Frame& frame);

 private:
  void draw_contents(const Frame& frame) const;
};

}  // namespace attnscope::app
