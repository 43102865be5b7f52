#include "app/panels/panel_tabs.h"

#include <fmt/core.h>

#include <vector>

#include "app/draw/shapes.h"
#include "app/draw/text.h"
#include "app/panels/snapshot_view.h"

namespace attnscope::app {

TextButton draw_text_button(const PanelContext& context, std::string_view name,
                            std::string_view label, ImVec2 upper_right, bool lit) {
  const draw::Canvas canvas = canvas_of(context);
  const FontRef& font = context.fonts.small;
  const Theme& theme = context.theme;
  const float padding = canvas.px(6.0f);
  const ImVec2 size{font.measure(label).x + 2.0f * padding, font.size + canvas.px(6.0f)};
  const Rect rect{{upper_right.x - size.x, upper_right.y - canvas.px(3.0f)},
                  {upper_right.x, upper_right.y - canvas.px(3.0f) + size.y}};
  ImGui::SetCursorScreenPos(rect.min);
  const std::string id = fmt::format("##{}", name);
  const bool pressed = ImGui::InvisibleButton(id.c_str(), size);
  const bool over = ImGui::IsItemHovered();
  ui::named_rect(context.named_rects, name, rect);
  if (lit || over) {
    draw::fill(canvas, rect, lit ? theme.button : with_alpha(theme.button, 0.5f), canvas.px(4.0f));
  }
  draw::text(canvas, font, {rect.min.x + padding, upper_right.y},
             lit || over ? theme.text : theme.text_faint, label);
  return {rect.min.x, pressed};
}

int draw_header_tabs(const PanelContext& context, std::string_view panel,
                     std::initializer_list<std::string_view> labels, int chosen) {
  const float padding = 14.0f * context.scale;
  const float title = context.fonts.title.size;
  ImVec2 at{context.rect.max.x - padding + 6.0f * context.scale,
            context.rect.min.y + 10.0f * context.scale + (title - context.fonts.small.size) * 0.8f};
  const std::vector<std::string_view> ordered(labels);
  for (std::size_t k = ordered.size(); k-- > 0;) {
    const std::string name = fmt::format("{}.tab.{}", panel, ordered[k]);
    const TextButton button =
        draw_text_button(context, name, ordered[k], at, static_cast<int>(k) == chosen);
    if (button.pressed) chosen = static_cast<int>(k);
    at.x = button.left - 3.0f * context.scale;
  }
  return chosen;
}

}  // namespace attnscope::app
