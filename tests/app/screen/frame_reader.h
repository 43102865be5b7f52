/// Letters and shapes of the last frame of Dear ImGui, read back from its draw lists.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "app/ui/named_rects.h"

namespace attnscope::test {

constexpr ImU32 kOpaque = 200;  ///< alpha from which a surface hides everything below it
constexpr ImU32 kFaint = 60;    ///< alpha from which a line is visible

/// A letter as it was drawn. Letters of upward text are rotated back for `pen`.
struct Letter {
  const ImFont* font = nullptr;
  const ImFontGlyph* glyph = nullptr;
  float scale = 0.0f;  ///< factor on the font's own size
  bool upwards = false;
  ImVec2 pen;  ///< where the letter begins, on the upper edge of the line
  app::Rect ink, clip;
  int order = 0;
  bool hidden = false;
};

struct Triangle {
  ImVec2 corners[3];
  ImU32 color = 0;  ///< colour of its most opaque corner
  app::Rect clip;
  int order = 0;
  bool of_fan = false;  ///< part of a filled shape with more than three corners
};

struct Frame {
  std::vector<Letter> letters;
  std::vector<Triangle> triangles;
};

/// The overlap of two rectangles in each direction, in pixels; negative if they are apart.
inline ImVec2 overlap(const app::Rect& a, const app::Rect& b) {
  return {std::min(a.max.x, b.max.x) - std::max(a.min.x, b.min.x),
          std::min(a.max.y, b.max.y) - std::max(a.min.y, b.min.y)};
}

inline bool overlaps(const app::Rect& a, const app::Rect& b, float slack) {
  const ImVec2 both = overlap(a, b);
  return both.x > slack && both.y > slack;
}

inline app::Rect united(const app::Rect& a, const app::Rect& b) {
  return {{std::min(a.min.x, b.min.x), std::min(a.min.y, b.min.y)},
          {std::max(a.max.x, b.max.x), std::max(a.max.y, b.max.y)}};
}

/// The letters that are visible at least in part, and all triangles, in the order of drawing.
Frame read_frame();

/// A hash of everything that read_frame() reads: positions, letters, clip rectangles, and the
/// opacity of each corner, but no colour. Frames with equal hashes have the same text with the same
/// defects.
std::uint64_t frame_signature();

}  // namespace attnscope::test
