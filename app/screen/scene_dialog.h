/// Ctrl+S and Ctrl+O: a path to save to or to open, and the shipped scenes.
#pragma once

#include <array>

#include "app/ui/frame.h"

namespace attnscope::app {

class SceneDialog {
 public:
  /// Opens on its keys and draws itself while open.
  void draw(const Frame& frame);

 private:
  void begin(bool saving);
  void draw_contents(const Frame& frame);

  bool saving_ = false;
  std::array<char, 512> path_{};
};

}  // namespace attnscope::app
