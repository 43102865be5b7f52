/// A window with an OpenGL 3.3 core context and its input, through GLFW.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <variant>

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
  /// Takes over the key and character callbacks, after Dear ImGui's own were installed.
  void attach(GLFWwindow* window);
  /// Passes on the events that fit into the frame that begins now.
  void pump();
  /// Whether events wait for later frames.
  bool pending() const { return !events_.empty(); }

 private:
  struct KeyEvent {
    int key, scancode, action, mods;
  };
  struct CharEvent {
    unsigned codepoint;
  };

  GLFWwindow* window_ = nullptr;
  std::deque<std::variant<KeyEvent, CharEvent>> events_;
};

/// Buttons, text and tensors need at least this size: the user cannot make the window smaller.
inline constexpr int kLeastWidth = 960;
inline constexpr int kLeastHeight = 540;

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
  int width() const;  ///< of the framebuffer, in pixels
  int height() const;
  /// Pixels of the screen per pixel of a 96 dpi one.
  float content_scale() const;
  void set_vsync(bool on);

  /// Handles pending events; waits for the next event, at most `wait_s` seconds.
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
