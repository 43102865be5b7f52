/// A window with an OpenGL 3.3 core context and its input, through GLFW.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/platform/png.h"
#include "reference/result.h"

struct GLFWwindow;

namespace attnscope::app {

// Key events handed to Dear ImGui one change at a time.
//
// Before version 1.87 Dear ImGui only checks whether a key is down when a frame begins: a key that
// was pressed and released between two frames is lost. This queue keeps events in order and lets
// each key change once per frame. Newer versions have their own queue.

class InputQueue {
 public:
  /// Takes over the key, character, drop and refresh callbacks; call it after Dear ImGui installs
  /// its own.
  void attach(GLFWwindow* window);
  /// Passes on the events that fit into the frame that begins now.
  void pump();
  /// Whether events wait for later frames.
  bool pending() const { return !events_.empty(); }
  /// The files that were dropped on the window since the last call.
  std::vector<std::string> take_dropped_files() { return std::exchange(dropped_, {}); }
  /// Whether the window has lost its picture since the last call.
  bool take_redraw_request() { return std::exchange(needs_redraw_, false); }

 private:
  void attach_requests();

  struct KeyEvent {
    int key, scancode, action, mods;
  };
  struct CharEvent {
    unsigned codepoint;
  };

  GLFWwindow* window_ = nullptr;
  std::deque<std::variant<KeyEvent, CharEvent>> events_;
  std::vector<std::string> dropped_;
  bool needs_redraw_ = false;
};

/// Buttons, text and tensors need at least this size, so the user cannot make the window smaller.
inline constexpr int kLeastWidth = 960;
inline constexpr int kLeastHeight = 540;

/// A place on the desktop, in screen coordinates.
struct WindowRect {
  int x = 0, y = 0;
  int width = 0, height = 0;
  bool operator==(const WindowRect&) const = default;
};

class Window {
 public:
  /// Unavailable, in one line, when there is no display or no OpenGL 3.3.
  static Result<std::unique_ptr<Window>> open(int width, int height, const std::string& title);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// Connects the window's input to the current ImGui context, and disconnects it.
  void attach_imgui();
  void detach_imgui();

  /// Whether the user has asked to close the window since the last call.
  bool take_close_request();
  int width() const;  ///< the framebuffer's width, in pixels
  int height() const;
  /// Pixels of the screen per pixel of a 96 dpi screen.
  float content_scale() const;
  void set_vsync(bool on);

  /// The place of the window on the desktop, without its frame.
  WindowRect place() const;
  /// Moves the window to the place if that is on a monitor, else only sets its size.
  void move_to(const WindowRect& place);
  /// The files that were dropped on the window since the last call.
  std::vector<std::string> take_dropped_files() { return input_.take_dropped_files(); }

  /// Whether the window has lost its picture since the last call, because another window covered it
  /// or it was hidden.
  bool take_redraw_request() { return input_.take_redraw_request(); }

  /// Handles pending events; if there are none, waits for the next, at most `wait_s` seconds.
  void handle_events(double wait_s);
  /// Whether input waits for later frames.
  bool has_input() const { return input_.pending(); }
  void begin_frame();
  /// Shows the drawn frame.
  void present();
  Image read_pixels();

  /// Ends a wait in handle_events. May be called from any thread.
  static void wake();

 private:
  explicit Window(GLFWwindow* window) : window_(window) {}
  GLFWwindow* window_;
  InputQueue input_;
};

}  // namespace attnscope::app
