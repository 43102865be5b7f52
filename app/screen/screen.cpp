#include "app/screen/screen.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "app/app.h"
#include "app/draw/canvas.h"
#include "app/draw/tooltip.h"
#include "app/screen/badge.h"
#include "app/screen/keys_overlay.h"
#include "app/screen/panel_menu.h"
#include "app/screen/quiz_card.h"
#include "app/screen/transport_bar.h"
#include "app/ui/pointed_word.h"

namespace attnscope::app {

namespace {

constexpr ImGuiWindowFlags kScreenFlags =
    ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
    ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoNav |
    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoBackground;

/// Rounds the corners of a card, whose surface is a plain rectangle, and draws its border.
void draw_card_edge(const Frame& frame, const Rect& card) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float radius = frame.px(5.0f);
  constexpr float kQuarter = 1.57079633f;
  const ImVec2 corners[] = {{card.max.x, card.max.y},
                            {card.min.x, card.max.y},
                            {card.min.x, card.min.y},
                            {card.max.x, card.min.y}};
  const ImDrawListFlags flags = list->Flags;
  list->Flags &= ~ImDrawListFlags_AntiAliasedFill;
  for (int k = 0; k < 4; ++k) {
    // A fan from the corner to the arc: the area outside the rounded card
    const ImVec2 corner = corners[k];
    const ImVec2 center{corner.x + (k == 0 || k == 3 ? -radius : radius),
                        corner.y + (k < 2 ? -radius : radius)};
    const float angle = kQuarter * static_cast<float>(k);
    list->PathLineTo(corner);
    list->PathArcTo(center, radius, angle, angle + kQuarter);
    list->PathFillConvex(frame.theme.background);
  }
  list->Flags = flags;
  list->AddRect(card.min, card.max, frame.theme.card_border, radius);
}

/// Draws a thin line above the transport bar while work is in progress, and a button to cancel it.
void draw_progress(const Frame& frame, const Rect& transport) {
  App& app = frame.app;
  const std::optional<double> progress = app.waiting();
  if (!progress) return;
  ImDrawList* list = ImGui::GetForegroundDrawList();
  const float y = transport.min.y;
  const auto share = static_cast<float>(std::clamp(*progress, 0.0, 1.0));
  list->AddRectFilled({transport.min.x, y - frame.px(3.0f)}, {transport.max.x, y},
                      frame.theme.track);
  list->AddRectFilled({transport.min.x, y - frame.px(3.0f)},
                      {transport.min.x + transport.width() * share, y}, frame.theme.accent);
  const float height = frame.text_px(15.0f) + frame.px(12.0f);
  const Rect cancel{{transport.max.x - frame.text_px(92.0f), y - height - frame.px(12.0f)},
                    {transport.max.x - frame.px(18.0f), y - frame.px(12.0f)}};
  const ui::Button button{
      .name = "progress.cancel", .rect = cancel, .text = "Cancel", .primary = true};
  if (ui::draw_button(frame, button)) app.commands.push(CancelWork{});
}

/// Draws one line in the middle, before the first result or if there is none.
void draw_no_result(const Frame& frame) {
  const auto& error = frame.app.first_error();
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const std::string text = error ? words(*error, Reader::screen) : "simulating…";
  ui::draw_centered(ImGui::GetWindowDrawList(), frame.fonts.ui,
                    {display.x * 0.5f, display.y * 0.5f},
                    error ? frame.theme.error : frame.theme.text_faint,
                    draw::fitted(frame.fonts.ui, text, display.x - frame.px(60.0f)));
}

void draw_notice(const Frame& frame, const Rect& transport) {
  const auto& notice = frame.app.notice;
  if (!notice) return;
  const FontRef& font = frame.fonts.ui;
  const float limit = transport.width() - frame.px(80.0f);
  const std::string text = draw::fitted(font, notice->text, limit);
  const ImVec2 half{font.measure(text).x * 0.5f + frame.px(16.0f),
                    font.size * 0.5f + frame.px(9.0f)};
  const ImVec2 center{transport.center().x, transport.min.y - half.y - frame.px(14.0f)};
  ImDrawList* list = ImGui::GetForegroundDrawList();
  const Rect rect{{center.x - half.x, center.y - half.y}, {center.x + half.x, center.y + half.y}};
  list->AddRectFilled(rect.min, rect.max, frame.theme.field, frame.px(6.0f));
  list->AddRect(rect.min, rect.max, frame.theme.inset_border, frame.px(6.0f));
  ui::draw_centered(list, font, center, frame.theme.text, text);
  frame.rects.add("notice", rect);
}

/// Shows the glossary's entry for the symbol under the mouse, wherever the symbol is drawn.
void explain_pointed_word(const Frame& frame) {
  const std::optional<PointedWord> pointed = take_pointed_word();
  if (!pointed || frame.app.view.show_keys || ImGui::IsMouseDown(ImGuiMouseButton_Left)) return;
  const Term* term = frame.app.listed.guide.glossary.find(pointed->word);
  if (term == nullptr) return;
  ui::tooltip_beside(frame, explanation(*term, pointed->word), pointed->rect);
  frame.rects.add("glossary." + term->symbol, pointed->rect);
}

/// The way a panel is drawn.
enum class PanelLook { normal, enlarged, alone };

/// Draws one panel in a separate ImGui window, clipped to its place.
void draw_panel(const Frame& frame, const Panel& panel, const Rect& rect, const Snapshot& snapshot,
                NamedRects& rects, PanelLook look) {
  App& app = frame.app;
  const std::string name(panel.name);
  ImGui::SetCursorScreenPos(rect.min);
  ImGui::BeginChild(
      name.c_str(), {rect.width(), rect.height()}, false,
      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoNav);
  // An audience sees the picture and its explanation side by side
  if (app.view.presenter && rect.contains(ImGui::GetMousePos())) draw::keep_clear(rect);
  const bool by_operation = app.view.playing && !app.view.race;
  const bool of_rival = &rects != &frame.rects;
  const auto visit = [&frame, of_rival](std::string_view button, const Rect& place) {
    const std::string owner = of_rival ? "rival." : "";
    return frame.focus.visit(owner + std::string(button), place, frame.theme);
  };
  Fonts fonts = frame.fonts;
  if (look != PanelLook::normal) fonts.small = fonts.ui;  // there is room for larger text
  const float scale = frame.scales.layout * (look != PanelLook::normal ? 1.25f : 1.0f);
  const PanelContext context{{ImGui::GetWindowDrawList(), frame.theme, fonts, scale},
                             rect,
                             app.commands,
                             app.measurements,
                             rects,
                             by_operation ? static_cast<float>(app.player().fraction()) : 0.0f,
                             app.view.presenter,
                             visit,
                             look == PanelLook::alone};
  rects.add("panel." + name, rect);
  panel.draw(snapshot, app.view, context);
  ImGui::EndChild();
}

/// Places the card of the open lesson or quiz, and panels beside it; nothing if neither is open.
std::optional<LessonLayout> lay_out_card(const App& app, const Layout& layout,
                                         const Scales& scales) {
  if (!app.snapshot()) return std::nullopt;
  const LessonPlayer& player = app.lesson_player;
  const bool presenter = app.view.presenter;
  if (player.is_open()) {
    const lessons::Show& show = player.current().show;
    const bool has_two_runs = !show.beside.empty() && app.rival_snapshot();
    return layout_lesson(layout, scales, slots_of(show), presenter, has_two_runs);
  }
  if (!app.quiz.is_open()) return std::nullopt;
  const std::set<Slot> slots{Slot::memory, Slot::explain, Slot::scores, Slot::online_softmax};
  return layout_lesson(layout, scales, slots, presenter, false);
}

}  // namespace

void Screen::lay_surfaces(const Frame& frame, const Layout& layout) {
  surfaces_.clear();
  surfaces_.push_back({layout.top_bar, frame.theme.bar});
  surfaces_.push_back({layout.transport, frame.theme.bar});
  for (const Rect& card : layout.cards) {
    surfaces_.push_back({card, frame.theme.card});
    draw_card_edge(frame, card);
  }
}

bool Screen::busy() const {
  const auto works = [this](const Panel& panel) { return shown_.contains(&panel) && panel.busy(); };
  return pointed_changes_ || stale_since_s_ || top_bar_.busy() || rival_bar_.busy() ||
         comparison_.busy() || lesson_card_.moves() || std::ranges::any_of(panels_, works) ||
         std::ranges::any_of(rival_panels_, works);
}

void Screen::draw_panels(const Frame& frame, const Panels& panels,
                         const std::map<Slot, Rect>& places, const Snapshot& snapshot,
                         NamedRects& rects, const std::set<Slot>& covered) {
  for (const Panel& panel : panels) {
    const auto place = places.find(panel.slot);
    if (place == places.end() || !panel.shown(frame.app.view)) continue;
    if (covered.contains(panel.slot)) continue;
    const bool is_large = places.size() == 1 && !frame.app.view.race;  // it has the whole screen
    draw_panel(frame, panel, place->second, snapshot, rects,
               is_large ? PanelLook::enlarged : PanelLook::normal);
    draw_panel_menu(frame, panel, place->second, &rects != &frame.rects);
    shown_.insert(&panel);
  }
}

void Screen::draw_race(const Frame& frame, const RaceLayout& race) {
  draw_race_bar(frame, race.bar, rival_bar_);
  NamedRects rival_rects;  // discarded: tests click the first run's
  for (const bool rival : {false, true}) {
    const RaceSide& side = race.sides[rival ? 1 : 0];
    const auto snapshot = rival ? frame.app.rival_snapshot() : frame.app.snapshot();
    ImGui::PushID(rival ? 1 : 0);
    draw_race_head(frame, side.head, *snapshot, rival);
    draw_panels(frame, rival ? rival_panels_ : panels_, side.panels, *snapshot,
                rival ? rival_rects : rects_);
    if (side.totals) draw_race_totals(frame, *side.totals, *snapshot);
    ImGui::PopID();
  }
}

std::vector<Surface> Screen::draw_alone(App& app, const Fonts& fonts, const Scales& scales,
                                        double time_s, ThemeName theme_name, Slot slot,
                                        bool of_rival) {
  NamedRects rects;  // discarded: the screen keeps its own
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const Frame frame{app, theme(theme_name), fonts, scales, rects, focus_, time_s};
  const Rect all{{0.0f, 0.0f}, display};
  ImGui::SetNextWindowPos(all.min);
  ImGui::SetNextWindowSize(display);
  const FontScope font(fonts.ui);
  ImGui::Begin("screen", nullptr, kScreenFlags);
  const auto snapshot = of_rival ? app.rival_snapshot() : app.snapshot();
  for (const Panel& panel : of_rival ? rival_panels_ : panels_) {
    if (panel.slot != slot || !panel.shown(app.view) || !snapshot) continue;
    draw_panel(frame, panel, all, *snapshot, rects, PanelLook::alone);
    shown_.insert(&panel);
  }
  if (!snapshot) draw_no_result(frame);
  ImGui::End();
  return {{all, frame.theme.card}};
}

/// Notes for how long the run on the screen has not been the one of the lesson's step.
void Screen::note_stale_run(const Frame& frame) {
  constexpr double kPatience_s = 0.1;  // most steps are computed sooner
  const App& app = frame.app;
  const LessonPlayer& player = app.lesson_player;
  const auto is_ready = [&] {
    return player.prepared() != nullptr || player.phase() == LessonPlayer::Phase::failed;
  };
  // A refused run is never shown: the message says why. A race begins with both runs
  const bool is_refused = app.refused && app.shown_choice() == app.refused->choice;
  const bool is_other =
      !(app.shown_choice() == app.view.choice) || (app.view.race && app.course() == nullptr);
  const bool is_stale = player.is_open() && !is_refused && (!is_ready() || is_other);
  if (!is_stale) stale_since_s_.reset();
  if (is_stale && !stale_since_s_) stale_since_s_ = frame.time_s;
  covers_stale_run_ = is_stale && frame.time_s - *stale_since_s_ >= kPatience_s;
}

/// Draws the panels of a lesson's run; a cover replaces a panel that would give away the answer, or
/// that still shows the run of another step.
void Screen::draw_lesson_panels(const Frame& frame, const Panels& panels,
                                const std::map<Slot, Rect>& places, const Snapshot& snapshot,
                                NamedRects& rects) {
  App& app = frame.app;
  const LessonPlayer& player = app.lesson_player;
  std::set<Slot> covered =
      player.hides_answer() ? telling_slots(player.current()) : std::set<Slot>{};
  if (covers_stale_run_) {
    for (const auto& [slot, place] : places) covered.insert(slot);
  }
  for (const Panel& panel : panels) {
    const auto place = places.find(panel.slot);
    if (place == places.end() || !covered.contains(panel.slot) || !panel.shown(app.view)) continue;
    draw_lesson_cover(frame, panel, place->second,
                      covers_stale_run_ ? "computing…" : "Answer first");
  }
  draw_panels(frame, panels, places, snapshot, rects, covered);
}

/// Draws the card of the lesson, and the panels of its one or two runs.
void Screen::draw_lesson(const Frame& frame, const Snapshot& snapshot, const LessonLayout& layout) {
  App& app = frame.app;
  NamedRects rival_rects;  // tests click the first run's
  for (std::size_t n = 0; n < layout.sides.size(); ++n) {
    const auto rival = app.rival_snapshot();
    const Snapshot& own = n == 0 ? snapshot : *rival;
    const Snapshot& other = n == 0 ? *rival : snapshot;
    ImGui::PushID(static_cast<int>(n));
    draw_lesson_head(frame, layout.sides[n].head, *own.run, *other.run);
    draw_lesson_panels(frame, n == 0 ? panels_ : rival_panels_, layout.sides[n].panels, own,
                       n == 0 ? rects_ : rival_rects);
    ImGui::PopID();
  }
  draw_lesson_panels(frame, panels_, layout.layout.panels, snapshot, rects_);
  lesson_card_.draw(frame, layout.card);
  if (!app.view.now_pointed) app.view.now_pointed = lesson_tile(app);
  mark_lesson_tensors(frame, rects_);
  mark_lesson_tensors(frame, rival_rects);
}

Layout Screen::layout_of(const Frame& frame, std::optional<RaceLayout>& race) const {
  const App& app = frame.app;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  std::set<Slot> present;
  for (const Panel& panel : panels_) present.insert(panel.slot);
  Layout layout =
      app.view.enlarged
          ? layout_enlarged(display.x, display.y, frame.scales, *app.view.enlarged)
          : layout_screen(display.x, display.y, frame.scales, present, app.view.presenter);
  if (!app.rival_snapshot() || !app.snapshot()) return layout;
  race = lay_out_race(frame, layout.body);
  layout.cards = {race->bar};
  for (const RaceSide& side : race->sides) {
    layout.cards.push_back(side.head);
    for (const auto& [slot, rect] : side.panels) layout.cards.push_back(rect);
    if (side.totals) layout.cards.push_back(*side.totals);
  }
  return layout;
}

/// Draws the bar of choices and the buttons at its right end.
void Screen::draw_top(const Frame& frame, const Rect& rect) {
  const float badge = draw_badge(frame, rect) - frame.px(8.0f);
  const Rect help = help_button(frame, rect, badge);
  const float pin = help.min.x - frame.px(8.0f);
  const float fields = pin - RunComparisonCard::button_width(frame) - frame.px(14.0f);
  top_bar_.draw(frame, {rect.min, {fields, rect.max.y}});
  comparison_.draw_button(frame, rect, pin);
  constexpr std::string_view kHelp = "The user guide, the glossary and all keys";
  if (ui::draw_button(frame, {"help", help, "?", kHelp})) frame.app.view.guide_page = "";
}

void Screen::draw(App& app, const Fonts& fonts, const Scales& scales, double time_s) {
  rects_.clear();
  shown_.clear();
  const Frame frame{app, theme(app.view.theme), fonts, scales, rects_, focus_, time_s};
  std::optional<RaceLayout> race;
  Layout layout = layout_of(frame, race);
  const std::optional<LessonLayout> lesson = lay_out_card(app, layout, scales);
  if (lesson) {
    layout = lesson->layout;
    draw::keep_clear(lesson->card);
  }
  const bool in_quiz = lesson && !app.lesson_player.is_open();
  if (!lesson) lesson_card_ = {};

  note_stale_run(frame);
  take_pointed_word();  // discards the word of the previous frame
  top_bar_.collect();
  rival_bar_.collect();  // the race may have ended
  focus_.begin_frame();
  handle_keys(app, focus_.had_list());
  handle_lesson_keys(frame);
  ImGui::SetNextWindowPos({0.0f, 0.0f});
  ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
  const FontScope font(fonts.ui);
  ImGui::Begin("screen", nullptr, kScreenFlags);
  lay_surfaces(frame, layout);
  draw_top(frame, layout.top_bar);
  if (in_quiz) {
    draw_panels(frame, panels_, layout.panels, *app.snapshot(), rects_);
    if (app.quiz.is_open()) draw_quiz_card(frame, lesson->card);  // Escape may just have closed it
  } else if (lesson) {
    draw_lesson(frame, *app.snapshot(), *lesson);
  } else if (race) {
    draw_race(frame, *race);
  } else if (const auto snapshot = app.snapshot()) {
    draw_panels(frame, panels_, layout.panels, *snapshot, rects_);
  } else {
    draw_no_result(frame);
  }
  pointed_changes_ = app.view.pointed != app.view.now_pointed;
  app.view.pointed = std::exchange(app.view.now_pointed, std::nullopt);
  draw_transport_bar(frame, layout.transport);
  draw_progress(frame, layout.transport);
  scene_dialog_.draw(frame);
  go_to_tile_.draw(frame);
  lesson_list_.draw(frame);
  guide_reader_.draw(frame);
  draw_welcome(frame);
  ImGui::End();

  comparison_.draw(frame);
  draw_refusal(frame);
  walk_card_.draw(frame);
  draw_notice(frame, layout.transport);
  explain_pointed_word(frame);
  draw_keys_overlay(frame);
}

}  // namespace attnscope::app
