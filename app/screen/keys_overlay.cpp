#include "app/screen/keys_overlay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/app.h"
#include "app/platform/keys.h"
#include "app/play/playhead.h"

namespace attnscope::app {

namespace {

constexpr std::array<std::pair<const char*, const char*>, 26> kHelp{{
    {"Space", "play or pause"},
    {"Left, Right", "one operation back or forward"},
    {"Shift + Left, Right", "one tile back or forward"},
    {"Ctrl + Left, Right", "one iteration of the outer loop back or forward"},
    {"Home, End", "to the beginning, to the end"},
    {"G", "go to a tile of the scores"},
    {"Click", "to the next operation of a tile, a line, a cell"},
    {"Shift + click", "to the previous one"},
    {"Wheel", "zoom scores, timeline, charts"},
    {"Shift + wheel", "scroll them sideways"},
    {"Ctrl + wheel", "scroll scores, lanes, line charts up and down"},
    {"+, −", "faster, slower"},
    {"F", "presenter mode: larger text, fewer panels"},
    {"C", "enlarge the charts, and back"},
    {"Right click", "enlarge a panel, save its picture; drop an operation of a line"},
    {"T", "next theme: dark, light, contrast"},
    {"Ctrl + Z", "undo the last choice"},
    {"Ctrl + Y, Ctrl + Shift + Z", "redo it"},
    {"L", "lessons"},
    {"Page Up, Page Down", "previous and next step of a lesson"},
    {"Tab, Enter", "next field, button or tab; press it"},
    {"Esc", "dismiss messages, cancel work, restore all panels, leave presenter mode"},
    {"Ctrl + S", "save this scene"},
    {"Ctrl + O", "open a scene, a recording, Q, K, V"},
    {"F1, ?", "these keys"},
    {"Ctrl + Q", "quit"},
}};

Granularity step_size(const ImGuiIO& io) {
  if (io.KeyCtrl) return Granularity::outer_loop;
  return io.KeyShift ? Granularity::tile : Granularity::op;
}

/// Escape closes the list of keys, else every message and the work in progress, else the lesson or
/// quiz, else the enlarged panel, else presenter mode.
void dismiss(App& app) {
  ViewState& view = app.view;
  const bool waits = app.waiting().has_value();
  if (view.show_keys) {
    view.show_keys = false;
  } else if (app.refused || app.notice || waits) {
    if (app.refused) app.commands.push(Choose{view.choice});
    if (waits) app.commands.push(CancelWork{});
    app.notice.reset();
  } else if (app.lesson_player.is_open()) {
    app.lesson_player.act(LessonPlayer::Action::leave);
  } else if (app.quiz.is_open()) {
    app.quiz.leave();
  } else if (view.enlarged) {
    view.enlarged.reset();
  } else {
    view.presenter = false;
  }
}

void handle_looks(App& app, const ImGuiIO& io) {
  ViewState& view = app.view;
  if (key_pressed(Key::f1) || io.InputQueueCharacters.contains('?')) {
    view.show_keys = !view.show_keys;
  }
  if (key_pressed(Key::escape)) dismiss(app);
  if (io.KeyCtrl || io.KeyAlt) return;
  if (key_pressed(Key::f)) view.presenter = !view.presenter;
  if (key_pressed(Key::c) && !app.shows_card()) enlarge_or_back(view, Slot::charts);
  if (key_pressed(Key::t)) view.theme = next_theme(view.theme);
  if (key_pressed(Key::plus)) view.speed = next_speed(view.speed, 1);
  if (key_pressed(Key::minus)) view.speed = next_speed(view.speed, -1);
}

}  // namespace

std::span<const std::pair<const char*, const char*>> key_help() {
  return kHelp;
}

void handle_keys(App& app, bool had_list) {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.KeyCtrl && key_pressed(Key::q)) app.commands.push(Quit{});
  if (!io.WantTextInput && io.KeyCtrl && !io.KeyAlt) {
    if (key_pressed(Key::z, true)) {
      app.commands.push(io.KeyShift ? Command(Redo{}) : Command(Undo{}));
    }
    if (key_pressed(Key::y, true)) app.commands.push(Redo{});
  }
  if (io.WantTextInput || had_list || ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup)) return;
  if (key_pressed(Key::space)) app.commands.push(TogglePlay{});
  if (key_pressed(Key::left, true)) app.commands.push(StepBy{step_size(io), -1});
  if (key_pressed(Key::right, true)) app.commands.push(StepBy{step_size(io), 1});
  if (key_pressed(Key::home)) app.commands.push(SeekTo{-1});
  if (key_pressed(Key::end)) app.commands.push(SeekToEnd{});
  handle_looks(app, io);
}

void draw_keys_overlay(const Frame& frame) {
  if (!frame.app.view.show_keys) return;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  ImDrawList* list = ImGui::GetForegroundDrawList();
  list->AddRectFilled({0.0f, 0.0f}, display, with_alpha(frame.theme.background, 0.7f));

  // The card, as wide as its text
  const FontRef& font = frame.fonts.ui;
  const float padding = frame.px(26.0f);
  const float lines = static_cast<float>(kHelp.size()) + 1.6f;
  const float most = (display.y - 2.0f * padding - frame.px(16.0f)) / lines;
  const float row = std::min(font.size * 1.75f, most);
  float key_width = 0.0f;
  float help_width = 0.0f;
  for (const auto& [key, help] : kHelp) {
    key_width = std::max(key_width, frame.fonts.ui_bold.measure(key).x);
    help_width = std::max(help_width, font.measure(help).x);
  }
  const float column_gap = font.size * 1.6f;
  const float width = key_width + column_gap + help_width + 2.0f * padding;
  const float height = row * lines + 2.0f * padding;
  const ImVec2 min{std::round((display.x - width) * 0.5f), std::round((display.y - height) * 0.5f)};
  const Rect card{min, {min.x + width, min.y + height}};
  list->AddRectFilled(card.min, card.max, frame.theme.card, frame.px(8.0f));
  list->AddRect(card.min, card.max, frame.theme.inset_border, frame.px(8.0f));
  frame.rects.add("keys", card);

  float y = card.min.y + padding;
  frame.fonts.title.draw(list, {card.min.x + padding, y}, frame.theme.text_dim, "KEYS");
  y += row * 1.3f;
  for (const auto& [key, help] : kHelp) {
    frame.fonts.ui_bold.draw(list, {card.min.x + padding, y}, frame.theme.text, key);
    font.draw(list, {card.min.x + padding + key_width + column_gap, y}, frame.theme.text_dim, help);
    y += row;
  }
  if (ImGui::IsMouseClicked(0)) frame.app.view.show_keys = false;
}

}  // namespace attnscope::app
