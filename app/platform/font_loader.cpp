#include "app/platform/font_loader.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <system_error>

namespace attnscope::app {

namespace {

/// Characters of the app besides Latin and Greek: indices, operators, arrows, marks.
constexpr const char* kExtraGlyphs =
    "₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖ⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀ×·−–—…≤≥≠≈∞√∑∂∈∘⊙‖←→↑↓↔⇒▶◀▲▼◆●○■□✓✗⟨⟩′″│─├└•°½";

constexpr std::array<const char*, 4> kFontFolders{
    "/usr/share/fonts/opentype/inter", "/usr/share/fonts/truetype/inter",
    "/usr/share/fonts/truetype/dejavu", "/usr/share/fonts/TTF"};

/// The first of the files that exists in one of the folders; empty when none does.
std::string find_font(std::initializer_list<const char*> files) {
  for (const char* file : files) {
    for (const char* folder : kFontFolders) {
      const std::filesystem::path path = std::filesystem::path(folder) / file;
      std::error_code ignored;
      if (std::filesystem::is_regular_file(path, ignored)) return path.string();
    }
  }
  return {};
}

const ImVector<ImWchar>& glyph_ranges() {
  static const ImVector<ImWchar> ranges = [] {
    ImFontGlyphRangesBuilder builder;
    builder.AddRanges(ImGui::GetIO().Fonts->GetGlyphRangesDefault());
    static const ImWchar greek[] = {0x0391, 0x03C9, 0};
    builder.AddRanges(greek);
    builder.AddText(kExtraGlyphs);
    ImVector<ImWchar> built;
    builder.BuildRanges(&built);
    return built;
  }();
  return ranges;
}

/// Loads one role: the wanted font, with DejaVu's glyphs for missing ones.
FontRef add_font(const std::string& path, const std::string& fallback, float size) {
  ImFontAtlas* atlas = ImGui::GetIO().Fonts;
  const float pixels = std::round(size);
  ImFontConfig config;
  config.OversampleH = 1;
  config.OversampleV = 1;
  FontRef role{nullptr, pixels};
  if (!path.empty()) {
    role.font = atlas->AddFontFromFileTTF(path.c_str(), pixels, &config, glyph_ranges().Data);
  }
  if (role.font == nullptr) {
    config.SizePixels = pixels;
    role.font = atlas->AddFontDefault(&config);
  }
  if (!fallback.empty() && fallback != path) {
    config.MergeMode = true;
    atlas->AddFontFromFileTTF(fallback.c_str(), pixels, &config, glyph_ranges().Data);
  }
  return role;
}

}  // namespace

FontFiles find_font_files() {
  return {
      .regular = find_font({"Inter-Regular.otf", "Inter-Regular.ttf", "DejaVuSans.ttf"}),
      .semi_bold = find_font({"Inter-SemiBold.otf", "Inter-SemiBold.ttf", "DejaVuSans-Bold.ttf"}),
      .mono = find_font({"DejaVuSansMono.ttf"}),
      .fallback = find_font({"DejaVuSans.ttf"})};
}

std::vector<Fonts> load_fonts(const FontFiles& files, const std::vector<float>& scales) {
  ImGui::GetIO().Fonts->Clear();
  std::vector<Fonts> loaded;
  for (const float scale : scales) {
    Fonts& fonts = loaded.emplace_back();
    fonts.ui = add_font(files.regular, files.fallback, 15.0f * scale);
    fonts.ui_bold = add_font(files.semi_bold, files.fallback, 15.0f * scale);
    fonts.title = add_font(files.semi_bold, files.fallback, 14.0f * scale);
    fonts.small = add_font(files.regular, files.fallback, 12.5f * scale);
    fonts.mono = add_font(files.mono, files.fallback, 13.5f * scale);
    fonts.mono_small = add_font(files.mono, files.fallback, 12.0f * scale);
  }
  return loaded;
}

}  // namespace attnscope::app
