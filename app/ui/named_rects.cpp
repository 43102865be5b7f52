#include "app/ui/named_rects.h"

#include <algorithm>

namespace attnscope::app {

Rect Rect::shrunk(float dx, float dy) const {
  const ImVec2 inner{min.x + dx, min.y + dy};
  return {inner, {std::max(max.x - dx, inner.x), std::max(max.y - dy, inner.y)}};
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
