#include <imgui.h>

#include "app/theme.h"

namespace attnscope::app {

void apply_to_imgui(const Theme& theme, float scale) {
  ImGuiStyle style;
  style.WindowPadding = {0, 0};
  style.WindowBorderSize = 0;
  style.ChildBorderSize = 0;
  style.PopupBorderSize = 1;
  style.FrameRounding = 5;
  style.PopupRounding = 6;
  style.GrabRounding = 5;
  style.ScrollbarRounding = 5;
  style.ScrollbarSize = 10;
  style.FramePadding = {8, 5};
  style.ItemSpacing = {8, 6};
  style.ItemInnerSpacing = {6, 4};
  style.ScaleAllSizes(scale);
  style.AntiAliasedLinesUseTex = true;

  const auto set = [&](ImGuiCol index, ImU32 color) {
    style.Colors[index] = ImGui::ColorConvertU32ToFloat4(color);
  };
  set(ImGuiCol_Text, theme.text);
  set(ImGuiCol_TextDisabled, theme.text_faint);
  set(ImGuiCol_WindowBg, theme.background);
  set(ImGuiCol_ChildBg, 0);
  set(ImGuiCol_PopupBg, mix(theme.card, theme.field, 0.5f));
  set(ImGuiCol_Border, theme.inset_border);
  set(ImGuiCol_FrameBg, theme.field);
  set(ImGuiCol_FrameBgHovered, theme.button_hovered);
  set(ImGuiCol_FrameBgActive, theme.button_active);
  set(ImGuiCol_Button, theme.button);
  set(ImGuiCol_ButtonHovered, theme.button_hovered);
  set(ImGuiCol_ButtonActive, theme.button_active);
  set(ImGuiCol_Header, theme.button);
  set(ImGuiCol_HeaderHovered, theme.button_hovered);
  set(ImGuiCol_HeaderActive, theme.button_active);
  set(ImGuiCol_ScrollbarBg, 0);
  set(ImGuiCol_ScrollbarGrab, theme.track);
  set(ImGuiCol_ScrollbarGrabHovered, theme.button_hovered);
  set(ImGuiCol_ScrollbarGrabActive, theme.button_active);
  set(ImGuiCol_SliderGrab, theme.accent);
  set(ImGuiCol_SliderGrabActive, theme.accent);
  set(ImGuiCol_CheckMark, theme.accent);
  set(ImGuiCol_Separator, theme.grid);
  set(ImGuiCol_TextSelectedBg, with_alpha(theme.accent, 0.35f));
  set(ImGuiCol_NavHighlight, theme.accent);
  set(ImGuiCol_ModalWindowDimBg, with_alpha(theme.background, 0.6f));
  ImGui::GetStyle() = style;
}

}  // namespace attnscope::app
