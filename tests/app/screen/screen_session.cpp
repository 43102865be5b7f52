#include "tests/app/screen/screen_session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tests/support/wait_until.h"

// Before version 1.87, Dear ImGui uses the window system's key codes, and names only some keys
// itself
#if IMGUI_VERSION_NUM < 18700
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#define ATTNSCOPE_KEY(name, glfw_name)    \
  std::pair {                             \
    ImGuiKey_##name, GLFW_KEY_##glfw_name \
  }
#define ATTNSCOPE_OTHER_KEY(name, glfw_name) \
  std::pair {                                \
    -1, GLFW_KEY_##glfw_name                 \
  }
#else
#define ATTNSCOPE_KEY(name, glfw_name) \
  std::pair {                          \
    ImGuiKey_##name, ImGuiKey_##name   \
  }
#define ATTNSCOPE_OTHER_KEY(name, glfw_name) ATTNSCOPE_KEY(name, glfw_name)
#endif

namespace attnscope::test {

namespace {

using app::Key;

struct TestedKey {
  Key key;
  std::pair<int, int> codes;  ///< Dear ImGui's index, and the code that is pressed
};
const std::array<TestedKey, 23> kKeys{{{Key::tab, ATTNSCOPE_KEY(Tab, TAB)},
                                       {Key::enter, ATTNSCOPE_KEY(Enter, ENTER)},
                                       {Key::escape, ATTNSCOPE_KEY(Escape, ESCAPE)},
                                       {Key::space, ATTNSCOPE_KEY(Space, SPACE)},
                                       {Key::left, ATTNSCOPE_KEY(LeftArrow, LEFT)},
                                       {Key::right, ATTNSCOPE_KEY(RightArrow, RIGHT)},
                                       {Key::home, ATTNSCOPE_KEY(Home, HOME)},
                                       {Key::end, ATTNSCOPE_KEY(End, END)},
                                       {Key::c, ATTNSCOPE_KEY(C, C)},
                                       {Key::y, ATTNSCOPE_KEY(Y, Y)},
                                       {Key::z, ATTNSCOPE_KEY(Z, Z)},
                                       {Key::plus, ATTNSCOPE_OTHER_KEY(Equal, EQUAL)},
                                       {Key::minus, ATTNSCOPE_OTHER_KEY(Minus, MINUS)},
                                       {Key::f, ATTNSCOPE_OTHER_KEY(F, F)},
                                       {Key::g, ATTNSCOPE_OTHER_KEY(G, G)},
                                       {Key::t, ATTNSCOPE_OTHER_KEY(T, T)},
                                       {Key::s, ATTNSCOPE_OTHER_KEY(S, S)},
                                       {Key::o, ATTNSCOPE_OTHER_KEY(O, O)},
                                       {Key::q, ATTNSCOPE_OTHER_KEY(Q, Q)},
                                       {Key::f1, ATTNSCOPE_OTHER_KEY(F1, F1)},
                                       {Key::l, ATTNSCOPE_OTHER_KEY(L, L)},
                                       {Key::page_up, ATTNSCOPE_KEY(PageUp, PAGE_UP)},
                                       {Key::page_down, ATTNSCOPE_KEY(PageDown, PAGE_DOWN)}}};

}  // namespace

ScreenSession::ScreenSession(const std::string& scene)
    : app_(app::load_scene(scene).value(), [] {}) {
#if IMGUI_VERSION_NUM < 18700
  for (const TestedKey& each : kKeys) {
    if (each.codes.first >= 0) ImGui::GetIO().KeyMap[each.codes.first] = each.codes.second;
  }
#endif
  settle();
}

void ScreenSession::hold(Key key, bool down) {
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

void ScreenSession::frame(double now_s) {
  app_.update(now_s);
  const app::Scales scales = app::scales_for(size_.x, size_.y, 1.0f, app_.view.presenter);
  imgui_.resize(size_.x, size_.y, scales.layout, scales.font, app_.view.theme);
  ImGui::NewFrame();
  screen_.draw(app_, imgui_.fonts(), scales, time_s_);
  ImGui::Render();
}

void ScreenSession::open_lesson(const std::string& file, std::size_t step) {
  app_.lesson_player.open(file, step - 1);
  settle();
  ASSERT_TRUE(app_.lesson_player.is_open());
}

void ScreenSession::resize(float width, float height) {
  size_ = {width, height};
}

void ScreenSession::advance(double seconds) {
  time_s_ += seconds;
  settle();
}

void ScreenSession::run(double seconds, double frame_s) {
  for (double left_s = seconds; left_s > 1e-9; left_s -= frame_s) {
    now_s_ += std::min(left_s, frame_s);
    time_s_ += std::min(left_s, frame_s);
    frame();
  }
}

void ScreenSession::settle() {
  ASSERT_TRUE(wait_until([&] {
    frame();
    return app_.settled() && !screen_.busy();
  })) << "the app does not come to rest";
  frame();
  frame();
}

void ScreenSession::press(std::string_view widget) {
  const auto rect = rects().find(widget);
  ASSERT_TRUE(rect) << widget;
  for (const bool pressed : {false, true, false}) {
    imgui_.set_mouse(rect->center(), pressed);
    frame();
  }
}

void ScreenSession::click(std::string_view widget) {
  press(widget);
  settle();
}

void ScreenSession::drag(std::span<const ImVec2> way) {
  imgui_.set_mouse(way.front());
  frame();
  for (const ImVec2& at : way) {
    imgui_.set_mouse(at, true);
    frame();
  }
  imgui_.set_mouse(way.back());
  settle();
}

void ScreenSession::right_click(ImVec2 at) {
  imgui_.set_mouse(at);
  for (const bool pressed : {false, true, false}) {
    ImGui::GetIO().MouseDown[ImGuiMouseButton_Right] = pressed;
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
  hold(key, true);
  frame();
  hold(key, false);
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
