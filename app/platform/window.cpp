#include "app/platform/window.h"

#include <GLFW/glfw3.h>
#include <imgui.h>
#include <imgui_impl_glfw.h>

#include <algorithm>
#include <set>

namespace attnscope::app {

#if IMGUI_VERSION_NUM < 18700

namespace {

bool is_modifier(int key) {
  return key >= GLFW_KEY_LEFT_SHIFT && key <= GLFW_KEY_RIGHT_SUPER;
}

/// A key with an immediate effect: text that is typed after it belongs to a later frame.
bool is_action(int key, int mods) {
  if (is_modifier(key)) return false;
  return key >= GLFW_KEY_ESCAPE || (mods & (GLFW_MOD_CONTROL | GLFW_MOD_ALT)) != 0;
}

}  // namespace

void InputQueue::attach(GLFWwindow* window) {
  window_ = window;
  attach_requests();
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
  attach_requests();
}
void InputQueue::pump() {}

#endif

void InputQueue::attach_requests() {
  glfwSetWindowUserPointer(window_, this);
  glfwSetDropCallback(window_, [](GLFWwindow* window, int count, const char** paths) {
    auto* queue = static_cast<InputQueue*>(glfwGetWindowUserPointer(window));
    queue->dropped_.insert(queue->dropped_.end(), paths, paths + count);
  });
  glfwSetWindowRefreshCallback(window_, [](GLFWwindow* window) {
    static_cast<InputQueue*>(glfwGetWindowUserPointer(window))->needs_redraw_ = true;
  });
}

namespace {

/// GLFW's last error without the line feeds of a driver.
std::string last_error() {
  const char* description = nullptr;
  glfwGetError(&description);
  std::string text = description != nullptr ? description : "unknown reason";
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

Result<std::unique_ptr<Window>> Window::open(int width, int height, const std::string& title) {
  if (glfwInit() != GLFW_TRUE) return unavailable("no display: " + last_error());
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
  // Neither is used; without them, llvmpipe drops what an opaque fill covers
  glfwWindowHint(GLFW_DEPTH_BITS, 0);
  glfwWindowHint(GLFW_STENCIL_BITS, 0);
  GLFWwindow* window = glfwCreateWindow(width, height, title.c_str(), nullptr, nullptr);
  if (window == nullptr) {
    const std::string reason = last_error();
    glfwTerminate();
    return unavailable("no OpenGL 3.3 window: " + reason);
  }
  glfwMakeContextCurrent(window);
  glfwSwapInterval(1);
  glfwSetWindowSizeLimits(window, kLeastWidth, kLeastHeight, GLFW_DONT_CARE, GLFW_DONT_CARE);
  return std::unique_ptr<Window>(new Window(window));
}

WindowRect Window::place() const {
  WindowRect place;
  glfwGetWindowPos(window_, &place.x, &place.y);
  glfwGetWindowSize(window_, &place.width, &place.height);
  return place;
}

void Window::move_to(const WindowRect& place) {
  glfwSetWindowSize(window_, place.width, place.height);
  int count = 0;
  GLFWmonitor** monitors = glfwGetMonitors(&count);
  for (int k = 0; k < count; ++k) {
    WindowRect area;
    glfwGetMonitorWorkarea(monitors[k], &area.x, &area.y, &area.width, &area.height);
    const bool holds_corner = place.x >= area.x && place.x < area.x + area.width &&
                              place.y >= area.y && place.y < area.y + area.height;
    if (holds_corner) glfwSetWindowPos(window_, place.x, place.y);
  }
}

Window::~Window() {
  glfwDestroyWindow(window_);
  glfwTerminate();
}

void Window::attach_imgui() {
  ImGui_ImplGlfw_InitForOpenGL(window_, true);
  input_.attach(window_);
}
void Window::detach_imgui() {
  ImGui_ImplGlfw_Shutdown();
}

bool Window::take_close_request() {
  const bool asked = glfwWindowShouldClose(window_) == GLFW_TRUE;
  glfwSetWindowShouldClose(window_, GLFW_FALSE);
  return asked;
}

int Window::width() const {
  int width = 0;
  glfwGetFramebufferSize(window_, &width, nullptr);
  return width;
}

int Window::height() const {
  int height = 0;
  glfwGetFramebufferSize(window_, nullptr, &height);
  return height;
}

float Window::content_scale() const {
  float x = 1.0f;
  glfwGetWindowContentScale(window_, &x, nullptr);
  return x;
}

void Window::set_vsync(bool on) {
  glfwSwapInterval(on ? 1 : 0);
}

void Window::handle_events(double wait_s) {
  if (wait_s > 0.0 && !input_.pending()) {
    glfwWaitEventsTimeout(wait_s);
  } else {
    glfwPollEvents();
  }
}

void Window::begin_frame() {
  input_.pump();
  ImGui_ImplGlfw_NewFrame();
}
void Window::present() {
  glfwSwapBuffers(window_);
}
Image Window::read_pixels() {
  return read_framebuffer(width(), height());
}
void Window::wake() {
  glfwPostEmptyEvent();
}

}  // namespace attnscope::app
