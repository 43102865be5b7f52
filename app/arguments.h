/// The command line of the desktop app.
#pragma once

#include <optional>
#include <string>

#include "app/view_state.h"
#include "reference/attention_problem.h"
#include "reference/result.h"

namespace attnscope::app {

struct Arguments {
  bool render = false;  ///< `attnscope render`: a picture without a window
  std::string scene = "default";
  InputPaths files;           ///< a user's own tensors
  std::optional<Index> step;  ///< operation under the playhead, from 0; nothing: the scene's
  int width = 1600;
  int height = 900;
  std::optional<ThemeName> theme;
  std::optional<bool> presenter;  ///< nothing: the scene's
  std::string out;                ///< render: the PNG file
  bool run_on_gpu = false;        ///< render: run the real kernel first
  int frames = 0;           ///< window: ends after this many frames; 0: runs until it is closed
  bool dump_ui = false;     ///< window: prints the rectangles of the widgets as JSON at its end
  bool log_frames = false;  ///< window: prints a line after each frame, for tests that wait
  std::string answer;       ///< text for --help or --version: print it and exit
};

/// invalid_request with one line when the arguments make no sense.
Result<Arguments> parse_arguments(int argc, char** argv);

}  // namespace attnscope::app
