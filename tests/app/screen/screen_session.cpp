#include "tests/app/screen/screen_session.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>
#include <utility>

// Before version 1.87 Dear ImGui has the window system's key codes
#if IMGUI_VERSION_NUM < 18700
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#define ATTNSCOPE_KEY(name, glfw_name)    \
  std::pair {                             \
    ImGuiKey_##name, GLFW_KEY_##glfw_name \
  }
#else
#define ATTNSCOPE_KEY(name, glfw_name) \
  std::pair {                          \
    ImGuiKey_##name, ImGuiKey_##name   \
  }
#endif

namespace attnscope::test {

namespace {

using app::Key;

struct TestedKey {
  Key key;
  std::pair<int, int> codes;  ///< Dear ImGui's, and the one that is pressed
};
const std::array<TestedKey, 6> kKeys{{{Key::tab, ATTNSCOPE_KEY(Tab, TAB)},
                                      {Key::enter, ATTNSCOPE_KEY(Enter, ENTER)},
                                      {Key::escape, ATTNSCOPE_KEY(Escape, ESCAPE)},
                                      {Key::space, ATTNSCOPE_KEY(Space, SPACE)},
                                      {Key::y, ATTNSCOPE_KEY(Y, Y)},
                                      {Key::z, ATTNSCOPE_KEY(Z, Z)}}};

void press(Key key, bool down) {
  for (const TestedKey& each : kKeys) {
    if (each.key != key) continue;
#if IMGUI_VERSION_NUM < 18700
    ImGui::GetIO().KeysDown[each.codes.second] = down;
#else
    ImGui::GetIO().AddKeyEvent(static_cast<ImGuiKey>(each.codes.second), down);
#endif
    return;
  }
  ADD_FAILURE() << "a key that no test has pressed before";
}

}  // namespace

ScreenSession::ScreenSession(const std::string& scene)
    : app_(app::load_scene(scene).value(), [] {}) {
#if IMGUI_VERSION_NUM < 18700
  for (const TestedKey& each : kKeys) {
    ImGui::GetIO().KeyMap[each.codes.first] = each.codes.second;
  }
#endif
  settle();
}

void ScreenSession::frame() {
  app_.update(1e-9);
  ImGui::NewFrame();
  screen_.draw(app_, imgui_.fonts(), app::scales_for(1600, 900, 1.0f, app_.view.presenter),
               time_s_);
  ImGui::Render();
}

void ScreenSession::advance(double seconds) {
  time_s_ += seconds;
  settle();
}

void ScreenSession::settle() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  do {
    frame();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the app does not come to rest";
  } while (!app_.settled());
  frame();
  frame();
}

void ScreenSession::click(std::string_view widget) {
  const auto rect = rects().find(widget);
  ASSERT_TRUE(rect) << widget;
  for (const bool pressed : {false, true, false}) {
    imgui_.set_mouse(rect->center(), pressed);
    frame();
  }
  settle();
}

void ScreenSession::point_at(ImVec2 at) {
  imgui_.set_mouse(at);
  for (int k = 0; k < 4; ++k) frame();
}

void ScreenSession::key(Key key, bool with_shift, bool with_ctrl) {
  ImGuiIO& io = ImGui::GetIO();
  io.KeyShift = with_shift;
  io.KeyCtrl = with_ctrl;
  press(key, true);
  frame();
  press(key, false);
  frame();
  io.KeyShift = io.KeyCtrl = false;
  settle();
}

void ScreenSession::type(std::string_view text) {
  ASSERT_TRUE(ImGui::GetIO().WantTextInput) << "no text is being edited";
  for (const char letter : text) {
    ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(letter));
  }
  settle();
}

}  // namespace attnscope::test
