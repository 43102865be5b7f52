#include "app/theme.h"

#include <array>
#include <cmath>
#include <utility>

namespace attnscope::app {

namespace {

/// 0xRRGGBB, opaque.
constexpr ImU32 rgb(unsigned hex) {
  return IM_COL32((hex >> 16) & 0xFF, (hex >> 8) & 0xFF, hex & 0xFF, 0xFF);
}

constexpr Theme kDark{
    .name = ThemeName::dark,
    .background = rgb(0x12151A),
    .bar = rgb(0x0F1216),
    .card = rgb(0x1C2128),
    .card_border = rgb(0x353D49),
    .inset = rgb(0x202731),
    .inset_border = rgb(0x46505F),
    .field = rgb(0x29313C),
    .button = rgb(0x2B3644),
    .button_hovered = rgb(0x374558),
    .button_active = rgb(0x43546B),
    .primary = rgb(0x1D4E7A),
    .primary_hovered = rgb(0x266399),
    .track = rgb(0x2A313B),
    .grid = rgb(0x2F3742),
    .text = rgb(0xE6E9EE),
    .text_dim = rgb(0xB4BCC8),
    .text_faint = rgb(0x8F99A6),
    .text_on_tensor = rgb(0x10141A),
    .accent = rgb(0x56B4E9),
    .good = rgb(0x5CD6B4),
    .warning = rgb(0xF0B429),
    .error = rgb(0xFF7A6B),
    .error_surface = rgb(0x4A1F22),
    .highlight = rgb(0xFFFFFF),
    .untouched = rgb(0x20262E),
    .heat_low = rgb(0x1B2A49),
    .heat_high = rgb(0xF0E442),
};

constexpr Theme kLight{
    .name = ThemeName::light,
    .background = rgb(0xE9ECF0),
    .bar = rgb(0xF8F9FB),
    .card = rgb(0xFFFFFF),
    .card_border = rgb(0xC9D0D9),
    .inset = rgb(0xF3F5F8),
    .inset_border = rgb(0xAAB4C1),
    .field = rgb(0xE6EAF0),
    .button = rgb(0xDDE3EB),
    .button_hovered = rgb(0xCBD4DF),
    .button_active = rgb(0xB7C3D2),
    .primary = rgb(0xA9D6F2),
    .primary_hovered = rgb(0x8CC8EC),
    .track = rgb(0xD9DFE7),
    .grid = rgb(0xDCE1E8),
    .text = rgb(0x14181E),
    .text_dim = rgb(0x3C4653),
    .text_faint = rgb(0x5B6673),
    .text_on_tensor = rgb(0x10141A),
    .accent = rgb(0x0072B2),
    .good = rgb(0x00694C),
    .warning = rgb(0x8A5A00),
    .error = rgb(0xB3261E),
    .error_surface = rgb(0xFBDAD7),
    .highlight = rgb(0x000000),
    .untouched = rgb(0xEEF1F5),
    .heat_low = rgb(0xE4EEF8),
    .heat_high = rgb(0xC79A00),
};

constexpr Theme kContrast{
    .name = ThemeName::contrast,
    .background = rgb(0x000000),
    .bar = rgb(0x000000),
    .card = rgb(0x000000),
    .card_border = rgb(0xFFFFFF),
    .inset = rgb(0x0A0A0A),
    .inset_border = rgb(0xFFFFFF),
    .field = rgb(0x262626),
    .button = rgb(0x303030),
    .button_hovered = rgb(0x505050),
    .button_active = rgb(0x707070),
    .primary = rgb(0x005A9E),
    .primary_hovered = rgb(0x0072C6),
    .track = rgb(0x404040),
    .grid = rgb(0x5A5A5A),
    .text = rgb(0xFFFFFF),
    .text_dim = rgb(0xFFFFFF),
    .text_faint = rgb(0xE0E0E0),
    .text_on_tensor = rgb(0x000000),
    .accent = rgb(0x56B4E9),
    .good = rgb(0x66FFCC),
    .warning = rgb(0xFFD23F),
    .error = rgb(0xFF8A80),
    .error_surface = rgb(0x5C0A0A),
    .highlight = rgb(0xFFFFFF),
    .untouched = rgb(0x141414),
    .heat_low = rgb(0x14213D),
    .heat_high = rgb(0xFFF04D),
};

/// Okabe and Ito's palette; m and l get two lighter hues that it leaves free. A gradient has the
/// hue of its tensor, lighter.
constexpr std::array<std::pair<std::string_view, unsigned>, 18> kTensorColors{{
    {"Q", 0x56B4E9},
    {"K", 0xE69F00},
    {"V", 0x009E73},
    {"S", 0xF0E442},
    {"P", 0xF0E442},
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
    {"dP", 0xF6EF8E},
    {"dO", 0xE0AFCA},
    {"ml", 0xB7A1FF},
}};

ImVec4 to_float(ImU32 color) {
  return ImGui::ColorConvertU32ToFloat4(color);
}

double channel_luminance(double c) {
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

double luminance(ImU32 color) {
  const ImVec4 c = to_float(color);
  return 0.2126 * channel_luminance(c.x) + 0.7152 * channel_luminance(c.y) +
         0.0722 * channel_luminance(c.z);
}

}  // namespace

ThemeName next_theme(ThemeName name) {
  return static_cast<ThemeName>((static_cast<std::size_t>(name) + 1) % enum_names(name).size());
}

const Theme& theme(ThemeName name) {
  switch (name) {
    case ThemeName::dark:
      return kDark;
    case ThemeName::light:
      return kLight;
    case ThemeName::contrast:
      return kContrast;
  }
  return kDark;
}

ImU32 tensor_color(const Theme& theme, std::string_view tensor) {
  for (const auto& [name, hex] : kTensorColors) {
    if (name == tensor) return rgb(hex);
  }
  return theme.text;
}

ImU32 tensor_text_color(const Theme& theme, std::string_view tensor) {
  // Walk from the tensor's colour towards the text's until small letters can be read on a card
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
  ImVec4 c = to_float(color);
  c.w *= alpha;
  return ImGui::ColorConvertFloat4ToU32(c);
}

ImU32 mix(ImU32 a, ImU32 b, float t) {
  const ImVec4 x = to_float(a);
  const ImVec4 y = to_float(b);
  return ImGui::ColorConvertFloat4ToU32(
      {x.x + (y.x - x.x) * t, x.y + (y.y - x.y) * t, x.z + (y.z - x.z) * t, x.w + (y.w - x.w) * t});
}

double contrast_ratio(ImU32 a, ImU32 b) {
  const double x = luminance(a);
  const double y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

}  // namespace attnscope::app
