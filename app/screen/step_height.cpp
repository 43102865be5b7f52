#include "app/screen/step_height.h"

#include <algorithm>
#include <string>

#include "app/app.h"
#include "app/screen/lesson_answers.h"

namespace attnscope::app {

using lessons::Verdict;

std::string_view verdict_words(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::right:
      return "Right.";
    case Verdict::Kind::mistake:
      return "Wrong; a common mistake:";
    case Verdict::Kind::wrong:
      break;
  }
  return "Wrong.";
}

draw::ProseStyle lesson_prose(const Frame& frame, const FontRef& font, ImU32 color) {
  return {font, frame.fonts.mono, color};
}

namespace {

/// An estimate of the text that follows the answer, whose values are not known yet.
std::string text_without_values(const lessons::Text& text) {
  std::string words;
  for (const lessons::Text::Piece& piece : text.pieces) {
    words += piece.text + (piece.value ? "000.0 GB" : "");
  }
  return words;
}

/// The longest line of the answer: "Answer: b) none (modelled)", with estimated numbers.
std::string longest_answer(const lessons::Question& question) {
  std::string longest = "000.0 GB";
  if (const auto* choice = std::get_if<lessons::ChoiceQuestion>(&question.kind)) {
    for (const auto& option : choice->options) {
      if (option.text.size() > longest.size()) longest = option.text;
    }
    longest = "b) " + longest;
  } else if (const auto* curve = std::get_if<lessons::CurveQuestion>(&question.kind)) {
    for (std::size_t n = 1; n < curve->values.size(); ++n) longest += ", 000.0 GB";
  }
  return "Answer: " + longest + " (modelled)";
}

/// Adds up the heights of a step's parts in the frame's fonts, as the card draws them.
class StepHeight {
 public:
  StepHeight(const Frame& frame, float width)
      : frame_(frame), width_(width), spacing_(ImGui::GetStyle().ItemSpacing.y) {}

  /// The whole step, before the answer and after it, so that the text keeps its size.
  float of(const LessonPlayer& player) const {
    const float gap = frame_.px(6.0f) + spacing_;
    const Fonts& fonts = frame_.fonts;
    const float field = fonts.ui.size + 2.0f * ImGui::GetStyle().FramePadding.y + spacing_;
    float height = text(player.prepared()->say, fonts.ui) + gap + of_outcome(player, gap);
    if (player.current().ask) {
      const lessons::Question& question = *player.current().ask;
      height += gap + text(question.text, fonts.ui_bold) + of_kind(question);
    }
    const auto choices =
        std::ranges::count_if(player.lesson().choices, [&](const lessons::Vary& vary) {
          return player.lesson().reaches(*vary.field, player.current());
        });
    return height + gap + static_cast<float>(choices) * field;
  }

 private:
  float text(std::string_view words, const FontRef& font, float less = 0.0f) const {
    if (words.empty()) return 0.0f;
    return draw::prose_height(lesson_prose(frame_, font, 0), words, width_ - less) + spacing_;
  }

  /// The height that remains below the question's text after the answer.
  float of_kind(const lessons::Question& question) const {
    if (const auto* choice = std::get_if<lessons::ChoiceQuestion>(&question.kind)) {
      float height = 0.0f;
      for (const auto& option : choice->options) {
        height += text("a)  " + option.text, frame_.fonts.ui, frame_.px(20.0f)) + frame_.px(10.0f);
      }
      return height;
    }
    if (!std::holds_alternative<lessons::CurveQuestion>(question.kind)) return 0.0f;
    return curve_height(frame_, width_) + spacing_;
  }

  /// The explanation of a wrong answer counts only if there is one.
  float of_outcome(const LessonPlayer& player, float gap) const {
    const Fonts& fonts = frame_.fonts;
    const Outcome* outcome = player.outcome();
    const auto& ask = player.current().ask;
    float height = text(outcome != nullptr && !outcome->then.empty()
                            ? outcome->then
                            : text_without_values(player.current().then),
                        fonts.ui);
    if (ask) height += gap + text(longest_answer(*ask), fonts.ui_bold);
    if (outcome == nullptr) return height;
    if (outcome->verdict) height += text(verdict_words(*outcome->verdict), fonts.ui_bold);
    height += text(outcome->why, fonts.ui) + text(outcome->unavailable, fonts.ui) +
              text(outcome->unplaced, fonts.ui) + text(outcome->unsaved, fonts.ui);
    if (ask && player.given()) {
      height += text("Your answer: " + lessons::answer_text(*ask, *player.given()), fonts.ui);
    }
    return height;
  }

  const Frame& frame_;
  float width_ = 0.0f;
  float spacing_ = 0.0f;
};

}  // namespace

float step_height(const Frame& frame, float width) {
  return StepHeight(frame, width).of(frame.app.lesson_player);
}

}  // namespace attnscope::app
