/// The dialog that opens and saves scenes by path: Ctrl+O and Ctrl+S, or the end of the list of
/// scenes.
#pragma once

#include <array>
#include <string>

#include "app/ui/widgets.h"

namespace attnscope::app {

class SceneDialog {
 public:
  /// Opens on its keys or when the view requests it, and draws itself while open.
  void draw(const Frame& frame);

 private:
  void begin(const Frame& frame, bool saving);
  void draw_contents(const Frame& frame);
  void draw_lists(const Frame& frame);
  /// Opens or saves, and waits for the app's result.
  void ask(const Frame& frame, const Command& command);

  bool saving_ = false;
  bool waiting_ = false;  ///< for the app's result
  std::string error_;     ///< the reason why the last path could not be opened or saved
  std::array<char, 512> path_{};
};

/// The box of the top bar: the shipped scenes, and entries that open the dialog.
void draw_scene_field(const Frame& frame, const Rect& box);

}  // namespace attnscope::app
