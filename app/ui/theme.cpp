#include "app/ui/theme.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <utility>

#include "app/ui/drawn_texts.h"
#include "app/ui/pointed_word.h"
#include "sim/ops/tensor_info.h"

namespace attnscope::app {

namespace {

/// 0xRRGGBB, opaque.
constexpr ImU32 rgb(unsigned hex) {
  return IM_COL32((hex >> 16) & 0xFF, (hex >> 8) & 0xFF, hex & 0xFF, 0xFF);
}

/// One colour of every theme, as 0xRRGGBB: dark, light, contrast.
struct ThemeRow {
  ImU32 Theme::*color;
  std::array<unsigned, enum_names(ThemeName{}).size()> hex;
};

constexpr ThemeRow kThemeRows[] = {
    {&Theme::background, {0x12151A, 0xE9ECF0, 0x000000}},
    {&Theme::bar, {0x0F1216, 0xF8F9FB, 0x000000}},
    {&Theme::card, {0x1C2128, 0xFFFFFF, 0x000000}},
    {&Theme::card_border, {0x353D49, 0xC9D0D9, 0xFFFFFF}},
    {&Theme::inset, {0x202731, 0xF3F5F8, 0x0A0A0A}},
    {&Theme::inset_border, {0x46505F, 0xAAB4C1, 0xFFFFFF}},
    {&Theme::field, {0x29313C, 0xE6EAF0, 0x262626}},
    {&Theme::button, {0x2B3644, 0xDDE3EB, 0x303030}},
    {&Theme::button_hovered, {0x374558, 0xCBD4DF, 0x505050}},
    {&Theme::button_active, {0x43546B, 0xB7C3D2, 0x707070}},
    {&Theme::primary, {0x1D4E7A, 0xA9D6F2, 0x005A9E}},
    {&Theme::primary_hovered, {0x266399, 0x8CC8EC, 0x0072C6}},
    {&Theme::track, {0x2A313B, 0xD9DFE7, 0x404040}},
    {&Theme::grid, {0x2F3742, 0xDCE1E8, 0x5A5A5A}},
    {&Theme::text, {0xE6E9EE, 0x14181E, 0xFFFFFF}},
    {&Theme::text_dim, {0xB4BCC8, 0x3C4653, 0xFFFFFF}},
    {&Theme::text_faint, {0x8F99A6, 0x5B6673, 0xE0E0E0}},
    {&Theme::text_on_tensor, {0x10141A, 0x10141A, 0x000000}},
    {&Theme::accent, {0x56B4E9, 0x0072B2, 0x56B4E9}},
    {&Theme::good, {0x5CD6B4, 0x00694C, 0x66FFCC}},
    {&Theme::warning, {0xF0B429, 0x8A5A00, 0xFFD23F}},
    {&Theme::error, {0xFF7A6B, 0xB3261E, 0xFF8A80}},
    {&Theme::error_surface, {0x4A1F22, 0xFBDAD7, 0x5C0A0A}},
    {&Theme::highlight, {0xFFFFFF, 0x000000, 0xFFFFFF}},
    {&Theme::untouched, {0x20262E, 0xEEF1F5, 0x141414}},
    {&Theme::heat_low, {0x1B2A49, 0xE4EEF8, 0x14213D}},
    {&Theme::heat_high, {0xF0E442, 0xC79A00, 0xFFF04D}},
};
static_assert(std::size(kThemeRows) * sizeof(ImU32) == sizeof(Theme), "a row for each colour");

constexpr Theme make_theme(ThemeName name) {
  Theme theme;
  for (const ThemeRow& row : kThemeRows) {
    theme.*row.color = rgb(row.hex[static_cast<std::size_t>(name)]);
  }
  return theme;
}

constexpr std::array kThemes{make_theme(ThemeName::dark), make_theme(ThemeName::light),
                             make_theme(ThemeName::contrast)};

/// Okabe and Ito's palette; P, m and l get three lighter hues that are not in it. A gradient has
/// the hue of its tensor, lighter.
constexpr std::array<std::pair<std::string_view, unsigned>, 18> kTensorColors{{
    {"Q", 0x56B4E9},
    {"K", 0xE69F00},
    {"V", 0x009E73},
    {"S", 0xF0E442},
    {"P", 0xC0E080},
    {"O", 0xCC79A7},
    {"m", 0xB7A1FF},
    {"LSE", 0xB7A1FF},
    {"l", 0x7FD6C2},
    {"alpha", 0xE8743B},
    {"D", 0x7D9CC4},
    {"dQ", 0x9AD2F2},
    {"dK", 0xF0C566},
    {"dV", 0x66C5AB},
    {"dS", 0xF6EF8E},
    {"dP", 0xDDF0BC},
    {"dO", 0xE0AFCA},
    {"ml", 0xB7A1FF},
}};

constexpr bool has_color(Tensor tensor) {
  const auto hue = static_cast<std::size_t>(info_of(tensor).hue);
  const std::string_view name = enum_names(Tensor{})[hue];
  return std::ranges::any_of(kTensorColors, [&](const auto& each) { return each.first == name; });
}
static_assert(std::ranges::all_of(kTensors, has_color));

double channel_luminance(double c) {
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

double luminance(ImU32 color) {
  const ImVec4 c = ImGui::ColorConvertU32ToFloat4(color);
  return 0.2126 * channel_luminance(c.x) + 0.7152 * channel_luminance(c.y) +
         0.0722 * channel_luminance(c.z);
}

}  // namespace

ThemeName next_theme(ThemeName name) {
  return static_cast<ThemeName>((static_cast<std::size_t>(name) + 1) % enum_names(name).size());
}

const Theme& theme(ThemeName name) {
  return kThemes[static_cast<std::size_t>(name)];
}

ImU32 tensor_color(const Theme& theme, std::string_view tensor) {
  for (const auto& [name, hex] : kTensorColors) {
    if (name == tensor) return rgb(hex);
  }
  return theme.text;
}

ImU32 tensor_text_color(const Theme& theme, std::string_view tensor) {
  // Move from the tensor's colour towards the text's until small text is readable on a card
  const ImU32 color = tensor_color(theme, tensor);
  for (int step = 0; step < 20; ++step) {
    const ImU32 mixed = mix(color, theme.text, 0.05f * static_cast<float>(step));
    if (contrast_ratio(mixed, theme.card) >= 4.5) return mixed;
  }
  return theme.text;
}

ImU32 number_color(const Theme& theme, NumberKind kind) {
  switch (kind) {
    case NumberKind::modelled:
      return theme.text;
    case NumberKind::measured:
    case NumberKind::recorded:
      return theme.good;
    case NumberKind::counted_in_kernel:
      return theme.accent;
    case NumberKind::datasheet:
      return theme.text_dim;
    case NumberKind::unavailable:
      return theme.text_faint;
  }
  return theme.text;
}

ImU32 with_alpha(ImU32 color, float alpha) {
  ImVec4 c = ImGui::ColorConvertU32ToFloat4(color);
  c.w *= alpha;
  return ImGui::ColorConvertFloat4ToU32(c);
}

ImU32 mix(ImU32 a, ImU32 b, float t) {
  const ImVec4 x = ImGui::ColorConvertU32ToFloat4(a);
  const ImVec4 y = ImGui::ColorConvertU32ToFloat4(b);
  return ImGui::ColorConvertFloat4ToU32(
      {x.x + (y.x - x.x) * t, x.y + (y.y - x.y) * t, x.z + (y.z - x.z) * t, x.w + (y.w - x.w) * t});
}

double contrast_ratio(ImU32 a, ImU32 b) {
  const double x = luminance(a);
  const double y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

ImVec2 FontRef::measure(std::string_view text) const {
  if (font == nullptr || text.empty()) return {0.0f, size};
  return font->CalcTextSizeA(size, FLT_MAX, 0.0f, text.data(), text.data() + text.size());
}

void FontRef::draw(ImDrawList* list, ImVec2 position, ImU32 color, std::string_view text) const {
  if (text.empty()) return;
  record_text(list, font, size, position, color, text);
  list->AddText(font, size, position, color, text.data(), text.data() + text.size());
  note_pointed_word(list, font, size, position, text);
}

FontScope::FontScope(const FontRef& font) {
#if IMGUI_VERSION_NUM >= 19200
  ImGui::PushFont(font.font, font.size);
#else
  ImGui::PushFont(font.font);
#endif
}

FontScope::~FontScope() {
  ImGui::PopFont();
}

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
