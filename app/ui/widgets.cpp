#include "app/ui/widgets.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "app/platform/keys.h"

namespace attnscope::app::ui {

namespace {

void draw_triangle(ImDrawList* list, ImVec2 center, float size, bool forward, ImU32 color) {
  const float half = size * 0.5f;
  const float tip = forward ? half : -half;
  list->AddTriangleFilled({center.x - tip, center.y - half}, {center.x + tip, center.y},
                          {center.x - tip, center.y + half}, color);
}

void draw_icon(ImDrawList* list, Icon icon, ImVec2 center, float size, ImU32 color) {
  const float half = size * 0.5f;
  const float bar = std::max(1.5f, size * 0.18f);
  const auto draw_bar = [&](float x) {
    list->AddRectFilled({x - bar * 0.5f, center.y - half}, {x + bar * 0.5f, center.y + half},
                        color);
  };
  switch (icon) {
    case Icon::none:
      break;
    case Icon::play:
    case Icon::forward:
      draw_triangle(list, center, size, true, color);
      break;
    case Icon::back:
      draw_triangle(list, center, size, false, color);
      break;
    case Icon::pause:
      draw_bar(center.x - size * 0.28f);
      draw_bar(center.x + size * 0.28f);
      break;
    case Icon::to_begin:
      draw_bar(center.x - half);
      draw_triangle(list, {center.x + bar, center.y}, size * 0.85f, false, color);
      break;
    case Icon::to_end:
      draw_bar(center.x + half);
      draw_triangle(list, {center.x - bar, center.y}, size * 0.85f, true, color);
      break;
  }
}

}  // namespace

ButtonLook plain_look(const Theme& theme) {
  return {theme.button, theme.button_hovered, theme.text, 0};
}

ButtonLook primary_look(const Theme& theme) {
  return {theme.primary, theme.primary_hovered, theme.text, theme.accent};
}

bool button(const Frame& frame, std::string_view name, const Rect& rect, std::string_view text,
            Icon icon, const ButtonLook& look) {
  ImGui::SetCursorScreenPos(rect.min);
  const bool clicked =
      ImGui::InvisibleButton(std::string(name).c_str(), {rect.width(), rect.height()});
  named_rect(frame.rects, name, rect);

  // Surface
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float rounding = frame.px(5.0f);
  const bool hovered = ImGui::IsItemHovered();
  list->AddRectFilled(rect.min, rect.max, hovered ? look.hovered : look.surface, rounding);
  if (look.border != 0) list->AddRect(rect.min, rect.max, look.border, rounding);

  // Text and icon, together in the middle
  const FontRef& font = frame.fonts.ui_bold;
  const ImVec2 center = rect.center();
  const float icon_size = icon == Icon::none ? 0.0f : std::round(font.size * 0.62f);
  const float text_width = text.empty() ? 0.0f : font.measure(text).x;
  const float gap = icon_size > 0.0f && text_width > 0.0f ? font.size * 0.4f : 0.0f;
  float x = center.x - (icon_size + gap + text_width) * 0.5f;
  const bool icon_last = icon == Icon::forward;
  const auto put_icon = [&] {
    draw_icon(list, icon, {x + icon_size * 0.5f, center.y}, icon_size, look.text);
    x += icon_size + gap;
  };
  if (icon_size > 0.0f && !icon_last) put_icon();
  font.draw(list, {x, std::round(center.y - font.size * 0.5f)}, look.text, text);
  x += text_width + gap;
  if (icon_size > 0.0f && icon_last) put_icon();
  return clicked;
}

void tooltip(const Frame& frame, std::string_view text) {
  if (!ImGui::IsItemHovered() || text.empty()) return;
  const FontScope font(frame.fonts.ui);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {frame.px(10.0f), frame.px(8.0f)});
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(frame.text_px(420.0f));
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
  ImGui::PopStyleVar();
}

void close_popup_on_escape() {
  if (key_pressed(Key::escape)) ImGui::CloseCurrentPopup();
}

void draw_centered(ImDrawList* list, const FontRef& font, ImVec2 center, ImU32 color,
                   std::string_view text) {
  const ImVec2 size = font.measure(text);
  font.draw(list, {std::round(center.x - size.x * 0.5f), std::round(center.y - font.size * 0.5f)},
            color, text);
}

std::string shortened(const FontRef& font, std::string_view text, float width) {
  if (font.measure(text).x <= width) return std::string(text);
  std::string cut(text);
  while (!cut.empty() && font.measure(cut + "…").x > width) {
    // Whole characters of UTF-8 only
    do {
      cut.pop_back();
    } while (!cut.empty() && (static_cast<unsigned char>(cut.back()) & 0xC0) == 0x80);
    if (!cut.empty() && static_cast<unsigned char>(cut.back()) >= 0xC0) cut.pop_back();
  }
  return cut + "…";
}

}  // namespace attnscope::app::ui
