/// A frame of Dear ImGui as a vector graphic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/platform/imgui_session.h"
#include "app/ui/drawn_texts.h"

namespace attnscope::app {

/// While it exists, Dear ImGui draws without smooth edges, because viewers smooth vector graphics
/// themselves. Create it between ImGuiSession::begin_frame(), which sets the style, and
/// ImGui::NewFrame().
class PlainEdges {
 public:
  PlainEdges();
  ~PlainEdges();
  PlainEdges(const PlainEdges&) = delete;
  PlainEdges& operator=(const PlainEdges&) = delete;

 private:
  bool lines_, textured_lines_, fill_;
};

/// Whether a picture is to be saved as SVG, judging by the end of its file name.
bool is_svg_file(std::string_view path);

/// The frame's surfaces, shapes and recorded text, in drawing order, as an SVG document of the
/// frame's size in pixels. Text names its font; if another font replaces it, the text keeps its
/// width.
std::string svg_of(const ImDrawData& frame, const std::vector<Surface>& surfaces,
                   const std::vector<DrawnText>& texts);

}  // namespace attnscope::app
