/// Opens files; saves scenes, pictures and text.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "app/app.h"
#include "app/screen/widgets.h"

namespace attnscope::app {

/// The dialog that opens files and saves scenes: Ctrl+O and Ctrl+S, or the end of the list of
/// scenes. It lists recent files, the shipped scenes and a folder. The same dialog saves a picture
/// of a panel, with a chosen size and theme, or text.
class SceneDialog {
 public:
  /// Opens on its keys or when the view requests it, and draws itself while open.
  void draw(const Frame& frame);

 private:
  enum class Purpose : std::uint8_t { open, save_scene, save_file };
  void begin(const Frame& frame, Purpose purpose, std::string_view path);
  void begin_scene(const Frame& frame, bool saving);
  void begin_file(const Frame& frame, FileToSave file);
  void draw_contents(const Frame& frame);
  void draw_look(const Frame& frame);
  void draw_answer(const Frame& frame);
  void draw_lists(const Frame& frame);
  void draw_folder(const Frame& frame);
  void set_path(std::string_view path);
  /// Opens or saves what the dialog shows; if the size is invalid, the dialog shows the error.
  void confirm(const Frame& frame, bool replaces);
  /// Sends the command, and waits for the app's result.
  void ask(const Frame& frame, const Command& command);
  bool saves() const { return purpose_ != Purpose::open; }

  Purpose purpose_ = Purpose::open;
  FileToSave file_;                    ///< with Purpose::save_file
  bool waiting_ = false;               ///< for the app's result
  std::optional<SceneAnswer> answer_;  ///< why the last path could not be opened or saved
  std::array<char, 512> path_{};
  std::array<char, 32> size_{};  ///< of a picture, such as "1600x900"
};

/// Draws the top bar's box: the shipped scenes, and entries that open the dialog.
void draw_scene_field(const Frame& frame, const Rect& box);

}  // namespace attnscope::app
