#include "app/screen/page_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>

#include "app/draw/canvas.h"

namespace attnscope::app {

namespace {

/// The place of a page, and the mouse's actions there.
class Painter {
 public:
  explicit Painter(const Frame& frame) : frame_(frame), list_(ImGui::GetWindowDrawList()) {}

  /// Draws a block at a place and returns its height.
  float draw(const MarkdownBlock& block, ImVec2 at, float width) {
    return std::visit([&](const auto& each) { return draw_block(each, at, width); }, block);
  }
  const std::string& clicked() const { return clicked_; }

 private:
  float line_height(const FontRef& font) const { return std::round(font.size * 1.45f); }

  FontRef font_of(const TextSpan& span, const FontRef& base) const {
    if (span.style == TextStyle::bold) return {frame_.fonts.ui_bold.font, base.size};
    if (span.style == TextStyle::code) return {frame_.fonts.mono.font, base.size * 0.92f};
    return base;
  }

  /// Draws one word of a span, or the space after it.
  void draw_word(const TextSpan& span, const FontRef& font, ImVec2 at, std::string_view word,
                 ImU32 color) {
    const bool is_link = !span.link.empty();
    font.draw(list_, at, is_link ? frame_.theme.accent : color, word);
    if (!is_link) return;
    const ImVec2 end{at.x + font.measure(word).x, at.y + font.size};
    if (!ImGui::IsWindowHovered() || !Rect{at, end}.contains(ImGui::GetIO().MousePos)) return;
    list_->AddLine({at.x, end.y}, end, frame_.theme.accent);
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) clicked_ = span.link;
  }

  /// Draws spans, broken into lines at spaces; returns their height.
  float flow(const TextLine& spans, const FontRef& base, ImVec2 at, float width, ImU32 color) {
    const float pitch = line_height(base);
    float x = at.x;
    float y = at.y;
    for (const TextSpan& span : spans) {
      const FontRef font = font_of(span, base);
      const float drop = (base.size - font.size) * 0.5f;
      std::string_view rest = span.text;
      while (!rest.empty()) {
        const std::size_t blank = rest.find(' ');
        const std::string_view word = rest.substr(0, blank == rest.npos ? blank : blank + 1);
        const std::string_view letters = rest.substr(0, blank);
        if (x > at.x && x + font.measure(letters).x > at.x + width) {
          x = at.x;
          y += pitch;
        }
        draw_word(span, font, {std::round(x), std::round(y + drop)}, word, color);
        x += font.measure(word).x;
        rest.remove_prefix(word.size());
      }
    }
    return y + pitch - at.y;
  }

  float draw_block(const Heading& heading, ImVec2 at, float width) {
    FontRef font = frame_.fonts.ui_bold;
    font.size *= heading.level == 1 ? 1.5f : heading.level == 2 ? 1.2f : 1.0f;
    const float above = heading.level == 1 ? 0.0f : font.size * 0.6f;
    return above + flow(heading.text, font, {at.x, at.y + above}, width, frame_.theme.text) +
           font.size * 0.3f;
  }

  float draw_block(const Paragraph& paragraph, ImVec2 at, float width) {
    const FontRef& font = frame_.fonts.ui;
    return flow(paragraph.text, font, at, width, frame_.theme.text) + font.size * 0.6f;
  }

  float draw_block(const ListItem& item, ImVec2 at, float width) {
    const FontRef& font = frame_.fonts.ui;
    const float indent = font.size * 1.1f;
    list_->AddCircleFilled({at.x + indent * 0.4f, at.y + font.size * 0.6f}, font.size * 0.14f,
                           frame_.theme.text_dim);
    return flow(item.text, font, {at.x + indent, at.y}, width - indent, frame_.theme.text) +
           font.size * 0.2f;
  }

  float draw_block(const CodeBlock& code, ImVec2 at, float width) {
    const FontRef& font = frame_.fonts.mono_small;
    const float padding = font.size * 0.7f;
    const float pitch = std::round(font.size * 1.35f);

    // A line that is too long continues below
    const auto most =
        static_cast<std::size_t>(std::max((width - 2.0f * padding) / font.measure("0").x, 8.0f));
    std::vector<std::string_view> lines;
    for (std::string_view line : code.lines) {
      while (line.size() > most) {
        std::size_t end = line.rfind(' ', most);
        if (end == line.npos || end == 0) end = most;
        lines.push_back(line.substr(0, end));
        line.remove_prefix(end);
      }
      lines.push_back(line);
    }

    const float height = pitch * static_cast<float>(lines.size()) + 2.0f * padding;
    list_->AddRectFilled(at, {at.x + width, at.y + height}, frame_.theme.inset, frame_.px(4.0f));
    float y = at.y + padding;
    for (const std::string_view line : lines) {
      font.draw(list_, {at.x + padding, std::round(y)}, frame_.theme.text, line);
      y += pitch;
    }
    return height + font.size;
  }

  /// Widths of the columns: the widths of their text, with the widest narrowed until all fit.
  std::vector<float> column_widths(const MarkdownTable& table, float width, float gap) {
    const FontRef& font = frame_.fonts.ui;
    std::vector<float> wanted(table.header.size(), 0.0f);
    const auto consider = [&](const std::vector<TextLine>& cells) {
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        float length = 0.0f;
        for (const TextSpan& span : cells[k]) length += font_of(span, font).measure(span.text).x;
        wanted[k] = std::max(wanted[k], length + 1.0f);
      }
    };
    consider(table.header);
    for (const auto& row : table.rows) consider(row);
    const float room = width - gap * static_cast<float>(wanted.size() - 1);
    float limit = room;
    for (float step = room * 0.5f; step > 1.0f; step *= 0.5f) {
      const float used =
          std::accumulate(wanted.begin(), wanted.end(), 0.0f,
                          [&](float sum, float each) { return sum + std::min(each, limit); });
      limit += used > room ? -step : step;
    }
    for (float& each : wanted) each = std::min(each, limit);
    return wanted;
  }

  float draw_row(const std::vector<TextLine>& cells, const std::vector<float>& widths, ImVec2 at,
                 float gap, ImU32 color) {
    float height = 0.0f;
    float x = at.x;
    for (std::size_t k = 0; k < cells.size(); ++k) {
      height = std::max(height, flow(cells[k], frame_.fonts.ui, {x, at.y}, widths[k], color));
      x += widths[k] + gap;
    }
    return height;
  }

  float draw_block(const MarkdownTable& table, ImVec2 at, float width) {
    const float gap = frame_.fonts.ui.size * 1.4f;
    const std::vector<float> widths = column_widths(table, width, gap);
    float y = at.y + draw_row(table.header, widths, at, gap, frame_.theme.text_dim);
    for (const auto& row : table.rows) {
      list_->AddLine({at.x, y}, {at.x + width, y}, frame_.theme.grid);
      y += frame_.px(3.0f);
      y += draw_row(row, widths, {at.x, y}, gap, frame_.theme.text) + frame_.px(2.0f);
    }
    return y - at.y + frame_.fonts.ui.size;
  }

  const Frame& frame_;
  ImDrawList* list_;
  std::string clicked_;
};

}  // namespace

std::string PageView::draw(const Frame& frame, const GuidePage& page, float width,
                           const std::string& anchor) {
  const float text_px = frame.fonts.ui.size;
  if (page_ != page.name || width_ != width || text_px_ != text_px) heights_.clear();
  page_ = page.name;
  width_ = width;
  text_px_ = text_px;
  heights_.resize(page.blocks.size(), 0.0f);

  Painter painter(frame);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  const float top = ImGui::GetWindowPos().y;
  const float bottom = top + ImGui::GetWindowHeight();
  float y = origin.y;
  for (std::size_t k = 0; k < page.blocks.size(); ++k) {
    const auto* heading = std::get_if<Heading>(&page.blocks[k]);
    if (heading != nullptr && !anchor.empty() && heading->anchor == anchor) {
      ImGui::SetScrollY(y - origin.y);
    }
    const bool known = heights_[k] > 0.0f;
    if (!known || (y < bottom && y + heights_[k] > top)) {
      heights_[k] = painter.draw(page.blocks[k], {origin.x, y}, width);
    }
    y += heights_[k];
  }
  ImGui::Dummy({width, y - origin.y});
  return painter.clicked();
}

}  // namespace attnscope::app
