#include "app/platform/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

#include "app/ui/named_rects.h"

namespace attnscope::app {

namespace {

/// SVG attributes of a colour; Dear ImGui stores red in the lowest byte.
std::string fill(ImU32 color) {
  const unsigned alpha = color >> IM_COL32_A_SHIFT & 0xFF;
  const std::string rgb =
      fmt::format("fill=\"#{:02x}{:02x}{:02x}\"", color >> IM_COL32_R_SHIFT & 0xFF,
                  color >> IM_COL32_G_SHIFT & 0xFF, color >> IM_COL32_B_SHIFT & 0xFF);
  return alpha == 0xFF ? rgb : rgb + fmt::format(" fill-opacity=\"{:.3g}\"", alpha / 255.0);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

std::string font_attributes(std::string_view name) {
  const bool mono = name.find("Mono") != std::string_view::npos;
  const bool bold = name.find("Bold") != std::string_view::npos;
  return fmt::format("font-family=\"{}\"{}",
                     mono ? "DejaVu Sans Mono, monospace" : "Inter, DejaVu Sans, sans-serif",
                     bold ? " font-weight=\"600\"" : "");
}

/// Collects the document; consecutive polygons of the same colour share a path.
class SvgWriter {
 public:
  void polygon(const std::vector<ImVec2>& corners, ImU32 color) {
    if (color >> IM_COL32_A_SHIFT == 0 || corners.size() < 3) return;
    if (color != color_) end_path();
    color_ = color;
    for (std::size_t k = 0; k < corners.size(); ++k) {
      fmt::format_to(std::back_inserter(path_), "{}{:.1f} {:.1f}", k == 0 ? 'M' : 'L', corners[k].x,
                     corners[k].y);
    }
    path_ += 'Z';
  }

  void text(const DrawnText& text) {
    end_path();
    // The baseline of both fonts lies at about 0.79 of their height
    constexpr float kBaseline = 0.79f;
    const ImVec2 size = text.size;
    const float x = text.is_vertical ? -size.x * 0.5f : text.at.x;
    const float y = (text.is_vertical ? -size.y * 0.5f : text.at.y) + kBaseline * size.y;
    const std::string turned =
        text.is_vertical ? fmt::format(" transform=\"translate({:.1f} {:.1f}) rotate(-90)\"",
                                       text.at.x, text.at.y)
                         : "";
    fmt::format_to(std::back_inserter(body_),
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" textLength=\"{:.1f}\" "
                   "lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\" {} {}{}>{}</text>\n",
                   x, y, size.y * 0.83f, size.x, font_attributes(text.font), fill(text.color),
                   turned, escaped(text.text));
  }

  void begin_clip(const ImVec4& clip) {
    end_path();
    fmt::format_to(std::back_inserter(body_),
                   "<clipPath id=\"c{0}\"><rect x=\"{1:.1f}\" y=\"{2:.1f}\" width=\"{3:.1f}\" "
                   "height=\"{4:.1f}\"/></clipPath>\n<g clip-path=\"url(#c{0})\">\n",
                   clips_++, clip.x, clip.y, clip.z - clip.x, clip.w - clip.y);
  }

  void end_clip() {
    end_path();
    body_ += "</g>\n";
  }

  std::string document(ImVec2 size) {
    end_path();
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n{2}</svg>\n",
        size.x, size.y, body_);
  }

 private:
  void end_path() {
    if (!path_.empty()) body_ += fmt::format("<path d=\"{}\" {}/>\n", path_, fill(color_));
    path_.clear();
  }

  std::string body_, path_;
  ImU32 color_ = 0;
  int clips_ = 0;
};

/// Writes the shapes and the text of one draw list.
class ListWriter {
 public:
  ListWriter(const ImDrawList& list, const std::vector<DrawnText>& texts, SvgWriter& svg)
      : list_(list), svg_(svg) {
    std::ranges::copy_if(texts, std::back_inserter(texts_),
                         [&](const DrawnText& text) { return text.list == &list; });
  }

  void write() {
    for (const ImDrawCmd& command : list_.CmdBuffer) {
      if (command.ElemCount == 0) continue;
      svg_.begin_clip(command.ClipRect);
      const auto end = static_cast<int>(command.IdxOffset + command.ElemCount);
      for (int at = static_cast<int>(command.IdxOffset); at < end;) {
        const bool is_shape = is_white(vertex(command, at).uv);
        write_texts(at, is_shape);
        at = is_shape ? write_shape(command, at, end) : at + 3;
      }
      svg_.end_clip();
    }
  }

 private:
  const ImDrawVert& vertex(const ImDrawCmd& command, int index) const {
    return list_.VtxBuffer[static_cast<int>(command.VtxOffset) + list_.IdxBuffer[index]];
  }

  /// Whether a vertex belongs to a shape, which has no texture, not to a glyph.
  bool is_white(ImVec2 uv) const {
    const ImVec2 white = ImGui::GetFontTexUvWhitePixel();
    return uv.x == white.x && uv.y == white.y;
  }

  /// Writes the text whose glyphs begin at the index. Text outside the clip rectangle has no glyphs
  /// and is left out.
  void write_texts(int index, bool is_shape) {
    while (next_ < texts_.size() && texts_[next_].index <= index) {
      const DrawnText& text = texts_[next_++];
      const bool is_last = next_ == texts_.size() || texts_[next_].index > text.index;
      if (text.index == index && !is_shape && is_last) svg_.text(text);
    }
  }

  /// Writes the polygon whose triangles begin at the index; returns where the next one begins. A
  /// fan of triangles is one polygon: (0, 1, 2), (0, 2, 3), ...
  int write_shape(const ImDrawCmd& command, int at, int end) {
    std::vector<ImVec2> corners;
    for (int k = at; k < at + 3; ++k) corners.push_back(vertex(command, k).pos);
    const auto& idx = list_.IdxBuffer;
    int next = at + 3;
    while (next < end && idx[next] == idx[at] && idx[next + 1] == idx[next - 1]) {
      corners.push_back(vertex(command, next + 2).pos);
      next += 3;
    }
    svg_.polygon(corners, vertex(command, at).col);
    return next;
  }

  const ImDrawList& list_;
  SvgWriter& svg_;
  std::vector<DrawnText> texts_;
  std::size_t next_ = 0;
};

}  // namespace

PlainEdges::PlainEdges()
    : lines_(ImGui::GetStyle().AntiAliasedLines),
      textured_lines_(ImGui::GetStyle().AntiAliasedLinesUseTex),
      fill_(ImGui::GetStyle().AntiAliasedFill) {
  ImGuiStyle& style = ImGui::GetStyle();
  style.AntiAliasedLines = style.AntiAliasedLinesUseTex = style.AntiAliasedFill = false;
}

PlainEdges::~PlainEdges() {
  ImGuiStyle& style = ImGui::GetStyle();
  style.AntiAliasedLines = lines_;
  style.AntiAliasedLinesUseTex = textured_lines_;
  style.AntiAliasedFill = fill_;
}

bool is_svg_file(std::string_view path) {
  constexpr std::string_view kEnding = ".svg";
  return path.size() >= kEnding.size() &&
         std::ranges::equal(
             path.substr(path.size() - kEnding.size()), kEnding, {},
             [](char letter) { return std::tolower(static_cast<unsigned char>(letter)); });
}

std::string svg_of(const ImDrawData& frame, const std::vector<Surface>& surfaces,
                   const std::vector<DrawnText>& texts) {
  SvgWriter svg;
  for (const auto& [rect, color] : surfaces) {
    svg.polygon({rect.min, {rect.max.x, rect.min.y}, rect.max, {rect.min.x, rect.max.y}}, color);
  }
  for (int k = 0; k < frame.CmdListsCount; ++k) {
    ListWriter(*frame.CmdLists[k], texts, svg).write();
  }
  return svg.document(frame.DisplaySize);
}

}  // namespace attnscope::app
