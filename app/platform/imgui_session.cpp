#include "app/platform/imgui_session.h"

#include <GL/gl.h>
#include <GL/glext.h>
#include <imgui.h>
#include <imgui_impl_opengl3.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <system_error>
#include <utility>

#include "reference/check.h"

#define GL_GLEXT_PROTOTYPES

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

/// Loads the font of one role, with DejaVu's glyphs for those that it lacks.
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
    fonts.mono_small = add_font(files.mono, files.fallback, 12.5f * scale);
    fonts.large = add_font(files.regular, files.fallback, 18.0f * scale);
    fonts.large_bold = add_font(files.semi_bold, files.fallback, 18.0f * scale);
    fonts.large_mono = add_font(files.mono, files.fallback, 16.5f * scale);
  }
  return loaded;
}

namespace {

void clear_to(ImU32 color) {
  const ImVec4 c = ImGui::ColorConvertU32ToFloat4(color);
  glClearColor(c.x, c.y, c.z, 1.0f);
  glClear(GL_COLOR_BUFFER_BIT);
}

}  // namespace

ImGuiSession::ImGuiSession() {
  IMGUI_CHECKVERSION();
  ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;  // settings are stored in scenes, not in the current folder
  io.ConfigInputTextCursorBlink = false;
  ImGui_ImplOpenGL3_Init("#version 330 core");
}

ImGuiSession::~ImGuiSession() {
  ImGui_ImplOpenGL3_Shutdown();
  ImGui::DestroyContext();
}

void ImGuiSession::begin_frame(ThemeName name, float layout_scale, float font_scale,
                               std::vector<float> font_scales) {
  if (font_scales != font_scales_) {
    loaded_ = load_fonts(font_files_, font_scales);
    font_scales_ = std::move(font_scales);
    contents_.clear();  // equal vertices may now show other glyphs
#if IMGUI_VERSION_NUM < 19200
    ImGui_ImplOpenGL3_DestroyFontsTexture();
    ImGui_ImplOpenGL3_CreateFontsTexture();
#endif
  }
  if (name != theme_ || layout_scale != layout_scale_) {
    apply_to_imgui(app::theme(name), layout_scale);
  }
  const auto scale = std::ranges::find(font_scales_, font_scale);
  ATTNSCOPE_CHECK(scale != font_scales_.end(), ==, true);
  fonts_ = &loaded_[static_cast<std::size_t>(scale - font_scales_.begin())];
  theme_ = name;
  layout_scale_ = layout_scale;
  ImGui_ImplOpenGL3_NewFrame();
}

void ImGuiSession::render(int width, int height, std::span<const Surface> surfaces) {
  glViewport(0, 0, width, height);
  glDisable(GL_SCISSOR_TEST);
  clear_to(app::theme(theme_).background);

  // OpenGL counts rows from the bottom
  const ImVec2 pixels = ImGui::GetIO().DisplayFramebufferScale;
  glEnable(GL_SCISSOR_TEST);
  for (const Surface& surface : surfaces) {
    const auto x0 = static_cast<int>(surface.rect.min.x * pixels.x);
    const auto y0 = static_cast<int>(surface.rect.min.y * pixels.y);
    const auto x1 = static_cast<int>(surface.rect.max.x * pixels.x);
    const auto y1 = static_cast<int>(surface.rect.max.y * pixels.y);
    glScissor(x0, height - y1, x1 - x0, y1 - y0);
    clear_to(surface.color);
  }
  glDisable(GL_SCISSOR_TEST);
  opaque_fills_.render(*ImGui::GetDrawData());
}

bool ImGuiSession::note_picture(int width, int height, std::span<const Surface> surfaces) {
  return contents_.replace(*ImGui::GetDrawData(), surfaces, app::theme(theme_).background, width,
                           height);
}

}  // namespace attnscope::app
