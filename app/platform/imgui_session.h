/// Dear ImGui on the current OpenGL context: fonts, theme, and the drawing of a frame.
#pragma once

#include <span>

#include "app/fonts.h"
#include "app/theme.h"
#include "app/ui/named_rects.h"

namespace attnscope::app {

/// A rectangle of one opaque colour behind everything that Dear ImGui draws. Filling large surfaces
/// this way costs a fraction of what blended triangles do where OpenGL runs in software.
struct Surface {
  Rect rect;
  ImU32 color = 0;
};

/// One ImGui context with the OpenGL 3 backend. Create it after the OpenGL context, destroy it
/// before.
class ImGuiSession {
 public:
  ImGuiSession();
  ~ImGuiSession();
  ImGuiSession(const ImGuiSession&) = delete;
  ImGuiSession& operator=(const ImGuiSession&) = delete;

  /// Rebuilds fonts and style when the theme, or the scale by more than a rounding, has changed.
  /// `layout_scale` scales lengths, `font_scale` text (larger in presenter mode). Call between
  /// two frames.
  void set_looks(ThemeName theme, float layout_scale, float font_scale);

  const Fonts& fonts() const { return fonts_; }

  /// Begins a frame of the backend; the window's or the offscreen's own part comes before.
  void begin_frame();
  /// Ends the frame: its draw lists are complete.
  void end_frame();
  /// Draws the surfaces and over them the frame, into the bound framebuffer of that size in pixels.
  void render(int width, int height, std::span<const Surface> surfaces);

 private:
  Fonts fonts_;
  ThemeName theme_ = ThemeName::dark;
  float layout_scale_ = 0.0f;
  float font_scale_ = 0.0f;
};

}  // namespace attnscope::app
