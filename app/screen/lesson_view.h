/// A lesson on the screen: the card with its step, beside the panels that the step shows. The state
/// of the lesson is in app/play/lesson_player.h.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/play/lesson_player.h"
#include "app/screen/widgets.h"

namespace attnscope::app {

/// The slots of the panels that the step shows; if it names none, those of presenter mode.
std::set<Slot> slots_of(const lessons::Show& show);

/// The slots whose numbers would give away the answer to the step's question: never SCORES and the
/// pseudo-code; memory only if the question is about memory.
std::set<Slot> telling_slots(const lessons::Step& step);

/// One of two runs side by side: its heading and its panels.
struct LessonSide {
  Rect head;
  std::map<Slot, Rect> panels;
};

/// Places the card at the left of the body, and the panels of these slots in the rest: those of one
/// run in `layout`, those of two in `sides`.
struct LessonLayout {
  Rect card;
  Layout layout;
  std::vector<LessonSide> sides = {};
};
LessonLayout layout_lesson(const Layout& screen, const Scales& scales, const std::set<Slot>& slots,
                           bool presenter, bool has_two_runs);

/// The heading of one of two runs: "FlashAttention-2, broken: alpha is always 1".
void draw_lesson_head(const Frame& frame, const Rect& rect, const RunInfo& run,
                      const RunInfo& other);

/// Drawn in place of a panel that would give away the answer. Named rectangle:
/// "lesson.cover.PANEL".
void draw_lesson_cover(const Frame& frame, const Panel& panel, const Rect& rect);

/// Outlines the tensors that the step highlights, in memory and in the ledger. Call after the
/// panels are drawn.
void mark_lesson_tensors(const Frame& frame);

/// If the question asks for a tile: the chosen tile, or the correct one once it is revealed, as the
/// thing that panels highlight.
std::optional<Thing> lesson_tile(const App& app);

/// Handles the keys of the open lesson: Page Up, Page Down, Enter, Escape.
void handle_lesson_keys(const Frame& frame);

/// The card: the step's text, its question and the answer. Named rectangles: "lesson.WIDGET".
class LessonCard {
 public:
  void draw(const Frame& frame, const Rect& rect);
  /// Whether a revealed number is still counting up, or a curve still moving.
  bool moves() const { return revealed_ && share_ < 1.0f; }

 private:
  void begin_frame(const Frame& frame);
  void draw_body(const Frame& frame, float width);
  void draw_text(const Frame& frame, float width);
  void draw_question(const Frame& frame, float width);
  void draw_outcome(const Frame& frame, float width);
  void draw_buttons(const Frame& frame, const Rect& rect) const;

  // Of the last frame
  const lessons::Lesson* lesson_ = nullptr;  ///< compared, never dereferenced
  std::size_t step_ = 0;
  bool revealed_ = false;
  bool asks_ = false;
  double revealed_s_ = 0.0;

  float share_ = 0.0f;        ///< progress of the reveal, 0 to 1
  bool begins_ = false;       ///< the step is new in this frame
  bool takes_focus_ = false;  ///< the question is new in this frame
};

/// Draws an option as a button that is as high as its text; once the answer is revealed, `mark`
/// colours it. Returns whether it is pressed.
bool draw_option(const Frame& frame, const std::string& name, const std::string& text, float width,
                 std::optional<ImU32> mark, bool is_button);

// The answer fields (lesson_answers.cpp): each in the current ImGui window, `width` wide.

void draw_number_field(const Frame& frame, float width, bool takes_focus);
/// Buttons; once the answer is revealed, or in presenter mode, the options with their marks.
void draw_options(const Frame& frame, float width);
/// The curve drawn with the mouse and, once `share` is above 0, the computed one.
void draw_curve_field(const Frame& frame, float width, float share);

/// Text of at most this width, in the current window; named if `name` is not empty.
void draw_lesson_text(const Frame& frame, const FontRef& font, ImU32 color, float width,
                      std::string_view text, std::string_view name = {});

/// The dialog that lists every lesson with the user's progress: key L, or the list of scenes.
class LessonList {
 public:
  void draw(const Frame& frame);

 private:
  void draw_contents(const Frame& frame) const;
};

/// The parts of the card of a lesson or a quiz, below its heading.
struct CardParts {
  float place_y = 0.0f;  ///< top of the line with the place, which has room at its left
  Rect body;             ///< its text scrolls if it does not fit
  Rect buttons;
};
/// Draws the heading, and below it at the right the place: "step 2 of 6".
CardParts draw_card_heading(const Frame& frame, const Rect& rect, const std::string& heading,
                            const std::string& place);

}  // namespace attnscope::app
