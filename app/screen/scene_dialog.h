/// Opens files and saves scenes.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "app/app.h"
#include "app/screen/widgets.h"

namespace attnscope::app {

/// The dialog that opens files and saves scenes: Ctrl+O and Ctrl+S, or the end of the list of
/// scenes. It lists recent files, the shipped scenes and a folder.
class SceneDialog {
 public:
  /// Opens on its keys or when the view requests it, and draws itself while open.
  void draw(const Frame& frame);

 private:
  void begin(const Frame& frame, bool saving);
  void draw_contents(const Frame& frame);
  void draw_answer(const Frame& frame);
  void draw_lists(const Frame& frame);
  void draw_folder(const Frame& frame);
  void set_path(std::string_view path);
  /// Opens or saves, and waits for the app's result.
  void ask(const Frame& frame, const Command& command);

  bool saving_ = false;
  bool waiting_ = false;               ///< true: the app's result is awaited
  std::optional<SceneAnswer> answer_;  ///< why the last path could not be opened or saved
  std::array<char, 512> path_{};
};

/// Draws the top bar's box: the shipped scenes, and entries that open the dialog.
void draw_scene_field(const Frame& frame, const Rect& box);

}  // namespace attnscope::app
