/// Opening and saving scenes by path: Ctrl+O and Ctrl+S, or the end of the list of scenes.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "app/ui/frame.h"

namespace attnscope::app {

class SceneDialog {
 public:
  /// Opens on its keys or when the view asks for it, and draws itself while open.
  void draw(const Frame& frame);

 private:
  void begin(bool saving);
  /// Reads the folders: the shipped scenes, and the files of the current one.
  void list_scenes();
  void draw_contents(const Frame& frame);
  void draw_lists(const Frame& frame);
  void open(const Frame& frame, const std::string& name_or_path);

  bool saving_ = false;
  bool waiting_ = false;  ///< for the app's answer
  std::string error_;     ///< why the last path could not be opened or saved
  std::array<char, 512> path_{};
  std::vector<std::string> shipped_, own_;
};

}  // namespace attnscope::app
