/// Key events handed to Dear ImGui one change at a time.
///
/// Before version 1.87 Dear ImGui only checks whether a key is down when a frame begins: a key that
/// was pressed and released between two frames is lost. This queue keeps events in order and lets
/// each key change once per frame. Newer versions have their own queue.
#pragma once

#include <deque>
#include <variant>

struct GLFWwindow;

namespace attnscope::app {

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

}  // namespace attnscope::app
