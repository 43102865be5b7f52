/// Dear ImGui without a window or OpenGL: builds draw lists that tests inspect.
#pragma once

#include <imgui.h>

#include <functional>
#include <vector>

#include "app/ui/named_rects.h"
#include "app/ui/theme.h"

namespace attnscope::test {

class HeadlessImGui {
 public:
  /// A screen of this size, with lengths at `layout_scale` and text at `font_scale`.
  HeadlessImGui(float width, float height, float layout_scale = 1.0f, float font_scale = 1.0f);
  ~HeadlessImGui();
  HeadlessImGui(const HeadlessImGui&) = delete;
  HeadlessImGui& operator=(const HeadlessImGui&) = delete;

  const app::Fonts& fonts() const { return *fonts_; }
  /// Changes the size of the screen, the theme and the scales from the next frame on. The fonts of
  /// a scale are loaded once for all screens of the program.
  void resize(float width, float height, float layout_scale, float font_scale,
              app::ThemeName theme = app::ThemeName::dark);
  void set_mouse(ImVec2 at, bool pressed = false);

  /// Draws one frame: `draw` is called inside a child window that covers `rect`.
  void frame(const app::Rect& rect, const std::function<void()>& draw);

  int vertex_count() const;
  /// The rectangles of all letters of the last frame that lie at least partly inside their clip
  /// rectangle.
  std::vector<app::Rect> letters() const;
  /// The colour of the last opaque shape of the last frame at a position; 0 if there is none.
  ImU32 color_at(ImVec2 at) const;
  /// Letters that extend beyond `rect` by more than a pixel, or that cover half of another one.
  int letters_outside(const app::Rect& rect) const;
  int letters_on_letters() const;

 private:
  ImFontAtlas none_;  ///< until the first fonts are chosen
  const app::Fonts* fonts_ = nullptr;
};

}  // namespace attnscope::test
