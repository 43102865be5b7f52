#include "app/draw/tooltip.h"

#include <imgui_internal.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace attnscope::app::draw {

namespace {

constexpr const char* kWindow = "##Tooltip_00";  // the name that Dear ImGui gives this window
constexpr float kGap = 6.0f;
constexpr float kPointerWidth = 14.0f;

/// The cards to keep clear, and the frame in which each was drawn. Like Dear ImGui's state, they
/// belong to the thread that draws.
struct Card {
  int frame = 0;
  Rect rect;
};
thread_local std::vector<Card> cards_to_keep_clear;

/// The cards of this frame and the last one: this frame's may be drawn after the tooltip.
std::vector<Rect> recent_cards() {
  const int frame = ImGui::GetFrameCount();
  std::erase_if(cards_to_keep_clear, [&](const Card& card) {
    return card.frame < frame - 1 || card.frame > frame;  // too old, or from another context
  });
  std::vector<Rect> rects;
  for (const Card& card : cards_to_keep_clear) rects.push_back(card.rect);
  return rects;
}

/// The size of a tooltip with these lines only.
ImVec2 size_of(ImVec2 padding, float width, std::string_view text) {
  const ImVec2 inner =
      ImGui::CalcTextSize(text.data(), text.data() + text.size(), false, width - padding.x);
  return {inner.x + 2.0f * padding.x, inner.y + 2.0f * padding.y};
}

/// Whether the mouse is still where it was last clicked: things that have appeared there since then
/// get no tooltip.
bool rests_after_click() {
  const ImGuiIO& io = ImGui::GetIO();
  const ImVec2 clicked = io.MouseClickedPos[ImGuiMouseButton_Left];
  return io.MouseClickedTime[ImGuiMouseButton_Left] > 0.0 && clicked.x == io.MousePos.x &&
         clicked.y == io.MousePos.y;
}

}  // namespace

void tooltip(const FontRef& font, ImVec2 padding, float width, std::string_view text,
             const Rect& about) {
  if (rests_after_click()) return;
  const FontScope scope(font);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, padding);
  const ImGuiWindow* window = ImGui::FindWindowByName(kWindow);
  const int frame = ImGui::GetFrameCount();
  const bool has_begun = window != nullptr && window->LastFrameActive == frame;
  if (!has_begun) {
    // If the tooltip was there in the last frame, its window has the size of all its lines
    const bool was_there = window != nullptr && window->LastFrameActive == frame - 1;
    const ImVec2 alone = size_of(padding, width, text);
    const ImVec2 size =
        was_there ? ImVec2{std::max(alone.x, window->Size.x), std::max(alone.y, window->Size.y)}
                  : alone;
    const ImGuiIO& io = ImGui::GetIO();
    ImGui::SetNextWindowPos(place_beside(about, size, io.MousePos, io.DisplaySize, recent_cards()));
  }
  ImGui::BeginTooltip();
  if (has_begun) ImGui::Separator();
  ImGui::PushTextWrapPos(width);
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
  ImGui::PopStyleVar();
}

void explain_shortened(const FontRef& font, std::string_view whole, const Rect& rect) {
  const bool is_pointed = ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem) &&
                          rect.contains(ImGui::GetIO().MousePos);
  const float padding = std::round(0.6f * font.size);
  if (is_pointed) tooltip(font, {padding, padding}, font.size * 42.0f, whole, rect);
}

void keep_clear(const Rect& card) {
  cards_to_keep_clear.push_back({ImGui::GetFrameCount(), card});
}

ImVec2 place_beside(const Rect& about, ImVec2 size, ImVec2 pointer, ImVec2 display,
                    std::span<const Rect> cards) {
  const auto within = [](float at, float length, float room) {
    return std::clamp(at, 0.0f, std::max(room - length, 0.0f));
  };
  const float x = within(pointer.x + kPointerWidth, size.x, display.x);
  const float y = within(pointer.y - 0.5f * size.y, size.y, display.y);
  const auto fits = [&](const ImVec2& at) {
    return at.x >= 0.0f && at.y >= 0.0f && at.x + size.x <= display.x &&
           at.y + size.y <= display.y && !Rect{at, {at.x + size.x, at.y + size.y}}.overlaps(about);
  };
  const auto is_clear = [&](const ImVec2& at) {
    return fits(at) && std::ranges::none_of(cards, [&](const Rect& card) {
             return Rect{at, {at.x + size.x, at.y + size.y}}.overlaps(card);
           });
  };
  std::vector<ImVec2> places = {{x, about.max.y + kGap},
                                {x, about.min.y - kGap - size.y},
                                {about.max.x + kGap, y},
                                {about.min.x - kGap - size.x, y}};
  for (const Rect& card : cards) {
    for (const float beside : {card.min.x - kGap - size.x, card.max.x + kGap}) {
      places.push_back({beside, within(about.max.y + kGap, size.y, display.y)});
      places.push_back({beside, within(about.min.y - kGap - size.y, size.y, display.y)});
    }
    places.push_back({x, card.max.y + kGap});
    places.push_back({x, card.min.y - kGap - size.y});
  }
  const auto clear = std::ranges::find_if(places, is_clear);
  if (clear != places.end()) return *clear;
  const auto uncovered = std::ranges::find_if(places, fits);
  if (uncovered != places.end()) return *uncovered;
  const bool below = pointer.y + kPointerWidth + size.y <= display.y;
  return {x,
          below ? pointer.y + kPointerWidth : within(pointer.y - kGap - size.y, size.y, display.y)};
}

Rect around_pointer(float radius) {
  const ImVec2 at = ImGui::GetIO().MousePos;
  return {{at.x - radius, at.y - radius}, {at.x + radius, at.y + radius}};
}

}  // namespace attnscope::app::draw
