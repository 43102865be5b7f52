/// Rectangles of widgets by name, so that tests can click them: `attnscope --dump-ui` prints them.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace attnscope::app {

/// A rectangle in pixels.
struct Rect {
  ImVec2 min;
  ImVec2 max;

  float width() const { return max.x - min.x; }
  float height() const { return max.y - min.y; }
  ImVec2 center() const { return {(min.x + max.x) * 0.5f, (min.y + max.y) * 0.5f}; }
  bool contains(ImVec2 p) const {
    return p.x >= min.x && p.x < max.x && p.y >= min.y && p.y < max.y;
  }
  bool overlaps(const Rect& other) const {
    return min.x < other.max.x && other.min.x < max.x && min.y < other.max.y && other.min.y < max.y;
  }
  /// The rectangle with every side moved inwards; its size is never negative.
  Rect shrunk(float dx, float dy) const {
    const ImVec2 inner{min.x + dx, min.y + dy};
    return {inner, {std::max(max.x - dx, inner.x), std::max(max.y - dy, inner.y)}};
  }
};

class NamedRects {
 public:
  void clear() { rects_.clear(); }
  /// Notes where a widget was drawn in this frame, under a name such as "transport.play".
  void add(std::string_view name, const Rect& rect) { rects_[std::string(name)] = rect; }
  /// Notes the place of the ImGui item that was drawn last.
  void add_item(std::string_view name) {
    add(name, {ImGui::GetItemRectMin(), ImGui::GetItemRectMax()});
  }
  std::optional<Rect> find(std::string_view name) const {
    const auto found = rects_.find(name);
    return found != rects_.end() ? std::optional(found->second) : std::nullopt;
  }
  const std::map<std::string, Rect, std::less<>>& all() const { return rects_; }

 private:
  std::map<std::string, Rect, std::less<>> rects_;
};

}  // namespace attnscope::app
