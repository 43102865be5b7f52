/// The card of the quiz: which operation is missing?
#include "app/screen/quiz_card.h"

#include <fmt/format.h>

#include "app/app.h"
#include "app/draw/canvas.h"
#include "app/screen/lesson_answers.h"
#include "app/screen/lesson_card.h"
#include "sim/schedule/breaks.h"

namespace attnscope::app {

namespace {

void draw_choices(const Frame& frame, float width) {
  Quiz& quiz = frame.app.quiz;
  const BreakQuiz& question = *quiz.question();
  const bool is_button = quiz.phase() == Quiz::Phase::asking;
  const bool has_launches = question.effect.pass.launches.size() > 1;
  for (std::size_t n = 0; n < question.choices.size(); ++n) {
    const PassOperation& choice = question.choices[n];
    std::optional<ImU32> mark;
    if (!is_button && quiz.given() == n) mark = frame.theme.warning;
    if (!is_button && n == question.answer) mark = frame.theme.good;
    const std::string launch =
        has_launches ? fmt::format("{}: ", question.effect.pass.launches[choice.launch].name) : "";
    const std::string text =
        fmt::format("{})  {}{}", lessons::letter_of(n), launch, question.line_text(n));
    const std::string name = fmt::format("quiz.option.{}", lessons::letter_of(n));
    if (draw_option(frame, name, text, width, mark, is_button)) quiz.answer(n);
  }
}

void draw_answer(const Frame& frame, float width) {
  const Quiz& quiz = frame.app.quiz;
  const BreakQuiz& question = *quiz.question();
  const Theme& theme = frame.theme;
  const bool right = quiz.given() == question.answer;
  ImGui::Dummy({0.0f, frame.px(6.0f)});
  if (quiz.given()) {
    draw_lesson_text(frame, frame.fonts.ui_bold, right ? theme.good : theme.warning, width,
                     right ? "Right." : "Wrong.", "quiz.verdict");
  }
  const std::string words = fmt::format("Missing: {} ({}).", question.line_text(question.answer),
                                        break_words(question.run.asked.variant.broken));
  draw_lesson_text(frame, frame.fonts.ui_bold, theme.text, width, words, "quiz.truth");
  draw_lesson_text(frame, frame.fonts.ui, theme.text, width,
                   "Buttons above the pseudo-code move to the first wrong operation and to the "
                   "first wrong tile in HBM.");
}

void draw_body(const Frame& frame, float width) {
  const Quiz& quiz = frame.app.quiz;
  const FontScope font(frame.fonts.ui);
  draw_lesson_text(frame, frame.fonts.ui, frame.theme.text, width,
                   "One operation of this run is missing: it is never executed. Step through the "
                   "run and watch its values. Wrong tiles are red in the scores; wrong tiles of "
                   "the result are marked at the edges.",
                   "quiz.say");
  ImGui::Dummy({0.0f, frame.px(6.0f)});
  if (quiz.question() == nullptr) {
    draw_lesson_text(frame, frame.fonts.ui, frame.theme.text_faint, width, "computing…");
    return;
  }
  draw_lesson_text(frame, frame.fonts.ui_bold, frame.theme.accent, width,
                   "On which line is an operation missing?", "quiz.question");
  draw_choices(frame, width);
  if (quiz.phase() == Quiz::Phase::answered) draw_answer(frame, width);
}

void draw_buttons(const Frame& frame, const Rect& rect) {
  Quiz& quiz = frame.app.quiz;
  const bool asks = quiz.phase() == Quiz::Phase::asking;
  const bool answered = quiz.phase() == Quiz::Phase::answered;
  const float gap = frame.px(8.0f);
  const float width = std::round((rect.width() - gap) * 0.5f);
  const Rect first{rect.min, {rect.min.x + width, rect.max.y}};
  const Rect second{{first.max.x + gap, rect.min.y}, rect.max};
  if (asks && ui::draw_button(frame, {.name = "quiz.show", .rect = first, .text = "Show me"})) {
    quiz.answer(std::nullopt);
  }
  if (answered &&
      ui::draw_button(
          frame, {.name = "quiz.next", .rect = first, .text = "Another one", .primary = true})) {
    quiz.next();
  }
  if (ui::draw_button(frame, {.name = "quiz.leave", .rect = second, .text = "Leave"})) quiz.leave();
}

}  // namespace

void draw_quiz_card(const Frame& frame, const Rect& rect) {
  const Quiz& quiz = frame.app.quiz;
  const CardParts card =
      draw_card_heading(frame, rect, "QUIZ  One operation is missing",
                        fmt::format("{} of {} right", quiz.right(), quiz.asked()));
  ImGui::SetCursorScreenPos(card.body.min);
  ImGui::BeginChild("quiz", {card.body.width(), card.body.height()}, false, ImGuiWindowFlags_NoNav);
  draw_body(frame, card.body.width() - ImGui::GetStyle().ScrollbarSize);
  ImGui::EndChild();
  frame.rects.add("quiz.card", rect);
  draw_buttons(frame, card.buttons);
}

}  // namespace attnscope::app
