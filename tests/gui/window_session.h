/// The app in a real window on a separate X server.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/gui/picture.h"
#include "tests/gui/process.h"

namespace attnscope::app {

/// The rectangle of a widget in a dump; throws when it has none.
Rect rect_in(const nlohmann::json& dump, const std::string& widget);

/// The window of tests that need no other size, in pixels: the smallest at which all text is tested
/// to be readable. Mesa draws it on the CPU, so a larger one takes longer.
inline constexpr int kWindowWidth = 1280, kWindowHeight = 720;

/// An Xvfb used by one object at a time, with the mouse in the middle of its screen. Starting one
/// is slow, so later objects reuse it.
class Display {
 public:
  Display(int width, int height);
  ~Display();
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  /// The setting for a program's environment: "DISPLAY=:N".
  std::string setting() const;
  /// The screen as it is now, possibly while a picture is being drawn.
  Picture capture() const;

 private:
  class Server;
  static std::vector<std::unique_ptr<Server>>& unused();
  std::unique_ptr<Server> server_;
};

/// What the app shows first.
struct Opened {
  std::string scene = "default";
  std::string lesson = {};               ///< a name or a file, in place of a scene
  std::optional<std::size_t> step = {};  ///< of the lesson, counted from 1
  std::string answers = {};              ///< the file for the lesson's answers
};

/// The app, from start to the JSON that --dump-ui prints at its end.
class WindowSession {
 public:
  WindowSession(int width, int height, Opened opened = {});

  // Actions of a user. Each waits until the app has drawn frames with the input, and either rests
  // or plays.
  void key(const std::string& name);
  void type(const std::string& text);
  void click(const std::string& widget);
  void click_at(const Rect& rect, int button = 1);
  void drag_to(const std::string& widget, float share);

  /// Input in xdotool's syntax ("key Return"); returns once the app has drawn frames with it,
  /// whatever it does then.
  void send(const std::string& input);
  /// Waits until the app has drawn the frames in which what it did last has all of its effects.
  void wait_for_new_frames();
  /// Waits until the app rests or plays.
  void rest();

  Picture capture() const { return display_.capture(); }
  /// The screen at rest: two equal captures in a row. Not for an app that is playing.
  Picture screenshot();

  /// The position of the named widget on the first screen: that of a ScreenSession of this size.
  Rect rect_of(const std::string& widget) const;

  /// Ends the app as Ctrl+C in its terminal does.
  Finished interrupt();
  /// Quits once the screen rests; the final dump, and its "state".
  nlohmann::json final_dump();
  nlohmann::json final_state();

 private:
  /// Sends input in xdotool's syntax; returns once the app has received it.
  void run_there(const std::string& input);
  void do_and_wait(const std::string& input);
  /// Waits until the app has drawn this many frames with all input so far; with `idle`, it must
  /// have rested or played in each of the last `count` frames.
  void wait_for_frames(std::size_t count, bool idle);

  Display display_;
  const int width_, height_;
  const Opened opened_;
  std::unique_ptr<Process> app_;
};

}  // namespace attnscope::app
