#include "app/panel.h"

namespace attnscope::app {

Rect draw_panel_header(const PanelContext& context, std::string_view title,
                       std::string_view subtitle, std::string_view note) {
  const Theme& theme = context.theme;
  const float scale = context.scale;
  const float padding = 14.0f * scale;
  ImDrawList* list = ImGui::GetWindowDrawList();

  // The baseline of all three is that of the title
  const float y = context.rect.min.y + 10.0f * scale;
  const float title_size = context.fonts.title.size;
  const auto y_for = [&](const FontRef& font) { return y + (title_size - font.size) * 0.8f; };

  float x = context.rect.min.x + padding;
  context.fonts.title.draw(list, {x, y}, theme.text_dim, title);
  x += context.fonts.title.measure(title).x;
  if (!subtitle.empty()) {
    x += 10.0f * scale;
    context.fonts.title.draw(list, {x, y}, theme.text_dim, subtitle);
    x += context.fonts.title.measure(subtitle).x;
  }

  // Leave out the note if it would overlap the title
  const FontRef& small = context.fonts.small;
  const float note_x = context.rect.max.x - padding - small.measure(note).x;
  if (note_x > x + 12.0f * scale) small.draw(list, {note_x, y_for(small)}, theme.text_faint, note);

  const float header_height = 10.0f * scale + title_size + 8.0f * scale;
  return Rect{{context.rect.min.x + padding, context.rect.min.y + header_height},
              {context.rect.max.x - padding, context.rect.max.y - 10.0f * scale}};
}

}  // namespace attnscope::app
