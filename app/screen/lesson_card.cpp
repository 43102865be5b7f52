#include "app/screen/lesson_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/app.h"
#include "app/draw/canvas.h"
#include "app/draw/prose.h"
#include "app/lessons/lesson_runs.h"
#include "app/screen/field_box.h"
#include "app/screen/lesson_answers.h"
#include "app/screen/step_height.h"

namespace attnscope::app {

using lessons::Verdict;
using Phase = LessonPlayer::Phase;

namespace {

constexpr double kReveal_s = 0.9;  // duration in which a number counts up, or a curve moves

/// The answer as text, with the kind of its numbers: "201.4 MB (recorded)". A number counts up
/// while `share` goes from 0 to 1.
std::string revealed_text(const lessons::Question& question, const Outcome& outcome, float share) {
  lessons::Answer truth = *outcome.truth;
  if (double* number = std::get_if<double>(&truth); number != nullptr && share < 1.0f) {
    const bool is_whole = *number == std::round(*number);
    *number *= share;
    if (is_whole) *number = std::round(*number);
  }
  return fmt::format("{} ({})", lessons::answer_text(question, truth), outcome.kind);
}

/// Draws a mark for each step: answered correctly, answered or revealed, or still open; the current
/// one is outlined.
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

/// The field's value in the runs that a student's choice changes; "64 and 2048" if they differ.
std::string own_value(const lessons::Lesson& lesson, const RunField& field) {
  const auto runs = lessons::LessonRuns::create(lesson);
  if (!runs) return {};
  std::vector<std::string> values;
  for (const lessons::RunRecipe& recipe : lesson.runs) {
    const RunSpec* spec = recipe.from.empty() ? runs.value().find(recipe.name) : nullptr;
    if (spec == nullptr) continue;
    const std::string value = field.print(*spec);
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  return fmt::format("{}", fmt::join(values, " and "));
}

/// Draws a list of GPUs, which are too many for buttons; the lesson's own comes first.
void draw_gpu_choice(const Frame& frame, const lessons::Vary& choice, const std::string& own,
                     const std::optional<std::string>& set) {
  ImGui::SameLine();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = std::min(ImGui::GetContentRegionAvail().x, frame.text_px(190.0f));
  const Rect box{at, {at.x + width, at.y + ImGui::GetFrameHeight()}};
  const std::string own_text = own + " (lesson)";
  const ComboBox list(frame, "lesson.gpu", box, set.value_or(own_text));
  const auto option = [&](const std::string& text, const std::string& name, bool selected,
                          const std::optional<std::string>& change) {
    if (!list.option(text, selected, name)) return;
    frame.app.lesson_player.change(*choice.field, change);
  };
  if (list.open()) option(own_text, "lesson", !set, std::nullopt);
  for (const std::string& gpu : choice.values) {
    if (list.open() && gpu != own) option(gpu, gpu, set == gpu, gpu);
  }
}

/// Draws buttons for the values that a student may set and that change the step; the lesson's own
/// comes first.
void draw_changes(const Frame& frame, const std::vector<std::string>& own_values) {
  LessonPlayer& player = frame.app.lesson_player;
  const std::vector<lessons::Vary>& all = player.lesson().choices;
  for (std::size_t n = 0; n < all.size(); ++n) {
    const lessons::Vary& vary = all[n];
    if (!player.lesson().reaches(*vary.field, player.current())) continue;
    const std::string& own = own_values[n];
    const auto is_this = [&](const auto& change) { return change.field == vary.field; };
    const auto set = std::ranges::find_if(player.changes(), is_this);
    const bool is_set = set != player.changes().end();
    ImGui::AlignTextToFramePadding();
    ImGui::TextDisabled("%s =", std::string(vary.field->label).c_str());
    if (vary.field->key == "gpu") {
      draw_gpu_choice(frame, vary, own, is_set ? std::optional(set->text) : std::nullopt);
      continue;
    }
    const auto choose = [&](const std::string& label, const std::string& value, bool lit,
                            const std::optional<std::string>& change) {
      ImGui::SameLine();
      const float width = ImGui::CalcTextSize(label.c_str()).x + ImGui::GetStyle().FramePadding.x;
      if (ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
      const std::string name = fmt::format("lesson.set.{}.{}", vary.field->option, value);
      if (lit) ImGui::PushStyleColor(ImGuiCol_Button, frame.theme.button_active);
      const bool clicked = ImGui::Button(fmt::format("{}##{}", label, name).c_str());
      if (lit) ImGui::PopStyleColor();
      if (ui::visit_item(frame, name) || clicked) player.change(*vary.field, change);
    };
    const bool one = own.find(" and ") == own.npos;
    choose(one ? own + " (lesson)" : "as in the lesson", "lesson", !is_set || set->text == own, {});
    for (const std::string& value : vary.values) {
      if (value != own) choose(value, value, is_set && set->text == value, value);
    }
  }
}

/// The fonts for the card's larger text.
Fonts larger(Fonts fonts) {
  fonts.ui = fonts.large;
  fonts.ui_bold = fonts.large_bold;
  fonts.mono = fonts.large_mono;
  return fonts;
}

}  // namespace

CardParts draw_card_heading(const Frame& frame, const Rect& rect, const std::string& heading,
                            const std::string& place) {
  const Rect inner = rect.shrunk(frame.px(16.0f), frame.px(12.0f));
  ImDrawList* list = ImGui::GetWindowDrawList();
  const FontRef& title = frame.fonts.title;
  const FontRef& small = frame.fonts.small;
  const std::string wordings[] = {heading, heading.substr(heading.find("  ") + 2)};
  title.draw(
      list, inner.min, frame.theme.text_dim,
      draw::fitted(title, draw::label_that_fits(title, wordings, inner.width()), inner.width()));
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
  const draw::Canvas canvas{ImGui::GetWindowDrawList(), frame.theme, frame.fonts,
                            frame.scales.layout};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = draw::draw_prose(canvas, lesson_prose(frame, font, color), at, text, width);
  ImGui::Dummy({width, height});
  if (!name.empty()) frame.rects.add_item(name);
}

void LessonCard::begin_frame(const Frame& frame) {
  const LessonPlayer& player = frame.app.lesson_player;
  const bool reveals = player.outcome() != nullptr;
  const bool asks = player.phase() == Phase::asking;
  begins_ = lesson_ != &player.lesson() || step_ != player.step();
  const bool is_known = own_values_of_ == player.lesson().hash &&
                        own_values_.size() == player.lesson().choices.size();
  if (!is_known) {
    own_values_of_ = player.lesson().hash;
    own_values_.clear();
    for (const lessons::Vary& vary : player.lesson().choices) {
      own_values_.push_back(own_value(player.lesson(), *vary.field));
    }
  }
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
    if (asks) {
      draw_lesson_text(frame, frame.fonts.ui, frame.theme.text_dim, width,
                       "Click or drag in the plot: one point for each value.");
    }
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
      // A number on its way to the answer must not be taken for it
      const bool counts = share_ < 1.0f && std::holds_alternative<double>(*outcome->truth);
      draw_lesson_text(
          frame, fonts.ui_bold, counts ? theme.text_faint : theme.text, width,
          (counts ? "counting: " : "Answer: ") + revealed_text(question, *outcome, share_),
          "lesson.truth");
    }
  }
  draw_lesson_text(frame, fonts.ui, theme.warning, width, outcome->unavailable,
                   "lesson.unavailable");
  draw_lesson_text(frame, fonts.ui, theme.text, width, outcome->then, "lesson.then");
  if (!outcome->unplaced.empty()) {
    draw_lesson_text(frame, fonts.ui, theme.warning, width,
                     "The playhead does not move: " + outcome->unplaced, "lesson.unplaced");
  }
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
  // Back, Next and Leave keep their places, so that the button under the mouse stays the same; what
  // belongs to the question is between them
  const float gap = frame.px(8.0f);
  const float unit = (rect.width() - 4.0f * gap) / 5.0f;
  const auto put = [&](float place, float size, const char* name, const char* text, Action action,
                       bool primary) {
    const float x = rect.min.x + place * (unit + gap);
    const float width = size * unit + (size - 1.0f) * gap;
    const Rect button{{std::round(x), rect.min.y}, {std::round(x + width), rect.max.y}};
    if (ui::draw_button(frame, {.name = name, .rect = button, .text = text, .primary = primary})) {
      player.act(action);
    }
  };
  if (player.step() > 0) put(0.0f, 1.0f, "lesson.back", "Back", Action::previous, false);
  const bool checks = asks && !frame.app.view.presenter && !is_choice();
  if (checks) put(1.0f, 1.0f, "lesson.check", "Check", Action::check, true);
  const float middle = checks ? 2.0f : 1.0f;
  if (asks) put(middle, 3.0f - middle, "lesson.show", "Show me", Action::show_me, false);
  if (!is_last) put(3.0f, 1.0f, "lesson.next", "Next", Action::next, !asks);
  const bool ends = is_last && !asks;
  put(4.0f, 1.0f, "lesson.leave", ends ? "Finish" : "Leave", Action::leave, ends);
}

void LessonCard::draw_body(const Frame& frame, float width) {
  const FontScope font(frame.fonts.ui);
  draw_text(frame, width);
  draw_question(frame, width);
  draw_outcome(frame, width);
  if (frame.app.lesson_player.lesson().choices.empty() || frame.app.view.presenter) return;
  ImGui::Dummy({0.0f, frame.px(6.0f)});
  draw_changes(frame, own_values_);
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
  const float width = card.body.width() - ImGui::GetStyle().ScrollbarSize;
  const Fonts large = larger(frame.fonts);
  const Frame in_large{frame.app,   frame.theme, large,       frame.scales,
                       frame.rects, frame.focus, frame.time_s};
  const bool has_room = !frame.app.view.presenter && player.prepared() != nullptr &&
                        step_height(in_large, width) <= card.body.height();
  draw_body(has_room ? in_large : frame, width);
  ImGui::EndChild();
  frame.rects.add("lesson.card", rect);
  frame.rects.add("lesson.body", card.body);
  draw_buttons(frame, card.buttons);
}

}  // namespace attnscope::app
