/// Frames of Dear ImGui in addition to those of the screen.
#pragma once

struct ImGuiContext;

namespace attnscope::app {

/// While it exists, frames belong to a separate ImGui context, with the fonts, style, size and
/// renderer of the screen. The user's actions on the screen are not disturbed: the text field being
/// edited, open popups, pending input. Create it between two frames; frames need no backend's
/// NewFrame().
class SeparateFrames {
 public:
  SeparateFrames();
  ~SeparateFrames();
  SeparateFrames(const SeparateFrames&) = delete;
  SeparateFrames& operator=(const SeparateFrames&) = delete;

 private:
  ImGuiContext* const screen_;
  ImGuiContext* const own_;
};

}  // namespace attnscope::app
