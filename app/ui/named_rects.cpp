#include "app/ui/named_rects.h"

#include <algorithm>

namespace attnscope::app {

Rect Rect::shrunk(float dx, float dy) const {
  Rect inner{{min.x + dx, min.y + dy}, {max.x - dx, max.y - dy}};
  inner.max.x = std::max(inner.max.x, inner.min.x);
  inner.max.y = std::max(inner.max.y, inner.min.y);
  return inner;
}

std::optional<Rect> NamedRects::find(std::string_view name) const {
  const auto found = rects_.find(name);
  if (found == rects_.end()) return std::nullopt;
  return found->second;
}

}  // namespace attnscope::app

namespace attnscope::app::ui {

void named_rect(NamedRects& rects, std::string_view name, const Rect& rect) {
  rects.add(name, rect);
}

void named_item(NamedRects& rects, std::string_view name) {
  rects.add(name, {ImGui::GetItemRectMin(), ImGui::GetItemRectMax()});
}

}  // namespace attnscope::app::ui
