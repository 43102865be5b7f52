#include "app/screen/walk.h"

#include <fmt/format.h>
#include <imgui_internal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/app.h"
#include "app/draw/tooltip.h"
#include "app/platform/keys.h"
#include "app/scene/choice_rules.h"
#include "app/screen/go_to_tile.h"

namespace attnscope::app {

namespace {

constexpr std::string_view kToEnd = "end";
/// A row of the first row tile, whose softmax runs while the stops explain it.
constexpr Index kWatchedRow = 5;
constexpr std::size_t kStopsBeforeSoftmax = 3;

constexpr std::array<Stop, 8> kWatch{
    {{"panel.memory", "Two memories",
      "A GPU has a large, slow memory (HBM) and a small, fast one in each SM (SRAM). Q, K and V "
      "start in HBM. Standard attention would store S and P there as well, N × N numbers each; "
      "FlashAttention never does: here they are only outlines."},
     {"panel.memory", "One tile at a time",
      "A thread block loads one tile of Q, then the tiles of K and V one after another. Each arrow "
      "is a load or a store with its bytes.",
      "0, 0"},
     {"panel.scores", "A tile of scores",
      "Q times K transposed gives one tile of S. It is computed on chip, used at once and "
      "discarded.",
      "0, 1"},
     {"panel.online_softmax", "The online softmax",
      "A softmax needs the maximum and the sum of a whole row, but only one tile is on chip. So "
      "the row keeps a running maximum m and a running sum l.",
      "0, 2"},
     {"panel.online_softmax", "When the maximum grows",
      "A larger score changes the maximum. The factor alpha then rescales l and O: what was summed "
      "before stays exact.",
      "0, 3"},
     {"panel.explain", "The end of a row tile",
      "After the last tile of keys, O is divided by l once and stored with LSE, one number per "
      "row. The backward pass needs no more.",
      "1, 0"},
     {"panel.timeline", "The other row tiles",
      "Every row tile runs the same loop, in parallel on a GPU, and reads all of K and V again. "
      "That is the price: more reads of K and V instead of S and P.",
      kToEnd},
     {"race.verdict", "What it saves",
      "Standard attention, on the right, writes S and P to HBM and reads them back. Both request "
      "bytes at the same rate, so FlashAttention finishes first; the line above compares the "
      "totals.",
      kToEnd, "standard", "panel.online_softmax"}}};

constexpr std::array<Stop, 9> kPanelTour{
    {{"field.scene", "The problem",
      "The bar chooses a scene, or the algorithm, the sizes, the tiles, the mask and the GPU. An "
      "invalid choice is explained in red, with the nearest valid one to click."},
     {"panel.memory", "Memory",
      "On-chip memory of one thread block above, the tensors in HBM below. Arrows are the loads "
      "and stores of the current operation."},
     {"panel.scores", "Scores",
      "The tiles of S. Click a tile to go to its next operation; the wheel zooms."},
     {"panel.online_softmax", "One row in numbers",
      "The terms of one query row with their values. Click a row of the scores to follow "
      "it."},
     {"panel.explain", "What and why",
      "The pseudo-code or the CUDA source, and the current operation in two sentences."},
     {"panel.ledger", "Ledger",
      "Bytes and times: modelled, by formula, and recorded or measured, with the reason for each "
      "gap."},
     {"panel.timeline", "Timeline",
      "The operations of each thread block; the tab \"SMs\" shows when each block ran and where."},
     {"panel.charts", "Charts",
      "Bytes, time, memory and error of every algorithm against N and other sizes."},
     {"transport.play", "Playback",
      "Play, step by operation or tile, or drag the slider. Every step can be taken back. Point at "
      "any symbol to see what it means; \"?\" opens the guide."}}};

}  // namespace

std::span<const Stop> stops_of(Walk walk) {
  if (walk == Walk::watch) return kWatch;
  return kPanelTour;
}

Index last_step_of(const RunInfo& run, const Stop& stop) {
  if (stop.until.empty()) return -1;
  if (stop.until != kToEnd) {
    const Result<Index> step = first_step_of_tile(run, stop.until);
    if (step) return step.value();
  }
  return run.step_count - 1;
}

namespace {

/// Moves a playhead that is at the beginning into the followed row's tile, so that every panel of
/// the tour has numbers.
void show_numbers(App& app) {
  const auto snapshot = app.snapshot();
  if (!snapshot || app.view.step > 0 || app.view.race) return;
  const RunInfo& run = *snapshot->run;
  const Index tile = app.view.query_row / std::max<Index>(run.tiling().Br, 1);
  app.commands.push(SeekTo{run.step_count * (2 * tile + 1) / (2 * std::max<Index>(run.Tr, 1))});
}

}  // namespace

void WalkCard::begin(const Frame& frame, Walk walk) {
  if (walk_) leave(frame);  // its race ends with it
  walk_ = walk;
  corner_.reset();
  frame.app.walk_plays.reset();
  if (walk == Walk::watch) frame.app.walk_plays = true;
  frame.app.lesson_player.act(LessonPlayer::Action::leave);
  frame.app.quiz.leave();
  if (walk == Walk::watch) frame.app.commands.push(OpenScene{"default"});
  if (walk == Walk::panels) show_numbers(frame.app);
  go_to(frame, 0);
}

void WalkCard::go_to(const Frame& frame, std::size_t stop) {
  const std::string_view against = stops_of(*walk_)[stop].against;
  const bool was_race = !stops_of(*walk_)[stop_].against.empty();
  if (!against.empty()) {
    frame.app.commands.push(
        ChooseRace{Race{rival_of(frame.app.view.choice, std::string(against))}});
  } else if (was_race) {
    frame.app.commands.push(ChooseRace{});
  }
  stop_ = stop;
  played_s_ = 0.0;
  last_s_ = frame.time_s;
}

void WalkCard::leave(const Frame& frame) {
  if (!stops_of(*walk_)[stop_].against.empty()) frame.app.commands.push(ChooseRace{});
  end(frame);
  frame.app.view.playing = false;
}

void WalkCard::end(const Frame& frame) {
  walk_.reset();
  stop_ = 0;
  frame.app.walk_plays.reset();
}

/// Moves the playhead to this share of the stop's part of the run.
void WalkCard::play_run(const Frame& frame, double share) const {
  const RunInfo& run = *frame.app.snapshot()->run;
  const auto stops = stops_of(*walk_);
  const Index from = stop_ == 0 ? -1 : last_step_of(run, stops[stop_ - 1]);
  const Index to = std::max(from, last_step_of(run, stops[stop_]));
  const auto step = from + static_cast<Index>(std::llround(share * static_cast<double>(to - from)));
  if (step != frame.app.view.step) frame.app.commands.push(SeekTo{step});
}

/// Moves the clock of the race to this share of the whole race.
void WalkCard::play_race(const Frame& frame, double share) const {
  const RaceCourse* course = frame.app.course();
  if (course == nullptr) return;
  const auto tick =
      static_cast<Index>(std::llround(share * static_cast<double>(course->last_tick())));
  if (tick != frame.app.view.race_tick) frame.app.commands.push(SeekTick{tick});
}

/// Plays the stop's part, then goes to the next stop.
void WalkCard::play(const Frame& frame) {
  const double elapsed_s = std::exchange(last_s_, frame.time_s);
  if (!frame.app.snapshot() || !frame.app.settled()) return;
  if (stop_ < kStopsBeforeSoftmax) frame.app.view.query_row = kWatchedRow;
  if (!frame.app.walk_plays.value_or(false)) return;
  played_s_ += std::clamp(frame.time_s - elapsed_s, 0.0, 0.25);
  const double share = std::min(played_s_ / kSecondsPerStop, 1.0);
  const auto stops = stops_of(*walk_);
  if (stops[stop_].against.empty()) {
    play_run(frame, share);
  } else {
    play_race(frame, share);
  }
  if (share < 1.0) return;
  if (stop_ + 1 < stops.size()) return go_to(frame, stop_ + 1);
  frame.app.walk_plays.reset();  // from now on the race is played like any other
}

/// The upper left corner of a card of this size. Its buttons stay where they are while the card
/// does not cover the stop's place; otherwise they move to where they can stay for the most stops.
ImVec2 WalkCard::place_card(const Frame& frame, const Rect& place, ImVec2 size) {
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float margin = frame.px(10.0f);
  // Room for the text of any stop, which grows upwards
  const ImVec2 room{std::max(size.x, frame.text_px(410.0f)),
                    std::max(size.y, frame.text_px(220.0f))};
  const auto card_at = [&](ImVec2 corner) {
    return Rect{{corner.x, corner.y - room.y}, {corner.x + room.x, corner.y}};
  };
  const auto is_free = [&](ImVec2 corner, const Rect& taken) {
    const Rect card = card_at(corner);
    const bool is_inside = card.min.x >= 0.0f && card.min.y >= 0.0f && card.max.x <= display.x &&
                           card.max.y <= display.y;
    return is_inside && !card.overlaps(taken);
  };
  const auto stops = stops_of(*walk_);
  const auto free_for = [&](ImVec2 corner) {
    std::size_t next = stop_ + 1;
    while (next < stops.size() && stops[next].over.empty() &&
           is_free(corner, frame.rects.find(stops[next].place).value_or(Rect{}))) {
      ++next;
    }
    return next - stop_;
  };
  const auto corner_beside = [&](const Rect& about) {
    const ImVec2 at =
        draw::place_beside(about, room, about.center(), {display.x - margin, display.y - margin});
    return ImVec2{at.x, at.y + room.y};
  };
  if (!corner_ || !is_free(*corner_, place)) {
    corner_ = corner_beside(place);
    std::size_t longest = is_free(*corner_, place) ? free_for(*corner_) : 0;
    for (std::size_t k = stop_ + 1; k < stops.size(); ++k) {
      const std::optional<Rect> about = frame.rects.find(stops[k].place);
      const ImVec2 corner = corner_beside(about.value_or(place));
      if (!is_free(corner, place) || free_for(corner) <= longest) continue;
      corner_ = corner;
      longest = free_for(corner);
    }
  }
  return {corner_->x, corner_->y - size.y};
}

void WalkCard::draw_card(const Frame& frame, const Stop& stop, const Rect& place) {
  const auto stops = stops_of(*walk_);
  const auto button = [&](std::string_view name, const std::string& label) {
    const bool clicked = ImGui::Button(label.c_str());
    return ui::visit_item(frame, name) || clicked;
  };
  const FontScope font(frame.fonts.ui);
  const float width = frame.text_px(380.0f);
  ImGui::TextDisabled("%s", fmt::format("{} of {}", stop_ + 1, stops.size()).c_str());
  {
    const FontScope bold(frame.fonts.ui_bold);
    ImGui::TextUnformatted(stop.title.data(), stop.title.data() + stop.title.size());
  }
  ImGui::PushTextWrapPos(width);
  ImGui::TextUnformatted(stop.text.data(), stop.text.data() + stop.text.size());
  ImGui::PopTextWrapPos();
  ImGui::Spacing();
  // Back, Next and Leave keep their places, so that the button under the mouse stays the same
  const bool is_last = stop_ + 1 == stops.size();
  const auto leave_room = [](const char* label) {
    const float padding = ImGui::GetStyle().FramePadding.x;
    ImGui::Dummy({ImGui::CalcTextSize(label).x + 2.0f * padding, ImGui::GetFrameHeight()});
  };
  const std::size_t shown = stop_;
  if (shown == 0) leave_room("Back");
  if (shown > 0 && button("walk.back", "Back")) go_to(frame, shown - 1);
  ImGui::SameLine();
  if (is_last) leave_room("Next");
  if (!is_last && button("walk.next", "Next")) go_to(frame, shown + 1);
  ImGui::SameLine();
  const bool leaves = button("walk.leave", is_last ? "Done" : "Leave");
  if (*walk_ == Walk::watch) {
    ImGui::SameLine();
    const bool plays = frame.app.walk_plays.value_or(false);
    if (is_last) {
      if (button("walk.tour", "Tour of the panels")) frame.app.view.start_walk = Walk::panels;
    } else if (button("walk.pause", plays ? "Pause" : "Continue")) {
      frame.app.commands.push(TogglePlay{});
    }
  }
  if (leaves) leave(frame);
  const ImVec2 at = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  frame.rects.add("walk", {at, {at.x + size.x, at.y + size.y}});
  frame.rects.add("walk.place", place);
}

void WalkCard::draw(const Frame& frame) {
  if (const auto asked = std::exchange(frame.app.view.start_walk, std::nullopt)) {
    begin(frame, *asked);
  } else if (frame.app.shows_card()) {
    end(frame);
  }
  if (!walk_) return;
  const bool popup = frame.focus.had_list() || ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
  if (!popup && key_pressed(Key::escape)) return leave(frame);
  if (*walk_ == Walk::watch) play(frame);

  const Stop& stop = stops_of(*walk_)[stop_];
  const std::optional<Rect> named = frame.rects.find(stop.place);
  const float margin = frame.px(named && !stop.over.empty() ? 5.0f : 0.0f);
  const Rect place =
      (named ? *named : frame.rects.find("panel.memory").value_or(Rect{})).shrunk(-margin, -margin);
  ImGui::GetForegroundDrawList()->AddRect(place.min, place.max, frame.theme.highlight,
                                          frame.px(5.0f), 0, frame.px(2.0f));

  // The card is beside its place, or over a panel that it does not explain
  constexpr const char* kWindow = "walk";
  const ImGuiWindow* window = ImGui::FindWindowByName(kWindow);
  const bool was_there = window != nullptr && window->WasActive;
  const ImVec2 size =
      was_there ? window->Size : ImVec2{frame.text_px(410.0f), frame.text_px(190.0f)};
  const std::optional<Rect> covered = frame.rects.find(stop.over);
  const ImVec2 at =
      covered ? ImVec2{covered->min.x, covered->max.y - size.y} : place_card(frame, place, size);
  ImGui::SetNextWindowPos({at.x, at.y + size.y}, ImGuiCond_Always, {0.0f, 1.0f});
  draw::keep_clear({at, {at.x + size.x, at.y + size.y}});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame.px(14.0f), frame.px(12.0f)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, frame.px(6.0f));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0f);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, frame.theme.field);
  ImGui::PushStyleColor(ImGuiCol_Border, frame.theme.accent);
  constexpr ImGuiWindowFlags kFlags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                      ImGuiWindowFlags_NoSavedSettings |
                                      ImGuiWindowFlags_AlwaysAutoResize |
                                      ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav;
  if (ImGui::Begin(kWindow, nullptr, kFlags)) draw_card(frame, stop, place);
  ImGui::End();
  ImGui::PopStyleColor(2);
  ImGui::PopStyleVar(3);
}

namespace {

/// Draws the title and the four choices, each with a line about it.
void draw_choices(const Frame& frame) {
  {
    const FontScope title(frame.fonts.ui_bold);
    ImGui::TextUnformatted("AttnScope: attention kernels and the data that they move");
  }
  const FontScope font(frame.fonts.ui);
  const float width = frame.text_px(430.0f);
  const auto choice = [&](std::string_view name, const char* label, const char* about) {
    ImGui::Spacing();
    bool chosen = ImGui::Button(label, {width, frame.text_px(34.0f)});
    chosen |= ui::visit_item(frame, name);
    ImGui::TextDisabled("%s", about);
    if (chosen) ImGui::CloseCurrentPopup();
    return chosen;
  };
  ViewState& view = frame.app.view;
  if (choice("welcome.watch", "Watch FlashAttention in two minutes",
             "It plays by itself and explains each step.")) {
    view.start_walk = Walk::watch;
  }
  if (choice("welcome.explore", "Explore",
             "A tour of the panels, which you can leave at any time.")) {
    view.start_walk = Walk::panels;
  }
  if (choice("welcome.lessons", "Learn with lessons",
             "Ten minutes each, with questions that the runs answer.")) {
    frame.app.lesson_player.list_requested = true;
  }
  if (choice("welcome.own", "Open your own Q, K, V",
             "q.npy, k.npy and v.npy: arrays of a real attention head.")) {
    view.scene_dialog = false;
  }
}

}  // namespace

void draw_welcome(const Frame& frame) {
  constexpr const char* kPopup = "welcome";
  if (std::exchange(frame.app.view.welcome, false)) ImGui::OpenPopup(kPopup);
  if (!ImGui::IsPopupOpen(kPopup)) return;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({display.x * 0.5f, display.y * 0.45f}, ImGuiCond_Always, {0.5f, 0.5f});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame.px(28.0f), frame.px(24.0f)});
  const bool is_open = ImGui::BeginPopup(kPopup, ImGuiWindowFlags_NoNav);
  ImGui::PopStyleVar();
  if (!is_open) return;
  ui::close_popup_on_escape();
  draw_choices(frame);
  const ImVec2 at = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  frame.rects.add("welcome", {at, {at.x + size.x, at.y + size.y}});
  ImGui::EndPopup();
}

}  // namespace attnscope::app
