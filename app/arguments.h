/// The command line of the desktop app, and the two ways to run it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "app/files/user_state.h"
#include "app/scene/scene.h"
#include "app/scene/view_state.h"
#include "reference/attention_problem.h"
#include "reference/result.h"

namespace attnscope::app {

struct Arguments {
  bool render = false;  ///< true: `attnscope render`, a picture without a window
  std::string scene = "default";
  bool scene_given = false;  ///< false: the last scene, or the default
  bool size_given = false;   ///< false: the window's last size
  /// File of the remembered state; empty: nothing is remembered, as in a picture or a test.
  std::filesystem::path state;
  InputPaths files;                ///< a user's own tensors
  std::optional<Index> step;       ///< operation under the playhead, from 0; nothing: the scene's
  std::optional<Index> last_step;  ///< render: last operation of an animation
  std::string lesson;              ///< name or path; empty: none
  std::optional<std::size_t> lesson_step;  ///< from 0; nothing: where the user stopped,
                                           ///< or, for render, every step
  std::string answers;                     ///< the file to append answers to; empty: none
  int width = 1600;
  int height = 900;
  std::optional<ThemeName> theme;
  std::optional<bool> presenter;  ///< nothing: the scene's
  std::string out;                ///< render: the PNG or SVG file; for a lesson, the folder
  std::optional<Slot> panel;      ///< render: the only panel to draw; nothing: the screen
  std::string gif, mp4;           ///< render: the files of an animation; empty: none
  bool run_on_gpu = false;        ///< render: whether to run the real kernel first
  int frames = 0;           ///< window: ends after this many frames; 0: runs until it is closed
  bool dump_ui = false;     ///< window: whether to print the widgets' rectangles as JSON at its end
  bool log_frames = false;  ///< window: whether to print a line after each frame, for tests
  std::string answer;       ///< text for --help or --version: print it and exit
};

/// Sizes of pictures, in pixels.
inline constexpr int kMaxSize = 16384;
inline constexpr int kLeastPanelWidth = 320;
inline constexpr int kLeastPanelHeight = 200;

/// "1600x900" as two numbers in range, or nothing.
std::optional<std::pair<int, int>> parse_size(const std::string& text, int least_width,
                                              int least_height);

/// invalid_request with one line if the arguments make no sense.
Result<Arguments> parse_arguments(int argc, char** argv);

// The two ways to run the app, in a window or to make a picture, and what both print.

/// Exit statuses of both programs.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kInvalidRequest = 2;

/// Prints one line on standard error; returns the error's exit status.
int report(const Error& error);

/// Opens the window and runs until it is closed; returns the exit status. `remembered`: the state
/// at the end of the last session; nothing at the first start, when a card offers four ways to
/// begin. `problem`: why the state could not be read, or empty.
int run_window(const Arguments& arguments, Scene scene, const std::optional<UserState>& remembered,
               const std::string& problem);

/// Draws the scene at the requested step into arguments.out; returns the exit status.
int run_render(const Arguments& arguments, Scene scene);

}  // namespace attnscope::app
