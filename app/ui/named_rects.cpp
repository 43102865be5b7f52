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

void NamedRects::add_item(std::string_view name) {
  add(name, {ImGui::GetItemRectMin(), ImGui::GetItemRectMax()});
}

}  // namespace attnscope::app
