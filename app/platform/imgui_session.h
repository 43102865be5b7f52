/// Dear ImGui on the current OpenGL context: fonts, theme, and the drawing of a frame.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/platform/frame_contents.h"
#include "app/platform/opaque_fills.h"
#include "app/ui/theme.h"

namespace attnscope::app {

// Finds Debian's Inter and DejaVu fonts and puts them into Dear ImGui's atlas.

/// Paths of the fonts of each role; empty if none is installed.
struct FontFiles {
  std::string regular;
  std::string semi_bold;
  std::string mono;
  std::string fallback;  ///< for glyphs that the others lack
};
FontFiles find_font_files();

/// Fills the atlas of the current ImGui context with every role at each of the scales (1 = the
/// 1600 x 900 design); returns the fonts of each scale, in this order. A font that is not installed
/// is replaced by the next best, ultimately by ImGui's own, so this cannot fail. The texture must
/// be uploaded again afterwards.
std::vector<Fonts> load_fonts(const FontFiles& files, const std::vector<float>& scales);

/// One ImGui context with the OpenGL 3 backend. Create it after the OpenGL context, and destroy it
/// first.
class ImGuiSession {
 public:
  ImGuiSession();
  ~ImGuiSession();
  ImGuiSession(const ImGuiSession&) = delete;
  ImGuiSession& operator=(const ImGuiSession&) = delete;

  /// Begins a frame of the backend, before ImGui::NewFrame(), in the theme and the scales:
  /// `layout_scale` of lengths, `font_scale` of text. Loading a font scale takes tens of
  /// milliseconds, so all of `font_scales`, which includes `font_scale`, are loaded together: for
  /// the normal and for presenter mode.
  void begin_frame(ThemeName theme, float layout_scale, float font_scale,
                   std::vector<float> font_scales);

  const Fonts& fonts() const { return *fonts_; }

  /// Draws the surfaces and, over them, the rendered frame into the bound framebuffer of this size
  /// in pixels.
  void render(int width, int height, std::span<const Surface> surfaces);
  /// Notes the picture that render() draws with these arguments. Returns whether it differs from
  /// the one noted before.
  bool note_picture(int width, int height, std::span<const Surface> surfaces);

 private:
  const FontFiles font_files_ = find_font_files();
  std::vector<float> font_scales_;  ///< the scales of loaded_
  std::vector<Fonts> loaded_;
  const Fonts* fonts_ = nullptr;  ///< one of loaded_
  ThemeName theme_ = ThemeName::dark;
  float layout_scale_ = 0.0f;
  OpaqueFills opaque_fills_;
  FrameContents contents_;
};

}  // namespace attnscope::app
