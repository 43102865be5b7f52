#include "app/screen/lesson_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/app.h"
#include "app/draw/canvas.h"
#include "app/screen/lesson_answers.h"

namespace attnscope::app {

using lessons::Verdict;
using Phase = LessonPlayer::Phase;

namespace {

constexpr double kReveal_s = 0.9;  // for a number to count up, or a curve to move

/// The answer as text; a number counts up while `share` goes from 0 to 1.
std::string revealed_text(const lessons::Question& question, lessons::Answer truth, float share) {
  if (double* number = std::get_if<double>(&truth); number != nullptr && share < 1.0f) {
    const bool is_whole = *number == std::round(*number);
    *number *= share;
    if (is_whole) *number = std::round(*number);
  }
  return lessons::answer_text(question, truth);
}

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

/// A mark for each step: answered correctly, answered or revealed, or still open; the current one
/// is outlined.
void draw_steps(const Frame& frame, ImVec2 at) {
  const LessonPlayer& player = frame.app.lesson_player;
  const lessons::LessonProgress& progress = player.progress();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float size = frame.px(9.0f);
  const float pitch = frame.px(17.0f);
  for (std::size_t n = 0; n < player.lesson().steps.size(); ++n) {
    const bool right = progress.right.contains(n);
    const bool done = right || progress.answered.contains(n);
    const ImU32 color = right ? frame.theme.good : done ? frame.theme.warning : frame.theme.track;
    const ImVec2 min{at.x + pitch * static_cast<float>(n), at.y};
    const ImVec2 max{min.x + size, min.y + size};
    list->AddRectFilled(min, max, color, frame.px(2.0f));
    if (n != player.step()) continue;
    const float out = frame.px(2.5f);
    list->AddRect({min.x - out, min.y - out}, {max.x + out, max.y + out}, frame.theme.text,
                  frame.px(3.0f), 0, frame.px(1.5f));
  }
}

/// Buttons for the values that the lesson lets a student set.
void draw_changes(const Frame& frame) {
  LessonPlayer& player = frame.app.lesson_player;
  for (const lessons::Vary& vary : player.lesson().vary) {
    const auto is_this = [&](const auto& change) { return change.field == vary.field; };
    const auto set = std::ranges::find_if(player.changes(), is_this);
    ImGui::AlignTextToFramePadding();
    ImGui::TextDisabled("%s", std::string(vary.field->label).c_str());
    const auto choose = [&](const std::string& label, bool lit,
                            const std::optional<std::string>& value) {
      ImGui::SameLine();
      const std::string name = fmt::format("lesson.set.{}.{}", vary.field->option, label);
      if (lit) ImGui::PushStyleColor(ImGuiCol_Button, frame.theme.button_active);
      const bool clicked = ImGui::Button(fmt::format("{}##{}", label, name).c_str());
      if (lit) ImGui::PopStyleColor();
      if (ui::visit_item(frame, name) || clicked) player.change(*vary.field, value);
    };
    choose("as written", set == player.changes().end(), std::nullopt);
    for (const std::string& value : vary.values) {
      choose(value, set != player.changes().end() && set->text == value, value);
    }
  }
}

}  // namespace

CardParts draw_card_heading(const Frame& frame, const Rect& rect, const std::string& heading,
                            const std::string& place) {
  const Rect inner = rect.shrunk(frame.px(16.0f), frame.px(12.0f));
  ImDrawList* list = ImGui::GetWindowDrawList();
  const FontRef& title = frame.fonts.title;
  const FontRef& small = frame.fonts.small;
  title.draw(list, inner.min, frame.theme.text_dim, draw::fitted(title, heading, inner.width()));
  const float y = inner.min.y + title.size + frame.px(9.0f);
  small.draw(list, {inner.max.x - small.measure(place).x, y}, frame.theme.text_faint, place);
  const float row = frame.text_px(15.0f) + frame.px(14.0f);
  return {.place_y = y,
          .body = {{inner.min.x, y + small.size + frame.px(10.0f)},
                   {inner.max.x, inner.max.y - row - frame.px(10.0f)}},
          .buttons = {{inner.min.x, inner.max.y - row}, inner.max}};
}

void draw_lesson_text(const Frame& frame, const FontRef& font, ImU32 color, float width,
                      std::string_view text, std::string_view name) {
  if (text.empty()) return;
  const FontScope scope(font);
  ImGui::PushStyleColor(ImGuiCol_Text, color);
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + width);
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  ImGui::PopTextWrapPos();
  ImGui::PopStyleColor();
  if (!name.empty()) frame.rects.add_item(name);
}

void LessonCard::begin_frame(const Frame& frame) {
  const LessonPlayer& player = frame.app.lesson_player;
  const bool reveals = player.outcome() != nullptr;
  const bool asks = player.phase() == Phase::asking;
  begins_ = lesson_ != &player.lesson() || step_ != player.step();
  takes_focus_ = asks && (begins_ || !asks_) && frame.time_s > 0.0;
  if (begins_ || reveals != revealed_) revealed_s_ = begins_ ? -kReveal_s : frame.time_s;
  lesson_ = &player.lesson();
  step_ = player.step();
  revealed_ = reveals;
  asks_ = asks;

  // Pictures have no clock: they show the end of the animation
  const double elapsed_s = frame.time_s > 0.0 ? frame.time_s - revealed_s_ : kReveal_s;
  share_ = reveals ? static_cast<float>(std::clamp(elapsed_s / kReveal_s, 0.0, 1.0)) : 0.0f;
}

void LessonCard::draw_text(const Frame& frame, float width) {
  const LessonPlayer& player = frame.app.lesson_player;
  const Theme& theme = frame.theme;
  if (player.phase() == Phase::failed) {
    draw_lesson_text(frame, frame.fonts.ui, theme.error, width, player.problem(), "lesson.problem");
  } else if (player.prepared() != nullptr) {
    draw_lesson_text(frame, frame.fonts.ui, theme.text, width, player.prepared()->say,
                     "lesson.say");
  } else {
    draw_lesson_text(frame, frame.fonts.ui, theme.text_faint, width, "computing…");
  }
}

void LessonCard::draw_question(const Frame& frame, float width) {
  const LessonPlayer& player = frame.app.lesson_player;
  if (!player.current().ask || player.prepared() == nullptr) return;
  const lessons::Question& question = *player.current().ask;
  ImGui::Dummy({0.0f, frame.px(6.0f)});
  draw_lesson_text(frame, frame.fonts.ui_bold, frame.theme.accent, width, question.text,
                   "lesson.question");
  const bool asks = player.phase() == Phase::asking && !frame.app.view.presenter;
  if (std::holds_alternative<lessons::ChoiceQuestion>(question.kind)) {
    draw_options(frame, width);
  } else if (std::holds_alternative<lessons::CurveQuestion>(question.kind)) {
    if (asks || player.outcome() != nullptr) draw_curve_field(frame, width, share_);
  } else if (asks && std::holds_alternative<lessons::NumberQuestion>(question.kind)) {
    draw_number_field(frame, width, takes_focus_);
  } else if (asks) {
    const auto& tile = player.draft.tile;
    const std::string text =
        tile ? fmt::format("tile ({}, {}), row i and column j", tile->i, tile->j)
             : "Click a tile in SCORES.";
    draw_lesson_text(frame, frame.fonts.ui, frame.theme.text_dim, width, text, "lesson.tile");
  }
  draw_lesson_text(frame, frame.fonts.ui, frame.theme.error, width, player.draft.error,
                   "lesson.error");
  if (player.phase() == Phase::judging) {
    draw_lesson_text(frame, frame.fonts.ui, frame.theme.text_faint, width, "computing…");
  }
}

void LessonCard::draw_outcome(const Frame& frame, float width) {
  const LessonPlayer& player = frame.app.lesson_player;
  const Outcome* outcome = player.outcome();
  if (outcome == nullptr) return;
  const Theme& theme = frame.theme;
  const Fonts& fonts = frame.fonts;
  ImGui::Dummy({0.0f, frame.px(6.0f)});
  if (player.current().ask) {
    const lessons::Question& question = *player.current().ask;
    const bool right = outcome->verdict == Verdict::Kind::right;
    if (outcome->verdict) {
      draw_lesson_text(frame, fonts.ui_bold, right ? theme.good : theme.warning, width,
                       verdict_words(*outcome->verdict), "lesson.verdict");
    }
    draw_lesson_text(frame, fonts.ui, theme.text, width, outcome->why, "lesson.why");
    if (player.given()) {
      draw_lesson_text(frame, fonts.ui, theme.text_dim, width,
                       "Your answer: " + lessons::answer_text(question, *player.given()));
    }
    if (outcome->truth) {
      draw_lesson_text(frame, fonts.ui_bold, theme.text, width,
                       "Answer: " + revealed_text(question, *outcome->truth, share_),
                       "lesson.truth");
    }
    if (!outcome->unavailable.empty()) {
      draw_lesson_text(frame, fonts.ui, theme.warning, width,
                       "This question cannot be answered here: " + outcome->unavailable,
                       "lesson.unavailable");
    }
  }
  draw_lesson_text(frame, fonts.ui, theme.text, width, outcome->then, "lesson.then");
  draw_lesson_text(frame, fonts.ui, theme.error, width, outcome->unsaved, "lesson.unsaved");
}

void LessonCard::draw_buttons(const Frame& frame, const Rect& rect) const {
  LessonPlayer& player = frame.app.lesson_player;
  using Action = LessonPlayer::Action;
  const bool asks = player.phase() == Phase::asking && player.current().ask;
  const bool is_last = player.step() + 1 == player.lesson().steps.size();
  const auto is_choice = [&] {
    return std::holds_alternative<lessons::ChoiceQuestion>(player.current().ask->kind);
  };
  struct Entry {
    const char* name;
    const char* text;
    Action action;
    bool primary;
  };
  std::vector<Entry> entries;
  if (player.step() > 0) entries.push_back({"lesson.back", "Back", Action::previous, false});
  if (asks && !frame.app.view.presenter && !is_choice()) {
    entries.push_back({"lesson.check", "Check", Action::check, true});
  }
  if (asks) entries.push_back({"lesson.show", "Show me", Action::show_me, false});
  if (!is_last) entries.push_back({"lesson.next", "Next", Action::next, !asks});
  const bool ends = is_last && !asks;
  entries.push_back({"lesson.leave", ends ? "Finish" : "Leave", Action::leave, ends});

  const float gap = frame.px(8.0f);
  const auto count = static_cast<float>(entries.size());
  const float width = (rect.width() - gap * (count - 1.0f)) / count;
  float x = rect.min.x;
  for (const Entry& entry : entries) {
    const Rect place{{std::round(x), rect.min.y}, {std::round(x + width), rect.max.y}};
    const ui::Button button{
        .name = entry.name, .rect = place, .text = entry.text, .primary = entry.primary};
    if (ui::draw_button(frame, button)) player.act(entry.action);
    x += width + gap;
  }
}

void LessonCard::draw_body(const Frame& frame, float width) {
  const FontScope font(frame.fonts.ui);
  draw_text(frame, width);
  draw_question(frame, width);
  draw_outcome(frame, width);
  if (frame.app.lesson_player.lesson().vary.empty() || frame.app.view.presenter) return;
  ImGui::Dummy({0.0f, frame.px(6.0f)});
  draw_changes(frame);
}

void LessonCard::draw(const Frame& frame, const Rect& rect) {
  const LessonPlayer& player = frame.app.lesson_player;
  begin_frame(frame);
  const CardParts card = draw_card_heading(
      frame, rect, "LESSON  " + player.lesson().title,
      fmt::format("step {} of {}", player.step() + 1, player.lesson().steps.size()));
  draw_steps(frame, {card.body.min.x + frame.px(3.0f),
                     card.place_y + (frame.fonts.small.size - frame.px(9.0f)) * 0.5f});
  ImGui::SetCursorScreenPos(card.body.min);
  ImGui::BeginChild("lesson", {card.body.width(), card.body.height()}, false,
                    ImGuiWindowFlags_NoNav);
  if (begins_) ImGui::SetScrollY(0.0f);
  draw_body(frame, card.body.width() - ImGui::GetStyle().ScrollbarSize);
  ImGui::EndChild();
  frame.rects.add("lesson.card", rect);
  frame.rects.add("lesson.body", card.body);
  draw_buttons(frame, card.buttons);
}

}  // namespace attnscope::app
