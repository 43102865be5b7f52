#include "app/screen/widgets.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "app/draw/tooltip.h"
#include "app/platform/keys.h"

namespace attnscope::app::ui {

namespace {

void draw_triangle(ImDrawList* list, ImVec2 center, float size, bool forward, ImU32 color) {
  const float half = size * 0.5f;
  const float tip = forward ? half : -half;
  list->AddTriangleFilled({center.x - tip, center.y - half}, {center.x + tip, center.y},
                          {center.x - tip, center.y + half}, color);
}

/// Draws a triangle, with a bar before its tip for an end of the run, or the two bars of a pause.
void draw_icon(ImDrawList* list, Icon icon, ImVec2 center, float size, ImU32 color) {
  const float half = size * 0.5f;
  const float bar = std::max(1.5f, size * 0.18f);
  const auto draw_bar = [&](float x) {
    list->AddRectFilled({x - bar * 0.5f, center.y - half}, {x + bar * 0.5f, center.y + half},
                        color);
  };
  if (icon == Icon::pause) {
    draw_bar(center.x - size * 0.28f);
    draw_bar(center.x + size * 0.28f);
    return;
  }
  const bool at_end = icon == Icon::to_begin || icon == Icon::to_end;
  const bool forward = icon != Icon::to_begin && icon != Icon::back;
  if (!at_end) return draw_triangle(list, center, size, forward, color);
  const float way = forward ? 1.0f : -1.0f;
  draw_bar(center.x + way * half);
  draw_triangle(list, {center.x - way * bar, center.y}, size * 0.85f, forward, color);
}

}  // namespace

bool draw_button(const Frame& frame, const Button& button) {
  const Rect& rect = button.rect;
  const Theme& theme = frame.theme;
  ImGui::SetCursorScreenPos(rect.min);
  const bool pressed = button.enabled && frame.focus.visit(button.name, rect, frame.theme);
  const bool clicked =
      ImGui::InvisibleButton(std::string(button.name).c_str(), {rect.width(), rect.height()}) ||
      pressed;
  frame.rects.add(button.name, rect);

  // Surface
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float rounding = frame.px(5.0f);
  const ImU32 surface = button.primary ? theme.primary : theme.button;
  const ImU32 hovered = button.primary ? theme.primary_hovered : theme.button_hovered;
  const bool lit = button.enabled && ImGui::IsItemHovered();
  list->AddRectFilled(rect.min, rect.max,
                      !button.enabled ? with_alpha(theme.button, 0.5f)
                      : lit           ? hovered
                                      : surface,
                      rounding);
  if (button.primary && button.enabled) list->AddRect(rect.min, rect.max, theme.accent, rounding);

  // Text and icon, centred together
  const FontRef& font = frame.fonts.ui_bold;
  const ImVec2 center = rect.center();
  const float icon_size = button.icon == Icon::none ? 0.0f : std::round(font.size * 0.62f);
  const float text_width = button.text.empty() ? 0.0f : font.measure(button.text).x;
  const float gap = icon_size > 0.0f && text_width > 0.0f ? font.size * 0.4f : 0.0f;
  float x = center.x - (icon_size + gap + text_width) * 0.5f;
  const bool icon_last = button.icon == Icon::forward;
  const auto put_icon = [&] {
    draw_icon(list, button.icon, {x + icon_size * 0.5f, center.y}, icon_size, theme.text);
    x += icon_size + gap;
  };
  if (icon_size > 0.0f && !icon_last) put_icon();
  font.draw(list, {x, std::round(center.y - font.size * 0.5f)},
            button.enabled ? theme.text : theme.text_faint, button.text);
  x += text_width + gap;
  if (icon_size > 0.0f && icon_last) put_icon();
  tooltip(frame, button.help);
  return clicked && button.enabled;
}

bool visit_item(const Frame& frame, std::string_view name) {
  frame.rects.add_item(name);
  return frame.focus.visit(name, {ImGui::GetItemRectMin(), ImGui::GetItemRectMax()}, frame.theme);
}

void tooltip(const Frame& frame, std::string_view text) {
  if (!ImGui::IsItemHovered() || text.empty()) return;
  tooltip_beside(frame, text, {ImGui::GetItemRectMin(), ImGui::GetItemRectMax()});
}

void tooltip_beside(const Frame& frame, std::string_view text, const Rect& about) {
  draw::tooltip(frame.fonts.ui, {frame.px(10.0f), frame.px(8.0f)}, frame.text_px(420.0f), text,
                about);
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

}  // namespace attnscope::app::ui
