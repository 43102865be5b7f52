/// The card of a lesson: the text of its step, the question, the verdict and what follows; and the
/// parts that the card of the quiz shares with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/play/lesson_player.h"
#include "app/screen/widgets.h"

namespace attnscope::app {

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

  // State of the last frame
  const lessons::Lesson* lesson_ = nullptr;  ///< compared, never dereferenced
  std::size_t step_ = 0;
  bool revealed_ = false;
  bool asks_ = false;
  double revealed_s_ = 0.0;

  float share_ = 0.0f;                   ///< progress of the reveal, 0 to 1
  bool begins_ = false;                  ///< the step is new in this frame
  bool takes_focus_ = false;             ///< the question is new in this frame
  std::vector<std::string> own_values_;  ///< values of the fields that a student may set
  std::uint64_t own_values_of_ = 0;      ///< hash of the lesson that they belong to
};

/// Draws text of at most this width in the current window, as a named rectangle if `name` is not
/// empty.
void draw_lesson_text(const Frame& frame, const FontRef& font, ImU32 color, float width,
                      std::string_view text, std::string_view name = {});

/// The parts of the card of a lesson or a quiz, below its heading.
struct CardParts {
  float place_y = 0.0f;  ///< top of the line that shows the place on its right; its left is free
  Rect body;             ///< its text scrolls if it does not fit
  Rect buttons;
};
/// Draws the heading, "LESSON  Swap the loops", or what follows the two spaces if that does not
/// fit; below it on the right the place: "step 2 of 6".
CardParts draw_card_heading(const Frame& frame, const Rect& rect, const std::string& heading,
                            const std::string& place);

}  // namespace attnscope::app
