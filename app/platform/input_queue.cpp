#include "app/platform/input_queue.h"

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <imgui.h>
#include <imgui_impl_glfw.h>

#include <set>

namespace attnscope::app {

#if IMGUI_VERSION_NUM < 18700

namespace {

bool is_modifier(int key) {
  return key >= GLFW_KEY_LEFT_SHIFT && key <= GLFW_KEY_RIGHT_SUPER;
}

/// A key with an immediate effect: text typed after it belongs to a later frame.
bool is_action(int key, int mods) {
  if (is_modifier(key)) return false;
  return key >= GLFW_KEY_ESCAPE || (mods & (GLFW_MOD_CONTROL | GLFW_MOD_ALT)) != 0;
}

}  // namespace

void InputQueue::attach(GLFWwindow* window) {
  window_ = window;
  glfwSetWindowUserPointer(window, this);
  glfwSetKeyCallback(window, [](GLFWwindow* w, int key, int scancode, int action, int mods) {
    if (action == GLFW_REPEAT) return;  // Dear ImGui repeats held keys itself, once per frame
    static_cast<InputQueue*>(glfwGetWindowUserPointer(w))
        ->events_.push_back(KeyEvent{key, scancode, action, mods});
  });
  glfwSetCharCallback(window, [](GLFWwindow* w, unsigned codepoint) {
    static_cast<InputQueue*>(glfwGetWindowUserPointer(w))->events_.push_back(CharEvent{codepoint});
  });
}

void InputQueue::pump() {
  std::set<int> changed;
  bool acted = false;
  bool pressed = false;
  while (!events_.empty()) {
    if (const auto* typed = std::get_if<CharEvent>(&events_.front())) {
      if (acted) return;
      ImGui_ImplGlfw_CharCallback(window_, typed->codepoint);
    } else {
      const KeyEvent event = std::get<KeyEvent>(events_.front());
      if (changed.contains(event.key)) return;
      if (event.action == GLFW_PRESS && acted) return;
      if (pressed && is_modifier(event.key)) return;  // the frame gets the key with its modifiers
      changed.insert(event.key);
      pressed = pressed || !is_modifier(event.key);
      acted = acted || is_action(event.key, event.mods);
      ImGui_ImplGlfw_KeyCallback(window_, event.key, event.scancode, event.action, event.mods);
    }
    events_.pop_front();
  }
}

#else

void InputQueue::attach(GLFWwindow* window) {
  window_ = window;
}
void InputQueue::pump() {}

#endif

}  // namespace attnscope::app
