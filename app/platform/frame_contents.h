/// The contents of a frame: whatever determines its picture, apart from the textures.
#pragma once

#include <imgui.h>

#include <cstddef>
#include <span>
#include <vector>

#include "app/ui/named_rects.h"

namespace attnscope::app {

/// A rectangle of one opaque colour behind everything that Dear ImGui draws. With a software
/// renderer, filling large surfaces this way costs a fraction of drawing blended triangles.
struct Surface {
  Rect rect;
  ImU32 color = 0;
};

/// Remembers the last frame. Comparing a frame with it takes a small part of the time that drawing
/// the frame takes, and most frames of an app at rest are equal.
class FrameContents {
 public:
  /// Remembers this frame of `width` x `height` pixels, over the surfaces and the background.
  /// Returns whether it differs from the one before.
  bool replace(const ImDrawData& frame, std::span<const Surface> surfaces, ImU32 background,
               int width, int height);
  /// Forgets the last frame: the next one differs.
  void clear() { last_.clear(); }

 private:
  std::vector<std::byte> last_;
  std::vector<std::byte> next_;  ///< kept for its memory
};

}  // namespace attnscope::app
