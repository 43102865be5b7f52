/// Key events handed to Dear ImGui one change at a time.
///
/// Before version 1.87 Dear ImGui only sees whether a key is down when a frame begins: a key that
/// was pressed and released between two frames is lost. This queue keeps events in order and lets
/// each key change once a frame. Newer versions have such a queue themselves.
#pragma once

#include <deque>
#include <variant>

struct GLFWwindow;

namespace attnscope::app {

class InputQueue {
 public:
  /// Takes over the key and character callbacks, after Dear ImGui's own were installed.
  void attach(GLFWwindow* window);
  /// Hands over what fits into the frame that begins now.
  void pump();
  /// Events wait for later frames.
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

}  // namespace attnscope::app
