#include "app/screen/keyboard_focus.h"

#include <imgui_internal.h>

#include <algorithm>
#include <utility>

#include "app/platform/keys.h"

namespace attnscope::app {

void KeyboardFocus::begin_frame() {
  ImGuiIO& io = ImGui::GetIO();
  const std::vector<std::string> order = std::exchange(order_, {});
  had_list_ = std::exchange(list_open_, false);
  const bool list_open = had_list_;
  if (list_open) io.ConfigFlags |= ImGuiConfigFlags_NavEnableKeyboard;
  if (!list_open) io.ConfigFlags &= ~ImGuiConfigFlags_NavEnableKeyboard;
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
    focused_.clear();
    shown_ = false;
  }
  entered_ = shown_ && !list_open && !io.WantTextInput && key_pressed(Key::enter);
  moved_ = !list_open && !order.empty() && !io.KeyCtrl && !io.KeyAlt && key_pressed(Key::tab, true);
  if (!moved_) return;
  shown_ = true;

  // Move to the next or the previous widget, wrapping around at the ends
  const auto count = static_cast<std::ptrdiff_t>(order.size());
  const auto found = std::ranges::find(order, focused_);
  std::ptrdiff_t to = io.KeyShift ? count - 1 : 0;
  if (found != order.end()) {
    to = (found - order.begin() + (io.KeyShift ? count - 1 : 1)) % count;
  }
  focused_ = order[static_cast<std::size_t>(to)];
  if (io.WantTextInput) ImGui::ClearActiveID();  // accepts the text; a popup stays open
}

bool KeyboardFocus::visit(std::string_view name, const Rect& rect, const Theme& theme) {
  constexpr ImGuiPopupFlags kAnyPopup = ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel;
  constexpr ImGuiFocusedFlags kOwnWindow =
      ImGuiFocusedFlags_RootAndChildWindows | ImGuiFocusedFlags_NoPopupHierarchy;
  const bool behind_popup =
      ImGui::IsPopupOpen("", kAnyPopup) && !ImGui::IsWindowFocused(kOwnWindow);
  if (behind_popup) return false;
  order_.emplace_back(name);
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left) && rect.contains(ImGui::GetIO().MousePos)) {
    focused_ = name;
  }
  if (name != focused_ || !shown_) return false;
  ImGui::GetWindowDrawList()->AddRect({rect.min.x - 2.0f, rect.min.y - 2.0f},
                                      {rect.max.x + 2.0f, rect.max.y + 2.0f}, theme.highlight, 4.0f,
                                      0, 2.0f);
  return entered_;
}

}  // namespace attnscope::app
