#include "app/platform/keys.h"

#include <imgui.h>

#include <array>
#include <cstddef>
#include <utility>

// Before version 1.87 Dear ImGui passes the window system's own codes through
#if IMGUI_VERSION_NUM >= 18700
#define ATTNSCOPE_KEY(name, glfw_name) ImGuiKey_##name
#else
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#define ATTNSCOPE_KEY(name, glfw_name) GLFW_KEY_##glfw_name
using ImGuiKey = int;
#endif

namespace attnscope::app {

namespace {

/// The keyboard keys for each Key, in the enumeration's order.
constexpr std::array<std::pair<int, int>, 23> kCodes{{
    {ATTNSCOPE_KEY(Space, SPACE), ATTNSCOPE_KEY(Space, SPACE)},
    {ATTNSCOPE_KEY(LeftArrow, LEFT), ATTNSCOPE_KEY(LeftArrow, LEFT)},
    {ATTNSCOPE_KEY(RightArrow, RIGHT), ATTNSCOPE_KEY(RightArrow, RIGHT)},
    {ATTNSCOPE_KEY(Home, HOME), ATTNSCOPE_KEY(Home, HOME)},
    {ATTNSCOPE_KEY(End, END), ATTNSCOPE_KEY(End, END)},
    {ATTNSCOPE_KEY(Equal, EQUAL), ATTNSCOPE_KEY(KeypadAdd, KP_ADD)},
    {ATTNSCOPE_KEY(Minus, MINUS), ATTNSCOPE_KEY(KeypadSubtract, KP_SUBTRACT)},
    {ATTNSCOPE_KEY(Escape, ESCAPE), ATTNSCOPE_KEY(Escape, ESCAPE)},
    {ATTNSCOPE_KEY(C, C), ATTNSCOPE_KEY(C, C)},
    {ATTNSCOPE_KEY(F, F), ATTNSCOPE_KEY(F, F)},
    {ATTNSCOPE_KEY(G, G), ATTNSCOPE_KEY(G, G)},
    {ATTNSCOPE_KEY(T, T), ATTNSCOPE_KEY(T, T)},
    {ATTNSCOPE_KEY(S, S), ATTNSCOPE_KEY(S, S)},
    {ATTNSCOPE_KEY(O, O), ATTNSCOPE_KEY(O, O)},
    {ATTNSCOPE_KEY(Q, Q), ATTNSCOPE_KEY(Q, Q)},
    {ATTNSCOPE_KEY(Y, Y), ATTNSCOPE_KEY(Y, Y)},
    {ATTNSCOPE_KEY(Z, Z), ATTNSCOPE_KEY(Z, Z)},
    {ATTNSCOPE_KEY(Tab, TAB), ATTNSCOPE_KEY(Tab, TAB)},
    {ATTNSCOPE_KEY(Enter, ENTER), ATTNSCOPE_KEY(KeypadEnter, KP_ENTER)},
    {ATTNSCOPE_KEY(F1, F1), ATTNSCOPE_KEY(F1, F1)},
    {ATTNSCOPE_KEY(L, L), ATTNSCOPE_KEY(L, L)},
    {ATTNSCOPE_KEY(PageUp, PAGE_UP), ATTNSCOPE_KEY(PageUp, PAGE_UP)},
    {ATTNSCOPE_KEY(PageDown, PAGE_DOWN), ATTNSCOPE_KEY(PageDown, PAGE_DOWN)},
}};

}  // namespace

bool key_pressed(Key key, bool repeat) {
  const auto [first, second] = kCodes[static_cast<std::size_t>(key)];
  return ImGui::IsKeyPressed(static_cast<ImGuiKey>(first), repeat) ||
         ImGui::IsKeyPressed(static_cast<ImGuiKey>(second), repeat);
}

}  // namespace attnscope::app
